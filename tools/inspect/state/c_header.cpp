#include <tools/inspect/state/c_header.hpp>
#include <tools/inspect/state/c_type.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace chainbase::inspect {

namespace {

using field = type_schema::field;

/// What cannot end a comment, nor a line.
std::string comment(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        const bool is_control = static_cast<unsigned char>(c) < ' ' || c == 0x7f || c == '\\';
        const bool ends_it = c == '/' && safe.ends_with('*');
        safe += is_control ? '?' : ends_it ? ' ' : c;
    }
    return "/* " + safe + " */";
}

/// Its own type where that has the bytes of the field and may lie there; else bytes.
c_type type_of(const field& one, const type_schema& schema) {
    const auto found = c_type::of(one.type, 1);
    if (found && found->bytes == one.bytes && one.offset % found->alignment == 0 &&
        schema.value_bytes % found->alignment == 0)
        return *found;
    return {.name = "uint8_t", .lengths = {one.bytes}, .bytes = one.bytes};
}

/// By offset; those that overlap another one, or are outside of the value, are left out.
std::vector<const field*> laid_out(const type_schema& schema) {
    std::vector<const field*> all;
    for (const field& one : schema.fields)
        all.push_back(&one);
    std::ranges::sort(all, {}, &field::offset);
    std::uint64_t end = 0;
    std::erase_if(all, [&](const field* one) {
        const std::uint64_t after = std::uint64_t{one->offset} + one->bytes;
        if (one->bytes == 0 || one->offset < end || after > schema.value_bytes) return true;
        end = after;
        return false;
    });
    return all;
}

std::string struct_of(const type_schema& schema, const std::string& name) {
    c_names names;
    std::string members;
    std::string asserts = fmt::format("_Static_assert(sizeof(struct {}) == {}, \"size\");\n", name,
                                      schema.value_bytes);
    std::uint64_t at = 0;
    for (const field* one : laid_out(schema)) {
        members += c_padding(one->offset - at, names, 1);
        const std::string member = names.of(one->name);
        members += c_indent(1) + type_of(*one, schema).declare(member) + " " +
                   comment(one->name + ": " + one->type) + "\n";
        asserts += fmt::format("_Static_assert(offsetof(struct {0}, {1}) == {2}, \"{1}\");\n", name,
                               member, one->offset);
        at = std::uint64_t{one->offset} + one->bytes;
    }
    members += c_padding(schema.value_bytes - at, names, 1);
    return fmt::format("{} /* the value lies {} bytes into a slot of {} */\nstruct {} {{\n{}}};\n"
                       "{}\n",
                       comment("type " + schema.name), schema.value_offset, schema.node_bytes, name,
                       members, asserts);
}

} // namespace

std::string c_header_of(const std::vector<catalogue::entry>& types) {
    std::string text = "/* The values of objects in the slots of a chainbase segment, "
                       "little-endian. */\n"
                       "#ifndef CHAINBASE_SCHEMA_H\n#define CHAINBASE_SCHEMA_H\n\n"
                       "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n";
    c_names names;
    for (const catalogue::entry& one : types)
        text += struct_of(one.schema, names.of(one.schema.name));
    return text + "#endif\n";
}

} // namespace chainbase::inspect
