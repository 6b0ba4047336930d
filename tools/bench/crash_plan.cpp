#include <tools/bench/crash_plan.hpp>

#include <string>
#include <unordered_set>

namespace chainbase::bench {

crash_plan::block crash_plan::among(std::uint32_t accounts, std::uint64_t number) const {
    std::unordered_set<std::uint32_t> taken;
    std::uint64_t state = mix(number + 1);
    const auto another = [&] {
        for (;;) {
            state = mix(state);
            const auto one = static_cast<std::uint32_t>(state % accounts);
            if (taken.insert(one).second) return one;
        }
    };
    block all;
    all.reserve(payments_);
    for (std::uint32_t i = 0; i < payments_; ++i) {
        const std::uint32_t from = another();
        all.push_back({from, another()});
    }
    return all;
}

account_name crash_plan::name_of(std::uint64_t account) noexcept {
    static constexpr char letters[] = "abcdefghijklmnop";
    char text[account_name::capacity];
    std::uint64_t bits = mix(account); // which no two accounts have in common
    for (char& letter : text) {
        letter = letters[bits & 15];
        bits >>= 4;
    }
    return account_name::of_fitting({text, sizeof text});
}

} // namespace chainbase::bench
