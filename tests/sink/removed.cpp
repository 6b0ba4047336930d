// Rows that leave the archive come back with a pop, and are gone when no pop can bring them back.

#include <archive/open_archive.hpp>
#include <chainbase/feed/writer.hpp>
#include <tools/sink/following.hpp>
#include <tools/sink/verify.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/sink/other_program.hpp>
#include <tests/support/scratch_state.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// A node with six notes, of which five are in the archive, and a sink that follows it into a
/// file.
class archiving_node {
public:
    archiving_node() {
        asked_.sink.state = folder_ / "state";
        asked_.sink.to = "sqlite:" + file();
        asked_.is_once = true;
        block([&] {
            for (int number = 0; number < 6; ++number)
                write(state, "alice", std::to_string(number));
        });
        for (std::uint32_t number = 0; number < 5; ++number)
            block([&] { all.retire(state.get<note>(id<note>(number))); });
        state.commit(state.revision());
        block([&] { all.hand_over(state.committed_revision()); });
        state.commit(state.revision());
    }
    [[nodiscard]] std::string file() const { return folder_ / "rows.db"; }

    template <typename Work>
    void block(Work work) {
        session one = state.start_session();
        work();
        one.push();
    }
    /// A process of the sink, until it has what there is.
    void follow() {
        while (sink::following(asked_, [] { return false; }).run().revision != state.revision()) {
        }
        CHECK(sink::verify(asked_.sink, 5, [] { return false; }).is_same());
    }
    /// What is irreversible is told after the blocks.
    void follow_until_removed(const std::vector<std::string>& wanted) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (follow(); ids("note.removed") != wanted; follow())
            REQUIRE(std::chrono::steady_clock::now() < end);
    }
    std::vector<std::string> ids(const std::string& table) {
        return other_program(file()).run("SELECT id FROM \"" + table + "\" ORDER BY id");
    }

private:
    scratch_folder folder_;
    sink::following::options asked_;

public:
    database state{folder_ / "state", small_state()};

private:
    std::unique_ptr<archive::store> rows_ =
        archive::open_archive(state, folder_ / "state/archive", archive::store_kind::memory);

public:
    notes all{(state.add_type<note>("note"), state), *rows_, "note"};

private:
    feed::writer told_{state};
};

using id_list = std::vector<std::string>;

} // namespace

TEST_CASE("what is removed from the archive is kept as long as a pop can bring it back") {
    archiving_node node;
    node.follow();
    CHECK(node.ids("note") == id_list{"0", "1", "2", "3", "4", "5"});
    node.block([&] { node.all.remove(id<note>(1)); });
    node.follow();
    CHECK(node.ids("note") == id_list{"0", "2", "3", "4", "5"});
    CHECK(node.ids("note.removed") == id_list{"1"});
    node.state.undo();
    node.follow();
    CHECK(node.ids("note") == id_list{"0", "1", "2", "3", "4", "5"});
    CHECK(node.ids("note.removed").empty());
    for (const std::uint32_t number : {0, 2, 3})
        node.block([&] { node.all.remove(id<note>(number)); });
    node.follow();
    CHECK(node.ids("note.removed") == id_list{"0", "2", "3"});
    // By a sink that did not see them move.
    node.state.commit(node.state.revision() - 1);
    node.block([&] { write(node.state, "bob", "next"); });
    node.follow_until_removed({"3"});
    // And by one that sees all.
    node.block([&] { node.all.remove(id<note>(1)); });
    node.block([&] { node.all.remove(id<note>(4)); });
    node.state.commit(node.state.revision() - 1);
    node.block([&] { write(node.state, "bob", "the last"); });
    node.follow_until_removed({"4"});
    CHECK(node.ids("note") == id_list{"5", "6", "7"});
}
