#include <tools/chains/checked.hpp>
#include <tools/driver/generate/activity.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace chainbase::generate {

namespace {

/// Fixed point: 2^20 is one, so that mixing weights loses little to rounding.
constexpr std::uint64_t unit = 1 << 20;

std::uint64_t place_of(std::uint64_t rank, std::uint64_t count) {
    return static_cast<std::uint64_t>((static_cast<uint128>(2 * rank + 1) << 64) / (2 * count));
}

std::vector<std::uint64_t> weights_of(std::uint32_t accounts, std::uint64_t active,
                                      const quantile_points& points, std::uint64_t skew_milli) {
    std::vector<std::uint64_t> weights(accounts);
    std::uint64_t sum = 0;
    for (std::uint64_t rank = 0; rank < active; ++rank) {
        const auto value = std::max<std::int64_t>(value_at(points, place_of(rank, active)), 1);
        weights[rank] = static_cast<std::uint64_t>(value) * unit;
        sum += weights[rank];
    }
    const std::uint64_t mean = sum / accounts;
    for (std::uint64_t& one : weights)
        one = (one * skew_milli + mean * (1000 - skew_milli)) / 1000;
    return weights;
}

std::uint64_t stride_for(std::uint64_t accounts) {
    std::uint64_t stride = accounts * 618 / 1000 + 1;
    while (std::gcd(stride, accounts) != 1)
        ++stride;
    return stride;
}

} // namespace

activity::activity(std::uint32_t accounts, std::uint32_t active_per_100_000,
                   const quantile_points& points, std::uint32_t skew_milli)
    : columns_(accounts),
      active_per_100_000_((active_per_100_000 * skew_milli + 100'000 * (1000 - skew_milli)) / 1000),
      is_skewed_(skew_milli > 0), stride_(stride_for(accounts)) {
    const std::uint64_t active = std::uint64_t{accounts} * active_per_100_000 / 100'000;
    fill(weights_of(accounts, std::max<std::uint64_t>(active, 1), points, skew_milli));
}

/// Fills each column up to the average weight: its own, plus a part of a larger one.
void activity::fill(std::vector<std::uint64_t> weights) {
    const std::uint64_t count = weights.size();
    const auto sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    std::vector<std::uint32_t> small;
    std::vector<std::uint32_t> large;
    std::vector<uint128> scaled(count); // of `sum`, which is the average weight of `count` columns
    for (std::uint32_t i = 0; i < count; ++i) {
        columns_[i] = {UINT32_MAX, i};
        scaled[i] = static_cast<uint128>(weights[i]) * count;
        (scaled[i] < sum ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
        const std::uint32_t less = small.back();
        const std::uint32_t more = large.back();
        small.pop_back();
        columns_[less] = {static_cast<std::uint32_t>((scaled[less] << 32) / sum), more};
        scaled[more] -= sum - scaled[less];
        if (scaled[more] >= sum) continue;
        large.pop_back();
        small.push_back(more);
    }
}

std::uint32_t activity::draw(random_numbers& random, std::uint64_t newcomers) const {
    if (newcomers > 0 && random.chance(newcomers, columns_.size() + newcomers)) {
        std::uint64_t active = newcomers * active_per_100_000_ / 100'000;
        if (is_skewed_) active = random.below(active) + 1;
        const std::uint64_t rank = random.below(std::max<std::uint64_t>(active, 1));
        return static_cast<std::uint32_t>(columns_.size() + rank);
    }
    const std::uint64_t bits = random.next();
    const std::uint64_t at = (bits >> 32) * columns_.size() >> 32;
    const column& one = columns_[at];
    const bool keeps = static_cast<std::uint32_t>(bits) <= one.keep && one.keep != 0;
    return account_of(keeps ? at : one.other);
}

/// Spreads ranks over the accounts, so that the active ones are not the oldest.
std::uint32_t activity::account_of(std::uint64_t rank) const noexcept {
    return static_cast<std::uint32_t>(rank * stride_ % columns_.size());
}

namespace {

constexpr std::string_view consonants = "bdfghjklmnprstvwyzcx";
constexpr std::string_view vowels = "aeiou";
constexpr std::uint64_t syllables = 100; // consonants times vowels
constexpr std::uint64_t possible_names = syllables * syllables * syllables * syllables;
static_assert(max_accounts <= possible_names);

constexpr std::array<std::string_view, 32> words{
    "how",   "the",    "market", "daily",  "photo",   "my",       "first", "steem",
    "guide", "update", "of",     "and",    "bitcoin", "travel",   "to",    "new",
    "art",   "story",  "in",     "review", "why",     "music",    "a",     "contest",
    "life",  "part",   "garden", "about",  "weekly",  "thoughts", "food",  "introducing",
};

constexpr std::array<std::string_view, 8> custom_ids{
    "game_move", "game_move", "game_market", "follow", "reblog", "token", "community", "notify",
};

/// Five random bits for each letter.
void append_letters(std::string& to, std::size_t count, random_numbers& random) {
    constexpr std::string_view letters = "0123456789abcdefghijklmnopqrstuv";
    for (std::uint64_t bits = 0; count > 0; --count, bits >>= 5) {
        if (bits < 32) bits = random.next() | std::uint64_t{1} << 63;
        to += letters[bits & 31];
    }
}

} // namespace

fixed_string<16> name_of_account(std::uint32_t n) {
    // An odd factor not divisible by 5: a permutation of the numbers below `possible`.
    std::uint64_t rest = (std::uint64_t{n} * 48'271'003 + 7'654'321) % possible_names;
    std::array<char, 16> text{};
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i, rest /= syllables) {
        text[size++] = consonants[rest % syllables / vowels.size()];
        text[size++] = vowels[rest % vowels.size()];
    }
    constexpr std::array<std::string_view, 8> endings{"", "", "", "", "n", "x", "-art", "-game"};
    for (const char one : endings[n % endings.size()])
        text[size++] = one;
    return std::string_view(text.data(), size);
}

std::string permlink(std::uint64_t serial, std::int64_t size, random_numbers& random) {
    const std::string number = std::to_string(serial);
    const auto wanted = static_cast<std::size_t>(std::clamp<std::int64_t>(size, 1, 256));
    std::string text;
    text.reserve(wanted + 16);
    while (text.size() + number.size() + 1 < wanted) {
        text += words[random.below(words.size())];
        text += '-';
    }
    text.resize(wanted > number.size() ? wanted - number.size() : 0);
    if (!text.empty()) text.back() = '-'; // a digit at its end would run into the number
    return text + number;
}

custom_content custom(random_numbers& random) {
    const std::string_view id = custom_ids[random.below(custom_ids.size())];
    std::string text = R"({"app":"chain-app/1.4.2","type":")";
    text += id;
    text += R"(","tx":")";
    append_letters(text, 10, random);
    text += R"(","items":[")";
    append_letters(text, 8 + random.below(16), random);
    for (std::uint64_t left = random.below(6); left > 0; --left) {
        text += R"(","C3-)";
        append_letters(text, 12, random);
    }
    text += R"("]})";
    const byte_view view = bytes_of(text);
    return {std::string(id), {view.begin(), view.end()}};
}

std::string memo(random_numbers& random) {
    if (!random.chance(1, 3)) return {};
    std::string text = "invoice ";
    append_letters(text, 8 + random.below(24), random);
    return text;
}

} // namespace chainbase::generate
