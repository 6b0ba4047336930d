#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace_clock.hpp>
#include <pool_allocator/trace/trace_reading.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace chainbase::trace {

/// A ring of one thread's events until they are taken: one thread puts, another takes, neither
/// waits. Events that come while it is full are dropped and counted.
class event_ring {
public:
    /// Room for so many events, a power of two.
    explicit event_ring(std::size_t capacity) : slots_(capacity) {}
    [[nodiscard]] std::size_t capacity() const noexcept { return slots_.size(); }

    void put(const event& one) noexcept {
        const std::uint64_t at = put_.load(std::memory_order_relaxed);
        if (at - taken_.load(std::memory_order_acquire) == slots_.size()) {
            dropped_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        slots_[at & (slots_.size() - 1)] = one;
        put_.store(at + 1, std::memory_order_release);
    }

    /// Moves all events to `to`, oldest first. Returns how many were dropped since the last call.
    std::uint64_t take(std::vector<event>& to) {
        const std::uint64_t end = put_.load(std::memory_order_acquire);
        std::uint64_t at = taken_.load(std::memory_order_relaxed);
        to.reserve(to.size() + (end - at));
        for (; at != end; ++at)
            to.push_back(slots_[at & (slots_.size() - 1)]);
        taken_.store(end, std::memory_order_release);
        return dropped_.exchange(0, std::memory_order_relaxed);
    }

    /// Discards all events. Returns how many were dropped by this and before.
    std::uint64_t discard() noexcept {
        const std::uint64_t end = put_.load(std::memory_order_acquire);
        const std::uint64_t lost = end - taken_.exchange(end, std::memory_order_acq_rel);
        return lost + dropped_.exchange(0, std::memory_order_relaxed);
    }

private:
    std::vector<event> slots_;
    std::atomic<std::uint64_t> put_{0};
    std::atomic<std::uint64_t> taken_{0};
    std::atomic<std::uint64_t> dropped_{0};
};

namespace {

/// Written by one thread, read by any.
using number = std::atomic<std::uint64_t>;

std::uint64_t value_of(const number& n) noexcept {
    return n.load(std::memory_order_relaxed);
}
void add_to(number& n, std::uint64_t amount) noexcept {
    n.store(value_of(n) + amount, std::memory_order_relaxed);
}
/// A reader that loads it with acquire order sees what the thread stored before, too.
void add_after_others(number& n, std::uint64_t amount) noexcept {
    n.store(value_of(n) + amount, std::memory_order_release);
}

} // namespace

namespace detail {

struct thread_record;

/// Chooses the entries of a sampled site to measure: all while there are credits, one per 20 us, up
/// to 64; without credit 1 in 64 on average. Distances are random, so that a periodic program does
/// not bias the average.
class sampler {
public:
    /// Called by a measured entry. Returns how many entries to skip after it.
    std::uint64_t passed_after(clock::ticks now) noexcept {
        credits_ = std::min(64.0, credits_ + static_cast<double>(clock::nanoseconds(now - last_)) /
                                                 20'000);
        last_ = now;
        if (credits_ < 1) return random() % 127;
        --credits_;
        return 0;
    }

private:
    std::uint32_t random() noexcept { // xorshift
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        return state_ ^= state_ << 5;
    }

    double credits_ = 64;
    clock::ticks last_ = 0;
    std::uint32_t state_ = 2'463'534'242;
};

/// What one thread counted at one site; times in ticks of the clock.
struct alignas(64) cell : entry_count {
    thread_record* thread = nullptr;
    std::uint32_t site = 0;
    kind how = kind::timed;
    number begun{0};    ///< measured spans
    number measured{0}; ///< those that ended
    number total{0};
    number own{0};
    number longest{0};
    number since{0}; ///< when the oldest measured span under way began; 0: there is none
    sampler samples;
    std::uint64_t stood_for = 0; ///< entries skipped before the last measured one
    std::array<number, histogram::buckets> buckets{};

    /// The weight of a measured entry of a sampled site: how many entries it stands for.
    std::uint64_t choose_next(clock::ticks now) noexcept {
        const std::uint64_t before = value_of(passed);
        until = before + samples.passed_after(now);
        return 1 + before - std::exchange(stood_for, before);
    }
};

struct gauge_cell {
    std::string name;
    label which;
    std::atomic<bool> known{false};
    std::atomic<double> value{0};
};

/// The cells of one thread. Only that thread adds cells, under the registry's lock, so it reads
/// them without a lock and others read them under it.
struct thread_record {
    std::vector<std::unique_ptr<cell>> cells; ///< by site, null where it never was
    std::vector<entry_count*> entries;        ///< of the cells
    std::deque<number> counters;
    span* innermost = nullptr;
    std::unique_ptr<event_ring> ring;
    pthread_t handle = pthread_self();
    std::int64_t thread = gettid();
};

} // namespace detail

namespace {

using detail::cell;
using detail::gauge_cell;
using detail::thread_record;

/// The order of these reads, and of the stores that they see, ensures that, however long they are
/// interrupted, own time never exceeds total time and no ended span counts as in flight.
void add_cell(span_reading& to, const cell& from) {
    const std::uint64_t own = from.own.load(std::memory_order_acquire);
    const std::uint64_t begun = from.begun.load(std::memory_order_acquire);
    const std::uint64_t measured = value_of(from.measured);
    to.count += measured + value_of(from.passed);
    to.in_flight += begun > measured ? begun - measured : 0;
    to.measured += measured;
    to.total_ns += clock::nanoseconds(value_of(from.total));
    to.own_ns += clock::nanoseconds(own);
    to.longest_ns = std::max(to.longest_ns, clock::nanoseconds(value_of(from.longest)));
    for (std::size_t b = 0; b < histogram::buckets; ++b)
        to.times.add(b, value_of(from.buckets[b]));
    if (const clock::ticks since = value_of(from.since); since != 0)
        to.in_flight_since_ns =
            std::min(to.in_flight_since_ns.value_or(UINT64_MAX), clock::time_of(since));
}

/// The kernel's name of a live thread.
std::string name_of(const thread_record& thread) {
    char name[16] = "";
    if (pthread_getname_np(thread.handle, name, sizeof name) != 0) return "thread";
    return name;
}

/// All names and threads of the process. Never destroyed: threads may outlive static objects.
class registry {
public:
    static registry& all() {
        static registry* const one = new registry;
        return *one;
    }

    std::uint32_t add_site(const char* name, kind how) {
        const std::lock_guard lock(mutex_);
        const auto known = std::ranges::find(sites_, name, &span_reading::name);
        if (known != sites_.end()) return static_cast<std::uint32_t>(known - sites_.begin());
        sites_.emplace_back();
        sites_.back().name = name;
        sites_.back().how = how;
        return static_cast<std::uint32_t>(sites_.size() - 1);
    }
    std::uint32_t add_counter(const char* name) {
        const std::lock_guard lock(mutex_);
        const auto known = std::ranges::find(counters_, name, &counter_reading::name);
        if (known != counters_.end()) return static_cast<std::uint32_t>(known - counters_.begin());
        counters_.push_back({name, 0});
        return static_cast<std::uint32_t>(counters_.size() - 1);
    }
    gauge_cell* add_gauge(const std::string& name, label which) {
        const std::lock_guard lock(mutex_);
        for (gauge_cell& known : gauges_)
            if (known.name == name && known.which == which) return &known;
        gauge_cell& added = gauges_.emplace_back();
        added.name = name;
        added.which = std::move(which);
        return &added;
    }

    void enter(thread_record& thread) {
        const std::lock_guard lock(mutex_);
        threads_.push_back(&thread);
    }
    /// Adds up the counts of a thread that ends. A span that it left open counts as ended.
    void leave(thread_record& thread) noexcept;
    cell* add_cell(thread_record& thread, std::uint32_t site);
    number& add_counter(thread_record& thread, std::uint32_t counter);
    /// A ring of another size belongs to an earlier recording.
    event_ring& add_ring(thread_record& thread, std::size_t capacity);

    reading read();

    void start_recording(std::size_t events_per_thread);
    void stop_recording() noexcept;
    std::vector<recording::of_thread> take_events();

    /// How many events a ring holds; 0 while nothing is recorded.
    std::atomic<std::size_t> ring_capacity{0};

private:
    void keep_events(thread_record& thread) noexcept;

    /// Bounds the kept rings of ended threads: they may end faster than their events are taken.
    static constexpr std::size_t most_departed_rings = 256;

    std::mutex mutex_;
    std::vector<span_reading> sites_; ///< with what threads counted that have ended
    std::vector<counter_reading> counters_;
    std::deque<gauge_cell> gauges_;
    std::vector<thread_record*> threads_;
    std::vector<recording::of_thread> departed_;
    std::uint64_t lost_ = 0; ///< events of threads that ended, since they were last taken
};

cell* registry::add_cell(thread_record& thread, std::uint32_t site) {
    auto added = std::make_unique<cell>();
    const std::lock_guard lock(mutex_);
    added->thread = &thread;
    added->site = site;
    added->how = sites_[site].how;
    if (thread.cells.size() <= site) thread.cells.resize(sites_.size());
    if (thread.entries.size() <= site) {
        detail::own_entries = {};
        thread.entries.resize(sites_.size());
        detail::own_entries = {thread.entries.data(), thread.entries.size()};
    }
    thread.entries[site] = added.get();
    return (thread.cells[site] = std::move(added)).get();
}

number& registry::add_counter(thread_record& thread, std::uint32_t counter) {
    const std::lock_guard lock(mutex_);
    while (thread.counters.size() <= counter)
        thread.counters.emplace_back(0);
    return thread.counters[counter];
}

event_ring& registry::add_ring(thread_record& thread, std::size_t capacity) {
    const std::lock_guard lock(mutex_);
    thread.ring = std::make_unique<event_ring>(capacity);
    return *thread.ring;
}

void registry::leave(thread_record& thread) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(threads_, &thread);
    for (std::size_t s = 0; s < thread.cells.size(); ++s) {
        if (!thread.cells[s]) continue;
        cell& last = *thread.cells[s];
        last.passed.store(value_of(last.passed) + value_of(last.begun) - value_of(last.measured),
                          std::memory_order_relaxed);
        last.begun.store(value_of(last.measured), std::memory_order_relaxed);
        last.since.store(0, std::memory_order_relaxed);
        trace::add_cell(sites_[s], last);
    }
    for (std::size_t c = 0; c < thread.counters.size(); ++c)
        counters_[c].value += value_of(thread.counters[c]);
    if (thread.ring && ring_capacity.load() != 0) keep_events(thread);
}

/// Without memory the events are counted as dropped.
void registry::keep_events(thread_record& thread) noexcept {
    if (departed_.size() < most_departed_rings) {
        try {
            departed_.push_back({thread.thread, name_of(thread), {}, 0});
            departed_.back().dropped = thread.ring->take(departed_.back().events);
            return;
        } catch (const std::bad_alloc&) { // nothing was taken
        }
    }
    lost_ += thread.ring->discard();
}

reading registry::read() {
    const std::lock_guard lock(mutex_);
    reading now{clock::time_of(clock::now()), sites_, counters_, {}};
    for (const thread_record* thread : threads_) {
        for (std::size_t s = 0; s < thread->cells.size(); ++s)
            if (thread->cells[s]) trace::add_cell(now.spans[s], *thread->cells[s]);
        for (std::size_t c = 0; c < thread->counters.size(); ++c)
            now.counters[c].value += value_of(thread->counters[c]);
    }
    for (const gauge_cell& gauge : gauges_)
        if (gauge.known.load(std::memory_order_acquire))
            now.gauges.push_back({gauge.name, gauge.which, gauge.value.load()});
    return now;
}

void registry::start_recording(std::size_t events_per_thread) {
    const std::lock_guard lock(mutex_);
    if (ring_capacity.load() != 0)
        throw usage_error("trace: spans are being recorded already; end the other recording first");
    departed_.clear();
    lost_ = 0;
    for (thread_record* thread : threads_) { // what an earlier recording left
        if (thread->ring) thread->ring->discard();
    }
    ring_capacity.store(std::bit_ceil(std::max<std::size_t>(events_per_thread, 2)));
}

void registry::stop_recording() noexcept {
    ring_capacity.store(0);
}

std::vector<recording::of_thread> registry::take_events() {
    const std::lock_guard lock(mutex_);
    std::vector<recording::of_thread> all = std::exchange(departed_, {});
    for (thread_record* thread : threads_) {
        if (!thread->ring) continue;
        all.push_back({thread->thread, name_of(*thread), {}, 0});
        all.back().dropped = thread->ring->take(all.back().events);
    }
    if (!all.empty()) all.back().dropped += std::exchange(lost_, 0);
    return all;
}

// --- the thread's own ---

constinit thread_local thread_record* own_record = nullptr;
constinit thread_local bool has_departed = false;

/// Hands over what the thread counted when it ends.
struct departure {
    thread_record record;
    departure() {
        registry::all().enter(record);
        own_record = &record;
    }
    departure(const departure&) = delete;
    departure& operator=(const departure&) = delete;
    ~departure() {
        detail::own_entries = {};
        own_record = nullptr;
        has_departed = true;
        registry::all().leave(record);
    }
};

/// Null when there is no memory for it, and at the very end of a thread.
thread_record* new_record() noexcept {
    if (has_departed) return nullptr;
    try {
        thread_local departure at_end;
        return &at_end.record;
    } catch (const std::exception&) {
        return nullptr;
    }
}

thread_record* this_thread() noexcept {
    return own_record != nullptr ? own_record : new_record();
}

cell* new_cell(thread_record& thread, std::uint32_t site) noexcept {
    try {
        return registry::all().add_cell(thread, site);
    } catch (const std::exception&) {
        return nullptr;
    }
}

cell* cell_at(std::uint32_t site) noexcept {
    thread_record* const thread = this_thread();
    if (thread == nullptr) return nullptr;
    if (site < thread->cells.size() && thread->cells[site]) return thread->cells[site].get();
    return new_cell(*thread, site);
}

void record_event(const cell& at, clock::ticks begin, clock::ticks duration,
                  std::size_t capacity) noexcept {
    try {
        thread_record& thread = *at.thread;
        const bool has_ring = thread.ring && thread.ring->capacity() == capacity;
        event_ring& ring = has_ring ? *thread.ring : registry::all().add_ring(thread, capacity);
        ring.put({at.site, clock::time_of(begin), clock::nanoseconds(duration)});
    } catch (const std::exception&) { // no memory for a ring: nothing is recorded
    }
}

} // namespace

// --- spans ---

void enable(bool on) {
    if (on) clock::calibrate();
    detail::on.store(on, std::memory_order_release);
}

site::site(const char* name, kind how) : number_(registry::all().add_site(name, how)) {}

void span::begin(std::uint32_t number) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);     // what is measured stays within
    if (!detail::on.load(std::memory_order_acquire)) return; // the clock is ready
    cell_ = cell_at(number);
    if (cell_ == nullptr) return;
    add_after_others(cell_->begun, 1); // the others: ends of earlier spans
    parent_ = std::exchange(cell_->thread->innermost, this);
    within_ = 0;
    start_ = clock::now();
    weight_ = cell_->how == kind::timed ? 1 : cell_->choose_next(start_);
    if (value_of(cell_->since) == 0) cell_->since.store(start_, std::memory_order_relaxed);
}

void span::end() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const clock::ticks now = clock::now();
    const clock::ticks duration = now > start_ ? now - start_ : 0; // processors may differ a little
    cell_->thread->innermost = parent_;
    const bool is_timed = cell_->how == kind::timed;
    if (parent_ != nullptr) parent_->within_ += is_timed ? duration : within_;
    add_to(cell_->measured, 1);
    add_to(cell_->total, weight_ * duration);
    add_after_others(cell_->own, weight_ * (duration > within_ ? duration - within_ : 0));
    if (duration > value_of(cell_->longest))
        cell_->longest.store(duration, std::memory_order_relaxed);
    add_to(cell_->buckets[histogram::bucket_of(clock::nanoseconds(duration))], weight_);
    if (value_of(cell_->since) == start_) cell_->since.store(0, std::memory_order_relaxed);
    if (!is_timed) return;
    const std::size_t capacity = registry::all().ring_capacity.load(std::memory_order_relaxed);
    if (capacity != 0) record_event(*cell_, start_, duration, capacity);
}

// --- counters and gauges ---

counter::counter(const char* name) : number_(registry::all().add_counter(name)) {}

void counter::count(std::uint32_t number, std::uint64_t amount) noexcept {
    thread_record* const thread = this_thread();
    if (thread == nullptr) return;
    if (number < thread->counters.size()) return add_to(thread->counters[number], amount);
    try {
        add_to(registry::all().add_counter(*thread, number), amount);
    } catch (const std::exception&) { // no memory: not counted, as the header says
    }
}

gauge::gauge(const std::string& name, label which)
    : cell_(registry::all().add_gauge(name, std::move(which))) {}

void gauge::store(double value) const noexcept {
    cell_->value.store(value, std::memory_order_relaxed);
    cell_->known.store(true, std::memory_order_release); // after the value
}

// --- reading ---

reading snapshot() {
    clock::calibrate();
    return registry::all().read();
}

recording::recording(std::size_t events_per_thread) {
    clock::calibrate();
    registry::all().start_recording(events_per_thread);
}

recording::~recording() {
    registry::all().stop_recording();
}

std::vector<recording::of_thread> recording::take() {
    return registry::all().take_events();
}

} // namespace chainbase::trace
