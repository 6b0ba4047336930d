// Another segment replaces a state's where two names cannot be exchanged atomically, because the
// file system does not support it, as some network file systems, or because the old one is kept: a
// kill or a failure between the steps leaves a state that the next opening recovers.

#include <chainbase/database.hpp>
#include <chainbase/offline/bulk_load/segment_replacement.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <tests/support/child_process.hpp>
#include <tests/support/loaded_copy.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

/// A simulated file system of this process.
struct simulation {
    bool is_on = false;
    int exchanges = 0;    ///< refused calls
    int renames = 0;      ///< calls
    int kill_before = -1; ///< kill -9 at the rename of that number, from 0
    int fail_at = -1;     ///< EIO at it
};
simulation disk_without_exchange;

int rename_file(const char* from, const char* to) {
    simulation& now = disk_without_exchange;
    if (now.is_on) {
        const int number = now.renames++;
        if (number == now.kill_before) ::raise(SIGKILL);
        if (number == now.fail_at) {
            errno = EIO;
            return -1;
        }
    }
    return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0U));
}

} // namespace

/// @name Replacements of the C library's functions in this program
/// @{
extern "C" int rename(const char* from, const char* to) noexcept {
    return rename_file(from, to);
}
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
    if (disk_without_exchange.is_on && (flags & RENAME_EXCHANGE) != 0) {
        ++disk_without_exchange.exchanges;
        errno = EINVAL;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
/// @}

namespace {

constexpr std::uint32_t accounts = 500;

/// Identifies the file.
ino_t header_of(const fs::path& segment) {
    struct stat found{};
    REQUIRE(::stat((segment / "header").c_str(), &found) == 0);
    return found.st_ino;
}

open_options options_of(bool has_checkpoints) {
    return has_checkpoints ? with_checkpoints() : quick_options();
}

class replaced_state {
public:
    explicit replaced_state(bool has_checkpoints) : has_checkpoints_(has_checkpoints) {
        database db(path(), options_of(has_checkpoints));
        db.add_type<account>("account");
        auto block = db.start_session();
        for (std::uint32_t n = 0; n < accounts; ++n)
            db.create<account>([&](account& a) {
                a.name = std::string_view(std::to_string(n));
                a.number = n;
            });
        block.push();
        db.commit(db.revision());
    }

    [[nodiscard]] fs::path path() const { return folder_ / "state"; }
    /// Where the replaced segment is moved.
    [[nodiscard]] fs::path kept(bool is_kept) const {
        return is_kept ? path() / "segment.damaged.1" : fs::path();
    }

    /// Makes a copy of the segment and replaces the segment with it on this file system.
    void replace(const fs::path& keep_as, int kill_before, int fail_at = -1) const {
        bulk_load::segment_replacement replacement(path());
        load_copy(path(), replacement.folder());
        disk_without_exchange = {true, 0, 0, kill_before, fail_at};
        try {
            replacement.replace(keep_as);
        } catch (...) {
            disk_without_exchange.is_on = false;
            throw;
        }
        disk_without_exchange.is_on = false;
    }

    /// Opens it for writing as its own program would, and continues.
    void require_whole() const {
        {
            database db(path(), options_of(has_checkpoints_));
            db.add_type<account>("account");
            REQUIRE(db.opened().how == opening::way::attached);
            REQUIRE(db.count<account>() == accounts);
            REQUIRE(db.revision() == 1);
            for (std::uint32_t n = 0; n < accounts; ++n)
                REQUIRE(db.get<account, by_number>(n).id.value == n);
            REQUIRE(db.next_id<account>().value == accounts);
        }
        REQUIRE(check::state_check(path()).report().found_in_all() == 0);
    }

private:
    scratch_folder folder_;
    bool has_checkpoints_;
};

} // namespace

TEST_CASE("a replacement killed between its steps where names cannot be exchanged: state whole") {
    const bool is_kept = GENERATE(false, true);
    const bool has_checkpoints = GENERATE(false, true);
    CAPTURE(is_kept, has_checkpoints);
    int set_aside = 0;
    int both = 0;
    bool was_killed = true;
    for (int step = 0; was_killed; ++step) {
        INFO("killed before rename " << step);
        const replaced_state state(has_checkpoints);
        const auto before = header_of(state.path() / "segment");
        was_killed = run_process([&] {
                         state.replace(state.kept(is_kept), step);
                         if (disk_without_exchange.exchanges != (is_kept ? 0 : 1)) ::_exit(1);
                     }).killed;
        const fs::path former = state.path() / "segment.former";
        const bool is_former = fs::exists(former);
        const bool is_missing = !fs::exists(state.path() / "segment");
        set_aside += is_former && is_missing;
        both += is_former && !is_missing;
        if (is_missing) {
            REQUIRE(is_former);
            CHECK_THROWS_WITH(database(state.path(), quick_options(open_mode::read_only)),
                              Contains("segment.former") && Contains("for writing"));
        }
        for (const fs::path& old : {former, state.kept(true)})
            if (fs::exists(old)) REQUIRE(header_of(old) == before); // under its own name only
        state.require_whole();
        REQUIRE(fs::exists(former) == (is_former && !is_missing));
        if (is_former && !is_missing) { // the previous one, complete: nobody removes it unasked
            CHECK_THROWS_WITH(bulk_load::segment_replacement(state.path()),
                              Contains("segment.former") && Contains("move it away"));
            fs::remove_all(former);
        }
        const fs::path next = is_kept ? state.path() / "segment.damaged.2" : fs::path();
        state.replace(next, -1);
        REQUIRE(disk_without_exchange.exchanges == (is_kept ? 0 : 1));
        REQUIRE_FALSE(fs::exists(former));
        REQUIRE_FALSE(fs::exists(state.path() / "segment.rebuilt"));
        REQUIRE(fs::exists(state.path() / "segment.damaged.2") == is_kept);
        state.require_whole();
    }
    CHECK(set_aside == 1);
    CHECK(both == 1);
}

TEST_CASE(
    "a replacement of which a step failed where names cannot be exchanged leaves the state whole") {
    const bool is_kept = GENERATE(false, true);
    int failures = 0;
    for (int step = 0;; ++step) {
        INFO("rename " << step << " fails");
        const replaced_state state(false);
        bool has_failed = false;
        try {
            state.replace(state.kept(is_kept), -1, step);
        } catch (const io_error&) {
            has_failed = true;
        } catch (const fs::filesystem_error&) {
            has_failed = true;
        }
        if (!has_failed) break;
        ++failures;
        state.require_whole();
    }
    CHECK(failures == 4);
}

TEST_CASE("a segment that was set aside is put back by the next replacement, too") {
    const replaced_state state(false);
    fs::rename(state.path() / "segment", state.path() / "segment.former");
    state.replace({}, -1);
    REQUIRE_FALSE(fs::exists(state.path() / "segment.former"));
    state.require_whole();
}
