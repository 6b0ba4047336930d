#include <tools/inspect/escaped.hpp>

#include <nlohmann/json.hpp>

namespace chainbase::inspect {

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
