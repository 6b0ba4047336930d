#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <tools/endpoint_name.hpp>
#include <tools/inspect/serve/request_guard.hpp>
#include <tools/report_json.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

namespace chainbase::inspect {

namespace {

constexpr std::size_t max_values = 64;

unsigned char byte_of(std::string_view two) {
    unsigned char byte = 0;
    const auto [end, failed] = std::from_chars(two.data(), two.data() + two.size(), byte, 16);
    if (two.size() != 2 || failed != std::errc() || end != two.data() + two.size())
        throw usage_error("the query has \"%" + std::string(two) +
                          "\"; write a '%' and two hexadecimal digits for a byte");
    return byte;
}

std::string decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i] == '+' ? ' ' : text[i];
            continue;
        }
        plain += static_cast<char>(byte_of(text.substr(i + 1, 2)));
        i += 2;
    }
    return plain;
}

} // namespace

query_string::query_string(std::string_view encoded) {
    while (!encoded.empty()) {
        const std::size_t end = encoded.find('&');
        const std::string_view one = encoded.substr(0, end);
        encoded.remove_prefix(end == std::string_view::npos ? encoded.size() : end + 1);
        const std::size_t equals = one.find('=');
        if (values_.size() == max_values)
            throw usage_error("the query has more than " + std::to_string(max_values) + " values");
        if (!one.empty())
            values_.emplace_back(
                decoded(one.substr(0, equals)),
                equals == std::string_view::npos ? std::string() : decoded(one.substr(equals + 1)));
    }
}

std::optional<std::string> query_string::value(std::string_view name) const {
    for (const auto& [known, value] : values_)
        if (known == name) return value;
    return std::nullopt;
}

std::vector<std::string> query_string::values(std::string_view name) const {
    std::vector<std::string> found;
    for (const auto& [known, value] : values_)
        if (known == name) found.push_back(value);
    return found;
}

std::uint64_t query_string::number(std::string_view name, std::uint64_t otherwise,
                                   std::uint64_t most, std::uint64_t least) const {
    const std::optional<std::string> text = value(name);
    if (!text) return otherwise;
    std::uint64_t number = 0;
    const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (!is_digits(*text) || failed != std::errc() || number > most || number < least)
        throw usage_error("\"" + std::string(name) + "\" must be a number from " +
                          std::to_string(least) + " to " + std::to_string(most));
    return number;
}

namespace {

constexpr std::size_t fewest_letters = 22; // 128 bits from 64 letters
constexpr std::size_t max_letters = 256;

bool is_letter(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '_';
}

[[noreturn]] void throw_unreadable(const std::filesystem::path& file) {
    throw io_error(file.string() + ": cannot be read: " + std::generic_category().message(errno) +
                   "; check the path that --token-file names");
}

void require_private(const std::filesystem::path& file, const struct stat& found) {
    if (!S_ISREG(found.st_mode))
        throw usage_error(file.string() + ": is not a file; --token-file names one with a token");
    if (found.st_uid != ::geteuid() || (found.st_mode & 077) != 0)
        throw access_error(file.string() +
                           ": others can read or write the token, or it is another user's; make "
                           "it yours alone with chmod 600");
}

std::string first_line(const file_descriptor& from, const std::filesystem::path& file) {
    std::array<char, max_letters + 2> piece;
    const ssize_t got = ::read(from.number(), piece.data(), piece.size());
    if (got < 0) throw_unreadable(file);
    const std::string_view all(piece.data(), static_cast<std::size_t>(got));
    return std::string(all.substr(0, all.find_first_of("\r\n")));
}

} // namespace

access_token access_token::random() {
    std::array<unsigned char, 16> bytes;
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw io_error("the kernel gives no random bytes for a token: " +
                       std::generic_category().message(errno) + "; name one with --token-file");
    std::string text;
    for (const unsigned char byte : bytes)
        text += fmt::format("{:02x}", byte);
    return access_token(std::move(text));
}

access_token access_token::read(const std::filesystem::path& file) {
    const file_descriptor from(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat found{};
    if (from.number() < 0 || ::fstat(from.number(), &found) != 0) throw_unreadable(file);
    require_private(file, found);
    std::string text = first_line(from, file);
    if (text.size() < fewest_letters || text.size() > max_letters ||
        !std::all_of(text.begin(), text.end(), is_letter))
        throw usage_error(file.string() +
                          ": its first line is not a token; write 22 to 256 letters, digits, '-' "
                          "and '_' there, such as `openssl rand -hex 16` makes");
    return access_token(std::move(text));
}

bool access_token::is(std::string_view text) const noexcept {
    if (text.size() != text_.size()) return false;
    volatile unsigned char different = 0;
    for (std::size_t i = 0; i < text_.size(); ++i)
        different = different | static_cast<unsigned char>(text[i] ^ text_[i]);
    return different == 0;
}

http_answer json_answer(std::string object, unsigned status) {
    return {status, "application/json", std::move(object), {}};
}

http_answer json_error(unsigned status, const std::string& message) {
    return json_answer(line_of({{"schema_version", 1}, {"error", message}}) + "\n", status);
}

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
        static_cast<void>(listen_address::parse(chainbase::in_words({host, "1"})));
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
        named = {std::string(host), "80"}; // the port is usually omitted
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

/// Redirects without the token, so that it does not stay in the address bar and the history.
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
    if (hosts.size() != 1) return json_error(400, "the request must name one host");
    if (!is_own_name(hosts.front()))
        return json_error(403, "this server has another name; open the address that it printed");
    if (is_from_elsewhere(request))
        return json_error(403, "pages of other sites may not read a state");
    if (!token_ || has_token(request)) return std::nullopt;
    try {
        if (auto admitted = admit(request)) return admitted;
    } catch (const usage_error&) { // a malformed query has no token
    }
    http_answer refused =
        json_error(401, "a token is needed: open the address with the token that the server "
                        "printed, or send it as Authorization: Bearer");
    refused.fields.emplace_back("WWW-Authenticate", "Bearer");
    return refused;
}

} // namespace chainbase::inspect
