#pragma once

#include <compare>
#include <cstdint>

namespace chainbase {

/// The identity of an object of type T: a 32-bit number, given in order of creation from 0 and used
/// again only after the creation was undone. Cheap to copy; orders as the number does.
template <typename T>
struct id {
    using object_type = T;

    std::uint32_t value = 0;

    constexpr id() = default;
    constexpr explicit id(std::uint32_t number) noexcept : value(number) {}
    /// Of no object, ever: for a member that refers to none.
    [[nodiscard]] static constexpr id none() noexcept { return id(UINT32_MAX); }

    friend constexpr auto operator<=>(id, id) = default;
};

} // namespace chainbase
