#pragma once

#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>

#include <tests/support/random_source.hpp>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::test {

/// Names and types of fields.
using named_types = std::vector<std::pair<std::string, std::string>>;

/// A type whose fields lie as a compiler lays them out, padding between them.
inline type_schema laid_out(const std::string& name, const named_types& fields) {
    type_schema made;
    made.name = name;
    std::uint32_t alignment = 1;
    const auto round = [&](std::uint32_t to) {
        made.value_bytes = (made.value_bytes + to - 1) / to * to;
    };
    for (const auto& [field, type] : fields) {
        const rows::value_type known = rows::value_type::named(type).value();
        const std::uint32_t its = known.alignment == 0 ? 1 : known.alignment;
        alignment = its > alignment ? its : alignment;
        round(its);
        made.fields.push_back({field, type, made.value_bytes, known.bytes});
        made.value_bytes += known.bytes;
    }
    round(alignment);
    return made;
}

/// A type's name in the catalogue; structs and sequences hold others, down to `depth`.
inline std::string random_type(random_source& random, unsigned depth) {
    static const char* const singles[] = {
        "bool", "u8",  "u16", "u32", "u64",           "u128",          "i8",
        "i16",  "i32", "i64", "id",  "shared_string", "shared_string", "fixed_string<8>",
        "i128", "f32", "f64"};
    const std::uint32_t kind = random.below(depth == 0 ? 6 : 10);
    if (kind == 0) return "u8[" + std::to_string(1 + random.below(24)) + "]";
    if (kind == 1) return "fixed_string<" + std::to_string(8 + 8 * random.below(4)) + ">";
    if (kind < 6) return singles[random.below(std::size(singles))];
    if (kind == 6) return "shared_vector<" + random_type(random, depth - 1) + ">";
    if (kind == 7)
        return random_type(random, depth - 1) + "[" + std::to_string(1 + random.below(4)) + "]";
    std::string all;
    for (std::uint32_t members = 1 + random.below(4); members != 0; --members)
        all += (all.empty() ? "{m" : ", m") + std::to_string(members) + " " +
               random_type(random, depth - 1);
    return all + "}";
}

/// A type of an id and up to `most` other fields.
inline type_schema random_layout(random_source& random, std::uint32_t most) {
    named_types fields{{"id", "id"}};
    for (std::uint32_t left = random.below(most + 1); left != 0; --left)
        fields.push_back({"f" + std::to_string(left),
                          random.one_in(20) ? "bytes<" + std::to_string(1 + random.below(20)) + ">"
                                            : random_type(random, 3)});
    return laid_out("thing", fields);
}

} // namespace chainbase::test
