#include <chainbase/rows/mapped_bytes.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/record_format.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/rows/row_format.hpp>

#include <string_view>

namespace chainbase::inspect {

namespace {

using kind = rows::value_type::kind;
using bytes_view = std::span<const std::byte>;

/// Takes values off a record's front; `is_whole` becomes false where it ends before they do.
struct record_reader {
    bytes_view left;
    std::string& to;
    bool is_whole = true;

    void read(const rows::value_type& type) {
        switch (type.what) {
        case kind::boolean:
            to += take(1).front() == std::byte{0} ? "false" : "true";
            break;
        case kind::number:
            append_number(to, type, take(type.bytes).data());
            break;
        case kind::floating: // has no record
        case kind::opaque:
            append_hex(to, take(type.bytes));
            break;
        case kind::fixed_text:
        case kind::text: {
            const bytes_view text = take(count());
            append_text(to, {reinterpret_cast<const char*>(text.data()), text.size()});
            break;
        }
        case kind::vector:
            read_all(type, count());
            break;
        case kind::array:
            read_all(type, type.element().bytes == 0 ? 0 : type.bytes / type.element().bytes);
            break;
        case kind::structure:
            read_structure(type);
            break;
        }
    }

private:
    static constexpr std::byte nothing[16] = {};

    /// Zeros where there are no more.
    bytes_view take(std::size_t bytes) {
        if (bytes > left.size()) {
            is_whole = false;
            left = {};
            return bytes_view(nothing).first(bytes < sizeof nothing ? bytes : sizeof nothing);
        }
        const bytes_view taken = left.first(bytes);
        left = left.subspan(bytes);
        return taken;
    }
    std::size_t count() { return rows::copy_at<std::uint32_t>(take(4).data()); }

    void read_all(const rows::value_type& type, std::size_t elements) {
        if (type.is_bytes()) return append_hex(to, take(elements));
        to += '[';
        for (std::size_t i = 0; i < elements && is_whole; ++i) {
            if (i != 0) to += ',';
            read(type.element());
        }
        to += ']';
    }

    void read_structure(const rows::value_type& type) {
        char before = '{';
        for (const rows::value_type::member& member : type.members) {
            to += before;
            append_json_string(to, member.name);
            to += ':';
            read(member.type);
            before = ',';
        }
        to += '}';
    }
};

} // namespace

record_format::record_format(const type_schema& schema) : type_(schema.name) {
    for (const type_schema::field& one : schema.fields)
        fields_.push_back({one.name, one.offset, rows::value_type::of(one.type, one.bytes)});
}

std::vector<std::string> record_format::values(bytes_view record) const {
    constexpr std::size_t fingerprint_bytes = 4;
    std::vector<std::string> all;
    const auto refuse = [&](const std::string& where) {
        throw damaged_error("archive: a record of " + type_ + " is not one of this state's type: " +
                            where + "; run chainbase-inspect check");
    };
    if (record.size() < fingerprint_bytes) refuse("it is too short");
    bytes_view left = record.subspan(fingerprint_bytes);
    for (const rows::value_type::member& field : fields_) {
        record_reader reader{left, all.emplace_back()};
        reader.read(field.type);
        if (!reader.is_whole) refuse("it ends before " + field.name + " does");
        left = reader.left;
    }
    if (!left.empty()) refuse("it is longer than its fields");
    return all;
}

} // namespace chainbase::inspect
