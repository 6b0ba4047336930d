#include <pool_allocator/base/error.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/live/load_generator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace chainbase::driver::live {

namespace {

constexpr std::size_t per_block = 1024;
constexpr std::size_t max_repeated = std::size_t{1} << 20;
constexpr std::size_t max_prepared = 20'000'000;

} // namespace

void workload::prepare(std::size_t count, std::int64_t until, const catch_interruption& signals) {
    if (!repeats_ && count > max_prepared)
        throw usage_error(std::to_string(count) +
                          " transactions would have to be ready before they are sent, but " +
                          std::to_string(max_prepared) +
                          " are the most; take fewer --seconds, or a lower rate");
    if (repeats_) {
        count = std::min(count, max_repeated);
    } else {
        ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(block_));
        block_ = 0;
        count += transaction_;
    }
    while (ready_.size() * per_block < count && !signals.caught()) {
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

namespace {

constexpr std::int64_t money_of_each = 1'000'000'000;
constexpr std::uint32_t accounts_per_block = 10'000;
constexpr std::uint64_t highest_amount = 100;

payments::account_name payments_name_of(std::uint64_t number) {
    return payments::account_name(fmt::format("user{:08}", number));
}

class payments_workload final : public workload {
public:
    payments_workload(std::uint32_t accounts, std::uint64_t seed)
        : workload(std::string(payments::chain_name), true), accounts_(accounts), random_(seed) {}

    std::optional<block> set_up(std::uint64_t number, std::int64_t time) override {
        if (made_ == accounts_) return std::nullopt;
        block one{number, time, {}};
        for (const std::uint32_t end = std::min(accounts_, made_ + accounts_per_block); made_ < end;
             ++made_)
            one.transactions.push_back({{payments::encode(
                payments::account_create{payments_name_of(made_), money_of_each})}});
        return one;
    }

private:
    transaction make(std::int64_t) override {
        const std::uint64_t from = random_() % accounts_;
        const std::uint64_t to = (from + 1 + random_() % (accounts_ - 1)) % accounts_;
        const auto amount = static_cast<std::int64_t>(1 + random_() % highest_amount);
        return {{payments::encode(
            payments::payment{payments_name_of(from), payments_name_of(to), amount})}};
    }

    std::uint32_t accounts_;
    std::uint32_t made_ = 0;
    std::mt19937_64 random_;
};

} // namespace

std::unique_ptr<workload> make_payments_workload(std::uint32_t accounts, std::uint64_t seed) {
    return std::make_unique<payments_workload>(accounts, seed);
}

namespace {

constexpr std::int64_t social_money_of_each = 1'000'000'000;
constexpr std::uint32_t operations_per_block = 10'000;
constexpr std::uint32_t posts = 20'000;
/// Posts to vote on are not paid during a measurement.
constexpr std::int64_t ten_years = std::int64_t{10} * 365 * 24 * 3600;
/// Other posts are paid 5 to 65 seconds after the end of their step.
constexpr std::int64_t shortest_wait = 5;
constexpr std::uint64_t longest_wait = 60;

social::account_name social_name_of(std::uint64_t number) {
    return social::account_name(fmt::format("user{:08}", number));
}
std::string permlink_of(std::uint64_t number) {
    return fmt::format("re-post-number-{:010}", number);
}

class social_workload final : public workload {
public:
    social_workload(std::uint32_t accounts, std::uint64_t seed)
        : workload(std::string(social::generated_chain_name), false), accounts_(accounts),
          random_(seed) {}

    std::optional<block> set_up(std::uint64_t number, std::int64_t time) override {
        const std::uint64_t all = 2 * std::uint64_t{accounts_} + posts;
        if (done_ == all) return std::nullopt;
        block one{number, time, {}};
        for (const std::uint64_t end = std::min(all, done_ + operations_per_block); done_ < end;
             ++done_)
            one.transactions.push_back({{social::encode(set_up_operation(time))}});
        return one;
    }

private:
    [[nodiscard]] social::operation set_up_operation(std::int64_t time) const {
        if (done_ < accounts_) return social::account_create{social_name_of(done_)};
        if (done_ < 2 * std::uint64_t{accounts_})
            return social::deposit{social_name_of(done_ - accounts_), social_money_of_each};
        social::comment post = comment_by(author_of(done_ - 2 * std::uint64_t{accounts_}),
                                          done_ - 2 * std::uint64_t{accounts_});
        post.cashout_time = time + ten_years;
        return post;
    }

    transaction make(std::int64_t until) override { return {{social::encode(draw(until))}}; }

    /// In thousandths: the default mix of the block log generator.
    social::operation draw(std::int64_t until) {
        const std::uint64_t lot = random_() % 1000;
        if (lot < 620) return social::custom{someone(), "follow", bytes(60, std::byte{'x'})};
        if (lot < 870) return next_vote();
        if (lot < 920) return next_comment(until);
        if (lot < 960) return next_transfer();
        if (lot < 990) return social::claim{someone()};
        if (lot < 995) return social::deposit{someone(), 1000};
        return social::account_create{social_name_of(accounts_ + new_accounts_++)};
    }

    social::account_name someone() { return social_name_of(random_() % accounts_); }
    [[nodiscard]] std::uint64_t author_of(std::uint64_t post) const { return post % accounts_; }

    [[nodiscard]] static social::comment comment_by(std::uint64_t author, std::uint64_t number) {
        social::comment one;
        one.author = social_name_of(author);
        one.permlink = permlink_of(number);
        one.parent_permlink = "category";
        one.title_bytes = 40;
        one.body_bytes = 1000;
        one.author_payout = 3000;
        one.curator_payout = 1000;
        return one;
    }

    /// An account votes on a post at most once: another voter in each round over the posts.
    social::operation next_vote() {
        const std::uint64_t post = votes_ % posts;
        const std::uint64_t voter = (votes_ / posts + post * 7919) % accounts_;
        ++votes_;
        return social::vote{social_name_of(voter), social_name_of(author_of(post)),
                            permlink_of(post), social::full_percent,
                            static_cast<std::int64_t>(1 + random_() % 1'000'000)};
    }

    /// Two of three are replies.
    social::operation next_comment(std::int64_t until) {
        social::comment one = comment_by(random_() % accounts_, posts + comments_++);
        one.cashout_time =
            until + shortest_wait + static_cast<std::int64_t>(random_() % longest_wait);
        if (comments_ % 3 != 0) {
            const std::uint64_t parent = random_() % posts;
            one.parent_author = social_name_of(author_of(parent));
            one.parent_permlink = permlink_of(parent);
        }
        return one;
    }

    social::operation next_transfer() {
        const std::uint64_t from = random_() % accounts_;
        const std::uint64_t to = (from + 1 + random_() % (accounts_ - 1)) % accounts_;
        return social::transfer{social_name_of(from), social_name_of(to), 1, "thanks"};
    }

    std::uint32_t accounts_;
    std::uint64_t done_ = 0;
    std::uint64_t votes_ = 0;
    std::uint64_t comments_ = 0;
    std::uint64_t new_accounts_ = 0;
    std::mt19937_64 random_;
};

} // namespace

std::unique_ptr<workload> make_social_workload(std::uint32_t accounts, std::uint64_t seed) {
    return std::make_unique<social_workload>(accounts, seed);
}

load_generator::load_generator(workload& from, arrivals& to, double rate, clock::time_point begin,
                               clock::time_point end, std::atomic<std::uint64_t>& offered)
    : from_(from), to_(to), rate_(rate), begin_(begin), end_(end), offered_(offered) {
    thread_ = std::thread([this] {
        try {
            send();
        } catch (...) {
            failure_ = std::current_exception();
        }
    });
}

load_generator::~load_generator() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

void load_generator::stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void load_generator::send() {
    std::uint64_t sent = 0;
    auto wake = begin_;
    while (!stopping_) {
        std::this_thread::sleep_until(wake);
        const auto now = std::min(clock::now(), end_);
        send_due(static_cast<std::uint64_t>(std::floor(seconds_of(now - begin_) * rate_)), sent);
        if (now == end_) return;
        wake = std::max(wake + std::chrono::milliseconds(1), now);
    }
}

void load_generator::send_due(std::uint64_t due, std::uint64_t& sent) {
    const nanoseconds apart(std::llround(1e9 / rate_));
    while (sent < due) {
        const std::uint64_t left = std::min<std::uint64_t>(due - sent, UINT32_MAX);
        parcel some = from_.take(static_cast<std::uint32_t>(left));
        some.due = begin_ + nanoseconds(std::llround(static_cast<double>(sent) * 1e9 / rate_));
        some.apart = apart;
        sent += some.count;
        offered_ += some.count;
        to_.push(std::move(some));
    }
}

} // namespace chainbase::driver::live
