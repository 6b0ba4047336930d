#include <tools/driver/live/pending_list.hpp>

#include <algorithm>
#include <iterator>

namespace chainbase::driver::live {

bool arrivals::push(parcel one) {
    const std::lock_guard lock(mutex_);
    if (one.count > most_ - waiting_) {
        refused_ += one.count;
        return false;
    }
    waiting_ += one.count;
    parcels_.push_back(std::move(one));
    if (is_waited_for_) arrived_.notify_one(); // skips the system call when no thread waits
    return true;
}

void arrivals::take(std::vector<parcel>& into) {
    const std::lock_guard lock(mutex_);
    if (into.empty()) {
        into.swap(parcels_);
    } else {
        std::ranges::move(parcels_, std::back_inserter(into));
        parcels_.clear();
    }
    waiting_ = 0;
}

void arrivals::wait(clock::time_point until) {
    std::unique_lock lock(mutex_);
    is_waited_for_ = true;
    arrived_.wait_until(lock, until, [&] { return waiting_ != 0; });
    is_waited_for_ = false;
}

std::size_t arrivals::waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_;
}

std::uint64_t arrivals::refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
}

void pending_list::add(const parcel& arrived, std::uint64_t blocks) {
    if (arrived.count == 0) return;
    const std::uint32_t own = keep(arrived.from, arrived.count, blocks);
    std::int64_t due = arrived.due.time_since_epoch().count();
    for (std::uint32_t i = 0; i < arrived.count; ++i) {
        entries_.push_back({own, arrived.first + i, due});
        due += arrived.apart.count();
    }
}

void pending_list::put_back(std::shared_ptr<const decoded_block> popped, std::uint64_t blocks) {
    const auto count = static_cast<std::uint32_t>(popped->transactions());
    if (count == 0) return;
    reset();
    const std::uint32_t own = keep(std::move(popped), count, blocks);
    const std::int64_t now = clock::now().time_since_epoch().count();
    std::vector<entry> first;
    for (std::uint32_t i = 0; i < count; ++i)
        first.push_back({own, i, now});
    entries_.insert(entries_.begin(), first.begin(), first.end());
}

void pending_list::close_gap() noexcept {
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(applied_),
                   entries_.begin() + static_cast<std::ptrdiff_t>(next_));
    next_ = applied_;
}

void pending_list::reset() {
    close_gap();
    applied_ = next_ = 0;
}

std::vector<pending_list::entry> pending_list::take_applied() {
    std::vector<entry> rest(entries_.begin() + static_cast<std::ptrdiff_t>(next_), entries_.end());
    entries_.resize(applied_);
    entries_.swap(rest);
    applied_ = next_ = 0;
    for (const entry& one : rest)
        release(one);
    return rest;
}

std::uint32_t pending_list::keep(std::shared_ptr<const decoded_block> from, std::uint32_t count,
                                 std::uint64_t blocks) {
    if (free_parcels_.empty()) {
        parcels_.emplace_back();
        free_parcels_.reserve(parcels_.capacity());
        free_parcels_.push_back(static_cast<std::uint32_t>(parcels_.size() - 1));
    }
    const std::uint32_t own = free_parcels_.back();
    free_parcels_.pop_back();
    parcels_[own] = {std::move(from), blocks, count};
    return own;
}

void pending_list::release(const entry& one) noexcept {
    kept_parcel& its = parcels_[one.parcel];
    if (--its.left != 0) return;
    its.from.reset();
    free_parcels_.push_back(one.parcel); // space was reserved when the parcel was added
}

} // namespace chainbase::driver::live
