// A closed state's segment moves between the state folder and memory folders: killed before any
// change of a name or any sync of that opening, or with a rename that fails, the state is whole and
// the next writer leaves one segment; also if the machine restarts after the kill.

#include <chainbase/database.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <tests/support/captured_log.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

enum class file_call { rename, exchange, make, remove, sync, date };

void (*call_hook)(file_call) = nullptr;
int renames_until_failure = -1; ///< EIO at that one, from 0

void reach(file_call at) {
    if (call_hook) call_hook(at);
}

int rename_file(const char* from, const char* to, unsigned flags) {
    reach(flags == RENAME_EXCHANGE ? file_call::exchange : file_call::rename);
    if (renames_until_failure >= 0 && renames_until_failure-- == 0) {
        errno = EIO;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
}

int remove_file(const char* name, int flags) {
    reach(file_call::remove);
    return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, name, flags));
}

} // namespace

/// @name Replacements of the C library's functions in this program
/// @{
extern "C" int rename(const char* from, const char* to) noexcept {
    return rename_file(from, to, 0);
}
extern "C" int renameat2(int, const char* from, int, const char* to, unsigned flags) noexcept {
    return rename_file(from, to, flags);
}
extern "C" int unlink(const char* name) noexcept {
    return remove_file(name, 0);
}
extern "C" int rmdir(const char* name) noexcept {
    return remove_file(name, AT_REMOVEDIR);
}
extern "C" int mkdir(const char* name, mode_t mode) noexcept {
    reach(file_call::make);
    return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, name, mode));
}
extern "C" int fsync(int file) {
    reach(file_call::sync);
    return static_cast<int>(::syscall(SYS_fsync, file));
}
extern "C" int fdatasync(int file) {
    reach(file_call::sync);
    return static_cast<int>(::syscall(SYS_fdatasync, file));
}
extern "C" int futimens(int file, const timespec times[2]) noexcept {
    reach(file_call::date);
    return static_cast<int>(::syscall(SYS_utimensat, file, nullptr, times, 0));
}
/// @}

namespace {

constexpr std::uint32_t cards = 300;

/// Where a segment is: "none", or the name of a folder beside the state's.
open_options at(const fs::path& state, const std::string& place) {
    open_options how = with_checkpoints();
    how.memory_folder = place == "none" ? place : (state.parent_path() / place).string();
    return how;
}

constexpr const char* memories[] = {"memory", "other"};

void make_state(const fs::path& state, const open_options& how) {
    for (const char* one : memories)
        fs::create_directory(state.parent_path() / one);
    database db(state, how);
    db.add_type<card>("card");
    for (std::uint32_t key = 0; key < cards; ++key)
        db.create<card>([&](card& one) { one.key = one.value = key; });
    db.close();
}
void make_state(const fs::path& state, const std::string& place) {
    make_state(state, at(state, place));
}

void require_content(database& db) {
    db.add_type<card>("card");
    REQUIRE(db.count<card>() == cards);
    for (std::uint32_t key = 0; key < cards; ++key)
        REQUIRE(db.get<card, by_key>(key).value == key);
}

/// Requires one whole segment, at its place, and nothing that a move left.
void require_one_segment(const fs::path& state) {
    const segment_place place(state);
    REQUIRE(place.why_foreign().empty());
    std::set<fs::path> homes;
    for (const char* one : memories) {
        const fs::path memory = state.parent_path() / one;
        CHECK(segment_place::orphans(memory).empty());
        for (const auto& entry : fs::directory_iterator(memory))
            homes.insert(entry.path());
    }
    if (place.is_in_memory())
        CHECK(homes == std::set<fs::path>{place.home()});
    else
        CHECK(homes.empty());
    CHECK(fs::exists(state / "segment") == !place.is_in_memory());
    for (const char* one : {"segment.json.new", "segment.new", "segment.old"})
        CHECK_FALSE(fs::exists(state / one));
}

/// Opens it where it is.
void require_whole(const fs::path& state) {
    {
        database db(state, with_checkpoints());
        CHECK(db.opened().how != opening::way::restored);
        require_content(db);
        require_one_segment(state);
        db.close();
    }
    require_one_segment(state);
    REQUIRE(check::state_check(state).report().found_in_all() == 0);
}

void require_moved(const fs::path& state, const std::string& place) {
    database db(state, at(state, place));
    require_content(db);
    const fs::path home = place == "none" ? state : state.parent_path() / place;
    CHECK(db.segment_folder().starts_with(home.string()));
    require_one_segment(state);
}

struct ways {
    const char* from;
    const char* to;
};
constexpr ways all_ways[] = {{"none", "memory"}, {"memory", "none"}, {"memory", "other"}};

/// Of a segment on a disk, as after a restart of the machine: the header is of another boot, and
/// unless it says that the files were on storage, their pages are of no use.
void lose_unsynced(const fs::path& segment) {
    if (!fs::exists(segment / "header")) return;
    segment_header header{};
    std::fstream file(segment / "header", std::ios::binary | std::ios::in | std::ios::out);
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    file.seekp(offsetof(segment_header, boot));
    file << "another boot";
    if (header.clean == 1 && header.synced == 1) return;
    for (const auto& entry : fs::directory_iterator(segment))
        if (entry.path().extension() != ".json" && entry.path().filename() != "header")
            write_all(entry.path(), std::string(fs::file_size(entry.path()), '\0'));
}

/// What was in memory is gone, what is on the disk stays.
void restart_machine(const fs::path& state) {
    for (const char* one : memories) {
        fs::remove_all(state.parent_path() / one);
        fs::create_directory(state.parent_path() / one);
    }
    for (const char* one : {"segment", "segment.new", "segment.old"})
        lose_unsynced(state / one);
}

} // namespace

TEST_CASE("a move of the segment killed at any step: the state whole, and one segment left") {
    for (const auto& [from, to] : all_ways) {
        CAPTURE(from, to);
        kill_trial trial;
        trial.setup = [&, from = from](const fs::path& state) { make_state(state, from); };
        trial.work = [&, to = to](const fs::path& state, const killed_process& self) {
            self.arm();
            const database db(state, at(state, to));
            call_hook = nullptr;
        };
        trial.check = [&, to = to](const fs::path& state, const progress&) {
            require_whole(state);
            require_moved(state, to);
        };
        std::map<int, int> kills;
        kill_at_each(
            kill_point(call_hook), trial, 0, [](auto n) { return n + 1; },
            [&](int step) { ++kills[step]; });
        CHECK(kills[static_cast<int>(file_call::rename)] > 2);
        CHECK(kills[static_cast<int>(file_call::remove)] > 10);
        CHECK(kills[static_cast<int>(file_call::sync)] > 2);
    }
}

TEST_CASE("a move of the segment killed at any step, and a restart: nothing is lost") {
    const captured_log quiet;
    std::uint64_t kills = 0;
    for (const auto& [from, to] : all_ways) {
        CAPTURE(from, to);
        kill_trial trial;
        trial.setup = [&, from = from](const fs::path& state) { make_state(state, from); };
        trial.work = [&, to = to](const fs::path& state, const killed_process& self) {
            self.arm();
            const database db(state, at(state, to));
            call_hook = nullptr;
        };
        trial.check = [](const fs::path& state, const progress&) {
            restart_machine(state);
            database db(state, with_checkpoints());
            CHECK(db.opened().how == opening::way::restored);
            require_content(db);
            require_one_segment(state);
            db.close();
        };
        // Most are removals of one file after the other of the former segment.
        const auto some = [](auto n) { return n + 8; };
        CHECK(kill_at_each(kill_point(call_hook, file_call::remove), trial, 0, some) > 2);
        for (const file_call each : {file_call::rename, file_call::exchange, file_call::make,
                                     file_call::sync, file_call::date})
            kills += kill_at_each(kill_point(call_hook, each), trial);
    }
    CHECK(kills > 30);
}

TEST_CASE("the first opening with checkpoints killed, and a restart: a whole state, or a choice") {
    const captured_log quiet;
    const bool is_synced = GENERATE(true, false);
    CAPTURE(is_synced);
    int whole = 0;
    int refused = 0;
    kill_trial trial;
    trial.setup = [&](const fs::path& state) {
        open_options how = at(state, "none");
        how.durability = durability::process;
        how.sync = is_synced;
        make_state(state, how);
    };
    trial.work = [&](const fs::path& state, const killed_process& self) {
        self.arm();
        const database db(state, at(state, "memory")); // stays: closing it made no checkpoint
        call_hook = nullptr;
    };
    trial.check = [&](const fs::path& state, const progress&) {
        restart_machine(state);
        try {
            database db(state, with_checkpoints());
            require_content(db);
            require_one_segment(state);
            db.close();
            ++whole;
        } catch (const unclean_error& e) {
            CHECK_THAT(e.what(), Catch::Contains("Nothing was changed") &&
                                     Catch::Contains("eplay the block log into a new folder"));
            ++refused;
        }
    };
    CHECK(kill_at_each(kill_point(call_hook), trial) > 5);
    CHECK(whole > 0);
    CHECK(refused > 0);
}

TEST_CASE("a move of which a rename failed leaves the segment where it was, or is an io_error") {
    const captured_log quiet;
    for (const auto& [from, to] : all_ways) {
        CAPTURE(from, to);
        for (int step = 0;; ++step) {
            INFO("rename " << step << " fails");
            const scratch_folder folder;
            const fs::path state = folder / "state";
            make_state(state, from);
            renames_until_failure = step;
            try {
                database db(state, at(state, to));
                const bool has_failed = renames_until_failure < 0;
                renames_until_failure = -1;
                require_content(db);
                if (!has_failed) break;
            } catch (const io_error&) {
                renames_until_failure = -1;
            }
            require_whole(state);
            require_moved(state, to);
        }
    }
}
