// One process writes, another one reads the same memory. The writer moves money between accounts;
// within a block some of it is in no account. The reader never sees that.
//
//     example_reader FOLDER           makes FOLDER/state anew, writes, and starts a reader
//     example_reader FOLDER read      reads FOLDER/state beside the writer

#include <chainbase/database.hpp>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

struct account {
    chainbase::id<account> id;
    std::int64_t balance = 0;

    using keys = chainbase::keys<>; // found by id alone
};
BOOST_DESCRIBE_STRUCT(account, (), (id, balance))

constexpr std::uint32_t accounts = 200;
constexpr std::int64_t total = 200'000;
constexpr std::size_t heights_to_see = 50;

/// A program that runs beside this one.
class process {
public:
    process(const char* program, std::string folder) {
        std::string name = "example_reader";
        std::string mode = "read";
        char* arguments[] = {name.data(), folder.data(), mode.data(), nullptr};
        const int problem = posix_spawn(&number_, program, nullptr, nullptr, arguments, environ);
        if (problem != 0) throw std::system_error(problem, std::generic_category(), program);
    }
    /// Whether it has come to its end.
    [[nodiscard]] bool has_ended() {
        const pid_t ended = waitpid(number_, &status_, WNOHANG);
        if (ended < 0) throw std::system_error(errno, std::generic_category(), "waitpid");
        return ended == number_;
    }
    /// Once it has ended: whether that was with exit code 0.
    [[nodiscard]] bool succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

private:
    pid_t number_ = 0;
    int status_ = 0;
};

/// A block: every account but the first pays the first one, which then gets all of it at once.
void apply_block(chainbase::database& db, std::int64_t amount) {
    auto block = db.start_session();
    std::int64_t collected = 0;
    for (const account& each : db.objects<account>()) {
        if (each.id.value == 0 || each.balance < amount) continue;
        db.modify(each, [&](account& it) { it.balance -= amount; });
        collected += amount; // in no account at the moment
    }
    db.modify(chainbase::id<account>(0), [&](account& it) { it.balance += collected; });
    block.push();
    db.commit(block.revision());
}

void write(const std::string& folder) {
    const auto state = std::filesystem::path(folder) / "state";
    std::filesystem::remove_all(state);
    chainbase::database db(state.string());
    db.add_type<account>("account");
    db.with_write_lock([&] {
        auto genesis = db.start_session();
        for (std::uint32_t i = 0; i < accounts; ++i)
            db.create<account>([](account& made) { made.balance = total / accounts; });
        genesis.push();
        db.commit(genesis.revision());
    });

    process reader("/proc/self/exe", folder);
    std::int64_t amount = 1;
    while (!reader.has_ended()) {
        db.with_write_lock([&] { apply_block(db, amount); }); // a whole block, or nothing of it
        amount = -amount;                                     // and back again
    }
    if (!reader.succeeded()) throw std::logic_error("the reader failed");
    std::cout << "writer: " << db.revision() << " blocks beside the reader\n";
}

void read(const std::string& folder) {
    chainbase::open_options how;
    how.mode = chainbase::open_mode::read_only;
    chainbase::database db((std::filesystem::path(folder) / "state").string(), how);
    db.add_type<account>("account");

    std::uint64_t sums = 0;
    std::set<chainbase::revision_number> heights;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (heights.size() < heights_to_see) {
        std::int64_t sum = 0;
        db.with_read_lock([&] { // one state; references end with the lock
            heights.insert(db.revision());
            for (const account& each : db.objects<account>())
                sum += each.balance;
        });
        if (sum != total) throw std::logic_error("torn state: the sum is " + std::to_string(sum));
        ++sums;
        if (std::chrono::steady_clock::now() > give_up)
            throw std::runtime_error("the writer came to an end");
    }
    std::cout << "reader: " << sums << " sums at " << heights.size() << " heights from "
              << *heights.begin() << " to " << *heights.rbegin() << ", each of them " << total
              << std::endl;
}

} // namespace

int main(int argc, char** argv) try {
    const std::string folder = argc > 1 ? argv[1] : ".";
    if (argc > 2)
        read(folder);
    else
        write(folder);
} catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
}
