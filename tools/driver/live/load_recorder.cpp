#include <tools/driver/live/load_recorder.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <utility>

namespace chainbase::driver::live {

std::optional<double> load_steps::after(double rate) const noexcept {
    const double next = rate * factor + more;
    return next > rate && next <= last ? std::optional(next) : std::nullopt;
}

std::string load_criterion::judge(const load_step& step) const {
    if (step.blocks.longest() > interval)
        return fmt::format("a block took {:.1f} ms, of {:.1f} ms between blocks",
                           milliseconds_of(step.blocks.longest()), milliseconds_of(interval));
    if (step.in_time * 2 < step.offered)
        return fmt::format("{} of {} transactions were in a block within {:.1f} ms, less than half",
                           step.in_time, step.offered, milliseconds_of(in_time()));
    return {};
}

namespace {

/// Bytes of this process: resident, and the part of it mapped from files.
std::pair<std::uint64_t, std::uint64_t> resident_memory() {
    std::ifstream statm("/proc/self/statm");
    std::uint64_t all = 0, resident = 0, shared = 0;
    statm >> all >> resident >> shared;
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return {resident * page, shared * page};
}

} // namespace

void append(std::vector<load_second>& to, load_second next) {
    constexpr double too_short = 0.1;
    const bool joins = next.length < too_short && !to.empty() && to.back().rate == next.rate;
    if (!joins) {
        to.push_back(std::move(next));
        return;
    }
    load_second& last = to.back();
    last.length += next.length;
    last.offered += next.offered;
    last.completed += next.completed;
    last.pending = next.pending;
    last.transactions.add(next.transactions);
    last.blocks.add(next.blocks);
    last.readers.add(next.readers);
    last.resident_bytes = next.resident_bytes;
    last.shared_bytes = next.shared_bytes;
}

load_recorder::load_recorder(readers& asking, load_criterion criterion)
    : asking_(asking), criterion_(criterion) {
    thread_ = std::thread([this] { work(); });
}

load_recorder::~load_recorder() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void load_recorder::begin_step(double rate) {
    const std::lock_guard lock(mutex_);
    end_second();
    step_ = {};
    step_.rate = second_.rate = rate;
    offered_before_step_ = offered_;
}

void load_recorder::note(made_block made, clock::time_point due, clock::time_point done) {
    {
        const std::lock_guard lock(mutex_);
        notes_.push_back({std::move(made.included), due, done, made.rejected});
    }
    wake_.notify_one();
}

load_step load_recorder::end_step() {
    std::unique_lock lock(mutex_);
    entered_.wait(lock, [&] { return notes_.empty() && !entering_; });
    second_.readers.add(asking_.take()); // counted in the second and in the step
    step_.readers.add(second_.readers);
    step_.offered = offered_ - offered_before_step_;
    load_step ended = std::exchange(step_, {});
    end_second();
    second_.rate = 0; // until the next step begins
    return ended;
}

std::vector<load_second> load_recorder::seconds() const {
    const std::lock_guard lock(mutex_);
    return seconds_;
}

void load_recorder::work() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        wake_.wait_until(lock, second_ends_, [&] { return stopping_ || !notes_.empty(); });
        entering_ = true;
        enter(std::exchange(notes_, {}), lock);
        entering_ = false;
        entered_.notify_one();
        if (clock::now() < second_ends_) continue;
        second_.readers.add(asking_.take());
        step_.readers.add(second_.readers);
        end_second();
    }
}

/// Counts without the lock, so that noting the next block does not wait.
void load_recorder::enter(const std::vector<block_note>& notes,
                          std::unique_lock<std::mutex>& lock) {
    for (const block_note& one : notes) {
        lock.unlock();
        latencies own;
        const std::int64_t done = one.done.time_since_epoch().count();
        for (const pending_list::entry& each : one.included)
            own.record(nanoseconds(done - each.due));
        lock.lock();
        step_.transactions.add(own);
        second_.transactions.add(own);
        step_.completed += own.count();
        step_.in_time += own.up_to(criterion_.in_time());
        step_.rejected += one.rejected;
        second_.completed += own.count();
        step_.blocks.record(one.done - one.due);
        second_.blocks.record(one.done - one.due);
    }
}

void load_recorder::end_second() {
    const std::uint64_t offered = offered_;
    const double rate = second_.rate;
    const auto now = clock::now();
    second_.begin = seconds_of(second_began_ - begin_);
    second_.length = seconds_of(now - std::exchange(second_began_, now));
    second_.offered = offered - std::exchange(offered_before_second_, offered);
    second_.pending = pending_;
    std::tie(second_.resident_bytes, second_.shared_bytes) = resident_memory();
    append(seconds_, std::exchange(second_, {}));
    second_.rate = rate;
    second_ends_ = now + std::chrono::seconds(1);
}

} // namespace chainbase::driver::live
