#include <pool_allocator/base/decimal.hpp>
#include <tools/inspect/state/schema.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace chainbase::inspect {

namespace {

/// Unique C identifiers within one scope.
class c_names {
public:
    /// A new identifier for `name`, which may have any bytes.
    [[nodiscard]] std::string of(std::string_view name);

private:
    std::set<std::string> taken_;
};

/// A catalogue type ("u64[4]", "{amount i64, unit u32}") as a C type.
struct c_type {
    std::string name;                     ///< "uint64_t", or "struct { ... }"
    std::vector<std::uint64_t> lengths{}; ///< of arrays, outermost first
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 1; ///< in C++; in C it may be less

    /// `depth`: indentation of its lines. Empty for unknown words.
    [[nodiscard]] static std::optional<c_type> of(std::string_view words, int depth);

    /// "uint64_t name[4];"
    [[nodiscard]] std::string declare(const std::string& name) const;
};

/// "    uint8_t padding_0[4];" with a new name of `names`; empty for 0 bytes.
std::string c_padding(std::uint64_t bytes, c_names& names, int depth);

/// The indentation of lines.
std::string c_indent(int depth);

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 32;

/// Keywords of C11, and names reserved by C++ and <stdint.h>.
const std::set<std::string, std::less<>> keywords = {
    "alignas",  "alignof", "and",      "asm",      "auto",     "bool",      "break",  "case",
    "catch",    "char",    "class",    "const",    "continue", "default",   "delete", "do",
    "double",   "else",    "enum",     "explicit", "export",   "extern",    "false",  "float",
    "for",      "friend",  "goto",     "if",       "inline",   "int",       "long",   "namespace",
    "new",      "not",     "operator", "or",       "private",  "protected", "public", "register",
    "restrict", "return",  "short",    "signed",   "sizeof",   "static",    "struct", "switch",
    "template", "this",    "throw",    "true",     "try",      "typedef",   "union",  "unsigned",
    "using",    "virtual", "void",     "volatile", "while",    "xor"};

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

struct scalar {
    std::string_view words;
    const char* name;
    std::uint64_t bytes;
};
constexpr std::array scalars = {
    scalar{"u8", "uint8_t", 1},   scalar{"u16", "uint16_t", 2}, scalar{"u32", "uint32_t", 4},
    scalar{"u64", "uint64_t", 8}, scalar{"i8", "int8_t", 1},    scalar{"i16", "int16_t", 2},
    scalar{"i32", "int32_t", 4},  scalar{"i64", "int64_t", 8},  scalar{"f32", "float", 4},
    scalar{"f64", "double", 8},   scalar{"bool", "bool", 1},    scalar{"id", "uint32_t", 4},
};

/// "fixed_string<16>" to 16.
std::optional<std::uint64_t> length_in(std::string_view words, std::string_view name) {
    if (!words.starts_with(name) || !words.ends_with('>')) return {};
    words.remove_prefix(name.size());
    words.remove_suffix(1);
    const auto length = decimal_in(words);
    return length && *length != 0 && *length < most_bytes ? length : std::nullopt;
}

std::optional<c_type> scalar_of(std::string_view words) {
    const auto found = std::ranges::find(scalars, words, &scalar::words);
    if (found != scalars.end())
        return c_type{.name = found->name, .bytes = found->bytes, .alignment = found->bytes};
    if (words == "shared_string" || (words.starts_with("shared_vector<") && words.ends_with('>')))
        return c_type{.name = "uint64_t", .bytes = 8, .alignment = 8};
    if (const auto length = length_in(words, "fixed_string<"))
        return c_type{.name = "char", .lengths = {*length}, .bytes = *length, .alignment = 8};
    return {}; // the alignment of "bytes<12>" is unknown
}

/// "u64[4]" to {"u64", "4"}; empty without such an end.
std::optional<std::pair<std::string_view, std::uint64_t>> split_array(std::string_view words) {
    const std::size_t open = words.rfind('[');
    if (open == std::string_view::npos || !words.ends_with(']')) return {};
    const auto length = decimal_in(words.substr(open + 1, words.size() - open - 2));
    if (!length || *length == 0 || *length >= most_bytes) return {};
    return std::pair(words.substr(0, open), *length);
}

/// "amount i64, unit {a u8, b u8}" to its members' "name type".
std::vector<std::string_view> split_members(std::string_view words) {
    std::vector<std::string_view> members;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        depth += words[i] == '{' ? 1 : words[i] == '}' ? -1 : 0;
        if (depth != 0 || !words.substr(i).starts_with(", ")) continue;
        members.push_back(words.substr(begin, i - begin));
        begin = i + 2;
    }
    members.push_back(words.substr(begin));
    return members;
}

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
    return (bytes + to - 1) / to * to;
}

/// Laid out in this order, as a compiler does.
std::optional<c_type> struct_of(std::string_view members, int depth) {
    c_type all{.name = "struct {\n"};
    c_names names;
    for (const std::string_view member : split_members(members)) {
        const std::size_t space = member.find(' ');
        if (space == std::string_view::npos) return {};
        const auto type = c_type::of(member.substr(space + 1), depth + 1);
        if (!type || type->bytes == 0) return {};
        const std::uint64_t at = rounded_up(all.bytes, type->alignment);
        all.name += c_padding(at - all.bytes, names, depth + 1);
        all.name += c_indent(depth + 1) + type->declare(names.of(member.substr(0, space))) + "\n";
        all.bytes = at + type->bytes;
        all.alignment = std::max(all.alignment, type->alignment);
        if (all.bytes >= most_bytes) return {};
    }
    const std::uint64_t end = rounded_up(all.bytes, all.alignment);
    all.name += c_padding(end - all.bytes, names, depth + 1) + c_indent(depth) + "}";
    all.bytes = end;
    return all;
}

using field = type_schema::field;

/// Escapes text that could end a comment or a line.
std::string comment(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        const bool is_control = static_cast<unsigned char>(c) < ' ' || c == 0x7f || c == '\\';
        const bool ends_it = c == '/' && safe.ends_with('*');
        safe += is_control ? '?' : ends_it ? ' ' : c;
    }
    return "/* " + safe + " */";
}

/// The field's own type if its size and alignment fit; else bytes.
c_type type_of(const field& one, const type_schema& schema) {
    const auto found = c_type::of(one.type, 1);
    if (found && found->bytes == one.bytes && one.offset % found->alignment == 0 &&
        schema.value_bytes % found->alignment == 0)
        return *found;
    return {.name = "uint8_t", .lengths = {one.bytes}, .bytes = one.bytes};
}

/// Fields by offset, without those that overlap another one or lie outside of the value.
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

std::string c_names::of(std::string_view name) {
    // Names that begin with an underscore are reserved; a digit cannot begin a name.
    const bool is_taken = name.empty() || !is_letter(name[0]) || name[0] == '_';
    std::string made = !is_taken ? "" : name.empty() || is_digit(name[0]) ? "x_" : "x";
    for (const char c : name)
        made += is_letter(c) || is_digit(c) ? c : '_';
    if (keywords.contains(made)) made += '_';
    std::string unique = made;
    for (int n = 2; !taken_.insert(unique).second; ++n)
        unique = fmt::format("{}_{}", made, n);
    return unique;
}

std::optional<c_type> c_type::of(std::string_view words, int depth) {
    if (const auto array = split_array(words)) {
        auto element = of(array->first, depth);
        if (!element || element->bytes * array->second >= most_bytes) return {};
        element->lengths.insert(element->lengths.begin(), array->second);
        element->bytes *= array->second;
        return element;
    }
    if (words.size() > 2 && words.front() == '{' && words.back() == '}')
        return struct_of(words.substr(1, words.size() - 2), depth);
    return scalar_of(words);
}

std::string c_type::declare(const std::string& member) const {
    std::string text = name + " " + member;
    for (const std::uint64_t length : lengths)
        text += fmt::format("[{}]", length);
    return text + ";";
}

std::string c_padding(std::uint64_t bytes, c_names& names, int depth) {
    if (bytes == 0) return {};
    return fmt::format("{}uint8_t {}[{}];\n", c_indent(depth), names.of("padding"), bytes);
}

std::string c_indent(int depth) {
    return std::string(static_cast<std::size_t>(4 * depth), ' ');
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
