#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/folder.hpp>
#include <chainbase/lock/process_lock.hpp>
#include <chainbase/segment.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_parts.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/error.hpp>

#include <spdlog/spdlog.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

/// The part of class segment that makes checkpoints while a state is written.
namespace chainbase {

namespace {

/// As the page tracker counts them.
std::uint64_t first_page_of(const window& file) {
    return std::uint64_t{file.index()} * (file.limit() / page_tracker::page_bytes);
}

} // namespace

/// Nobody knows what another process changed, unless it closed the state with a checkpoint.
void segment::start_checkpoints() {
    if (options_.promise == durability::process) return;
    checkpoints_ = std::make_unique<checkpoint_maker>(*this);
    const checkpoint::publication* newest = checkpoints_->maker.done().newest();
    if (newest && newest->generation == found_.generation) return;
    each_window([&](const window& file) {
        addresses_->pages().suspect(first_page_of(file), file.bytes() / page_tracker::page_bytes);
    });
}

/// Whether the checkpoint that the last closing relied on, if any, is still the newest one. Waits
/// for the one under way.
bool segment::has_closing_checkpoint() const {
    if (!checkpoints_) return true;
    checkpoints_->service.wait_until_idle();
    if (found_.generation == 0) return true;
    const checkpoint::publication* newest = checkpoints_->maker.done().newest();
    return newest && newest->generation == found_.generation;
}

/// Since it was opened.
bool segment::has_changed() const {
    if (log_->revision() != found_.revision || log_->committed_revision() != found_.committed)
        return true;
    if (!has_closing_checkpoint()) return true;
    const checkpoint::history made = checkpoints();
    if (made.made + made.failed != 0) return true;
    if (made.redo && made.redo->blocks + made.redo->failed + made.redo->waiting_bytes != 0)
        return true; // also of blocks that were popped
    bool is_written = false;
    each_window([&](const window& file) {
        if (&file == log_file_.get()) return;
        is_written =
            is_written || addresses_->pages().has_written(first_page_of(file),
                                                          file.bytes() / page_tracker::page_bytes);
    });
    return is_written;
}

bool segment::is_in_checkpoint() const {
    require_here();
    return checkpoints_ && found_.closed && found_.generation != 0 && !has_changed();
}

void segment::require_checkpoints() const {
    require_here();
    if (checkpoints_) return;
    throw usage_error(state_.string() + ": has no checkpoints, since it is open " +
                      (writable() ? "with durability::process" : "read-only"));
}

checkpoint::outcome segment::make_checkpoint() {
    undo_log::require_no_operation();
    require_checkpoints();
    return checkpoints_->service.now();
}

void segment::wait_until_durable() {
    undo_log::require_no_operation();
    require_checkpoints();
    checkpoints_->service.wait_until_durable();
}

std::shared_ptr<void> segment::sync_before_checkpoints(std::function<void()> call,
                                                       const void* owner) {
    if (!log_ || !origin_.is_here()) return nullptr;
    if (checkpoints_) checkpoints_->service.wait_until_idle();
    return call ? before_->add(std::move(call), owner) : nullptr;
}

/// Rows of an archive may be in the kernel's memory only, and a checkpoint may come before the
/// archive is opened, or without that.
void segment::sync_what_the_dead_left() {
    left_by_the_dead_ = before_->add([this, is_done = false]() mutable {
        if (!is_done) checkpoint_disk().sync_file_system(state_);
        is_done = true;
    });
}

checkpoint::history segment::checkpoints() const {
    require_here();
    return checkpoints_ ? checkpoints_->service.so_far() : checkpoint::history();
}

/// The part of class segment that puts a checkpoint in the place of a segment that is lost.
namespace fs = std::filesystem;
using detail::boot_id;
using detail::fresh_header;
using detail::write_header;

void segment::restore(std::string why) {
    opened_.why = std::move(why);
    spdlog::info("{}: {}; restoring the last checkpoint", state_.string(), opened_.why);
    segment_place next = segment_place::prepare(state_, memory_for_new());
    require_promise(next);
    const fs::path fresh = next.home() / "segment.new";
    const checkpoint::restored done =
        checkpoint::restore(checkpoint_disk(), checkpoint_folder(), fresh, options_.restoring);
    segment_header header = fresh_header(done.from.window_bytes, done.from.windows);
    require_same_identity(done.from.state, fresh);
    header.identity = done.from.state;
    const std::string boot = boot_id();
    std::memcpy(header.boot, boot.data(), boot.size());
    write_header(fresh, header);
    if (!done.unusable.empty()) { // before anybody can build upon it
        checkpoint_disk().rename(done.unusable, done.unusable.string() + ".damaged");
        checkpoint_disk().sync_folder(checkpoint_folder());
    }
    turns_->replaced_segment(); // readers of the one before must not miss it
    put_in_place(std::move(next), done.from.state);
    opened_.how = opening::way::restored;
    opened_.generation = done.from.generation;
    opened_.blocks = done.blocks;
    if (!done.end_of_blocks.empty()) {
        opened_.why += "; blocks after revision " + std::to_string(done.revision) +
                       (done.lost_blocks ? " are lost, though they had been synced: "
                                         : " are not restored: ") +
                       done.end_of_blocks;
        if (done.lost_blocks)
            spdlog::error("{}: the redo log is damaged: blocks after revision {} are lost, though "
                          "they had been synced; replay them ({})",
                          state_.string(), done.revision, done.end_of_blocks);
        else
            spdlog::info("{}: the redo log ends within a block, which had not been synced ({})",
                         state_.string(), done.end_of_blocks);
    }
    if (!done.damage.empty()) {
        opened_.why +=
            "; another checkpoint, which may have been newer, is damaged: " + done.damage;
        spdlog::warn("{}: a checkpoint is damaged, it may have been the newest: {}",
                     state_.string(), done.damage);
    }
    spdlog::info("{}: restored checkpoint {} of revision {} and {} blocks after it, {} MiB in "
                 "{:.1f} s",
                 state_.string(), done.from.generation, done.from.revision, done.blocks,
                 done.bytes >> 20, done.seconds);
}

/// Of the segment that is there, if its header can be read, and of the checkpoint, which was
/// restored to `fresh`.
void segment::require_same_identity(const std::array<std::byte, 16>& of_checkpoint,
                                    const fs::path& fresh) const {
    if (!place_.why_foreign().empty() || !fs::exists(folder() / "header")) return;
    const auto found = detail::header_in(folder());
    if (!found || found->identity == of_checkpoint) return;
    remove_tree(fresh);
    throw usage_error(checkpoint_folder().string() +
                      ": holds the checkpoint of another state than " + folder().string() +
                      "; put the folder of this state in its place, or move it away");
}

/// Where to make a segment: in memory, if that is asked for, or as before.
fs::path segment::memory_for_new() const {
    if (!options_.memory_folder.empty()) return options_.memory_folder;
    return place_.is_in_memory() ? place_.home().parent_path() : fs::path();
}

void segment::require_promise(const segment_place& place) const {
    if (!place.is_in_memory() || options_.promise != durability::process ||
        !place.is_lost_with_the_machine())
        return;
    throw usage_error(state_.string() + ": a segment in " + place.home().parent_path().string() +
                      " is lost with the machine, so closing it would promise nothing; open the "
                      "state with checkpoints (durability::checkpoint)");
}

/// Makes the segment that is complete in `next` the state's. The one before is of no use, but goes
/// only when the other one is in its place; a foreign one stays.
void segment::put_in_place(segment_place next, const std::array<std::byte, 16>& identity) {
    const fs::path old = next.home() / "segment.old";
    remove_tree(old);
    if (fs::exists(next.folder())) fs::rename(next.folder(), old);
    fs::rename(next.home() / "segment.new", next.folder());
    sync_folder(next.home());
    next.settle(identity);
    remove_tree(old);
    const segment_place before = std::exchange(place_, std::move(next));
    if (before.home() == place_.home()) return;
    if (!before.why_foreign().empty())
        spdlog::warn("{}: {}; it is left alone, and to be removed by who needs it no more",
                     state_.string(), before.why_foreign());
    else
        remove_tree(before.is_in_memory() ? before.home() : before.folder());
}

} // namespace chainbase
