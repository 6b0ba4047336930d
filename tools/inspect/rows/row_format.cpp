#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/rows/row_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace chainbase::inspect {

namespace {

using kind = rows::value_type::kind;
using bytes_view = std::span<const std::byte>;

template <typename Bits, typename Float>
void append_one(std::string& to, const std::byte* at) {
    const auto value = rows::copy_at<Float>(at);
    const auto bits = rows::copy_at<Bits>(at);
    constexpr auto usual = std::bit_cast<Bits>(std::numeric_limits<Float>::quiet_NaN());
    constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
    if (std::isnan(value) && (bits | sign) != (usual | sign)) {
        fmt::format_to(std::back_inserter(to), "\"nan({:0{}x})\"", bits, 2 * sizeof bits);
        return;
    }
    const char* const quote = std::isfinite(value) ? "" : "\"";
    fmt::format_to(std::back_inserter(to), "{0}{1}{0}", quote, value);
}

void append_number(std::string& to, const rows::value_type& type, const std::byte* at) {
    if (type.bytes == sizeof(__int128)) {
        const auto bits = rows::copy_at<unsigned __int128>(at);
        type.is_signed ? fmt::format_to(std::back_inserter(to), "{}", static_cast<__int128>(bits))
                       : fmt::format_to(std::back_inserter(to), "{}", bits);
        return;
    }
    const std::uint64_t bits = rows::integer_at(at, type.bytes, type.is_signed);
    const fmt::format_int digits =
        type.is_signed ? fmt::format_int(static_cast<std::int64_t>(bits)) : fmt::format_int(bits);
    to.append(digits.data(), digits.size());
}

void append_hex(std::string& to, bytes_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    to += '"';
    for (const std::byte byte : bytes) {
        to += digits[std::to_integer<unsigned>(byte) >> 4];
        to += digits[std::to_integer<unsigned>(byte) & 15];
    }
    to += '"';
}

void append_text(std::string& to, bytes_view bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (is_utf8(text)) return append_json_string(to, text);
    to += R"({"hex":)";
    append_hex(to, bytes);
    to += '}';
}

/// Appends values as JSON, recursively; `is_whole` becomes false where a buffer is missing. Values
/// of an object are at the offsets of its type, with texts and vectors in buffers; those of a
/// record are consumed from its front, with lengths before texts and vectors.
class value_writer {
public:
    /// Of an object.
    value_writer(std::string& to, const rows::buffer_source& buffers)
        : to_(to), buffers_(&buffers) {}
    /// Of a record.
    value_writer(std::string& to, bytes_view record) : to_(to), left_(record) {}

    /// `at`: position in an object; null for a record.
    void append(const rows::value_type& type, const std::byte* at) {
        switch (type.what) {
        case kind::boolean:
            append_bool(bytes_of(1, at).front());
            break;
        case kind::number:
            append_number(to_, type, bytes_of(type.bytes, at).data());
            break;
        case kind::floating:
            append_float(type, bytes_of(type.bytes, at).data());
            break;
        case kind::fixed_text:
        case kind::text:
            append_text(to_, text_of(type, at));
            break;
        case kind::vector:
        case kind::array:
            append_all(type, at);
            break;
        case kind::structure:
            append_structure(type, at);
            break;
        case kind::opaque:
            append_hex(to_, bytes_of(type.bytes, at));
            break;
        }
    }

    [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }
    /// The rest of the record.
    [[nodiscard]] bytes_view left() const noexcept { return left_; }

private:
    static constexpr std::byte nothing[16] = {};

    [[nodiscard]] bool is_record() const noexcept { return buffers_ == nullptr; }
    bytes_view bytes_of(std::size_t bytes, const std::byte* at) {
        return is_record() ? take(bytes) : bytes_view(at, bytes);
    }
    /// Zeros when the record is too short.
    bytes_view take(std::size_t bytes) {
        if (bytes > left_.size()) {
            is_whole_ = false;
            left_ = {};
            return bytes_view(nothing).first(std::min(bytes, sizeof nothing));
        }
        const bytes_view taken = left_.first(bytes);
        left_ = left_.subspan(bytes);
        return taken;
    }
    std::size_t count() { return rows::copy_at<std::uint32_t>(take(4).data()); }
    bytes_view content(const std::byte* handle) {
        const auto found = buffers_->content({rows::copy_at<std::uint64_t>(handle)});
        is_whole_ = is_whole_ && found.has_value();
        return found.value_or(bytes_view());
    }

    bytes_view text_of(const rows::value_type& type, const std::byte* at) {
        if (is_record()) return take_text(type);
        if (type.what == kind::text) return content(at);
        return {at, strnlen(reinterpret_cast<const char*>(at), type.bytes)};
    }

    bytes_view take_text(const rows::value_type& type) {
        const bytes_view text = take(count());
        const bool fits = type.what == kind::text || (text.size() <= type.bytes &&
                                                      std::ranges::count(text, std::byte{0}) == 0);
        is_whole_ = is_whole_ && fits;
        return text;
    }

    /// In a record a bool has one form.
    void append_bool(std::byte value) {
        is_whole_ = is_whole_ && (!is_record() || value <= std::byte{1});
        to_ += value == std::byte{0} ? "false" : "true";
    }

    void append_float(const rows::value_type& type, const std::byte* at) {
        type.bytes == sizeof(float) ? append_one<std::uint32_t, float>(to_, at)
                                    : append_one<std::uint64_t, double>(to_, at);
    }

    /// The elements of a vector or an array.
    void append_all(const rows::value_type& type, const std::byte* at) {
        const std::size_t each = type.element().bytes;
        const bool is_vector = type.what == kind::vector;
        bytes_view lying; // in an object
        std::size_t elements = 0;
        if (is_record()) {
            elements = is_vector ? count() : each == 0 ? 0 : type.bytes / each;
            if (type.is_bytes()) return append_hex(to_, take(elements));
            if (each == 0) {
                is_whole_ = is_whole_ && elements == 0;
                return append_hex(to_, {});
            }
        } else {
            lying = is_vector ? content(at) : bytes_view(at, type.bytes);
            if (type.is_bytes() || each == 0) return append_hex(to_, lying);
            is_whole_ = is_whole_ && lying.size() % each == 0;
            elements = lying.size() / each;
        }
        to_ += '[';
        for (std::size_t number = 0; number < elements; ++number) {
            if (is_record() && !is_whole_) break; // its length is unreliable
            if (number != 0) to_ += ',';
            append(type.element(), is_record() ? nullptr : lying.data() + number * each);
        }
        to_ += ']';
    }

    void append_structure(const rows::value_type& type, const std::byte* at) {
        char before = '{';
        for (const rows::value_type::member& member : type.members) {
            to_ += before;
            append_json_string(to_, member.name);
            to_ += ':';
            append(member.type, is_record() ? nullptr : at + member.offset);
            before = ',';
        }
        to_ += '}';
    }

    std::string& to_;
    const rows::buffer_source* buffers_ = nullptr;
    bytes_view left_;
    bool is_whole_ = true;
};

} // namespace

row_format::row_format(const type_schema& schema) : type_(schema.name) {
    for (const type_schema::field& one : schema.fields) {
        if (std::uint64_t{one.offset} + one.bytes > schema.value_bytes)
            throw damaged_error(fmt::format("{}: field {} is not within an object of {} bytes",
                                            schema.name, one.name, schema.value_bytes));
        std::string begin;
        append_json_string(begin, one.name);
        begin += ':';
        constexpr std::size_t usual_value = 8;
        typical_bytes_ += 1 + begin.size() + usual_value;
        fields_.push_back(
            {one.name, std::move(begin), one.offset, rows::value_type::of(one.type, one.bytes)});
    }
}

void row_format::append(std::string& to, const field& of, const std::byte* object,
                        const rows::buffer_source& buffers) const {
    value_writer writer(to, buffers);
    writer.append(of.type, object + of.offset);
    if (!writer.is_whole())
        throw damaged_error(
            fmt::format("{} {}: field {} refers to no buffer; run chainbase-inspect "
                        "check",
                        type_, rows::copy_at<std::uint32_t>(object), of.name));
}

void row_format::append_json(std::string& to, const std::byte* object,
                             const rows::buffer_source& buffers) const {
    char before = '{';
    for (const field& one : fields_) {
        to += before;
        to += one.begin;
        append(to, one, object, buffers);
        before = ',';
    }
    to += '}';
}

/// `append(to, field)` appends each value.
template <typename Append>
row_text row_format::made(Append&& append) const {
    row_text text;
    text.json.reserve(typical_bytes_);
    text.ends.reserve(fields_.size());
    for (const field& one : fields_) {
        text.json += text.ends.empty() ? '{' : ',';
        text.json += one.begin;
        append(text.json, one);
        text.ends.push_back(text.json.size());
    }
    text.json += '}';
    return text;
}

row_text row_format::text_of(const std::byte* object, const rows::buffer_source& buffers) const {
    return made([&](std::string& to, const field& one) { append(to, one, object, buffers); });
}

row_text row_format::text_of(bytes_view record) const {
    constexpr std::size_t fingerprint_bytes = 4;
    const auto refuse = [&](const std::string& where) {
        throw damaged_error("archive: a record of " + type_ + " is not one of this state's type: " +
                            where + "; run chainbase-inspect check");
    };
    if (record.size() < fingerprint_bytes) refuse("it is too short");
    bytes_view left = record.subspan(fingerprint_bytes);
    row_text text = made([&](std::string& to, const field& one) {
        value_writer writer(to, left);
        writer.append(one.type, nullptr);
        if (!writer.is_whole())
            refuse("it ends before " + one.name + " does, or has no value of it");
        left = writer.left();
    });
    if (!left.empty()) refuse("it is longer than its fields");
    return text;
}

void row_format::append_value(std::string& to, std::size_t number, bytes_view& record) const {
    value_writer writer(to, record);
    writer.append(fields_[number].type, nullptr);
    if (!writer.is_whole())
        throw damaged_error(fmt::format("a record of {} is damaged: field {} is no value of its "
                                        "type, or the record ends before it does",
                                        type_, fields_[number].name));
    record = writer.left();
}

std::string_view row_format::value(const row_text& of, std::size_t number) const {
    const std::size_t before = number == 0 ? 0 : of.ends[number - 1];
    const std::size_t begin = before + 1 + fields_[number].begin.size();
    return std::string_view(of.json).substr(begin, of.ends[number] - begin);
}

std::vector<std::string> row_format::cells_of(const row_text& of) const {
    std::vector<std::string> cells;
    cells.reserve(fields_.size());
    for (std::size_t number = 0; number < fields_.size(); ++number) {
        std::string_view text = value(of, number);
        if (is_text(number) && text.starts_with('"')) text = text.substr(1, text.size() - 2);
        cells.emplace_back(text);
    }
    return cells;
}

bool row_format::is_text(std::size_t number) const noexcept {
    const kind what = fields_[number].type.what;
    return what == kind::fixed_text || what == kind::text;
}

std::vector<std::string> row_format::names() const {
    std::vector<std::string> all;
    for (const field& one : fields_)
        all.push_back(one.name);
    return all;
}

} // namespace chainbase::inspect
