#include <pool_allocator/error.hpp>
#include <tools/driver/live/workload.hpp>

#include <algorithm>

namespace chainbase::driver::live {

namespace {

constexpr std::size_t per_block = 1024;
constexpr std::size_t most_repeated = std::size_t{1} << 20;
constexpr std::size_t most_prepared = 20'000'000;

} // namespace

void workload::prepare(std::size_t count, std::int64_t until, const catch_interruption& signals) {
    if (!repeats_ && count > most_prepared)
        throw usage_error(std::to_string(count) +
                          " transactions would have to be ready before they are sent, and " +
                          std::to_string(most_prepared) +
                          " are the most; take fewer --seconds, or a lower rate");
    if (repeats_) {
        count = std::min(count, most_repeated);
    } else {
        ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(block_));
        block_ = 0;
        count += transaction_;
    }
    while (ready_.size() * per_block < count && !signals.noted()) {
        block one{0, 0, {}};
        for (std::size_t i = 0; i < per_block; ++i)
            one.transactions.push_back(make(until));
        ready_.push_back(decode_(encode_block(one)));
    }
}

parcel workload::take(std::uint32_t most) {
    if (block_ == ready_.size())
        throw usage_error("the harness has sent all that it prepared; prepare more");
    const auto& from = ready_[block_];
    const auto all = static_cast<std::uint32_t>(from->transactions());
    parcel some{from, transaction_, std::min(most, all - transaction_), {}, {}};
    transaction_ += some.count;
    if (transaction_ == all) {
        transaction_ = 0;
        ++block_;
        if (repeats_ && block_ == ready_.size()) block_ = 0;
    }
    return some;
}

} // namespace chainbase::driver::live
