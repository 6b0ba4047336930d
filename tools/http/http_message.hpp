#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase {

/// The fields of a header, in their order.
using http_fields = std::vector<std::pair<std::string, std::string>>;

/// A request without a body, as it was sent.
struct http_request {
    std::string method; ///< "GET"
    std::string target; ///< "/rows?type=account", still encoded
    http_fields fields;

    /// The target up to its query.
    [[nodiscard]] std::string_view path() const noexcept;
    /// What follows the first '?' of the target.
    [[nodiscard]] std::string_view query() const noexcept;
    /// The values of all fields of this name, whatever its case.
    [[nodiscard]] std::vector<std::string_view> values(std::string_view name) const;
};

/// An answer. Its length is added by the server.
struct http_answer {
    unsigned status = 200;
    std::string type; ///< "text/html; charset=utf-8"
    std::string body;
    http_fields fields;
};

} // namespace chainbase
