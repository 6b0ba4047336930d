#pragma once

#include <tools/http/http_server.hpp>
#include <tools/inspect/serve/access_token.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace chainbase::inspect {

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

} // namespace chainbase::inspect
