// Holes punched, cut or released in files while a checkpoint captures them.

#include <catch2/catch.hpp>
#include <sys/mount.h>
#include <tests/failure/sample_states.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/simulated_disk.hpp>

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
namespace fs = std::filesystem;

namespace {

/// Blocks the checkpoint thread at its first write until it is released.
class held_disk {
public:
    held_disk() {
        disk.before = [this](simulated_disk::call which, const fs::path&) {
            if (which != simulated_disk::call::reserve) return;
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return !held_; });
        };
    }
    void hold(bool is_held) {
        {
            const std::lock_guard lock(mutex_);
            held_ = is_held;
        }
        changed_.notify_all();
    }
    simulated_disk disk;

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
};

/// Runs work(place, checkpoint disk, options) on a tmpfs of this size, with a checkpoint after each
/// block.
template <typename Work>
void on_tmpfs_with_slow_checkpoints(const char* size, Work work) {
    const scratch_folder place;
    run_with_mounts([&] { return mount("none", place.path().c_str(), "tmpfs", 0, size) == 0; },
                    [&] {
                        held_disk slow;
                        open_options options = with_checkpoints(1);
                        options.checkpoint_disk = &slow.disk;
                        work(place.path(), slow, options);
                    });
}

} // namespace

TEST_CASE("a checkpoint of a compacted state on a full tmpfs reads no hole that takes room") {
    on_tmpfs_with_slow_checkpoints(
        "size=24m", [](const fs::path& place, held_disk& slow, const open_options& options) {
            database db(place / "state", options);
            db.add_type<note>("note");
            for (std::uint32_t i = 0; i < 60; ++i)
                write_note(db, std::to_string(i) + std::string(20'000, 'x'), i);
            for (std::uint32_t i = 0; i < 59; ++i)
                db.remove(db.get(id<note>(i)));
            db.compact(); // leaves holes, changed since the last checkpoint
            slow.hold(true);
            session block = db.start_session();
            block.push(); // captures them
            db.commit(db.revision());
            fill_up(place);
            db.compact(); // punches the same holes again during the capture
            slow.hold(false);
            db.make_checkpoint();
            const auto full = [&] {
                for (std::uint32_t i = 0; i < 60; ++i)
                    write_note(db, std::to_string(i) + std::string(20'000, 'y'), i);
            };
            std::string said;
            try {
                full();
            } catch (const out_of_space_error& e) {
                said = e.what();
            }
            expect_names(said, "state/segment/");
            const std::size_t there = db.count<note>();
            fs::remove(place / "ballast");
            write_note(db, "room", 1);
            expect(db.count<note>() == there + 1, "count");
            db.make_checkpoint();
        });
}

TEST_CASE("what a killed writer outgrew is given back on a full tmpfs while it is captured") {
    on_tmpfs_with_slow_checkpoints(
        "size=64m", [](const fs::path& place, held_disk& slow, const open_options& options) {
            {
                database killed(place / "state", options);
                killed.add_type<note>("note");
                for (std::uint32_t i = 0; i < 40'000; ++i)
                    write_note(killed, std::to_string(i), i); // tables grow
                killed.abandon();
            }
            database db(place / "state", options);
            db.add_type<note>("note");
            fill_up(place);
            slow.hold(true);
            session block = db.start_session();
            db.modify(db.get(id<note>(5)), [](note& one) { ++one.weight; });
            block.push(); // captures all pages, including holes
            db.commit(db.revision());
            slow.hold(false);
            db.make_checkpoint();
            expect(db.count<note>() == 40'000, "count");
        });
}

TEST_CASE("holes that are cut while the first checkpoint after a kill is written are in it") {
    on_tmpfs_with_slow_checkpoints(
        "size=64m", [](const fs::path& place, held_disk& slow, const open_options& options) {
            {
                database killed(place / "state", options);
                killed.add_type<note>("note");
                for (std::uint32_t i = 0; i < 60; ++i)
                    write_note(killed, std::to_string(i) + std::string(20'000, 'x'), i);
                for (std::uint32_t i = 1; i < 59; ++i)
                    killed.remove(killed.get(id<note>(i)));
                killed.compact(); // leaves holes before the last one
                killed.abandon();
            }
            database db(place / "state", options);
            db.add_type<note>("note");
            slow.hold(true);
            session block = db.start_session();
            block.push(); // captures all pages
            db.commit(db.revision());
            db.remove(db.get(id<note>(59)));
            db.compact(); // cuts the holes
            slow.hold(false);
            db.make_checkpoint();
            expect(db.checkpoints().failed == 0, "a checkpoint failed");
            expect(db.count<note>() == 1, "count");
        });
}
