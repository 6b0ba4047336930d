// The memory folder's tmpfs is made smaller or larger (mount -o remount,size=), while the state is
// closed and while it is written.

#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/page_cache.hpp>

#include <catch2/catch.hpp>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <tests/failure/sample_states.hpp>
#include <tests/support/captured_log.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/temporary_folder.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
namespace fs = std::filesystem;

namespace {

/// The state folder on a disk, and a tmpfs that new segments go to.
class sample {
public:
    [[nodiscard]] bool is_on_disk() const { return !is_memory(folder_.path()); }
    bool mount(const std::string& size) const {
        fs::create_directory(memory);
        return ::mount("none", memory.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0 &&
               setenv("CHAINBASE_MEMORY_FOLDER", memory.c_str(), /*overwrite=*/1) == 0;
    }
    void resize(const std::string& size) const {
        expect(::mount("none", memory.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0,
               "remount with " + size);
    }
    /// Leaves the tmpfs not a page more than it holds.
    void resize_to_content() const {
        struct statvfs now{};
        expect(statvfs(memory.c_str(), &now) == 0, "statvfs");
        resize(std::to_string((now.f_blocks - now.f_bfree) * now.f_frsize));
    }
    [[nodiscard]] std::size_t homes() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(memory), fs::directory_iterator()));
    }
    void lose_memory() const { // as a restart of the machine does
        for (const auto& home : fs::directory_iterator(memory))
            fs::remove_all(home);
    }

private:
    temporary_folder folder_{fs::current_path()}; // a disk, in a build

public:
    fs::path memory = folder_ / "memory";
    fs::path state = folder_ / "state";
};

void run_with_memory_of(const std::string& size, const std::function<void(const sample&)>& work) {
    const sample s;
    if (!s.is_on_disk()) {
        WARN("skipped: the working folder is in memory");
        return;
    }
    run_with_mounts([&] { return s.mount(size); }, [&] { work(s); });
}

/// An opening, and where it left the segment.
class opened {
public:
    explicit opened(const sample& s, const std::string& memory_folder = "")
        : s_(s), db(s.state, options(memory_folder)) {
        db.add_type<note>("note");
    }
    void expect_place(bool in_memory, opening::way how) const {
        const fs::path home = in_memory ? s_.memory : s_.state;
        expect(db.segment_folder().starts_with(home.string()), "it is in " + db.segment_folder());
        expect(s_.homes() == (in_memory ? 1 : 0), "homes");
        expect(fs::exists(s_.state / "segment") != in_memory, "a segment in the state folder");
        expect(db.opened().how == how, "another way of opening: " + db.opened().why);
    }

private:
    static open_options options(const std::string& memory_folder) {
        open_options how = with_checkpoints(3);
        how.memory_folder = memory_folder;
        return how;
    }
    const sample& s_;

public:
    database db;
};

} // namespace

TEST_CASE_METHOD(seeded, "a tmpfs is resized while the state is closed: the segment goes where "
                         "there is room, and stays where nothing else was asked for") {
    using enum opening::way;
    // 256 MiB is what a young state wants to be left.
    run_with_memory_of("400m", [&](const sample& s) {
        note_chain chain(seed);
        const auto check = [&](bool in_memory, opening::way how, const std::string& folder = "") {
            opened now(s, folder);
            now.expect_place(in_memory, how);
            chain.require_same(now.db);
            chain.apply_some(now.db, 5);
            now.db.close();
            return now.db.opened().why;
        };
        const std::string memory = s.memory;
        check(true, created);
        check(true, attached);
        s.resize("500m");
        check(true, attached);
        s.resize("200m");
        expect_names(check(false, restored), "MiB left, a state of");
        check(false, attached);
        s.resize("400m");
        check(false, attached); // it is there
        check(true, restored, memory);
        s.resize("200m");
        check(true, attached, memory); // as asked for, whatever is left
        // After a restart it goes where it was, if there is still room.
        s.lose_memory();
        check(false, restored);
        s.resize("400m");
        check(true, restored, memory);
        s.lose_memory();
        check(true, restored);
        s.resize("500m");
        s.lose_memory();
        check(true, restored);
    });
}

TEST_CASE_METHOD(seeded, "a tmpfs that became too small for a segment that is to move there: it "
                         "stays on the disk, and moves when there is room") {
    run_with_memory_of("400m", [&](const sample& s) {
        note_chain chain(seed);
        {
            opened now(s, "none");
            chain.apply_some(now.db, 30);
            now.db.close();
        }
        for (const char* size : {"4k", "100k", "300k", "1m"}) {
            s.resize(size);
            const captured_log log;
            opened now(s, s.memory);
            now.expect_place(false, opening::way::attached);
            expect_names(log.text(), "it stays where it is");
            expect_names(log.text(), s.memory);
            chain.require_same(now.db);
            chain.apply_some(now.db, 3);
            now.db.close();
        }
        s.resize("64m");
        opened now(s, s.memory);
        now.expect_place(true, opening::way::restored);
        chain.require_same(now.db);
    });
}

TEST_CASE_METHOD(seeded, "a tmpfs is resized under a running state: refused whole while it is "
                         "small, and the next opening goes to the disk") {
    run_with_memory_of("64m", [&](const sample& s) {
        note_chain chain(seed);
        const auto fill = [&](database& db) {
            s.resize_to_content();
            const std::string said = chain.apply_until_refused(db);
            expect_names(said, s.memory.string());
            expect_names(said, "No space");
            chain.require_same(db);
            chain.apply_some(db, 20);
            chain.require_same(db);
        };
        {
            opened now(s, s.memory);
            now.expect_place(true, opening::way::created);
            chain.apply_some(now.db, 20);
            for (const char* size : {"64m", "80m", "64m"}) {
                fill(now.db);
                s.resize(size);
                expect(chain.apply_some(now.db, 20) == 0, "refused though there is room");
                chain.require_same(now.db);
            }
            fill(now.db);
            now.db.abandon(); // as if it was killed
        }
        {
            opened now(s);
            now.expect_place(true, opening::way::rolled_back);
            chain.require_same(now.db);
            now.db.close();
        }
        opened now(s);
        now.expect_place(false, opening::way::restored);
        chain.require_same(now.db);
        expect(chain.apply_some(now.db, 20) == 0, "refused on the disk");
        chain.require_same(now.db);
    });
}
