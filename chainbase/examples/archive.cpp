// Finished objects leave shared memory for RocksDB once their block is irreversible, and are found
// in either place. Here: posts that are paid out some blocks after they were written.
//
//     example_archive FOLDER      makes FOLDER/state anew

#include <archive/lifecycle.hpp>
#include <archive/open_archive.hpp>
#include <pool_allocator/base/error.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace archive = chainbase::archive;

struct by_permlink;
struct by_cashout;

struct post {
    chainbase::id<post> id;
    chainbase::fixed_string<16> author;
    chainbase::shared_string permlink;
    chainbase::shared_string body;
    std::uint32_t cashout = 0; ///< the block that pays it
    std::int64_t reward = 0;

    using keys =
        chainbase::keys<chainbase::ordered_unique<by_permlink, &post::author, &post::permlink>,
                        chainbase::ordered_non_unique<by_cashout, &post::cashout>>;
    using archived_by = archive::tags<by_permlink>; // the keys that find it in the archive
};
BOOST_DESCRIBE_STRUCT(post, (), (id, author, permlink, body, cashout, reward))

/// A chain of posts. A block is irreversible when two more were applied.
class blog {
public:
    explicit blog(const std::filesystem::path& state)
        : db_(opened(state)), rows_(archive::open_archive(db_, state / "archive")),
          posts_(db_, *rows_, "post") {}

    /// Applies a block of posts: pays those that are due, and takes those out of memory whose
    /// payment is irreversible.
    void apply(const std::vector<std::string>& permlinks = {}) {
        auto block = db_.start_session();
        const chainbase::revision_number number = block.revision();
        for (const std::string& permlink : permlinks)
            publish(permlink, static_cast<std::uint32_t>(number) + 1);
        for (const post& due : db_.view<post, by_cashout>().equal_range(number)) {
            posts_.modify(due, [](post& it) { it.reward = 1'000; });
            posts_.retire(due); // finished: a change of this block, undone with it
        }
        posts_.hand_over(db_.committed_revision()); // rows are written, then objects removed
        block.push();
        db_.commit(std::max<chainbase::revision_number>(number - 2, 0));
    }
    void pop() { db_.undo(); }
    void publish(std::string_view permlink, std::uint32_t cashout) {
        posts_.create([&](post& made) { // asks both places whether the permlink is free
            made.author = "alice";
            made.permlink = permlink;
            made.body = "the text of " + std::string(permlink);
            made.cashout = cashout;
        });
    }
    [[nodiscard]] archive::lifecycle<post>& posts() { return posts_; }

private:
    static chainbase::database opened(const std::filesystem::path& state) {
        chainbase::database db(state.string());
        db.add_type<post>("post"); // which a life cycle of its objects needs
        return db;
    }

    chainbase::database db_;
    std::unique_ptr<archive::store> rows_;
    archive::lifecycle<post> posts_;
};

/// Prints a claim; throws when it is not true.
void show(std::string_view claim, bool is_true) {
    if (!is_true) throw std::logic_error("not true: " + std::string(claim));
    std::cout << claim << '\n';
}

void run(const std::filesystem::path& state) {
    {
        blog chain(state);
        auto& posts = chain.posts();
        chain.apply({"hello", "news"}); // block 1
        show("block 1: two posts in memory", posts.in_memory() == 2);
        chain.apply({"later"}); // block 2
        show("block 2: two posts are paid and retired, still in memory",
             posts.waiting() == 2 && posts.in_memory() == 3);
        chain.apply();
        chain.apply();
        show("block 4: block 2 is irreversible from now on", posts.archived() == 0);
        chain.apply();
        show("block 5: the two posts are in the archive only",
             posts.archived() == 2 && posts.in_memory() == 1);

        const auto hello = posts.find<by_permlink>("alice", "hello");
        show("         found there, one member decoded",
             hello && !hello->in_memory() && hello->get<&post::body>() == "the text of hello");
        std::string all;
        for (auto at = posts.range<by_permlink>("alice"); at.valid(); at.next())
            all += ' ' + std::string(at->get<&post::permlink>());
        show("         all posts of alice, in order, of both places:" + all,
             all == " hello later news");
        try {
            chain.publish("hello", 9);
            show("a permlink was taken twice", false);
        } catch (const chainbase::duplicate_key_error&) {
            std::cout << "         the permlink of an archived post is still taken\n";
        }

        chain.pop();
        show("pop:     block 5 undone, the posts are back in memory",
             posts.in_memory() == 3 && posts.find<by_permlink>("alice", "hello")->in_memory());
        chain.apply();
        show("         and leave with the third one in the next block 5", posts.archived() == 3);
    } // closed

    blog chain(state);
    const auto news = chain.posts().find<by_permlink>("alice", "news");
    show("reopen:  found in the archive, paid 1000",
         news && !news->in_memory() && news->get<&post::reward>() == 1'000);
}

} // namespace

int main(int argc, char** argv) try {
    const auto state = std::filesystem::path(argc > 1 ? argv[1] : ".") / "state";
    std::filesystem::remove_all(state);
    run(state);
} catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
}
