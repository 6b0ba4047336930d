// A backup of state and archive: restores its source, refuses an incomplete one by name, and may be
// made beside a writer.

#include <chainbase/checkpoint/restore.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/base/unfinished_name.hpp>

#include <sys/resource.h>
#include <tests/archive/pair.hpp>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using archive::back_up;
using archive::backup_manifest;
using archive::check_backup;
using archive::restore_backup;
using archive::store_kind;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

constexpr revision_number half = 50;

/// The message of `work`'s exception, which must be an E.
template <typename E, typename Work>
std::string thrown_by(Work&& work) {
    try {
        work();
    } catch (const E& problem) {
        return problem.what();
    } catch (const std::exception& problem) {
        FAIL("another exception: " << problem.what());
    }
    return "nothing was thrown";
}

/// Nothing was made under the name, nor under its temporary name.
void check_nothing_at(const fs::path& target) {
    CHECK_FALSE(fs::exists(target));
    CHECK_FALSE(fs::exists(target.string() + ".unfinished"));
}

struct backed_up {
    scratch_folder folder;
    fs::path state = folder / "state";
    fs::path backup = folder / "backup";
    fs::path again = folder / "again";

    explicit backed_up(store_kind kind = store_kind::rocksdb) {
        make_pair(state, kind, half);
        REQUIRE(succeeds_in_child([&] { (void)back_up(state, backup); }));
    }
};

} // namespace

TEST_CASE("a backup is restored to what was there and goes on to the same end") {
    const store_kind kind = GENERATE(store_kind::rocksdb, store_kind::memory, store_kind::none);
    CAPTURE(archive::to_string(kind));
    const backed_up one(kind);
    const backup_manifest said = check_backup(one.backup);
    CHECK(said.archive == kind);
    CHECK(said.revision == half);
    CHECK(said.committed == half - lag);
    if (kind == store_kind::rocksdb) CHECK(said.rows.at("note") > 20);
    fs::remove_all(one.state); // the backup does not rely on its source
    (void)restore_backup(one.backup, one.again);
    check_pair(one.again, half);
    (void)check_backup(one.backup); // which what was made of it does not touch
    (void)restore_backup(one.backup, one.state);
    check_pair(one.state, half);
}

TEST_CASE("a backup leaves its state as it was") {
    const scratch_folder folder;
    make_pair(folder / "state", store_kind::rocksdb, half);
    const auto content = [&] {
        std::vector<std::pair<std::string, std::string>> all;
        for (const auto& entry : fs::recursive_directory_iterator(folder / "state"))
            if (entry.is_regular_file()) all.emplace_back(entry.path(), read_all(entry.path()));
        std::sort(all.begin(), all.end());
        return all;
    };
    const auto before = content();
    REQUIRE(succeeds_in_child([&] { (void)back_up(folder / "state", folder / "backup"); }));
    CHECK(content() == before);
}

TEST_CASE("a backup of a restored state is one again, with its reversible blocks") {
    const backed_up one;
    (void)restore_backup(one.backup, one.again);
    const fs::path second = one.folder / "second";
    CHECK(succeeds_in_child([&] {
        pair_of_state_and_archive pair(one.again);
        pair.state.undo();
        pair.run_to(half + 2);
        pair.close();
        (void)back_up(one.again, second);
    }));
    (void)restore_backup(second, one.folder / "third");
    check_pair(one.folder / "third", half + 2);
}

TEST_CASE("rows that are written while a backup is made leave the archive ahead of the state") {
    const scratch_folder folder;
    CHECK(succeeds_in_child([&] {
        pair_of_state_and_archive pair(folder / "state", store_kind::rocksdb);
        pair.run_to(20);
        pair.state.make_checkpoint();
        archive::backup_options how;
        how.remarks = [&](const backup_manifest& copied) {
            if (copied.revision != 20) throw error("another checkpoint");
            pair.run_to(half); // the state's part is copied, the archive's not yet
            return std::map<std::string, std::string>{{"said", "between"}};
        };
        const backup_manifest made = back_up(folder / "state", folder / "backup", how);
        if (made.rows.at("note") != pair.rows->count({0})) throw error("rows are missing");
        if (made.remarks.at("said") != "between") throw error("no remark");
        pair.close();
    }));
    (void)restore_backup(folder / "backup", folder / "again");
    check_pair(folder / "again", 20);
}

TEST_CASE("backups beside a writer, whose checkpoints and files come and go, are whole") {
    const store_kind kind = GENERATE(store_kind::rocksdb, store_kind::memory);
    const scratch_folder folder;
    CHECK(succeeds_in_child([&] {
        pair_of_state_and_archive pair(folder / "state", kind);
        pair.run_to(8);
        pair.state.make_checkpoint();
        std::atomic<bool> is_done = false;
        std::exception_ptr failure;
        std::thread other([&] {
            try {
                for (int n = 0; n < 6; ++n)
                    (void)back_up(folder / "state", folder / std::to_string(n));
            } catch (...) {
                failure = std::current_exception();
            }
            is_done = true;
        });
        while (!is_done) { // there and back, to stay busy as long as the other thread
            if (pair.state.revision() < last_block)
                pair.apply(pair.state.revision() + 1);
            else
                while (pair.state.committed_revision() < pair.state.revision())
                    pair.state.undo();
        }
        other.join();
        if (failure) std::rethrow_exception(failure);
    }));
    for (int n = 0; n < 6; ++n) {
        const fs::path again = folder / ("again" + std::to_string(n));
        const backup_manifest said = restore_backup(folder / std::to_string(n), again);
        check_pair(again, said.revision);
    }
}

TEST_CASE("what a writer replaces while pages are copied is copied anew") {
    const scratch_folder folder;
    CHECK(succeeds_in_child([&] {
        pair_of_state_and_archive pair(folder / "state", store_kind::none);
        const auto title = [](char filler, std::uint32_t n) { // more pages than are read at once
            return std::string(3'000, filler) + std::to_string(n);
        };
        for (std::uint32_t n = 0; n < 1'000; ++n)
            write(pair.state, "bob", title('x', n));
        pair.run_to(20);
        pair.state.make_checkpoint();
        int calls = 0;
        archive::backup_options how;
        how.tell = [&](std::uint64_t, std::uint64_t) {
            if (++calls > 9 || calls % 3 != 0) return;
            for (int checkpoints = 0; checkpoints < 8; ++checkpoints) { // the slots are reused
                session block = pair.state.start_session();
                for (std::uint32_t n = 0; n < 1'000; ++n)
                    pair.state.modify(pair.state.get(id<note>(n)), [&](note& one) {
                        one.title = title(static_cast<char>('A' + calls * 3 + checkpoints), n);
                    });
                block.push();
                pair.state.commit(pair.state.revision()); // buffers are reused, too
                pair.state.make_checkpoint();
            }
        };
        const backup_manifest made = back_up(folder / "state", folder / "backup", how);
        if (made.revision != 44) throw error("of revision " + std::to_string(made.revision));
        write_all(folder / "digest", digest_of(pair.all));
        pair.state.commit(pair.state.revision());
        pair.close();
    }));
    (void)restore_backup(folder / "backup", folder / "again");
    const std::string expected = read_all(folder / "digest");
    CHECK(succeeds_in_child([&] {
        const pair_of_state_and_archive pair(folder / "again");
        require_digest(pair, expected);
    }));
}

TEST_CASE("whichever page of a checkpoint is damaged, it is not copied") {
    const scratch_folder folder;
    make_pair(folder / "state", store_kind::none, 20);
    disk& on = disk::of_system();
    const fs::path checkpoint = folder / "state" / "checkpoint";
    const auto copy = [&] {
        fs::remove_all(folder / "copy");
        fs::create_directory(folder / "copy");
        fs::permissions(folder / "copy", fs::perms::owner_all);
        return checkpoint::copy_newest(on, checkpoint, folder / "copy").bytes / 4096;
    };
    const std::uint64_t named = copy();
    const std::string whole = read_all(checkpoint / "pages");
    std::uint64_t refused = 0;
    for (std::size_t slot = 1; slot < whole.size() / 4096; ++slot) {
        std::string other = whole;
        other[slot * 4096 + slot % 4096] ^= 1;
        write_all(checkpoint / "pages", other);
        try {
            (void)copy();
        } catch (const damaged_error& problem) {
            CHECK_THAT(problem.what(), Contains("offset " + std::to_string(slot * 4096)));
            ++refused;
        }
    }
    CHECK(refused == named);
    CHECK(named > 20);
    CHECK(named < whole.size() / 4096);
}

TEST_CASE("whatever file of a backup is damaged, a restore names it and makes nothing") {
    const store_kind kind = GENERATE(store_kind::rocksdb, store_kind::memory);
    const backed_up one(kind);
    std::vector<std::string> names{"manifest"};
    for (const auto& file : check_backup(one.backup).files)
        names.push_back(file.name);
    for (const std::string& name : names) {
        const fs::path file = one.backup / name;
        const std::string whole = read_all(file);
        const auto is_refused = [&](const std::string& what) {
            CAPTURE(name, what);
            const auto said =
                thrown_by<error>([&] { (void)restore_backup(one.backup, one.again); });
            CHECK_THAT(said, Contains(name == "manifest" ? "manifest" : file.string()));
            CHECK(thrown_by<error>([&] { (void)check_backup(one.backup); }) == said);
            check_nothing_at(one.again);
        };
        std::string other = whole;
        for (const std::size_t at : {std::size_t{0}, whole.size() / 2, whole.size() - 1}) {
            if (whole.empty()) break;
            other = whole;
            other[at] = static_cast<char>(other[at] ^ 4);
            write_all(file, other);
            is_refused("a bit at " + std::to_string(at));
        }
        if (!whole.empty()) {
            write_all(file, whole.substr(0, whole.size() - 1));
            is_refused("truncated");
        }
        write_all(file, whole + "x");
        is_refused("longer");
        fs::remove(file);
        is_refused("missing");
        write_all(file, whole);
        fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    }
    (void)restore_backup(one.backup, one.again);
    check_pair(one.again, half);
}

TEST_CASE("a manifest of another format is refused as that") {
    const backed_up one;
    std::string text = read_all(one.backup / "manifest");
    text.replace(text.find("format 1"), 8, "format 2");
    write_all(one.backup / "manifest", text);
    CHECK_THAT(thrown_by<format_error>([&] { (void)restore_backup(one.backup, one.again); }),
               Contains("format 2") && Contains("reads 1"));
    check_nothing_at(one.again);
}

TEST_CASE("a manifest leads to no file outside of the two folders") {
    backup_manifest forged;
    for (const std::string name : {"../secret", "archive/../../secret", "/etc/passwd", "lock",
                                   "archive", "archive/", "segment/header", "checkpoint/./pages"}) {
        const scratch_folder folder;
        fs::permissions(folder.path(), fs::perms::owner_all);
        forged.files = {{name, 0, 0}};
        replace_file(folder / "manifest", forged.encode());
        CAPTURE(name);
        CHECK_THAT(thrown_by<damaged_error>([&] { (void)backup_manifest::read(folder.path()); }),
                   Contains(name));
    }
}

TEST_CASE("what is there already, or is somebody else's, is not touched") {
    const backed_up one;
    const fs::path mine = one.folder / "mine";
    fs::create_directory(mine);
    write_all(mine / "notes", "mine");
    SECTION("a state, a backup, an empty folder") {
        fs::create_directory(one.folder / "empty");
        for (const fs::path& there : {one.state, one.backup, mine, one.folder / "empty"}) {
            CHECK_THAT(thrown_by<usage_error>([&] { (void)restore_backup(one.backup, there); }),
                       Contains(there.string()));
            CHECK_THAT(thrown_by<usage_error>([&] { (void)back_up(one.state, there); }),
                       Contains(there.string()));
        }
    }
    SECTION("a folder that has the other name") {
        for (const std::string extra : {"notes", "checkpoint"}) {
            const fs::path other = one.again.string() + ".unfinished";
            fs::create_directory(other);
            write_all(other / extra, "mine");
            CHECK_THAT(thrown_by<usage_error>([&] { (void)restore_backup(one.backup, one.again); }),
                       Contains(other.string()) && Contains(extra));
            CHECK_THAT(thrown_by<usage_error>([&] { (void)back_up(one.state, one.again); }),
                       Contains(other.string()) && Contains(extra));
            CHECK(read_all(other / extra) == "mine");
            fs::remove_all(other);
        }
    }
    SECTION("a folder that is no backup, and none at all") {
        CHECK_THAT(thrown_by<format_error>([&] { (void)restore_backup(mine, one.again); }),
                   Contains("not a backup"));
        CHECK_THAT(thrown_by<format_error>(
                       [&] { (void)restore_backup(one.folder / "nowhere", one.again); }),
                   Contains("no such folder"));
        CHECK_THAT(thrown_by<error>([&] { (void)back_up(mine, one.again); }),
                   Contains("no archive"));
        CHECK_THAT(thrown_by<usage_error>(
                       [&] { (void)back_up(one.state, one.folder / "nowhere" / "backup"); }),
                   Contains("nowhere"));
    }
    SECTION("a backup within its state, a state within its backup") {
        CHECK_THAT(thrown_by<usage_error>([&] { (void)back_up(one.state, one.state / "backup"); }),
                   Contains("lies within"));
        CHECK_THAT(
            thrown_by<usage_error>([&] { (void)restore_backup(one.backup, one.backup / "s"); }),
            Contains("lies within"));
    }
    check_nothing_at(one.again);
    CHECK(read_all(mine / "notes") == "mine");
    (void)check_backup(one.backup);
}

TEST_CASE("what a call left that died while it wrote its mark, wherever in it, is no hindrance") {
    const backed_up one;
    const fs::path other = unfinished_path(one.again);
    const std::string mark = read_all(one.backup / "lock");
    REQUIRE(mark.size() > 10);
    for (std::size_t bytes = 0; bytes <= mark.size(); bytes += 6) {
        private_folder::make(other, {});
        write_all(other / "lock", mark.substr(0, bytes));
        (void)restore_backup(one.backup, one.again);
        CHECK_FALSE(fs::exists(other));
        fs::remove_all(one.again);
    }
}

TEST_CASE("two at once of one name: the second is told") {
    const backed_up one;
    const fs::path other = unfinished_path(one.again);
    private_folder::make(other, {});
    const file_lock held(other / "lock", /*create=*/true);
    CHECK_THAT(thrown_by<locked_error>([&] { (void)restore_backup(one.backup, one.again); }),
               Contains("another process"));
    CHECK(fs::exists(other / "lock"));
}

TEST_CASE("a state without a checkpoint has no backup") {
    const scratch_folder folder;
    REQUIRE(succeeds_in_child([&] {
        database state(folder / "state", small_state());
        (void)archive::open_archive(state, folder / "state" / "archive", store_kind::none);
        state.close();
    }));
    CHECK_THAT(thrown_by<format_error>([&] { (void)back_up(folder / "state", folder / "backup"); }),
               Contains("no checkpoint"));
    check_nothing_at(folder / "backup");
}

TEST_CASE("a page of the checkpoint, or a table of the archive, that is damaged is not backed up") {
    const scratch_folder folder;
    make_pair(folder / "state", store_kind::rocksdb, half);
    fs::path file;
    SECTION("a page") {
        file = folder / "state" / "checkpoint" / "pages";
    }
    SECTION("a table") {
        for (const auto& entry : fs::directory_iterator(folder / "state" / "archive" / "rocksdb"))
            if (entry.path().extension() == ".sst") file = entry.path();
    }
    std::string content = read_all(file);
    for (std::size_t at = 4096; at < content.size(); at += 4096) // most slots are in use
        content[at] = static_cast<char>(content[at] ^ 1);
    content[20] = static_cast<char>(content[20] ^ (file.filename() == "pages" ? 0 : 1));
    write_all(file, content);
    CHECK(succeeds_in_child([&] {
        try {
            (void)back_up(folder / "state", folder / "backup");
        } catch (const damaged_error& problem) {
            const std::string said = problem.what();
            if (said.find(file.filename()) != said.npos) return;
            throw error("does not name the file: " + said);
        }
        throw error("it was backed up");
    }));
    check_nothing_at(folder / "backup");
}

TEST_CASE("where a file may not be so long, nothing is left that looks like a backup") {
    const backed_up one;
    CHECK(succeeds_in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit little{64 << 10, 64 << 10};
        if (::setrlimit(RLIMIT_FSIZE, &little) != 0) throw error("no limit");
        for (const bool is_backup : {true, false}) {
            try {
                if (is_backup)
                    (void)back_up(one.state, one.again);
                else
                    (void)restore_backup(one.backup, one.again);
                throw error("nothing was thrown");
            } catch (const out_of_space_error&) {
            }
            if (fs::exists(one.again) || fs::exists(one.again.string() + ".unfinished"))
                throw error("something is left");
        }
    }));
}
