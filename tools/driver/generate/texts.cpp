#include <tools/driver/generate/texts.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace chainbase::generate {
namespace {

constexpr std::string_view consonants = "bdfghjklmnprstvwyzcx";
constexpr std::string_view vowels = "aeiou";
constexpr std::uint64_t syllables = 100; // consonants times vowels
constexpr std::uint64_t possible_names = syllables * syllables * syllables * syllables;
static_assert(most_accounts <= possible_names);

constexpr std::array<std::string_view, 32> words{
    "how",   "the",    "market", "daily",  "photo",   "my",       "first", "steem",
    "guide", "update", "of",     "and",    "bitcoin", "travel",   "to",    "new",
    "art",   "story",  "in",     "review", "why",     "music",    "a",     "contest",
    "life",  "part",   "garden", "about",  "weekly",  "thoughts", "food",  "introducing",
};

constexpr std::array<std::string_view, 8> custom_ids{
    "game_move", "game_move", "game_market", "follow", "reblog", "token", "community", "notify",
};

/// Five bits of chance for each letter.
void append_letters(std::string& to, std::size_t count, random_numbers& random) {
    constexpr std::string_view letters = "0123456789abcdefghijklmnopqrstuv";
    for (std::uint64_t bits = 0; count > 0; --count, bits >>= 5) {
        if (bits < 32) bits = random.next() | std::uint64_t{1} << 63;
        to += letters[bits & 31];
    }
}

} // namespace

fixed_string<16> name_of_account(std::uint32_t n) {
    // An odd factor that 5 does not divide leaves every number below `names` in one place.
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
    if (!text.empty()) text.back() = '-'; // no digit of a word may run into the number
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
