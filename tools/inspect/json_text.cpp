#include <tools/inspect/json_text.hpp>

#include <boost/json/src.hpp>
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
    if (std::all_of(text.begin(), text.end(), is_plain)) { // most texts of a chain
        to += '"';
        to += text;
        to += '"';
        return;
    }
    boost::json::serializer writer;
    writer.reset(boost::json::string_view(text.data(), text.size()));
    char part[256];
    while (!writer.done())
        to += std::string_view(writer.read(part));
}

nlohmann::ordered_json text_or_null(const std::string& text) {
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

std::string line_of(const nlohmann::ordered_json& value) {
    return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace chainbase::inspect
