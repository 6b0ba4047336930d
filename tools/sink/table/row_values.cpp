#include <archive/record/integers.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/sink/table/layout.hpp>
#include <tools/sink/table/table.hpp>
#include <tools/sink/table/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace chainbase::sink {

using archive::bytes_view;
using rows::value_type;

std::string value::digits() const {
    std::string all;
    unsigned __int128 left = magnitude;
    do {
        all += static_cast<char>('0' + static_cast<int>(left % 10));
        left /= 10;
    } while (left != 0);
    if (is_negative) all += '-';
    std::ranges::reverse(all);
    return all;
}

namespace {

/// The integer that a record has in `bytes`.
void set_number(value& to, const value_type& type, const std::byte* bytes) {
    unsigned __int128 bits = 0;
    for (std::uint32_t at = type.bytes; at != 0; --at)
        bits = bits << 8 | std::to_integer<std::uint8_t>(bytes[at - 1]);
    const unsigned unused = 128 - 8 * type.bytes;
    const auto extended = static_cast<__int128>(bits << unused) >> unused;
    to.what = value::kind::integer;
    to.is_negative = type.is_signed && extended < 0;
    if (to.is_negative) bits = 0 - static_cast<unsigned __int128>(extended);
    to.magnitude = bits;
}

void set_real(value& to, const value_type& type, const std::byte* bytes) {
    to.what = value::kind::real;
    to.real = type.bytes == sizeof(double)
                  ? std::bit_cast<double>(archive::detail::load_little<std::uint64_t>(bytes))
                  : widened(archive::detail::load_little<std::uint32_t>(bytes));
}

} // namespace

/// The columns of a record, from its begin to its end.
struct row_values::reader {
    reader(const table& the_table, list_form form) : of(the_table), lists(form) {
        values.resize(of.columns_.size());
        texts.resize(of.columns_.size());
        formats.resize(of.columns_.size());
    }

    const std::vector<value>& read(bytes_view record) {
        left = record;
        column_number = 0;
        take(sizeof of.fingerprint_);
        for (const value_type::member& one : of.leaves_) {
            leaf = &one;
            read_leaf(one.type);
            ++column_number;
        }
        if (!left.empty()) fail(fmt::format("{} bytes follow its end", left.size()));
        return values;
    }

    void read_leaf(const value_type& type) {
        value& to = values[column_number];
        switch (of.columns_[column_number].kind) {
        case column_kind::text:
            return read_text(type, to);
        case column_kind::bytes:
            to.what = value::kind::bytes;
            to.bytes = take(bytes_of(type));
            return;
        case column_kind::list:
            return lists == list_form::json ? read_json(to) : read_list(type, to);
        case column_kind::json:
            return read_json(to);
        default:
            set_scalar(to, type, take(type.bytes).data());
        }
    }

    void set_scalar(value& to, const value_type& type, const std::byte* bytes) {
        if (type.what == value_type::kind::number) return set_number(to, type, bytes);
        if (type.what == value_type::kind::floating) return set_real(to, type, bytes);
        if (*bytes > std::byte{1}) fail("a bool is neither 0 nor 1");
        to.what = value::kind::boolean;
        to.magnitude = std::to_integer<unsigned>(*bytes);
    }

    void read_text(const value_type& type, value& to) {
        const bytes_view bytes = take(take_length());
        if (type.what == value_type::kind::fixed_text && bytes.size() > type.bytes)
            fail(fmt::format("{} bytes do not fit {}", bytes.size(), type.bytes));
        std::string_view text = archive::as_text(bytes);
        value& exact = values[column_number + 1];
        exact.what = value::kind::null;
        if (!is_sql_text(text)) {
            exact.what = value::kind::bytes;
            exact.bytes = bytes;
            text = texts[column_number] = sql_text(text);
        }
        to.what = value::kind::text;
        to.text = text;
        ++column_number;
    }

    std::size_t bytes_of(const value_type& type) {
        if (type.what != value_type::kind::vector) return type.bytes;
        const std::uint32_t count = take_length();
        if (count != 0 && type.element().bytes == 0) fail("it has elements of no bytes");
        return count;
    }

    void read_list(const value_type& type, value& to) {
        const value_type& element = type.element();
        const std::size_t count =
            type.what == value_type::kind::vector ? take_length() : type.count();
        const bytes_view all = take(count * element.bytes);
        to.what = value::kind::list;
        to.count = count;
        if (to.elements.size() < count) to.elements.resize(count);
        for (std::size_t i = 0; i < count; ++i)
            set_scalar(to.elements[i], element, all.data() + i * element.bytes);
    }

    void read_json(value& to) {
        auto& format = formats[column_number];
        if (!format) format.emplace(schema_of(of.type_, *leaf));
        std::string& text = texts[column_number];
        text.clear();
        format->append_value(text, 0, left);
        to.what = value::kind::text;
        to.text = text;
    }

    bytes_view take(std::size_t bytes) {
        if (bytes > left.size())
            fail(fmt::format("it needs {} bytes, {} are left", bytes, left.size()));
        const bytes_view taken = left.first(bytes);
        left = left.subspan(bytes);
        return taken;
    }
    std::uint32_t take_length() {
        return archive::detail::load_little<std::uint32_t>(take(sizeof(std::uint32_t)).data());
    }
    [[noreturn]] void fail(const std::string& why) const {
        throw damaged_error(fmt::format("a record of {} is none, at {}: {}; run chainbase-inspect "
                                        "check, and begin the sink's rows anew with --bootstrap "
                                        "again",
                                        of.type_, leaf ? leaf->name : "its begin", why));
    }

    const table& of;
    const list_form lists;
    std::vector<value> values;
    std::vector<std::string> texts; ///< made, not found in the record
    std::vector<std::optional<inspect::row_format>> formats;
    const value_type::member* leaf = nullptr;
    std::size_t column_number = 0;
    bytes_view left;
};

row_values::row_values(const table& of, list_form lists)
    : reader_(std::make_unique<reader>(of, lists)) {}
row_values::~row_values() = default;
row_values::row_values(row_values&&) noexcept = default;

const std::vector<value>& row_values::read(bytes_view record) {
    reader_->leaf = nullptr;
    return reader_->read(record);
}

} // namespace chainbase::sink
