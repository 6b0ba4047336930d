#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::inspect {

/// The names and values after the '?' of a request, decoded: "key=alice&key=7". A value may be any
/// bytes.
class query_string {
public:
    /// Throws usage_error for what is not encoded properly, or more than 64 values.
    explicit query_string(std::string_view encoded);

    /// The first value of this name.
    [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
    /// All of them, in order.
    [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
    /// A decimal number up to `most`; `otherwise` when there is none. Throws usage_error for
    /// anything else.
    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise,
                                       std::uint64_t most) const;

private:
    std::vector<std::pair<std::string, std::string>> values_;
};

} // namespace chainbase::inspect
