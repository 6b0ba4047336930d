#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/driver/block_feed.hpp>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace chainbase::driver {

namespace {

const trace::site record_decode("driver.record.decode");
const trace::site help_decode("driver.record.help");
const trace::site wait_for_blocks("driver.wait.blocks");
const trace::site wait_for_room("driver.wait.room");

/// Waits at most that long and adds the time to `spent`. Returns whether it is ready.
template <typename Ready>
bool wait_for(const trace::site& where, std::condition_variable& signal,
              std::unique_lock<std::mutex>& held, std::chrono::nanoseconds& spent,
              std::chrono::milliseconds patience, Ready ready) {
    if (ready()) return true;
    const trace::span timed(where);
    const auto begin = std::chrono::steady_clock::now();
    const bool is_ready = signal.wait_for(held, patience, ready);
    spent += std::chrono::steady_clock::now() - begin;
    return is_ready;
}

template <typename Ready>
void wait_for(const trace::site& where, std::condition_variable& signal,
              std::unique_lock<std::mutex>& held, std::chrono::nanoseconds& spent, Ready ready) {
    while (!wait_for(where, signal, held, spent, std::chrono::hours(1), ready)) {
    }
}

std::size_t end_of(const block_log_reader& log, const std::optional<std::uint64_t>& stop_at) {
    return stop_at ? std::min(log.record_of(*stop_at) + 1, log.records()) : log.records();
}

} // namespace

block_feed::block_feed(const block_log_reader& log, block_decoder decode, const options& how)
    : log_(log), decode_(decode), how_(how), end_record_(end_of(log, how.stop_at)),
      places_(std::max({how.ahead, how.threads, 1u})),
      begun_(std::min(log.record_of(how.from), end_record_)), delivered_(begun_) {
    try {
        for (unsigned i = 0; i < std::max(how.threads, 1u); ++i)
            threads_.push_back(background_thread("decode", [this] { work(); }));
    } catch (...) { // the system has no more threads
        end_threads();
        throw;
    }
}

block_feed::~block_feed() {
    end_threads();
}

void block_feed::end_threads() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& one : threads_)
        one.join();
}

bool block_feed::has_next() const {
    return delivered_ == end_record_ || places_[delivered_ % places_.size()].filled;
}

bool block_feed::await(std::chrono::milliseconds patience) {
    lock held(mutex_);
    help(held);
    return wait_for(wait_for_blocks, filled_, held, waited_.for_blocks, patience,
                    [&] { return has_next(); });
}

std::optional<block_feed::chunk> block_feed::next() {
    lock held(mutex_);
    help(held);
    wait_for(wait_for_blocks, filled_, held, waited_.for_blocks, [&] { return has_next(); });
    if (delivered_ == end_record_) return std::nullopt;
    place& here = places_[delivered_ % places_.size()];
    if (here.damage && here.content.blocks.empty()) std::rethrow_exception(here.damage);
    chunk result = std::exchange(here.content, {});
    waiting_memory_ -= result.memory;
    if (!here.damage) { // else the next call arrives at the damaged record
        here.filled = false;
        ++delivered_;
    }
    held.unlock();
    room_.notify_all();
    return result;
}

void block_feed::give_back(chunk used) {
    const std::lock_guard lock(mutex_);
    used_.push_back(std::move(used));
}

block_feed::waiting block_feed::waited() const {
    const std::lock_guard lock(mutex_);
    return waited_;
}

// --- the threads ---

/// A record above the memory limit is begun when nothing else waits.
bool block_feed::may_begin() const {
    return begun_ < delivered_ + places_.size() &&
           (waiting_memory_ < max_waiting_memory || begun_ == delivered_);
}

void block_feed::work() {
    lock held(mutex_);
    while (begun_ < end_record_) {
        wait_for(wait_for_room, room_, held, waited_.for_room,
                 [&] { return stopping_ || begun_ == end_record_ || may_begin(); });
        if (stopping_ || begun_ == end_record_) return;
        prepare_next(held);
    }
}

/// Requires may_begin() and a record not yet begun.
void block_feed::prepare_next(lock& held) {
    const std::size_t record = begun_++;
    std::vector<chunk> used = std::exchange(used_, {});
    held.unlock();
    used.clear();
    place made = prepare(record);
    held.lock();
    waiting_memory_ += made.content.memory;
    places_[record % places_.size()] = std::move(made);
    filled_.notify_one();
}

/// The remaining records are in the hands of other threads.
void block_feed::help(lock& held) {
    while (!has_next() && begun_ < end_record_ && may_begin()) {
        const trace::span timed(help_decode);
        const auto begin = std::chrono::steady_clock::now();
        prepare_next(held);
        waited_.helping += std::chrono::steady_clock::now() - begin;
    }
}

block_feed::place block_feed::prepare(std::size_t record) const {
    const trace::span timed(record_decode);
    place made;
    try {
        fill(record, made.content);
    } catch (...) {
        made.damage = std::current_exception();
    }
    made.filled = true;
    return made;
}

void block_feed::fill(std::size_t record, chunk& content) const {
    block_log_stream blocks = log_.stream_record(record);
    while (const auto next = blocks.next_encoded()) {
        if (how_.stop_at && next->number > *how_.stop_at) break;
        if (next->number < how_.from) continue;
        try {
            content.blocks.push_back(decode_(next->encoded));
        } catch (const damaged_error& problem) {
            blocks.refuse(problem.what());
        } catch (const std::bad_alloc&) {
            blocks.refuse("there is no memory for what the " +
                          std::to_string(next->encoded.size()) + " bytes of block " +
                          std::to_string(next->number) +
                          " decode to (if the log is good, use fewer threads or more memory)");
        }
        content.bytes += next->encoded.size();
        content.memory += content.blocks.back()->memory();
        content.position = blocks.position();
    }
}

} // namespace chainbase::driver
