#include <chainbase/segment/segment.hpp>
#include <chainbase/state_lock.hpp>
#include <pool_allocator/base/error.hpp>

#include <mutex>

namespace chainbase {

namespace {

const trace::site thread_read_wait("lock.read.wait");
const trace::site thread_write_wait("lock.write.wait");

} // namespace

const trace::site state_lock::read_hold("lock.read.hold", trace::kind::sampled);
const trace::site state_lock::write_hold("lock.write.hold", trace::kind::sampled);

std::optional<lock_kind> state_lock::held_by_this_thread() const noexcept {
    for (const held* one = newest_held_; one; one = one->before_)
        if (&one->lock_ == this) return one->how_;
    return std::nullopt;
}

void state_lock::refuse_if_held(lock_kind wanted, const segment& state) const {
    const auto has = held_by_this_thread();
    if (!has) return;
    const auto name = [](lock_kind of) {
        return of == lock_kind::read ? "with_read_lock" : "with_write_lock";
    };
    throw usage_error(
        state.state().string() + ": " + name(wanted) + " within " + name(*has) +
        " of the same thread, which would wait for itself; take the lock once, around both");
}

/// Waits until this writer's bits are gone; the next writer has another phase.
void state_lock::await_writer(std::uint32_t writer) noexcept {
    const trace::span timed(thread_read_wait);
    for (std::uint32_t now = readers_in_.load(); (now & writer_bits) == writer;
         now = readers_in_.load())
        readers_in_.wait(now);
}

void state_lock::await_turn(std::uint32_t ticket) noexcept {
    for (std::uint32_t now = served_.load(); now != ticket; now = served_.load())
        served_.wait(now);
}

void state_lock::await_readers(std::uint32_t came) noexcept {
    for (std::uint32_t now = readers_out_.load(); now != came; now = readers_out_.load())
        readers_out_.wait(now);
}

void state_lock::lock() noexcept {
    const std::uint32_t ticket = tickets_.fetch_add(1);
    const bool is_next = served_.load() == ticket;
    if (is_next) {
        // Without contention there is nothing to time.
        const std::uint32_t came = readers_in_.fetch_add(present | (ticket & phase));
        if (readers_out_.load() == came) [[likely]]
            return;
        const trace::span timed(thread_write_wait);
        await_readers(came);
        return;
    }
    const trace::span timed(thread_write_wait);
    await_turn(ticket);
    await_readers(readers_in_.fetch_add(present | (ticket & phase)));
}

void state_lock::unlock() noexcept {
    const std::uint32_t ticket = served_.load(std::memory_order_relaxed);
    readers_in_.fetch_and(~writer_bits);
    readers_in_.notify_all();
    served_.store(ticket + 1);
    served_.notify_all();
}

void read_guard::throw_elsewhere(const segment& state) {
    state.require_here();
    throw usage_error(state.state().string() + ": its lock belongs to another process");
}

std::uint32_t read_guard::take_turn() {
    const std::uint32_t slot = state_->begin_reading();
    try {
        if (state_->is_outdated()) [[unlikely]] {
            const std::unique_lock alone(threads_); // no writer waits: a read-only process
            if (state_->is_outdated()) state_->refresh();
        }
    } catch (...) {
        state_->end_reading(slot);
        throw;
    }
    return slot;
}

void read_guard::end_turn() noexcept {
    state_->end_reading(slot_);
}

write_turn::write_turn(segment& state) : state_(state), is_ours_(state.begin_writing()) {}

write_turn::~write_turn() {
    if (is_ours_) state_.end_writing();
}

} // namespace chainbase
