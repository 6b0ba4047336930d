#pragma once

#include <tools/http/http_server.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::inspect {

/// The decoded names and values after the '?' of a request: "key=alice&key=7". A value may be any
/// bytes.
class query_string {
public:
    /// Throws usage_error for an invalid encoding, or more than 64 values.
    explicit query_string(std::string_view encoded);

    /// The first value of this name.
    [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
    /// All values of this name, in order.
    [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
    /// A decimal number from `least` to `most`; `otherwise` without one. Throws usage_error for
    /// anything else.
    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise,
                                       std::uint64_t most, std::uint64_t least = 0) const;

private:
    std::vector<std::pair<std::string, std::string>> values_;
};

/// The secret that gives access to the web page.
class access_token {
public:
    /// 128 random bits. Throws io_error when the kernel has none.
    [[nodiscard]] static access_token random();
    /// The first line of a file: 22 to 256 letters, digits, '-' and '_'. Throws access_error when
    /// other users may read or write the file or own it, usage_error for an invalid token,
    /// io_error.
    [[nodiscard]] static access_token read(const std::filesystem::path& file);

    /// Takes the same time for all texts of the same length.
    [[nodiscard]] bool is(std::string_view text) const noexcept;
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    explicit access_token(std::string text) : text_(std::move(text)) {}

    std::string text_;
};

/// Decides who may read the web page. Thread-safe.
///
///  1. The Host header has a name of this server, with its port: another name that resolves to this
///     server (DNS rebinding) is refused. A server at every address of a machine accepts any
///     numeric address, since only names can be rebound.
///  2. It does not come from a page of another origin, according to the browser's headers.
///  3. If there is a token, the request has it: as `Authorization: Bearer TOKEN`, or in the cookie
///     set by a visit to /?token=TOKEN.
class request_guard {
public:
    request_guard(listen_address at, std::optional<access_token> token);

    /// The answer that replaces the requested one; nothing: admitted. 401, 403, 400 for a request
    /// with no Host or several, and 303 for the visit that sets the cookie.
    [[nodiscard]] std::optional<http_answer> stop(const http_request& request) const;

    /// Headers of every answer: no foreign content, framing, caching or referrer.
    [[nodiscard]] static http_fields protections();

private:
    [[nodiscard]] bool is_own_name(std::string_view host) const;
    [[nodiscard]] bool is_from_elsewhere(const http_request& request) const;
    [[nodiscard]] bool has_token(const http_request& request) const;
    [[nodiscard]] std::optional<http_answer> admit(const http_request& request) const;

    listen_address at_;
    std::optional<access_token> token_;
    std::string cookie_; ///< its name includes the port, since cookies ignore ports
};

/// An answer with one JSON object.
[[nodiscard]] http_answer json_answer(std::string object, unsigned status = 200);

/// `{"schema_version":1,"error":message}`.
[[nodiscard]] http_answer json_error(unsigned status, const std::string& message);

} // namespace chainbase::inspect
