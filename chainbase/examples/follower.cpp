// A node writes blocks, some of which it undoes for others; a follower in another process keeps a
// copy of the balances, in a state of its own. Both are killed now and then. In the end the copy is
// what the node has.
//
//     example_follower FOLDER            makes FOLDER/node and FOLDER/copy, and runs the others
//     example_follower FOLDER node       writes FOLDER/node
//     example_follower FOLDER follow     keeps FOLDER/copy

#include <archive/record/described_record.hpp>
#include <archive/record/record.hpp>
#include <chainbase/database.hpp>
#include <chainbase/feed/follower.hpp>
#include <chainbase/feed/writer.hpp>
#include <chainbase/snapshot/snapshot.hpp>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct account {
    chainbase::id<account> id;
    std::int64_t balance = 0;

    using keys = chainbase::keys<>; // found by id alone
};
BOOST_DESCRIBE_STRUCT(account, (), (id, balance))

/// What the follower keeps of an account, and how far it is.
struct copied {
    chainbase::id<copied> id;
    std::uint32_t account = 0;
    std::int64_t balance = 0;

    struct by_account {};
    using keys = chainbase::keys<chainbase::hashed_unique<by_account, &copied::account>>;
};
BOOST_DESCRIBE_STRUCT(copied, (), (id, account, balance))

struct place {
    chainbase::id<place> id;
    std::uint64_t position = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(place, (), (id, position))

constexpr std::uint32_t last_account = 100; ///< made when the node is done
constexpr chainbase::revision_number blocks = 2'000;

// ANCHOR: follow
using chainbase::feed::entry;

void set(chainbase::database& copy, std::uint32_t of, chainbase::archive::bytes_view record) {
    using chainbase::archive::record_view;
    if (record.empty()) {
        copy.remove<copied, copied::by_account>(of);
    } else {
        copy.get_or_create<copied, copied::by_account>(of,
                                                       [&](copied& made) { made.account = of; });
        copy.modify<copied, copied::by_account>(of, [&](copied& one) {
            one.balance = record_view<account>(record).get<&account::balance>();
        });
    }
}

/// Calls it until the node gives it a chance.
template <typename Attempt>
auto retried(Attempt attempt) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
        try {
            return attempt();
        } catch (const chainbase::unclean_error&) { // it was killed, and is not back yet
        } catch (const chainbase::busy_error&) {    // it undid the block
        } catch (const chainbase::too_old_error&) { // or changed too much meanwhile
        }
    }
}

/// Copies the balances of now; what changes them is told from there on.
void begin_copy(chainbase::database& copy, chainbase::feed::follower& from, const fs::path& node) {
    chainbase::snapshot begin(node);
    begin.add_type<account>("account");
    from.begin_at(begin);
    auto all = copy.start_session();
    for (const account& each : begin.objects<account>())
        copy.create<copied>([&](copied& made) {
            made.account = each.id.value;
            made.balance = each.balance;
        });
    copy.create<place>([&](place& made) { made.position = from.position(); });
    all.push();
    copy.commit(copy.revision());
}

void follow(const fs::path& node, const fs::path& own) {
    chainbase::database copy(own);
    copy.add_type<copied>("copied");
    copy.add_type<place>("place");
    const auto follower =
        retried([&] { return std::make_unique<chainbase::feed::follower>(node, "balances"); });
    chainbase::feed::follower& from = *follower;
    if (copy.count<place>() == 0) retried([&] { begin_copy(copy, from, node); });
    const place& now = copy.get(chainbase::id<place>(0));
    from.go_to(now.position);
    for (entry one; !copy.find<copied, copied::by_account>(last_account);) {
        if (!from.next(one)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        auto step = copy.start_session(); // the objects and the place, or neither
        for (const auto& each : one.changes)
            if (from.types()[each.type].name == "account") set(copy, each.id, one.after(each));
        copy.modify(now, [&](place& here) { here.position = from.position(); });
        step.push();
        copy.commit(copy.revision());
        from.keep();
    }
}
// ANCHOR_END: follow

void write(const fs::path& state) {
    chainbase::database node(state);
    node.add_type<account>("account");
    chainbase::feed::writer told(node);
    std::mt19937 random(std::random_device{}());
    while (node.revision() < blocks) {
        auto block = node.start_session();
        for (int transfers = 0; transfers < 10; ++transfers) {
            const chainbase::id<account> of(random() % last_account);
            if (of == node.next_id<account>())
                node.create<account>([](account& made) { made.balance = 1'000; });
            else if (node.contains(of))
                node.modify(node.get(of), [&](account& one) {
                    one.balance += static_cast<std::int64_t>(random() % 21) - 10;
                });
        }
        block.push();
        for (unsigned undone = random() % 20 == 0 ? random() % 4 : 0; undone > 0; --undone)
            if (node.revision() > node.committed_revision()) node.undo();
        node.commit(node.revision() - 5);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    // Without a cursor nothing is told, and who comes after the end finds nothing to begin at.
    while (!told.so_far().is_followed)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (node.count<account>() <= last_account) {
        auto block = node.start_session();
        while (node.count<account>() <= last_account)
            node.create<account>([](account&) {});
        block.push();
    }
    node.commit(node.revision());
}

/// This program once more.
class process {
public:
    process(const char* program, std::string folder, std::string mode) {
        std::string name = "example_follower";
        char* arguments[] = {name.data(), folder.data(), mode.data(), nullptr};
        const int problem = posix_spawn(&number_, program, nullptr, nullptr, arguments, environ);
        if (problem != 0) throw std::system_error(problem, std::generic_category(), program);
    }
    void end_by_kill() {
        if (!is_running()) return;
        kill(number_, SIGKILL);
        waitpid(number_, &status_, 0);
        number_ = 0;
    }
    [[nodiscard]] bool is_running() {
        if (number_ != 0 && waitpid(number_, &status_, WNOHANG) == number_) number_ = 0;
        return number_ != 0;
    }
    /// Whether it ended otherwise than with exit code 0.
    [[nodiscard]] bool has_failed() {
        return !is_running() && (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0);
    }

private:
    pid_t number_ = 0; ///< while it runs
    int status_ = 0;
};

bool is_same(const fs::path& node_folder, const fs::path& copy_folder) {
    chainbase::database node(node_folder);
    node.add_type<account>("account");
    chainbase::database copy(copy_folder);
    copy.add_type<copied>("copied");
    std::size_t same = 0;
    for (const account& each : node.objects<account>()) {
        const copied* found = copy.find<copied, copied::by_account>(each.id.value);
        same += found && found->balance == each.balance ? 1 : 0;
    }
    std::cout << same << " of " << node.count<account>() << " balances are the same\n";
    return same == node.count<account>() && same == copy.count<copied>();
}

bool has_block(const fs::path& node) {
    try {
        return chainbase::snapshot(node).revision() > 0;
    } catch (const chainbase::error&) { // it is being made
        return false;
    }
}

bool run_both(const char* program, const fs::path& folder) {
    fs::remove_all(folder / "node");
    fs::remove_all(folder / "copy");
    process node(program, folder, "node");
    while (!has_block(folder / "node") && !node.has_failed())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process follower(program, folder, "follow");
    for (int kills = 0; kills < 3; ++kills) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        follower.end_by_kill();
        follower = process(program, folder, "follow");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        node.end_by_kill();
        node = process(program, folder, "node");
    }
    while ((node.is_running() || follower.is_running()) && !node.has_failed() &&
           !follower.has_failed())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    node.end_by_kill(); // if the other one failed
    follower.end_by_kill();
    return !node.has_failed() && !follower.has_failed() &&
           is_same(folder / "node", folder / "copy");
}

} // namespace

int main(int count, char** words) {
    if (count < 2) {
        std::cerr << "usage: " << words[0] << " FOLDER [node|follow]\n";
        return 2;
    }
    try {
        const fs::path folder = words[1];
        const std::string mode = count > 2 ? words[2] : "";
        if (mode == "node")
            write(folder / "node");
        else if (mode == "follow")
            follow(folder / "node", folder / "copy");
        else if (!run_both("/proc/self/exe", folder))
            return 1;
        return 0;
    } catch (const std::exception& problem) {
        std::cerr << problem.what() << '\n';
        return 1;
    }
}
