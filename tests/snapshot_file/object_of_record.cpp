// Records become the objects that they were made of; nothing else becomes one.

#include <archive/record/described_record.hpp>
#include <chainbase/object/schema_of.hpp>
#include <chainbase/offline/rows/described_buffers.hpp>
#include <chainbase/offline/snapshot_file/object_of_record.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/random_records.hpp>
#include <tests/snapshot_file/random_layouts.hpp>
#include <tests/support/seeded.hpp>

#include <optional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using archive::byte_buffer;
using archive::bytes_view;
using snapshot_file::object_of_record;

namespace {

/// Memory of exactly so many bytes: the sanitizer sees what is read behind them.
byte_buffer exactly(bytes_view bytes) {
    return {bytes.begin(), bytes.end()};
}

byte_buffer record_of(const archive::described_record& described, const object_of_record& of,
                      std::span<const std::byte> object) {
    byte_buffer made;
    described.append(object.data(), of, made);
    return made;
}

/// Whether it is read; if so, it is the record of what was read.
bool is_read(const archive::described_record& described, object_of_record& reader,
             bytes_view record) {
    const byte_buffer copy = exactly(record);
    std::span<const std::byte> object;
    try {
        object = reader.read(copy);
    } catch (const damaged_error&) {
        return false;
    }
    REQUIRE(archive::same(record_of(described, reader, object), copy));
    return true;
}

std::string message_of(object_of_record& reader, bytes_view record) {
    try {
        static_cast<void>(reader.read(record));
    } catch (const damaged_error& problem) {
        return problem.what();
    }
    return "it was read";
}

/// Of fields with packed values, one after the other.
class record_maker {
public:
    explicit record_maker(const type_schema& of) {
        number(archive::described_record(of).fingerprint());
    }
    template <typename Number>
    record_maker& number(Number value) {
        archive::append(made, std::as_bytes(std::span(&value, 1)));
        return *this;
    }
    record_maker& text(std::string_view content) {
        number(static_cast<std::uint32_t>(content.size()));
        archive::append(made, archive::as_bytes(content));
        return *this;
    }

    byte_buffer made;
};

} // namespace

TEST_CASE_METHOD(seeded, "the object of a record has this record, whatever its type") {
    for (std::uint64_t left = short_test_operations(400); left != 0; --left) {
        const type_schema type = left == 1 ? every_kind() : random_layout(random, 12);
        const archive::described_record described(type);
        object_of_record reader(type);
        random_records records(type, random);
        for (std::uint32_t id = 0; id < 20; ++id) {
            const byte_buffer record = records.next(id);
            const auto object = reader.read(record);
            REQUIRE(object.size() == type.value_bytes);
            REQUIRE(rows::copy_at<std::uint32_t>(object.data()) == id);
            REQUIRE(archive::same(record_of(described, reader, object), record));
        }
    }
}

TEST_CASE_METHOD(seeded, "a record of an object is read whole, or is damaged: cut and flipped") {
    for (std::uint64_t left = short_test_operations(60); left != 0; --left) {
        const type_schema type = left == 1 ? every_kind() : random_layout(random, 8);
        const archive::described_record described(type);
        object_of_record reader(type);
        byte_buffer record = random_records(type, random).next(7);
        for (std::size_t end = 0; end < record.size(); ++end)
            REQUIRE_FALSE(is_read(described, reader, bytes_view(record).first(end)));
        for (std::size_t bit = 0; bit < 8 * std::min<std::size_t>(record.size(), 2'000); ++bit) {
            record[bit / 8] ^= std::byte{1} << bit % 8;
            const bool is_id = bit / 8 >= 4 && bit / 8 < 8;
            const bool is_one = is_read(described, reader, record);
            REQUIRE((!is_id || is_one));
            REQUIRE((bit / 8 >= 4 || !is_one));
            record[bit / 8] ^= std::byte{1} << bit % 8;
        }
        record.push_back(std::byte{0});
        REQUIRE_FALSE(is_read(described, reader, record));
        record.pop_back();
        REQUIRE(is_read(described, reader, record));
    }
}

TEST_CASE_METHOD(seeded, "bytes at random behind a fingerprint are read or damaged") {
    for (std::uint64_t left = short_test_operations(300); left != 0; --left) {
        const type_schema type = random_layout(random, 6);
        const archive::described_record described(type);
        object_of_record reader(type);
        for (int n = 0; n < 20; ++n) {
            byte_buffer record = record_maker(type).number(n).made;
            for (std::uint32_t bytes = random.below(200); bytes != 0; --bytes)
                record.push_back(random.one_in(3) ? static_cast<std::byte>(random.next())
                                                  : static_cast<std::byte>(random.below(3)));
            is_read(described, reader, record);
        }
    }
}

TEST_CASE("bytes of an object that are in no field are zero, whatever was read before") {
    const type_schema type = laid_out("thing", {{"id", "id"},
                                                {"small", "u8"},
                                                {"large", "u64"},
                                                {"name", "fixed_string<16>"},
                                                {"pairs", "shared_vector<{a u8, b u32}>"},
                                                {"last", "bool"}});
    object_of_record reader(type);
    const auto read = [&](std::uint8_t byte, std::string_view name) {
        record_maker record(type);
        record.number(5U).number(byte).number(~std::uint64_t{0}).text(name);
        record.number(1U).number(byte).number(~0U).number(std::uint8_t{1});
        return reader.read(exactly(record.made));
    };
    static_cast<void>(read(0xFF, "sixteen letters!"));
    const auto object = read(0xFF, "two");
    REQUIRE(object.size() == type.value_bytes);
    byte_buffer wanted(object.size());
    const auto put = [](byte_buffer& to, std::size_t at, const auto& value) {
        std::memcpy(to.data() + at, &value, sizeof value);
    };
    put(wanted, 0, 5U);
    put(wanted, 4, std::uint8_t{0xFF});
    put(wanted, 8, ~std::uint64_t{0});
    put(wanted, 16, std::array{'t', 'w', 'o'});
    put(wanted, 32, std::uint64_t{1});
    put(wanted, 40, true);
    CHECK(archive::same(object, wanted));
    byte_buffer element(8);
    put(element, 0, std::uint8_t{0xFF});
    put(element, 4, ~0U);
    CHECK(archive::same(reader.content({1}).value(), element));
    CHECK(reader.content({0}).value().empty());
    CHECK_FALSE(reader.content({2}));
    CHECK_FALSE(reader.content({~std::uint64_t{0}}));
}

TEST_CASE("what is wrong with a record is told with type, id, field and offset") {
    const type_schema type = laid_out("account", {{"id", "id"},
                                                  {"size", "u16"},
                                                  {"flags", "bool[2]"},
                                                  {"at", "{x u8, on bool}"},
                                                  {"name", "fixed_string<8>"},
                                                  {"votes", "shared_vector<{by shared_string}>"},
                                                  {"none", "shared_vector<u64[0]>"}});
    object_of_record reader(type);
    struct values {
        std::uint8_t flag = 0;
        std::uint8_t on = 0;
        std::string name = "abc";
        std::uint32_t votes = 1;
        std::uint32_t none = 0;
    };
    const auto made = [&](const values& of) {
        record_maker record(type);
        record.number(17U).number(std::uint16_t{1}).number(std::uint8_t{0}).number(of.flag);
        record.number(std::uint8_t{9}).number(of.on).text(of.name);
        record.number(of.votes).text("ay").number(of.none);
        return record.made;
    };
    const auto says = [&](bytes_view record, const std::string& part) {
        const std::string message = message_of(reader, exactly(record));
        UNSCOPED_INFO(message);
        return message.find(part) != message.npos;
    };
    const byte_buffer good = made({});
    CHECK(says(good, "it was read"));
    CHECK(
        says(made({.flag = 2}), "account 17: field flags, offset 11 of 35 in the record: not a "));
    CHECK(
        says(made({.on = 3}), "account 17: field at.on, offset 13 of 35 in the record: not a bo"));
    CHECK(says(made({.name = "ninebytes"}), "field name, offset 14 of 41"));
    CHECK(says(made({.name = std::string("a\0b", 3)}), "field name, offset 18 of 35"));
    CHECK(says(made({.votes = 0xFFFF'FFFF}), "field votes, offset 21 of 35"));
    CHECK(says(made({.votes = 0x1000'0000}), "field votes, offset 25 of 35"));
    CHECK(says(made({.votes = 2}), "field none, offset 35 of 35"));
    CHECK(says(made({.none = 1}), "field none, offset 31 of 35"));
    CHECK(says(bytes_view(good).first(9), "account 17: field size, offset 9 of 9"));
    CHECK(says(bytes_view(good).first(10), "account 17: field flags, offset 10 of 10"));
    CHECK(says(bytes_view(good).first(30),
               "account 17: field votes.by, offset 29 of 30 in the record: needs 2 bytes, 1 left"));
    CHECK(says(bytes_view(good).first(7), "account, a record without an id: field id, offset 7"));
    CHECK(says(bytes_view(good).first(3), "field (layout), offset 0 of 3"));
    byte_buffer other = good;
    other[0] ^= std::byte{1};
    CHECK(says(other, "account 17: field (layout), offset 0 of 35"));
    other = good;
    other.push_back({});
    CHECK(says(other, "account 17: field (end), offset 35 of 36 in the record: 1 bytes too many"));
    CHECK(says(good, "it was read"));
}

TEST_CASE("a bool is 0 or 1, wherever it is") {
    const std::pair<const char*, std::uint32_t> all[] = {{"bool", 1},
                                                         {"bool[3]", 3},
                                                         {"bool[2][2]", 4},
                                                         {"{a bool}[2]", 2},
                                                         {"{a bool, b bool[2]}[2]", 6},
                                                         {"shared_vector<bool>", 3},
                                                         {"shared_vector<{a bool}>", 2}};
    for (const auto& [type, bools] : all) {
        INFO(type);
        const type_schema of = laid_out("thing", {{"id", "id"}, {"x", type}});
        object_of_record reader(of);
        record_maker record(of);
        record.number(1U);
        if (std::string_view(type).starts_with("shared_vector")) record.number(bools);
        record.made.resize(record.made.size() + bools, std::byte{1});
        CHECK(message_of(reader, record.made) == "it was read");
        for (std::uint32_t i = 1; i <= bools; ++i) {
            byte_buffer other = record.made;
            other[other.size() - i] = std::byte{2};
            CHECK(message_of(reader, other).find("not a bool") != std::string::npos);
        }
    }
}

TEST_CASE("a short record that claims many large elements takes no memory") {
    const type_schema type = laid_out(
        "thing", {{"id", "id"}, {"all", "shared_vector<{a shared_string, b fixed_string<4096>}>"}});
    object_of_record reader(type);
    byte_buffer record = record_maker(type).number(1U).number(1'000'000U).made;
    record.resize(record.size() + 8 * 1'000'000 - 1);
    CHECK(message_of(reader, record).find("needs 8000000 bytes, 7999999 left") !=
          std::string::npos);
    byte_buffer more = record_maker(type).number(1U).number(1'100'000U).made;
    more.resize(more.size() + 8 * 1'100'000);
    CHECK(message_of(reader, more).find("no vector has 1100000 elements") != std::string::npos);
}

TEST_CASE("a layout without an id, or with a field outside of the object, is none") {
    type_schema type = laid_out("thing", {{"id", "id"}, {"size", "u64"}});
    CHECK_NOTHROW(object_of_record(type));
    type.value_bytes = 15;
    CHECK_THROWS_AS(object_of_record(type), damaged_error);
    CHECK_THROWS_AS(object_of_record(laid_out("thing", {{"size", "u64"}})), damaged_error);
    CHECK_THROWS_AS(object_of_record(laid_out("thing", {})), damaged_error);
    type_schema moved = laid_out("thing", {{"id", "id"}});
    moved.fields[0].offset = 4;
    moved.value_bytes = 8;
    CHECK_THROWS_AS(object_of_record(moved), damaged_error);
}
