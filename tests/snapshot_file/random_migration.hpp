#pragma once

#include <archive/record/bytes.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/value_type.hpp>
#include <chainbase/offline/snapshot_file/object_of_record.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_reader.hpp>

#include <nlohmann/json.hpp>
#include <tests/snapshot_file/random_layouts.hpp>
#include <tests/support/random_source.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// A naive model of migrations: newer layouts at random, and how they change the JSON of an object.
namespace chainbase::test {

using archive::byte_buffer;
using archive::bytes_view;
using nlohmann::json;
using rows::value_type;
using snapshot_file::migration_rules;

/// A value that the new type does not have.
struct no_fit {};

inline std::string printed(const type_schema& type, bytes_view object,
                           const rows::buffer_source& from) {
    std::string text;
    inspect::row_format(type).append_json(text, object.data(), from);
    return text;
}

inline type_schema with_only(const std::string& type) {
    return laid_out("one", {{"id", "id"}, {"x", type}});
}

/// The JSON of a value with these bytes; the rest are zeros.
inline json json_in(const std::string& type, bytes_view bytes = {}) {
    const type_schema schema = with_only(type);
    byte_buffer object(schema.value_bytes);
    std::ranges::copy(bytes, object.begin() + schema.fields[1].offset);
    return inspect::exact_json(printed(schema, object, inspect::row_reader(schema)))["x"];
}

template <typename Value>
Value value_in(const std::string& type, const json& value) {
    const type_schema schema = with_only(type);
    inspect::row_reader reader(schema);
    return rows::copy_at<Value>(reader.read({{"id", 0}, {"x", value}}) + schema.fields[1].offset);
}

template <typename Value>
json json_of(const std::string& type, Value value) {
    return json_in(type, std::as_bytes(std::span(&value, 1)));
}

inline json double_of(const json& single) {
    const auto value = value_in<float>("f32", single);
    if (!std::isnan(value)) return json_of("f64", static_cast<double>(value));
    const std::uint64_t bits = std::bit_cast<std::uint32_t>(value);
    return json_of("f64", (bits >> 31 << 63) | 0x7FF0'0000'0000'0000U | (bits & 0x7F'FFFF) << 29);
}

inline json float_of(const json& real) {
    const auto value = value_in<double>("f64", real);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto high = static_cast<std::uint32_t>(bits >> 29 & 0x7F'FFFF);
    if (std::isnan(value) && (high == 0 || bits << 35 != 0)) throw no_fit();
    if (std::isnan(value))
        return json_of("f32", static_cast<std::uint32_t>(bits >> 63 << 31) | 0x7F80'0000U | high);
    const auto single = static_cast<float>(value);
    if (static_cast<double>(single) != value) throw no_fit();
    return json_of("f32", single);
}

inline json bool_of(const json& number) {
    if (!number.is_number_integer() || (number != 0 && number != 1)) throw no_fit();
    return number == 1;
}

/// The elements of a sequence; those of bytes are printed as digits.
inline json elements_in(const value_type& of, const json& value) {
    if (!of.is_bytes()) return value;
    json all = json::array();
    const auto& digits = value.get_ref<const std::string&>();
    for (std::size_t at = 0; at < digits.size(); at += 2)
        all.push_back(std::stoul(digits.substr(at, 2), nullptr, 16));
    return all;
}

inline json sequence_of(const value_type& of, const json& elements) {
    if (!of.is_bytes()) return elements;
    std::string digits;
    for (const json& one : elements) {
        if (!one.is_number_unsigned() || one.get<std::uint64_t>() > 255) throw no_fit();
        digits += "0123456789abcdef"[one.get<unsigned>() / 16];
        digits += "0123456789abcdef"[one.get<unsigned>() % 16];
    }
    return digits;
}

/// A newer layout, and how an object's JSON changes.
struct changed_type {
    std::string type;
    std::function<json(const json&)> value;
};

class random_migration {
public:
    random_migration(random_source& random, const type_schema& from) : random_(random) {
        value_type object{value_type::kind::structure, false, 0, 1, {}};
        for (const type_schema::field& one : from.fields)
            object.members.push_back({one.name, 0, value_type::of(one, from.value_bytes)});
        named_types fields;
        const auto change = members(object, "", "", fields);
        to = laid_out("newer", fields);
        value = change;
    }

    type_schema to;
    migration_rules rules;
    std::function<json(const json&)> value;

private:
    using changing = std::function<json(const json&)>;
    using kind = value_type::kind;

    changed_type changed(const value_type& from, const std::string& was, const std::string& now) {
        const changed_type same{name_of(from), [](const json& value) { return value; }};
        switch (from.what) {
        case kind::boolean:
            if (random_.one_in(2)) return same;
            return {random_integer(1, false), [](const json& value) { return value ? 1U : 0U; }};
        case kind::number:
            return number(from, same);
        case kind::floating:
            if (random_.one_in(2)) return same;
            return from.bytes == 4 ? changed_type{"f64", double_of} : changed_type{"f32", float_of};
        case kind::text:
        case kind::fixed_text:
            return text(from, same);
        case kind::vector:
        case kind::array:
            return sequence(from, was, now);
        case kind::structure: {
            named_types to;
            auto value = members(from, was + ".", now + ".", to);
            std::string type;
            for (const auto& [name, of] : to)
                type += (type.empty() ? "{" : ", ") + name + " " + of;
            return {type + "}", std::move(value)};
        }
        case kind::opaque:
            break;
        }
        return same;
    }

    /// Of at least so many bytes.
    std::string random_integer(std::uint32_t least, bool is_signed) {
        std::uint32_t bytes = least;
        while (bytes < 16 && random_.one_in(2))
            bytes *= 2;
        return (is_signed ? "i" : "u") + std::to_string(8 * bytes);
    }

    changed_type number(const value_type& from, const changed_type& same) {
        switch (random_.below(8)) {
        case 0:
            return {random_integer(1, random_.one_in(2)), same.value}; // may be too small
        case 1:
            if (random_.one_in(4)) return {"bool", bool_of};
            return same;
        case 2:
            if (from.bytes == 16) return same;
            return {random_integer(2 * from.bytes, true), same.value};
        case 3:
        case 4:
            return {random_integer(from.bytes, from.is_signed), same.value};
        default:
            return same;
        }
    }

    changed_type text(const value_type& from, const changed_type& same) {
        const std::uint32_t kind = random_.below(6);
        if (kind == 0) return {"shared_string", same.value};
        if (kind > 2 || (from.what == kind::text && kind == 1)) return same;
        const std::uint32_t least = random_.one_in(4) ? 8 : std::max(from.bytes, 32U);
        return {"fixed_string<" + std::to_string(least + 8 * random_.below(3)) + ">", same.value};
    }

    changed_type sequence(const value_type& from, const std::string& was, const std::string& now) {
        const changed_type element = changed(from.element(), was, now);
        std::string type = "shared_vector<" + element.type + ">";
        std::optional<std::size_t> count;
        if (from.what == kind::array && !random_.one_in(4)) {
            count = from.bytes / from.element().bytes;
            // -0.0 is no default, but equals it as JSON.
            const bool may_shrink = name_of(from).find("f32") == std::string::npos &&
                                    name_of(from).find("f64") == std::string::npos && *count > 1;
            if (may_shrink && random_.one_in(8))
                *count -= 1;
            else if (random_.one_in(2))
                *count += random_.below(4);
            type = element.type + "[" + std::to_string(*count) + "]";
        }
        const auto value = [=, to = value_type::named(type).value()](const json& of) {
            json all = json::array();
            for (const json& one : elements_in(from, of)) {
                if (count && all.size() == *count) {
                    if (one != json_in(name_of(from.element()))) throw no_fit();
                } else {
                    all.push_back(element.value(one));
                }
            }
            while (count && all.size() < *count)
                all.push_back(json_in(element.type));
            return sequence_of(to, all);
        };
        return {type, value};
    }

    /// The members of a struct, or the fields, of which the id stays the first.
    changing members(const value_type& from, const std::string& was, const std::string& now,
                     named_types& to) {
        std::vector<std::function<void(const json&, json&)>> all;
        for (const value_type::member& one : from.members) {
            const bool is_id = was.empty() && &one == from.members.data();
            if (!is_id && random_.one_in(7)) {
                rules.dropped.insert(was + one.name);
                continue;
            }
            std::string name = one.name;
            if (random_.one_in(6)) {
                name = "n" + std::to_string(++names_);
                rules.renamed[now + name] = was + one.name;
            }
            const changed_type made =
                is_id ? changed_type{"id", [](const json& value) { return value; }}
                      : changed(one.type, was + one.name, now + name);
            to.emplace_back(name, made.type);
            all.push_back([=, old = one.name](const json& before, json& after) {
                after[name] = made.value(before.at(old));
            });
        }
        while (to.empty() || random_.one_in(4)) {
            const std::string name = "a" + std::to_string(++names_);
            const std::string type = random_type(random_, 1);
            to.emplace_back(name, type);
            all.push_back([=](const json&, json& after) { after[name] = json_in(type); });
        }
        const std::size_t fixed = was.empty() ? 1 : 0;
        for (std::size_t i = to.size(); random_.one_in(2) && i-- > fixed + 1;)
            std::swap(to[i], to[fixed + random_.below(static_cast<std::uint32_t>(i - fixed))]);
        return [all](const json& before) {
            json after = json::object();
            for (const auto& one : all)
                one(before, after);
            return after;
        };
    }

    random_source& random_;
    int names_ = 0;
};

/// The object that a record of `from` becomes by the model. `reader`, of the newer layout, owns it
/// until its next call. Null: the newer layout does not have such a value.
inline const std::byte* object_of(bytes_view record, const type_schema& from,
                                  const random_migration& model, inspect::row_reader& reader) {
    try {
        return reader.read(
            model.value(inspect::exact_json(inspect::row_format(from).text_of(record).json)));
    } catch (const no_fit&) {
    } catch (const usage_error&) { // a number or a text is too large
    }
    return nullptr;
}

} // namespace chainbase::test
