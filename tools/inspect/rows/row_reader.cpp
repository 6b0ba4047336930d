#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/rows/row_reader.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

namespace chainbase::inspect {

namespace {

using kind = rows::value_type::kind;

/// The digits of an integer of more than 64 bits.
std::string_view digits_of(const nlohmann::json& value) {
    const auto& digits = value.get_binary();
    return {reinterpret_cast<const char*>(digits.data()), digits.size()};
}

/// Builds a value as nlohmann's own parser does, but for long integers.
class exact_parser final : public nlohmann::json_sax<nlohmann::json> {
public:
    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t& text) override {
        if (text.find_first_of(".eE") != text.npos) return add(value);
        return add(nlohmann::json::binary({text.begin(), text.end()}));
    }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t&) override { return false; } // no JSON text has one
    bool start_object(std::size_t) override { return open(nlohmann::json::object()); }
    bool key(string_t& name) override {
        key_ = std::move(name);
        return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(nlohmann::json::array()); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
        return false;
    }

    nlohmann::json made = nlohmann::json::value_t::discarded;

private:
    nlohmann::json& place(nlohmann::json value) {
        if (open_.empty()) return made = std::move(value);
        nlohmann::json& in = *open_.back();
        if (in.is_array()) return in.emplace_back(std::move(value));
        return in[key_] = std::move(value);
    }
    bool add(nlohmann::json value) {
        place(std::move(value));
        return true;
    }
    bool open(nlohmann::json value) {
        open_.push_back(&place(std::move(value))); // nothing is added beside it before it is closed
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    std::vector<nlohmann::json*> open_;
    std::string key_;
};

/// Throws for a value of the wrong kind.
[[noreturn]] void refuse(const char* wanted, const nlohmann::json& value) {
    std::string found = value.is_binary()
                            ? std::string(digits_of(value))
                            : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (found.size() > 60) found = found.substr(0, 57) + "...";
    throw usage_error(fmt::format("{} is no {}", found, wanted));
}

int digit_of(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Two hexadecimal digits a byte.
std::string bytes_of(const nlohmann::json& value) {
    const auto* text = value.get_ptr<const std::string*>();
    if (!text || text->size() % 2 != 0) refuse("text of hexadecimal digits, two for a byte", value);
    std::string bytes;
    for (std::size_t at = 0; at < text->size(); at += 2) {
        const int high = digit_of((*text)[at]);
        const int low = digit_of((*text)[at + 1]);
        if (high < 0 || low < 0) refuse("text of hexadecimal digits, two for a byte", value);
        bytes += static_cast<char>(high << 4 | low);
    }
    return bytes;
}

/// A text, or the bytes of one that is no UTF-8.
std::string text_of(const nlohmann::json& value) {
    if (const auto* text = value.get_ptr<const std::string*>()) return *text;
    if (!value.is_object() || value.size() != 1 || !value.contains("hex"))
        refuse(R"(text, or {"hex": "..."})", value);
    return bytes_of(value["hex"]);
}

/// Parses 128 bits; from_chars does not support them in strict C++20.
bool parse_wide(std::string_view digits, bool is_signed, unsigned __int128& to) {
    const bool is_negative = digits.starts_with('-');
    if (is_negative) digits.remove_prefix(1);
    if (is_negative && !is_signed) return false;
    const unsigned __int128 all = ~static_cast<unsigned __int128>(0);
    const unsigned __int128 most = is_signed ? (all >> 1) + (is_negative ? 1 : 0) : all;
    unsigned __int128 found = 0;
    for (const char c : digits) {
        const auto digit = static_cast<unsigned>(c - '0');
        if (found > (most - digit) / 10) return false;
        found = found * 10 + digit;
    }
    to = is_negative ? -found : found;
    return true;
}

/// Truncates to the field's size; the machine is little-endian.
void store_number(const rows::value_type& type, const nlohmann::json& value, std::byte* to) {
    std::uint64_t bits[2]{};
    bool fits = false;
    if (unsigned __int128 wide = 0; value.is_binary()) {
        fits = type.bytes == sizeof wide && parse_wide(digits_of(value), type.is_signed, wide);
        std::memcpy(bits, &wide, sizeof wide);
    } else if (value.is_number_unsigned()) {
        bits[0] = value.get<std::uint64_t>();
        fits = !type.is_signed || type.bytes > 8 || bits[0] <= std::uint64_t{INT64_MAX};
    } else if (value.is_number_integer()) {
        const auto number = value.get<std::int64_t>();
        bits[0] = static_cast<std::uint64_t>(number);
        bits[1] = number < 0 ? UINT64_MAX : 0;
        fits = type.is_signed || number == 0; // "-0" comes here, too
    }
    if (fits && type.bytes <= 8)
        fits = rows::integer_at(reinterpret_cast<const std::byte*>(bits), type.bytes,
                                type.is_signed) == bits[0];
    if (!fits)
        refuse(fmt::format("{} integer of {} bits", type.is_signed ? "signed" : "unsigned",
                           8 * type.bytes)
                   .c_str(),
               value);
    std::memcpy(to, bits, type.bytes);
}

/// The float whose shortest digits are those of `wanted`: rounding twice may give its neighbour.
float nearest_float(double wanted) {
    const auto rounded = static_cast<float>(wanted);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float one :
         {rounded, std::nextafter(rounded, infinity), std::nextafter(rounded, -infinity)}) {
        const std::string digits = fmt::format("{}", one);
        double back = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), back);
        if (back == wanted) return one;
    }
    return rounded;
}

/// "-0" is parsed as a signed integer.
bool is_minus_zero(const nlohmann::json& value) {
    return value.is_number_integer() && !value.is_number_unsigned() && value == 0;
}

/// "nan(BITS)"; false when it is none.
bool store_unusual_nan(const rows::value_type& type, const nlohmann::json& value, std::byte* to) {
    constexpr std::string_view begin = "nan(";
    const auto* text = value.get_ptr<const std::string*>();
    const bool has_form =
        text && text->starts_with(begin) && text->size() == begin.size() + 2 * type.bytes + 1;
    if (!has_form || text->back() != ')') return false;
    std::uint64_t bits = 0;
    const char* const end = text->data() + text->size() - 1;
    if (std::from_chars(text->data() + begin.size(), end, bits, 16).ptr != end) return false;
    std::memcpy(to, &bits, type.bytes);
    return type.bytes == sizeof(float) ? std::isnan(rows::copy_at<float>(to))
                                       : std::isnan(rows::copy_at<double>(to));
}

void store_float(const rows::value_type& type, const nlohmann::json& value, std::byte* to) {
    if (store_unusual_nan(type, value, to)) return;
    double found = 0;
    if (value.is_binary())
        std::from_chars(digits_of(value).begin(), digits_of(value).end(), found);
    else if (value.is_number())
        found = is_minus_zero(value) ? -0.0 : value.get<double>();
    else if (value == "nan" || value == "-nan")
        found =
            std::copysign(std::numeric_limits<double>::quiet_NaN(), value == "nan" ? 1.0 : -1.0);
    else if (value == "inf" || value == "-inf")
        found = value == "inf" ? HUGE_VAL : -HUGE_VAL;
    else
        refuse(R"(number, "nan", "inf" or "-inf")", value);
    if (type.bytes == sizeof found) {
        std::memcpy(to, &found, sizeof found);
        return;
    }
    const float single = std::isfinite(found) ? nearest_float(found) : static_cast<float>(found);
    std::memcpy(to, &single, sizeof single);
}

void store_bytes(const rows::value_type& type, const std::string& bytes,
                 const nlohmann::json& value, std::byte* to) {
    if (bytes.size() != type.bytes)
        refuse(fmt::format("value of {} bytes", type.bytes).c_str(), value);
    std::memcpy(to, bytes.data(), bytes.size());
}

} // namespace

row_reader::row_reader(const type_schema& schema) : type_(schema.name), image_(schema.value_bytes) {
    for (const type_schema::field& one : schema.fields) {
        if (std::uint64_t{one.offset} + one.bytes > schema.value_bytes)
            throw damaged_error(fmt::format("{}: field {} is not within an object of {} bytes",
                                            schema.name, one.name, schema.value_bytes));
        fields_.push_back({one.name, one.offset, rows::value_type::of(one.type, one.bytes)});
        type_names_.push_back(one.type);
    }
}

std::optional<std::span<const std::byte>> row_reader::content(buffer_handle handle) const {
    if (handle.bits == 0) return std::span<const std::byte>();
    if (handle.bits > contents_.size()) return std::nullopt;
    return std::as_bytes(std::span(contents_[handle.bits - 1]));
}

void row_reader::store_text(const std::string& content, std::byte* to) {
    buffer_handle handle;
    if (!content.empty()) {
        contents_.push_back(content);
        handle.bits = contents_.size();
    }
    std::memcpy(to, &handle, sizeof handle);
}

void row_reader::store_vector(const rows::value_type& type, const json& value, std::byte* to) {
    const std::uint32_t each = type.element().bytes;
    if (type.is_bytes() || each == 0) return store_text(bytes_of(value), to);
    if (!value.is_array()) refuse("array", value);
    std::string content(value.size() * each, '\0');
    auto* at = reinterpret_cast<std::byte*>(content.data());
    for (const json& element : value) {
        store(type.element(), element, at);
        at += each;
    }
    store_text(content, to);
}

void row_reader::store_array(const rows::value_type& type, const json& value, std::byte* to) {
    const std::uint32_t each = type.element().bytes;
    if (type.is_bytes() || each == 0) return store_bytes(type, bytes_of(value), value, to);
    if (!value.is_array() || value.size() * each != type.bytes)
        refuse(fmt::format("array of {} elements", type.bytes / each).c_str(), value);
    for (std::size_t number = 0; number < value.size(); ++number)
        store(type.element(), value[number], to + number * each);
}

void row_reader::store_structure(const rows::value_type& type, const json& value, std::byte* to) {
    if (!value.is_object() || value.size() != type.members.size())
        refuse(fmt::format("object of {} members", type.members.size()).c_str(), value);
    for (const rows::value_type::member& member : type.members) {
        auto found = value.find(member.name);
        if (found == value.end()) found = value.find(valid_utf8(member.name));
        if (found == value.end()) refuse(("object with the member " + member.name).c_str(), value);
        store(member.type, *found, to + member.offset);
    }
}

void row_reader::store(const rows::value_type& type, const json& value, std::byte* to) {
    switch (type.what) {
    case kind::boolean:
        if (!value.is_boolean()) refuse("true or false", value);
        *to = std::byte{value.get<bool>()};
        break;
    case kind::number:
        store_number(type, value, to);
        break;
    case kind::floating:
        store_float(type, value, to);
        break;
    case kind::fixed_text: {
        const std::string text = text_of(value);
        if (text.size() > type.bytes || text.find('\0') != std::string::npos)
            refuse(fmt::format("text of at most {} bytes, none of them zero", type.bytes).c_str(),
                   value);
        std::memcpy(to, text.data(), text.size());
        break;
    }
    case kind::text:
        store_text(text_of(value), to);
        break;
    case kind::vector:
        store_vector(type, value, to);
        break;
    case kind::array:
        store_array(type, value, to);
        break;
    case kind::structure:
        store_structure(type, value, to);
        break;
    case kind::opaque:
        store_bytes(type, bytes_of(value), value, to);
        break;
    }
}

void row_reader::clear() {
    std::ranges::fill(image_, std::byte{0});
    contents_.clear();
}

const std::byte* row_reader::read(const json& object) {
    if (!object.is_object() || object.size() != fields_.size()) {
        for (const auto& [name, value] : object.items())
            if (std::ranges::find(fields_, name, &rows::value_type::member::name) == fields_.end())
                throw usage_error(type_ + " has no field \"" + name + "\"");
    }
    clear();
    for (const rows::value_type::member& field : fields_) {
        const auto found = object.is_object() ? object.find(field.name) : object.end();
        if (found == object.end())
            throw usage_error(type_ + ": field " + field.name + " is missing");
        try {
            store(field.type, *found, image_.data() + field.offset);
        } catch (const usage_error& problem) {
            throw usage_error(type_ + ": field " + field.name + ": " + problem.what());
        }
    }
    return image_.data();
}

namespace {

/// Two lower-case digits a byte, from digits of any form or from the bytes as an array.
nlohmann::json bytes_in(std::string word) {
    if (word.find_first_of(",[") == word.npos) {
        if (word.starts_with("0x")) word.erase(0, 2);
        std::ranges::transform(word, word.begin(), [](char c) {
            return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        return word;
    }
    const nlohmann::json all = exact_json(word.starts_with('[') ? word : "[" + word + "]");
    std::string digits;
    for (const nlohmann::json& one : all) {
        if (!one.is_number_unsigned() || one > 255) refuse("byte", one);
        digits += fmt::format("{:02x}", one.get<unsigned>());
    }
    return digits;
}

/// What is printed for the value that a word names.
nlohmann::json json_in(const rows::value_type& type, const std::string& word) {
    switch (type.what) {
    case kind::fixed_text:
    case kind::text:
        if (word.starts_with(R"({"hex":)"))
            if (nlohmann::json bytes = exact_json(word); bytes.is_object()) return bytes;
        return word;
    case kind::floating:
        if (word.ends_with("nan") || word.ends_with("inf") || word.starts_with("nan(")) return word;
        break;
    case kind::array:
    case kind::vector:
        if (type.is_bytes()) return bytes_in(word);
        if (!word.starts_with('[')) return exact_json("[" + word + "]");
        break;
    default:
        break;
    }
    return exact_json(word);
}

} // namespace

nlohmann::json exact_json(std::string_view text) {
    exact_parser parser;
    if (!nlohmann::json::sax_parse(text, &parser)) return nlohmann::json::value_t::discarded;
    return std::move(parser.made);
}

const std::byte* row_reader::read_parts(const type_schema::key& key,
                                        const std::vector<std::string>& words) {
    clear();
    for (std::size_t part = 0; part < words.size(); ++part) {
        const auto field =
            std::ranges::find(fields_, key.parts[part].field, &rows::value_type::member::name);
        try {
            store(field->type, json_in(field->type, words[part]), image_.data() + field->offset);
        } catch (const usage_error& problem) {
            const std::string& type =
                type_names_[static_cast<std::size_t>(field - fields_.begin())];
            throw usage_error(fmt::format("\"{}\" is no value of {}, which is of type {}",
                                          words[part], field->name, type));
        }
    }
    return image_.data();
}

void require_parts(const type_schema& schema, const type_schema::key& key, std::size_t parts) {
    const std::size_t all = key.parts.size();
    if (parts > all)
        throw usage_error(fmt::format("{}.{} has {} part{}, {} were given", schema.name, key.name,
                                      all, all == 1 ? "" : "s", parts));
}

namespace {

void require_known(const type_schema& schema, const type_schema::key& key, std::size_t parts,
                   const rows::buffer_source& of_state) {
    const rows::key_reader known(schema, key, of_state);
    if (parts > known.parts())
        throw usage_error(fmt::format("{}.{} cannot be searched in: {}, which only the program "
                                      "that wrote the state understands",
                                      schema.name, key.name, known.why_no_order()));
}

} // namespace

rows::probe probe_of(const type_schema& schema, const type_schema::key& key,
                     const std::vector<std::string>& words, const rows::buffer_source& of_state) {
    require_parts(schema, key, words.size());
    require_known(schema, key, words.size(), of_state); // the reader finds a field for each part
    row_reader reader(schema);
    return probe_of(schema, key, {reader.read_parts(key, words), reader}, words.size(), of_state);
}

rows::probe probe_of(const type_schema& schema, const type_schema::key& key,
                     rows::probe::source values, std::size_t parts,
                     const rows::buffer_source& of_state) {
    require_parts(schema, key, parts);
    rows::probe made(schema, key, values, of_state, parts);
    if (made.parts() != parts) require_known(schema, key, parts, of_state);
    return made;
}

} // namespace chainbase::inspect
