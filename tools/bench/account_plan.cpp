#include <tools/bench/account_plan.hpp>

#include <algorithm>
#include <numeric>
#include <string>

namespace chainbase::bench {

namespace {

constexpr std::uint32_t most_per_batch = 100'000;
constexpr std::uint32_t most_small_sessions = 10'000;
constexpr std::uint32_t most_scanned = 250'000;

/// 16 letters of five random bits each: 80 bits, so that names do not meet by chance.
account_name random_name(std::uint64_t seed) {
    static constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    std::string text(account_name::capacity, ' ');
    for (std::size_t half = 0; half < 2; ++half) {
        std::uint64_t bits = mix(seed ^ mix(half));
        for (std::size_t i = 0; i < 8; ++i, bits >>= 5)
            text[half * 8 + i] = letters[bits & 31];
    }
    return account_name(text);
}

account random_account(std::uint64_t id, std::uint64_t seed) {
    account result;
    result.id = id;
    result.name = random_name(mix(seed + id));
    result.balance = static_cast<std::int64_t>(mix(~seed ^ id) >> 24);
    result.savings = result.balance / 2;
    result.vesting = result.balance / 3;
    result.debt = result.balance / 5;
    result.created = static_cast<std::uint32_t>(id);
    return result;
}

} // namespace

account_plan::account_plan(std::uint32_t objects, std::uint64_t seed)
    : objects_(objects), batch_(std::min(objects / 4, most_per_batch)),
      small_sessions_(std::min(batch_, most_small_sessions)),
      scan_(std::min(objects, most_scanned)), seed_(seed) {
    accounts_.reserve(std::size_t{objects_} + batch_);
    for (std::uint64_t id = 0; id < std::uint64_t{objects_} + batch_; ++id)
        accounts_.push_back(random_account(id, seed));
}

std::vector<std::uint32_t> account_plan::random_ids(std::uint64_t row, std::uint32_t count) const {
    std::vector<std::uint32_t> ids(objects_);
    std::iota(ids.begin(), ids.end(), 0U);
    std::uint64_t state = mix(seed_ ^ mix(row));
    for (std::uint32_t i = 0; i < count; ++i) {
        state = mix(state);
        std::swap(ids[i], ids[i + state % (objects_ - i)]);
    }
    ids.resize(count);
    ids.shrink_to_fit();
    return ids;
}

} // namespace chainbase::bench
