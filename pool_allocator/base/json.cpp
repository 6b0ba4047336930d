#include <pool_allocator/base/json.hpp>

#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/nowide/utf/utf.hpp>
#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace chainbase {

namespace json = boost::json;

namespace {

json::parse_options how_to_parse() {
    json::parse_options options;
    options.allow_invalid_utf8 = true;
    return options;
}

/// The parser does not report the offset, so the text is fed to another parser byte by byte.
std::size_t offset_of_error(std::string_view text) {
    json::stream_parser again({}, how_to_parse());
    for (std::size_t at = 0; at < text.size(); ++at) {
        boost::system::error_code problem;
        if (again.write_some(text.data() + at, 1, problem) == 0 || problem) return at;
    }
    return text.size();
}

} // namespace

json_value json_value::parse(std::string_view text) {
    boost::system::error_code problem;
    json::parser parser({}, how_to_parse());
    parser.write(text.data(), text.size(), problem);
    if (problem)
        throw json_error("offset " + std::to_string(offset_of_error(text)) +
                         ": not valid JSON: " + problem.message());
    auto whole = std::make_shared<const json::value>(parser.release());
    const json::value& root = *whole;
    return {std::move(whole), root, {}};
}

void json_value::refuse(const std::string& wanted) const {
    throw json_error((where_.empty() ? "the whole" : where_) + ": " + wanted);
}

json_value json_value::at(std::string_view member) const {
    if (!at_->is_object()) refuse("no object");
    const json::value* found = at_->get_object().if_contains({member.data(), member.size()});
    const std::string where = where_ + (where_.empty() ? "" : ".") + std::string(member);
    if (!found) throw json_error(where + ": missing");
    return {whole_, *found, where};
}

bool json_value::has(std::string_view member) const {
    if (!at_->is_object()) refuse("no object");
    return at_->get_object().contains({member.data(), member.size()});
}

std::vector<json_value> json_value::elements() const {
    if (!at_->is_array()) refuse("no array");
    std::vector<json_value> all;
    for (const json::value& one : at_->get_array())
        all.push_back(json_value(whole_, one, fmt::format("{}[{}]", where_, all.size())));
    return all;
}

std::vector<std::pair<std::string, json_value>> json_value::members() const {
    if (!at_->is_object()) refuse("no object");
    std::vector<std::pair<std::string, json_value>> all;
    for (const json::key_value_pair& one : at_->get_object()) {
        const std::string name(one.key().data(), one.key().size());
        all.emplace_back(name, at(name));
    }
    return all;
}

std::string json_value::text() const {
    if (!at_->is_string()) refuse("no text");
    return {at_->get_string().data(), at_->get_string().size()};
}

bool json_value::truth() const {
    if (!at_->is_bool()) refuse("neither true nor false");
    return at_->get_bool();
}

std::uint64_t json_value::natural(std::uint64_t most) const {
    if (at_->is_uint64() && at_->get_uint64() <= most) return at_->get_uint64();
    if (at_->is_int64() && std::in_range<std::uint64_t>(at_->get_int64()) &&
        static_cast<std::uint64_t>(at_->get_int64()) <= most)
        return static_cast<std::uint64_t>(at_->get_int64());
    refuse(fmt::format("not a whole number from 0 to {}", most));
}

std::int64_t json_value::integer(std::int64_t least, std::int64_t most) const {
    if (at_->is_int64() && at_->get_int64() >= least && at_->get_int64() <= most)
        return at_->get_int64();
    refuse(fmt::format("not a whole number from {} to {}", least, most));
}

std::string json_value::serialized() const {
    return json::serialize(*at_);
}

// --- writing ---

std::string to_json(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            (quoted += '\\') += c;
        else if (static_cast<unsigned char>(c) < ' ')
            quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
            quoted += c;
    }
    return quoted += '"';
}

std::string to_json(double number) {
    return std::isfinite(number) ? fmt::format("{}", number) : "null";
}

std::string valid_utf8(std::string_view text) {
    namespace utf = boost::nowide::utf;
    std::string valid;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end;) {
        const char* const begin = at;
        const utf::code_point point = utf::utf_traits<char>::decode(at, end);
        if (point == utf::illegal || point == utf::incomplete) {
            valid += "\xEF\xBF\xBD";
            at = begin + 1;
        } else {
            valid.append(begin, at);
        }
    }
    return valid;
}

json_object& json_object::add_json(std::string_view name, std::string_view json) {
    if (members_.size() > 1) members_ += comma_;
    members_ += to_json(name);
    members_ += colon_;
    members_ += json;
    return *this;
}

} // namespace chainbase
