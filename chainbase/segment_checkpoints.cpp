#include <chainbase/detail/segment_parts.hpp>
#include <pool_allocator/error.hpp>

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
    return checkpoints_ && found_.closed && found_.generation != 0 && !has_changed();
}

void segment::require_checkpoints() const {
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

void segment::sync_before_checkpoints(std::function<void()> call) {
    if (!checkpoints_) return;
    checkpoints_->service.wait_until_idle();
    checkpoints_->before.set(std::move(call));
}

checkpoint::history segment::checkpoints() const {
    return checkpoints_ ? checkpoints_->service.so_far() : checkpoint::history();
}

} // namespace chainbase
