#include <tools/inspect/escaped.hpp>

#include <boost/nowide/utf/utf.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace chainbase::inspect {

namespace {

bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
    namespace utf = boost::nowide::utf;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        if (static_cast<unsigned char>(*at) < 0x80) {
            ++at;
            continue;
        }
        const utf::code_point point = utf::utf_traits<char>::decode(at, end);
        if (point == utf::illegal || point == utf::incomplete) return false;
    }
    return true;
}

void append_json_string(std::string& to, std::string_view text) {
    if (std::all_of(text.begin(), text.end(), is_plain)) { // the common case
        to += '"';
        to += text;
        to += '"';
        return;
    }
    to += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string valid_utf8(std::string_view text) {
    using json = nlohmann::json;
    const json any = std::string(text);
    return json::parse(any.dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string escaped_for_xml(std::string_view text) {
    std::string escaped;
    for (const char c : valid_utf8(text)) {
        switch (c) {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        case '>':
            escaped += "&gt;";
            break;
        case '"':
            escaped += "&quot;";
            break;
        case '\'':
            escaped += "&#39;";
            break;
        default:
            escaped += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
        }
    }
    return escaped;
}

} // namespace chainbase::inspect
