#include <chainbase/checkpoint/prior_sync.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::checkpoint {

struct prior_sync::part : std::enable_shared_from_this<part> {
    part(std::shared_ptr<prior_sync> of_, std::function<void()> how_, const void* owner_)
        : of(std::move(of_)), how(std::move(how_)), owner(owner_) {}
    part(const part&) = delete;
    part& operator=(const part&) = delete;
    ~part() { of->leave(*this); }

    std::shared_ptr<prior_sync> of;
    std::function<void()> how;
    const void* owner;
};

std::shared_ptr<void> prior_sync::add(std::function<void()> how, const void* owner) {
    std::shared_ptr<part> known; // destroyed after the lock
    const auto added = std::make_shared<part>(shared_from_this(), std::move(how), owner);
    const std::lock_guard lock(mutex_);
    for (part* one : parts_)
        if (owner != nullptr && one->owner == owner) known = one->weak_from_this().lock();
    if (known) {
        added->how = nullptr;
        return known;
    }
    parts_.push_back(added.get());
    return added;
}

void prior_sync::call() {
    const std::lock_guard lock(mutex_);
    if (is_ended_) return;
    if (lost_) std::rethrow_exception(lost_);
    for (const part* one : parts_)
        one->how();
}

void prior_sync::end() noexcept {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
}

void prior_sync::leave(const part& one) noexcept {
    if (!origin_.is_here()) return;
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find(parts_, &one);
    if (at == parts_.end()) return; // was never added
    parts_.erase(at);
    try {
        if (!is_ended_) one.how();
    } catch (...) {
        lost_ = std::current_exception();
    }
}

} // namespace chainbase::checkpoint
