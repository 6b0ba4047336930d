#pragma once

#include <archive/record/bytes.hpp>
#include <archive/record/described_record.hpp>
#include <archive/record/integers.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>

#include <tests/support/random_source.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace chainbase::test {

/// A type of these fields: name and type of each.
inline type_schema schema_with(const std::string& name,
                               std::initializer_list<std::pair<std::string, std::string>> fields) {
    type_schema made;
    made.name = name;
    for (const auto& [field, type] : fields) {
        const std::uint32_t bytes = rows::value_type::named(type).value().bytes;
        made.fields.push_back({field, type, made.value_bytes, bytes});
        made.value_bytes += bytes;
    }
    return made;
}

/// A type with a field of every kind.
inline type_schema every_kind() {
    type_schema made = schema_with(
        "thing",
        {{"id", "id"},
         {"yes", "bool"},
         {"i8", "i8"},
         {"u8", "u8"},
         {"i16", "i16"},
         {"u16", "u16"},
         {"i32", "i32"},
         {"u32", "u32"},
         {"i64", "i64"},
         {"u64", "u64"},
         {"i128", "i128"},
         {"u128", "u128"},
         {"single", "f32"},
         {"real", "f64"},
         {"name", "fixed_string<16>"},
         {"long_name", "fixed_string<200>"},
         {"title", "shared_string"},
         {"raw", "shared_vector<u8>"},
         {"digest", "u8[20]"},
         {"hidden", "bytes<12>"},
         {"wide_of_old", "bytes<16>"},
         {"flags", "bool[3]"},
         {"bools", "shared_vector<bool>"},
         {"numbers", "shared_vector<i64>"},
         {"unsigned_numbers", "shared_vector<u64>"},
         {"bytes", "shared_vector<i8>"},
         {"wides", "shared_vector<u128>"},
         {"signed_wides", "i128[2]"},
         {"singles", "shared_vector<f32>"},
         {"reals", "f64[2]"},
         {"of_others", "shared_vector<id>"},
         {"none", "u64[0]"},
         {"nothing", "shared_vector<u64[0]>"},
         {"at", "{x i32, y u8}"},
         {"nested", "{name shared_string, deep {a u64, words shared_vector<shared_string>, "
                    "r f32}}"},
         {"words", "shared_vector<shared_string>"},
         {"tags", "fixed_string<8>[2]"},
         {"lists", "shared_vector<shared_vector<u16>>"},
         {"grid", "bool[2][2]"},
         {"places", "shared_vector<{x i32, y u8}>"},
         {"pairs", "shared_vector<f64[2]>"},
         {"mixed", "shared_vector<{a i128, b f32, t shared_string, raw u8[3], c f64}>"},
         {"opaques", "bytes<3>[2]"},
         {"other", "id"}});
    made.keys = {
        {"by_name", "hashed_unique", {{"name", false}}},
        {"by_title", "btree_unique", {{"title", true}, {"id", false}}},
        {"by_two_texts", "ordered_non_unique", {{"title", false}, {"long_name", false}}},
        {"by_numbers", "ordered_non_unique", {{"i8", false}, {"u128", true}, {"real", false}}},
        {"by_raw", "ordered_non_unique", {{"raw", false}, {"digest", false}}},
        {"by_function", "ordered_non_unique", {{"function", false}}},
        {"by_some",
         "ordered_non_unique",
         {{"function(name)", false},
          {"u32", true},
          {"at", false},
          {"numbers", false},
          {"words", false}}},
        {"by_id", "ordered_unique", {{"id", false}}},
    };
    return made;
}

/// Records of a type with values at random: many at limits, texts of any bytes, NaN of any bits.
class random_records {
public:
    random_records(const type_schema& schema, random_source& random)
        : described_(schema), random_(random) {
        for (const type_schema::field& one : schema.fields)
            types_.push_back(rows::value_type::of(one.type, one.bytes));
    }

    archive::byte_buffer next(std::uint32_t id) {
        made_.clear();
        number(described_.fingerprint());
        number(id);
        for (std::size_t i = 1; i < types_.size(); ++i)
            add(types_[i]);
        return made_;
    }

    /// At times ASCII, UTF-8, or any bytes.
    std::string text(std::size_t most) {
        static const std::string parts[] = {"a",  "'", "\"", "\\",           "\xc3\xa4",
                                            "\n", ";", "--", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
        const std::uint32_t kind = random_.below(4);
        const std::size_t wanted = random_.below(static_cast<std::uint32_t>(most) + 1);
        std::string made;
        while (kind != 0) {
            const std::string one =
                kind == 3   ? std::string(1, static_cast<char>(random_.next()))
                : kind == 2 ? parts[random_.below(std::size(parts))]
                            : std::string(1, static_cast<char>(' ' + random_.below(95)));
            if (made.size() + one.size() > wanted) break;
            made += one;
        }
        return made;
    }

private:
    using kind = rows::value_type::kind;

    template <typename Integer>
    void number(Integer value) {
        const std::size_t at = made_.size();
        made_.resize(at + sizeof value);
        archive::detail::store_little(made_.data() + at, value);
    }
    /// At times all zeros or ones, or but for the highest bit.
    void bytes(std::size_t count) {
        const std::uint32_t edge = random_.below(8);
        for (std::size_t i = 0; i < count; ++i)
            made_.push_back(std::byte(edge == 0   ? 0
                                      : edge <= 2 ? 0xFF
                                                  : static_cast<std::uint8_t>(random_.next())));
        if (count == 0 || edge > 3) return;
        if (edge == 2) made_.back() = std::byte{0x7F};
        if (edge == 3) made_.back() = std::byte{0x80};
    }
    void content(const std::string& text, bool with_zeros) {
        std::string of = text;
        if (!with_zeros) std::erase(of, '\0');
        number(static_cast<std::uint32_t>(of.size()));
        archive::append(made_, archive::as_bytes(of));
    }
    void floating(std::uint32_t bytes_of) {
        const std::uint64_t edges[] = {0,
                                       0x8000'0000'0000'0000,
                                       0x7FF0'0000'0000'0000,
                                       0x7FF8'0000'0000'0000,
                                       0xFFF8'0000'0000'0000,
                                       0x7FF0'0000'0000'0001,
                                       0x3FF0'0000'0000'0000};
        const std::uint32_t which = random_.below(12);
        if (which >= std::size(edges)) return bytes(bytes_of);
        if (bytes_of == 8) return number(edges[which]);
        const std::uint32_t singles[] = {0,           0x8000'0000, 0x7F80'0000, 0x7FC0'0000,
                                         0xFFC0'0000, 0x7F80'0001, 0x3F80'0000};
        number(singles[which]);
    }
    void add(const rows::value_type& type) {
        switch (type.what) {
        case kind::boolean:
            return number(static_cast<std::uint8_t>(random_.below(2)));
        case kind::floating:
            return floating(type.bytes);
        case kind::fixed_text:
            return content(text(type.bytes), false);
        case kind::text:
            return content(text(random_.one_in(20) ? 3'000 : 20), true);
        case kind::vector:
        case kind::array: {
            const std::uint32_t each = type.element().bytes;
            std::uint32_t count = each == 0 ? 0 : type.bytes / each;
            if (type.what == kind::vector) number(count = each == 0 ? 0 : random_.below(5));
            for (; count != 0; --count)
                add(type.element());
            return;
        }
        case kind::structure:
            for (const auto& member : type.members)
                add(member.type);
            return;
        default:
            bytes(type.bytes);
        }
    }

    archive::described_record described_;
    std::vector<rows::value_type> types_;
    random_source& random_;
    archive::byte_buffer made_;
};

} // namespace chainbase::test
