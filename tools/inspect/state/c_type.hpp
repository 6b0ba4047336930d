#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// Names within one scope of C: identifiers, each given once.
class c_names {
public:
    /// One for `name`, which may have any bytes.
    [[nodiscard]] std::string of(std::string_view name);

private:
    std::set<std::string> taken_;
};

/// A type of the catalogue's words ("u64[4]", "{amount i64, unit u32}") as one of C.
struct c_type {
    std::string name;                     ///< "uint64_t", or "struct { ... }"
    std::vector<std::uint64_t> lengths{}; ///< of arrays, the outermost first
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 1; ///< in C++; in C it may be less

    /// `depth`: how far its lines are indented. Empty of words that are not known.
    [[nodiscard]] static std::optional<c_type> of(std::string_view words, int depth);

    /// "uint64_t name[4];"
    [[nodiscard]] std::string declare(const std::string& name) const;
};

/// "    uint8_t padding_0[4];" with a name that `names` had not given yet; empty of no bytes.
[[nodiscard]] std::string c_padding(std::uint64_t bytes, c_names& names, int depth);

/// What lines are indented by.
[[nodiscard]] std::string c_indent(int depth);

} // namespace chainbase::inspect
