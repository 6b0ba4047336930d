#include <chainbase/object/value_type.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/write_barrier.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace chainbase::rows {

namespace {

constexpr std::uint64_t longest = UINT32_MAX;
constexpr int deepest = 32; ///< structs within structs

std::uint64_t rounded(std::uint64_t bytes, std::uint32_t to) {
    return (bytes + to - 1) / to * to;
}

/// Parses names of types (schema.hpp); nothing for an invalid name.
///
///     type   := base ("[" digits "]")*
///     base   := "{" member ("," " " member)* "}" | "shared_vector<" type ">" | word
///     member := name " " type
class type_parser {
public:
    explicit type_parser(std::string_view text) : left_(text) {}

    std::optional<value_type> whole() {
        auto type = any();
        if (!left_.empty()) return std::nullopt;
        return type;
    }

private:
    std::optional<value_type> any() {
        if (++depth_ > deepest) return std::nullopt;
        auto type = left_.starts_with('{') ? structure() : base();
        const int depth = depth_;
        while (type && take("[")) { // whoever walks the type later does so by recursion
            if (++depth_ > deepest) return std::nullopt;
            type = array_of(std::move(*type));
        }
        depth_ = depth - 1;
        return type;
    }

    std::optional<value_type> base() {
        if (take("shared_vector<")) {
            auto element = any();
            if (!element || !take(">")) return std::nullopt;
            return with_element(value_type::kind::vector, 8, 8, std::move(*element));
        }
        return simple(word());
    }

    std::optional<value_type> structure() {
        value_type all{value_type::kind::structure, false, 0, 1, {}};
        std::uint64_t end = 0;
        take("{");
        do {
            const std::string_view name = left_.substr(0, left_.find(' '));
            left_.remove_prefix(name.size());
            if (name.empty() || !take(" ")) return std::nullopt;
            auto type = any();
            if (!type || type->alignment == 0) return std::nullopt;
            end = rounded(end, type->alignment);
            all.alignment = std::max(all.alignment, type->alignment);
            all.members.push_back({std::string(name), static_cast<std::uint32_t>(end), *type});
            end += type->bytes;
            if (end > longest) return std::nullopt;
        } while (take(", "));
        if (!take("}")) return std::nullopt;
        all.bytes = static_cast<std::uint32_t>(rounded(end, all.alignment));
        return all;
    }

    std::optional<value_type> array_of(value_type element) {
        const auto count = number(left_);
        if (!count || !take("]") || *count * element.bytes > longest) return std::nullopt;
        const auto bytes = static_cast<std::uint32_t>(*count * element.bytes);
        const std::uint32_t alignment = element.alignment;
        return with_element(value_type::kind::array, bytes, alignment, std::move(element));
    }

    static value_type with_element(value_type::kind what, std::uint32_t bytes,
                                   std::uint32_t alignment, value_type element) {
        value_type all{what, false, bytes, alignment, {}};
        all.members.push_back({{}, 0, std::move(element)});
        return all;
    }

    static std::optional<value_type> simple(std::string_view name) {
        using kind = value_type::kind;
        if (name == "bool") return value_type{kind::boolean, false, 1, 1, {}};
        if (name == "id") return value_type{kind::number, false, 4, 4, {}, true};
        if (name == "f32") return value_type{kind::floating, true, 4, 4, {}};
        if (name == "f64") return value_type{kind::floating, true, 8, 8, {}};
        if (name == "shared_string") return value_type{kind::text, false, 8, 8, {}};
        constexpr std::pair<std::string_view, std::uint32_t> integers[] = {
            {"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}, {"128", 16}};
        for (const auto& [bits, bytes] : integers)
            if ((name.starts_with('u') || name.starts_with('i')) && name.substr(1) == bits)
                return value_type{kind::number, name.front() == 'i', bytes, bytes, {}};
        if (const auto length = between(name, "fixed_string<"))
            return value_type{kind::fixed_text, false, *length, 8, {}};
        if (const auto length = between(name, "bytes<"))
            return value_type{kind::opaque, false, *length, 0, {}};
        return std::nullopt;
    }

    static std::optional<std::uint32_t> between(std::string_view name, std::string_view begin) {
        if (!name.starts_with(begin) || !name.ends_with('>')) return std::nullopt;
        name.remove_prefix(begin.size());
        const auto found = number(name);
        if (name != ">") return std::nullopt;
        return found;
    }

    /// Takes the digits away.
    static std::optional<std::uint32_t> number(std::string_view& from) {
        std::uint32_t found = 0;
        const auto [end, problem] = std::from_chars(from.data(), from.data() + from.size(), found);
        if (problem != std::errc()) return std::nullopt;
        from.remove_prefix(static_cast<std::size_t>(end - from.data()));
        return found;
    }

    std::string_view word() {
        std::size_t end = left_.find_first_of("[]{}, ");
        const std::size_t closing = left_.find('>');
        if (closing < end) {
            const bool is_its_own = left_.substr(0, closing).find('<') != std::string_view::npos;
            end = closing + (is_its_own ? 1 : 0);
        }
        const std::string_view found = left_.substr(0, end);
        left_.remove_prefix(found.size());
        return found;
    }

    bool take(std::string_view text) {
        if (!left_.starts_with(text)) return false;
        left_.remove_prefix(text.size());
        return true;
    }

    std::string_view left_;
    int depth_ = 0;
};

} // namespace

value_type value_type::of(std::string_view name, std::uint32_t bytes) {
    if (auto type = named(name); type && type->bytes == bytes) return std::move(*type);
    return {kind::opaque, false, bytes, 0, {}};
}

std::optional<value_type> value_type::named(std::string_view name) {
    return type_parser(name).whole();
}

const value_type& value_type::element() const noexcept {
    return members.front().type;
}

std::uint32_t value_type::count() const noexcept {
    return element().bytes == 0 ? 0 : bytes / element().bytes;
}

bool value_type::is_bytes() const noexcept {
    const bool is_sequence = what == kind::vector || what == kind::array;
    return is_sequence && element().what == kind::number && element().bytes == 1 &&
           !element().is_signed;
}

value_type value_type::of(const type_schema::field& field, std::uint32_t value_bytes) {
    const auto known = named(field.type);
    const bool is_whole = known && (known->what == kind::boolean || known->what == kind::number ||
                                    known->what == kind::floating || known->what == kind::text ||
                                    known->what == kind::vector);
    const std::uint64_t end = std::uint64_t{field.offset} + field.bytes;
    if (end > value_bytes || (is_whole && known->bytes != field.bytes))
        throw damaged_error(fmt::format("field {}: {} of {} bytes at offset {} is not within an "
                                        "object of {} bytes",
                                        field.name, field.type, field.bytes, field.offset,
                                        value_bytes));
    return of(field.type, field.bytes);
}

namespace {

constexpr std::uint32_t most_padding = 63; ///< before a field: alignments are at most a cache line
constexpr std::uint64_t most_value_bytes = record_trailer::max_body; ///< pool_allocator.hpp

/// A fixed_string consists of words.
bool has_impossible_part(const value_type& type) {
    if (type.what == value_type::kind::fixed_text && type.bytes % 8 != 0) return true;
    return type.bytes > most_value_bytes || std::ranges::any_of(type.members, [](const auto& one) {
               return has_impossible_part(one.type);
           });
}

} // namespace

void require_sound_layout(const type_schema& schema) {
    const auto fail = [&](const std::string& what) {
        throw damaged_error(fmt::format("type {}: {}; all members of a type are described, one "
                                        "behind the other",
                                        schema.name, what));
    };
    const auto require_no_more = [&](std::uint64_t bytes, const std::string& what) {
        if (bytes > most_value_bytes)
            fail(fmt::format("{} has {} bytes, and at most {} are possible", what, bytes,
                             most_value_bytes));
    };
    require_no_more(std::max(schema.value_bytes, schema.node_bytes), "an object");
    std::vector<type_schema::field> fields = schema.fields;
    std::ranges::stable_sort(fields, {}, &type_schema::field::offset);
    std::uint64_t end = 0;
    const auto require_no_gap = [&](std::uint64_t next, const std::string& what) {
        if (next > end + most_padding)
            fail(fmt::format("no field describes the {} bytes before {}", next - end, what));
    };
    for (const type_schema::field& one : fields) {
        if (has_impossible_part(value_type::of(one, schema.value_bytes)))
            fail(fmt::format(
                "field {} holds a text of no whole words, or an element of more than {} bytes",
                one.name, most_value_bytes));
        if (one.offset < end) fail("field " + one.name + " overlaps the one before");
        require_no_gap(one.offset, "field " + one.name);
        end = std::uint64_t{one.offset} + one.bytes;
    }
    require_no_gap(schema.value_bytes, "its end");
}

std::string name_of(const value_type& type) {
    using kind = value_type::kind;
    switch (type.what) {
    case kind::boolean:
        return "bool";
    case kind::number:
        return type.is_id ? "id" : fmt::format("{}{}", type.is_signed ? 'i' : 'u', 8 * type.bytes);
    case kind::floating:
        return fmt::format("f{}", 8 * type.bytes);
    case kind::fixed_text:
        return fmt::format("fixed_string<{}>", type.bytes);
    case kind::text:
        return "shared_string";
    case kind::vector:
        return fmt::format("shared_vector<{}>", name_of(type.element()));
    case kind::array:
        return fmt::format("{}[{}]", name_of(type.element()), type.count());
    case kind::structure: {
        std::string all;
        for (const value_type::member& one : type.members)
            all += fmt::format("{}{} {}", all.empty() ? "{" : ", ", one.name, name_of(one.type));
        return all + "}";
    }
    case kind::opaque:
        break;
    }
    return fmt::format("bytes<{}>", type.bytes);
}

} // namespace chainbase::rows
