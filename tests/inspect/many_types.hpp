#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace chainbase::test {

/// How many types build_many_types makes: "type.0" and so on. Every third has an ordered key, every
/// third a hashed one, the others none but the id; each has a text.
inline constexpr std::size_t many_types = 60;

/// How many objects a type has: a different number each, and one has none.
[[nodiscard]] constexpr std::uint32_t rows_of_type(std::size_t type, std::uint32_t rows) {
    return type == 7 ? 0 : rows + static_cast<std::uint32_t>(type);
}

/// Makes a state of so many types, with about `rows` objects each; of those a seventh was removed
/// after as many more were made. Three sessions can be undone. Closes it.
void build_many_types(const std::filesystem::path& state, std::uint32_t rows);

/// Opens such a state and changes an object of "type.5", and nothing else.
void change_type_5(const std::filesystem::path& state);

} // namespace chainbase::test
