#include <chainbase/checkpoint/redo_log.hpp>
#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <undo/undo_log.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace chainbase::checkpoint {

namespace {

const trace::site describing("redo.block");
const trace::site waiting_for_room("redo.wait");
const trace::site writing_redo("redo.write");
const trace::site syncing("redo.sync");
const trace::counter bytes_written("redo.bytes");

constexpr std::uint64_t most_queued = std::uint64_t{64} << 20;
constexpr std::uint64_t reserved_at_once = std::uint64_t{4} << 20;
constexpr std::size_t written_at_once = std::size_t{4} << 20;
constexpr std::size_t most_taken = 256; // blocks in one sync
constexpr std::size_t most_spare = 16;

redo_run newest_run(disk& on, const std::filesystem::path& folder, redo_run used) {
    const std::vector<std::uint64_t> files = redo_files(on, folder);
    return files.empty() ? used : std::max(used, run_of(files.back()));
}

} // namespace

redo_log::published_blocks redo_log::published_blocks::of(const published& found) noexcept {
    published_blocks now;
    if (const publication* newest = found.newest()) {
        now.next = newest->redo;
        now.newest = run_of(newest->redo);
        now.revision = newest->revision;
    }
    if (const publication* older = found.older()) now.older = run_of(older->redo);
    return now;
}

redo_log::redo_log(disk& on, std::filesystem::path folder, const slot_file::identity& state,
                   const address_space& addresses, undo_log& log, prior_sync& before,
                   const published_blocks& from)
    : on_(on), folder_(std::move(folder)), state_(state), addresses_(addresses), log_(log),
      before_(before), lengths_(addresses.windows()), next_(from.next), first_of_file_(from.next),
      is_abandoned_(from.next == no_block), anchor_(from.next), newest_(from.newest),
      older_(from.older) {
    history_.durable = from.revision;
    history_.serial = captured_serial_ = is_abandoned_ ? 0 : log.serial();
    if (is_abandoned_) { // until captured() starts the next run
        next_ = first_of_run(newest_run(on_, folder_, std::max(from.newest, from.older)));
        ranges_.lose();
    }
    spare_.reserve(most_spare);
    taken_.reserve(most_taken);
    addresses_.pages().note_ranges(&ranges_);
    log_.note_changes_from_here();
    thread_ = background_thread("redo", [this] { run(); });
}

redo_log::~redo_log() {
    addresses_.pages().note_ranges(nullptr);
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

// --- by the writer ---

void redo_log::block_ended() noexcept {
    const trace::span timed(describing);
    try {
        if (!is_whole())
            abandon_run();
        else
            queue_block();
    } catch (const std::exception&) { // no memory for the copy, or the block is too large
        abandon_run();
    }
    if (is_abandoned_) return;
    ranges_.clear();
    log_.note_changes_from_here();
}

/// Stops recording until the next capture.
void redo_log::abandon_run() noexcept {
    is_abandoned_ = true;
    ranges_.lose();
}

void redo_log::queue_block() {
    std::unique_ptr<waiting> one = fresh();
    one->first_of_file = first_of_file_;
    one->serial = log_.serial();
    redo_block& block = one->block;
    block.begin(next_, log_);
    for (std::size_t window = 0; window < lengths_.size(); ++window)
        if (const std::uint64_t now = addresses_.file_bytes(window); now != lengths_[window])
            block.add_length({window, lengths_[window] = now});
    for (const changed_ranges::range& one : ranges_.all())
        block.add(addresses_.base(), one.offset, one.bytes);
    const std::uint64_t begin_of_log = log_.file().index() * addresses_.window_bytes();
    log_.each_changed_range([&](std::uint64_t offset, std::uint64_t bytes) {
        block.add(addresses_.base(), begin_of_log + offset, bytes);
    });
    const std::uint64_t bytes = block.content_bytes();
    std::unique_lock lock(mutex_);
    if (queued_bytes_ > most_queued) {
        const trace::span timed(waiting_for_room);
        changed_.wait(lock, [this] { return queued_bytes_ <= most_queued || is_abandoned_; });
    }
    if (is_abandoned_) return;
    queue_.push_back(std::move(one));
    queued_bytes_ += bytes;
    ++next_;
    lock.unlock();
    changed_.notify_all();
}

std::unique_ptr<redo_log::waiting> redo_log::fresh() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_unique<waiting>();
    std::unique_ptr<waiting> one = std::move(spare_.back());
    spare_.pop_back();
    return one;
}

std::uint64_t redo_log::captured() noexcept {
    const std::lock_guard lock(mutex_);
    if (!is_whole()) {
        next_ = first_of_run(run_of(next_) + 1);
        is_abandoned_ = false;
        ranges_.clear();
        log_.note_changes_from_here();
        std::ranges::fill(lengths_, 0);
    }
    first_of_file_ = next_;
    captured_serial_ = log_.open_sessions() != 0 ? 0 : log_.serial();
    return next_;
}

bool redo_log::is_anchored() const noexcept {
    const std::lock_guard lock(mutex_);
    return is_whole() && run_of(anchor_) == run_of(next_);
}

bool redo_log::wait_until_synced() {
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_abandoned_ || queued_bytes_ == 0; });
    }
    return is_anchored();
}

void redo_log::was_published(const published_blocks& now) noexcept {
    const std::lock_guard lock(mutex_);
    anchor_ = now.next;
    newest_ = now.newest;
    older_ = now.older;
    const bool is_ahead = synced_ >= anchor_ && run_of(synced_) == run_of(anchor_);
    history_.durable = is_ahead ? synced_revision_ : now.revision;
    history_.serial = is_ahead ? synced_serial_ : captured_serial_;
    if (is_ahead) history_.last_failure.clear();
}

void redo_log::was_not_published(const published_blocks& now) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (anchor_ != no_block && anchor_ != now.next) {
            anchor_ = no_block;
            history_.durable = now.revision;
            history_.serial = 0;
        }
        if (anchor_ != no_block && run_of(anchor_) == run_of(next_)) return;
        is_abandoned_ = true;
    }
    changed_.notify_all();
}

redo_history redo_log::so_far() const {
    const std::lock_guard lock(mutex_);
    redo_history now = history_;
    now.is_whole = !is_abandoned_ && run_of(anchor_) == run_of(first_of_file_);
    now.waiting_bytes = queued_bytes_;
    return now;
}

// --- by the thread ---

void redo_log::run() {
    while (take()) {
        const redo_run of = run_of(taken_.front()->block.sequence());
        try {
            write();
        } catch (const std::exception& problem) {
            fail(of, problem.what());
        }
    }
}

/// Takes all waiting blocks of one run: they are synced together. Allocates nothing, since nobody
/// would catch an exception.
bool redo_log::take() {
    std::unique_lock lock(mutex_);
    for (auto& one : taken_)
        if (spare_.size() < most_spare) spare_.push_back(std::move(one));
    taken_.clear();
    changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
    while (!queue_.empty() && taken_.size() < most_taken) {
        const redo_run of = run_of(queue_.front()->block.sequence());
        if (!taken_.empty() && of != run_of(taken_.front()->block.sequence())) break;
        taken_.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    return !taken_.empty();
}

void redo_log::write() {
    const trace::span timed(writing_redo);
    before_.call();
    std::uint64_t content = 0;
    std::uint64_t bytes = 0;
    for (const auto& one : taken_) {
        if (one->first_of_file != file_first_) open(one->first_of_file);
        content += one->block.content_bytes();
        const std::size_t before = buffer_.size();
        one->block.encode(seed_, synced_, buffer_); // only this thread changes it
        bytes += buffer_.size() - before;
        if (buffer_.size() >= written_at_once) flush();
    }
    flush();
    {
        const trace::span synced(syncing);
        file_->sync();
    }
    mark_end(taken_.back()->block.sequence());
    bytes_written.add(bytes);
    {
        const std::lock_guard lock(mutex_);
        const redo_block& last = taken_.back()->block;
        synced_ = last.sequence();
        synced_revision_ = last.revision();
        synced_serial_ = taken_.back()->serial;
        if (run_of(anchor_) == run_of(synced_)) {
            history_.durable = synced_revision_;
            history_.serial = synced_serial_;
            history_.last_failure.clear();
        }
        history_.blocks += taken_.size();
        history_.bytes += bytes;
        ++history_.syncs;
        queued_bytes_ -= content;
    }
    changed_.notify_all();
}

/// Syncs the file with its content so far and gives its reserved space back.
void redo_log::open(std::uint64_t first) {
    if (file_) {
        flush();
        file_->resize(at_);
        file_->sync();
        file_.reset();
    }
    if (run_of(first) != run_of(file_first_)) remove_unpublished_runs(run_of(first));
    const std::filesystem::path name = redo_file(folder_, first);
    file_ = on_.open(name, disk::mode::create);
    file_first_ = first;
    try {
        begin_file(first);
    } catch (...) {
        discard(name);
        throw;
    }
}

void redo_log::begin_file(std::uint64_t first) {
    const redo_header header = redo_header::make(state_, first);
    seed_ = header.sum;
    at_ = reserved_ = 0;
    const auto bytes = std::as_bytes(std::span(&header, 1));
    buffer_.assign(bytes.begin(), bytes.end());
    flush();
    file_->sync();
    on_.sync_folder(folder_);
}

/// Removes runs that began with a checkpoint that was never published.
void redo_log::remove_unpublished_runs(redo_run but) {
    std::vector<redo_run> needed{but};
    {
        const std::lock_guard lock(mutex_);
        needed.insert(needed.end(), {newest_, older_});
    }
    for (const std::uint64_t first : redo_files(on_, folder_))
        if (std::ranges::count(needed, run_of(first)) == 0) on_.remove(redo_file(folder_, first));
}

/// Removes a file without a header: harmless, but a full disk would get one every second.
void redo_log::discard(const std::filesystem::path& file) noexcept {
    try {
        file_.reset();
        on_.remove(file);
    } catch (const std::exception&) { // the next checkpoint removes it
    }
}

void redo_log::flush() {
    if (buffer_.empty()) return;
    if (at_ + buffer_.size() > reserved_) {
        const std::uint64_t more = std::max<std::uint64_t>(buffer_.size(), reserved_at_once);
        file_->reserve(at_, more);
        reserved_ = at_ + more;
    }
    file_->write(at_, buffer_);
    at_ += buffer_.size();
    buffer_.clear();
}

/// Lets a reader distinguish a damaged synced block from one that was never synced. Not synced
/// itself: the next blocks carry the same information.
void redo_log::mark_end(std::uint64_t synced) {
    const redo_block::head mark = redo_block::head::end_mark(seed_, synced);
    if (at_ + sizeof mark <= reserved_) file_->write(at_, std::as_bytes(std::span(&mark, 1)));
}

/// Drops the waiting blocks of this run.
void redo_log::fail(redo_run of, const char* problem) noexcept {
    file_.reset();
    file_first_ = no_block;
    buffer_.clear();
    {
        const std::lock_guard lock(mutex_);
        while (!queue_.empty() && run_of(queue_.front()->block.sequence()) == of)
            queue_.pop_front();
        queued_bytes_ = 0;
        for (const auto& one : queue_)
            queued_bytes_ += one->block.content_bytes();
        ++history_.failed;
        if (run_of(next_) == of) is_abandoned_ = true;
        try {
            if (!is_same_failure(history_.last_failure, problem))
                spdlog::error("redo log: {}; blocks after revision {} reach storage only with "
                              "the next checkpoint; the state stays open",
                              problem, history_.durable);
            history_.last_failure = problem;
        } catch (const std::exception&) { // not logged for lack of memory
        }
    }
    changed_.notify_all();
}

} // namespace chainbase::checkpoint
