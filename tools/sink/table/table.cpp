#include <archive/record/described_record.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/sink/table/layout.hpp>
#include <tools/sink/table/table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace chainbase::sink {

namespace {

using rows::value_type;
using kind = value_type::kind;

/// Longer ones an index has the begin of: it takes 2,700 bytes, and in place of each byte that is
/// none of a text there are three.
constexpr std::uint32_t longest_in_index = 128;

column_kind kind_of_number(const value_type& type) {
    const std::uint32_t bits = 8 * type.bytes - (type.is_signed ? 1 : 0);
    return bits <= 15   ? column_kind::small
           : bits <= 31 ? column_kind::integer
           : bits <= 63 ? column_kind::big
                        : column_kind::numeric;
}

/// Of a bool or a number; nothing for others.
std::optional<column_kind> scalar_kind(const value_type& type) {
    if (type.what == kind::boolean) return column_kind::boolean;
    if (type.what == kind::number) return kind_of_number(type);
    if (type.what != kind::floating) return std::nullopt;
    return type.bytes == sizeof(float) ? column_kind::real32 : column_kind::real64;
}

bool can_order(const column& by) {
    return by.kind != column_kind::list && by.kind != column_kind::json && !by.is_nullable;
}

} // namespace

table::table(const type_schema& schema)
    : type_(schema.name), name_(sql_name(schema.name)),
      fingerprint_(archive::described_record(schema).fingerprint()) {
    for (const type_schema::field& one : schema.fields)
        add(value_type::of(one.type, one.bytes), one.name);
    const bool has_id = !leaves_.empty() && leaves_.front().type.what == kind::number &&
                        !leaves_.front().type.is_signed &&
                        leaves_.front().type.bytes == sizeof(std::uint32_t);
    if (!has_id)
        throw damaged_error(type_ + ": its first field is no id of an object, so the catalogue is "
                                    "damaged; run chainbase-inspect check");
    std::set<std::string_view> names;
    for (const column& one : columns_)
        if (!names.insert(one.name).second)
            throw usage_error(fmt::format("{}: two columns of its table would be called {}; rename "
                                          "a field of the type",
                                          type_, one.name));
    add_keys(schema);
}

void table::add(const value_type& type, const std::string& name) {
    if (type.what == kind::structure) {
        for (const value_type::member& one : type.members)
            add(one.type, name + "." + one.name);
        return;
    }
    leaves_.push_back({name, 0, type});
    add_scalar(type, {.name = sql_name(name), .description = name_of(type)});
    if (type.what != kind::fixed_text && type.what != kind::text) return;
    column& bytes = columns_.emplace_back();
    bytes.name = sql_name(name + ".bytes");
    bytes.kind = column_kind::bytes;
    bytes.is_nullable = true;
    bytes.description = "the bytes of " + name + " where they are no text";
}

void table::add_scalar(const value_type& type, column as) {
    as.is_wide = type.what == kind::number && type.bytes > sizeof(std::uint64_t);
    if (const auto scalar = scalar_kind(type)) {
        as.kind = *scalar;
    } else if (type.what == kind::fixed_text || type.what == kind::text) {
        as.kind = column_kind::text;
        as.is_long = type.what == kind::text || type.bytes > longest_in_index;
    } else if (is_all_bytes(type)) {
        as.kind = column_kind::bytes;
        as.is_long = type.what == kind::vector || type.bytes > longest_in_index;
    } else if (const auto of = scalar_kind(type.element())) {
        as.kind = column_kind::list;
        as.of = *of;
    } else {
        as.kind = column_kind::json;
    }
    columns_.push_back(std::move(as));
}

void table::add_keys(const type_schema& schema) {
    std::set<std::string> names;
    for (const type_schema::key& key : schema.keys) {
        table_key made;
        for (const type_schema::part& part : key.parts) {
            const auto by = std::ranges::find(columns_, sql_name(part.field), &column::name);
            const bool is_field =
                std::ranges::find(schema.fields, part.field, &type_schema::field::name) !=
                schema.fields.end();
            if (is_field && by != columns_.end() && can_order(*by))
                made.parts.push_back(
                    {static_cast<std::size_t>(by - columns_.begin()), part.descending});
        }
        if (made.parts.empty()) continue;
        std::string name = type_ + "." + key.name;
        while (!names.insert(sql_name(name)).second)
            name += "'";
        made.name = sql_name(name);
        keys_.push_back(std::move(made));
    }
}

std::size_t table::column_called(std::string_view name) const {
    const auto found = std::ranges::find(columns_, sql_name(name), &column::name);
    if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
    std::vector<std::string_view> all;
    for (const column& one : columns_)
        all.push_back(one.name);
    throw usage_error(
        fmt::format("{} has no column {}; it has {}", type_, name, fmt::join(all, ", ")));
}

} // namespace chainbase::sink
