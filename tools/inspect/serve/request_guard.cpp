#include <pool_allocator/error.hpp>
#include <tools/endpoint_name.hpp>
#include <tools/inspect/serve/json_answer.hpp>
#include <tools/inspect/serve/query_string.hpp>
#include <tools/inspect/serve/request_guard.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::inspect {

namespace {

constexpr std::string_view scheme = "http://";

/// "name=value" in a list that semicolons separate.
std::optional<std::string_view> cookie_in(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const std::size_t end = list.find(';');
        std::string_view one = list.substr(0, end);
        list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
        one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
        if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
            return one.substr(name.size() + 1);
    }
    return std::nullopt;
}

bool is_number(const std::string& host) {
    try {
        static_cast<void>(listen_address::parse(in_words({host, "1"})));
        return true;
    } catch (const usage_error&) {
        return false;
    }
}

} // namespace

request_guard::request_guard(listen_address at, std::optional<access_token> token)
    : at_(std::move(at)), token_(std::move(token)),
      cookie_("chainbase-inspect-" + std::to_string(at_.port)) {}

http_fields request_guard::protections() {
    return {{"Content-Security-Policy",
             "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
             "object-src 'none'"},
            {"X-Content-Type-Options", "nosniff"},
            {"X-Frame-Options", "DENY"},
            {"Referrer-Policy", "no-referrer"},
            {"Cache-Control", "no-store"},
            {"Cross-Origin-Resource-Policy", "same-origin"},
            {"Cross-Origin-Opener-Policy", "same-origin"}};
}

bool request_guard::is_own_name(std::string_view host) const {
    endpoint_name named;
    try {
        named = parse_endpoint(std::string(host));
    } catch (const usage_error&) {
        if (at_.port != 80) return false;
        named = {std::string(host), "80"}; // which nobody writes
    }
    if (host.starts_with(':') || named.port != std::to_string(at_.port)) return false;
    if (named.host == at_.host) return true;
    const bool is_loopback_name =
        named.host == "localhost" || named.host == "127.0.0.1" || named.host == "::1";
    if (at_.is_any()) return is_loopback_name || is_number(named.host);
    return at_.is_loopback() && is_loopback_name;
}

bool request_guard::is_from_elsewhere(const http_request& request) const {
    for (const std::string_view origin : request.values("Origin"))
        if (!origin.starts_with(scheme) || !is_own_name(origin.substr(scheme.size()))) return true;
    for (const std::string_view site : request.values("Sec-Fetch-Site"))
        if (site != "same-origin" && site != "none") return true;
    return false;
}

bool request_guard::has_token(const http_request& request) const {
    constexpr std::string_view bearer = "Bearer ";
    for (const std::string_view value : request.values("Authorization"))
        if (value.starts_with(bearer) && token_->is(value.substr(bearer.size()))) return true;
    for (const std::string_view list : request.values("Cookie")) {
        const auto value = cookie_in(list, cookie_);
        if (value && token_->is(*value)) return true;
    }
    return false;
}

/// The address bar and the history are to show no secret, so the page is asked for again without.
std::optional<http_answer> request_guard::admit(const http_request& request) const {
    if (request.path() != "/") return std::nullopt;
    const std::optional<std::string> given = query_string(request.query()).value("token");
    if (!given || !token_->is(*given)) return std::nullopt;
    return http_answer{
        303,
        "text/plain",
        "",
        {{"Location", "/"},
         {"Set-Cookie", cookie_ + "=" + token_->text() + "; Path=/; HttpOnly; SameSite=Strict"}}};
}

std::optional<http_answer> request_guard::stop(const http_request& request) const {
    const auto hosts = request.values("Host");
    if (hosts.size() != 1) return json_error(400, "the request is to name one host");
    if (!is_own_name(hosts.front()))
        return json_error(403, "this server has another name; open the address that it printed");
    if (is_from_elsewhere(request))
        return json_error(403, "pages of other sites may not look at a state");
    if (!token_ || has_token(request)) return std::nullopt;
    try {
        if (auto admitted = admit(request)) return admitted;
    } catch (const usage_error&) { // a query that is none has no token
    }
    http_answer refused =
        json_error(401, "a token is needed: open the address with the token that the server "
                        "printed, or send it as Authorization: Bearer");
    refused.fields.emplace_back("WWW-Authenticate", "Bearer");
    return refused;
}

} // namespace chainbase::inspect
