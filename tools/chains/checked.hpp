#pragma once

#include <pool_allocator/base/error.hpp>

#include <concepts>
#include <string>

namespace chainbase {

/// A block or an operation breaks a rule of its chain. The message names the rule; the caller that
/// applies the block adds the position.
class rejected_error : public error {
public:
    using error::error;
};

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/// In decimal digits.
[[nodiscard]] inline std::string to_string(int128 value) {
    const bool is_negative = value < 0;
    auto left = is_negative ? 0 - static_cast<uint128>(value) : static_cast<uint128>(value);
    std::string digits;
    do
        digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(left % 10)));
    while ((left /= 10) != 0);
    return is_negative ? "-" + digits : digits;
}

/// Throws rejected_error naming `rule` unless `holds`.
inline void require(bool holds, const char* rule) {
    if (!holds) throw rejected_error(rule);
}

/// As above, with the object's name from `of()` in brackets. `of` is called on failure only, since
/// most operations break no rule.
template <std::invocable Name>
void require(bool holds, const char* rule, Name&& of) {
    if (!holds) throw rejected_error(std::string(rule) + " (" + of() + ")");
}

/// `to` += `amount`; throws rejected_error naming `what` when the sum does not fit.
template <typename V>
void add(V& to, V amount, const char* what) {
    if (__builtin_add_overflow(to, amount, &to))
        throw rejected_error(std::string(what) + " would exceed its range");
}

} // namespace chainbase
