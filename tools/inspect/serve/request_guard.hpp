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
    /// A decimal number from `least` to `most`; `otherwise` when there is none. Throws usage_error
    /// for anything else.
    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise,
                                       std::uint64_t most, std::uint64_t least = 0) const;

private:
    std::vector<std::pair<std::string, std::string>> values_;
};

/// The secret by which the web page knows who may look.
class access_token {
public:
    /// 128 random bits. Throws io_error when the kernel gives none.
    [[nodiscard]] static access_token random();
    /// The first line of a file: 22 to 256 letters, digits, '-' and '_'. Throws access_error when
    /// others than its owner may read or write the file or it is somebody else's, usage_error for
    /// what is no token, io_error.
    [[nodiscard]] static access_token read(const std::filesystem::path& file);

    /// Takes the same time for every text of the same length.
    [[nodiscard]] bool is(std::string_view text) const noexcept;
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    explicit access_token(std::string text) : text_(std::move(text)) {}

    std::string text_;
};

/// Decides who may look at the web page. Thread-safe.
///
///  1. The request is for a name that this server has, with its port: a page of another name that
///     was made to lead here (DNS rebinding) is refused. Of a server at every address of a machine
///     any number is such a name, since only names can be made to lead elsewhere.
///  2. It does not come from a page of another origin, as far as the browser says where it comes
///     from.
///  3. If there is a token, it comes with it: as `Authorization: Bearer TOKEN`, or in the cookie
///     that a visit to /?token=TOKEN leaves.
class request_guard {
public:
    request_guard(listen_address at, std::optional<access_token> token);

    /// The answer in place of what was asked for; nothing: go on. 401, 403, 400 for a request with
    /// no Host or several, and 303 for the visit that leaves the cookie.
    [[nodiscard]] std::optional<http_answer> stop(const http_request& request) const;

    /// Fields of every answer: nothing is loaded from elsewhere, framed, cached or told to others.
    [[nodiscard]] static http_fields protections();

private:
    [[nodiscard]] bool is_own_name(std::string_view host) const;
    [[nodiscard]] bool is_from_elsewhere(const http_request& request) const;
    [[nodiscard]] bool has_token(const http_request& request) const;
    [[nodiscard]] std::optional<http_answer> admit(const http_request& request) const;

    listen_address at_;
    std::optional<access_token> token_;
    std::string cookie_; ///< its name; cookies know no ports, so it has this server's
};

/// An answer of one JSON object, as its text.
[[nodiscard]] http_answer json_answer(std::string object, unsigned status = 200);

/// `{"schema_version":1,"error":message}`.
[[nodiscard]] http_answer json_error(unsigned status, const std::string& message);

} // namespace chainbase::inspect
