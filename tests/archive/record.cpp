// Objects survive their encoding; equal objects have equal bytes; one field is read in place.
#include "support.hpp"

using namespace archive_test;

TEST_CASE("a record gives back the object, and equal objects have equal bytes") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    for (int i = 0; i < 2000; ++i) {
        const post before = random_post(random);
        const byte_buffer record = record_of(before);
        post after = random_post(random); // what it held before must not shine through
        decode(record, after);
        REQUIRE(after == before);
        REQUIRE(record_of(after) == record);
    }
}

TEST_CASE("each member is read from the record where it stands") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    for (int i = 0; i < 500; ++i) {
        const post p = random_post(random);
        const byte_buffer record = record_of(p);
        const record_view<post> view(record);
        REQUIRE(view.get<&post::number>() == p.number);
        REQUIRE(view.get<&post::author>() == p.author.view());
        REQUIRE(view.get<&post::body>() == p.body);
        REQUIRE(view.get<&post::depth>() == p.depth);
        REQUIRE(view.get<&post::net_votes>() == p.net_votes);
        REQUIRE(view.get<&post::reward>() == p.reward);
        REQUIRE(view.get<&post::locked>() == p.locked);
        REQUIRE(view.get<&post::state>() == p.state);
        REQUIRE(view.get<&post::transaction>() == p.transaction);
        REQUIRE(view.get<&post::tags>() == p.tags);
        REQUIRE(same(view.get<&post::picture>(), {p.picture.data(), p.picture.size()}));
        REQUIRE(view.get<&post::last>().get<&price::base>() == p.last.base);
        REQUIRE(view.get<&post::last>().get<&price::inverted>() == p.last.inverted);
        REQUIRE(view.get<&post::shares>() == p.shares);
        const auto voters = view.get<&post::voters>();
        REQUIRE(std::equal(voters.begin(), voters.end(), p.voters.data(),
                           p.voters.data() + p.voters.size()));
        const auto prices = view.get<&post::prices>();
        REQUIRE(prices.size() == p.prices.size());
        for (std::size_t at = 0; at < prices.size(); ++at)
            REQUIRE(prices[at] == p.prices.data()[at]);
    }
}

TEST_CASE("text and bytes are views into the record, not copies") {
    post p;
    p.body = "the body";
    const byte_buffer record = record_of(p);
    const std::string_view body = record_view<post>(record).get<&post::body>();
    const auto* at = reinterpret_cast<const std::byte*>(body.data());
    CHECK(at > record.data());
    CHECK(at + body.size() <= record.data() + record.size());
}

TEST_CASE("reading a member decodes none behind it") {
    post p;
    p.author = "alice";
    const byte_buffer record = record_of(p);
    const bytes_view cut = bytes_view(record).first(4 + 4 + 4 + 5);
    CHECK(record_view<post>(cut).get<&post::author>() == "alice");
    CHECK_THROWS_AS((void)record_view<post>(cut).get<&post::body>(), damaged_error);
}

struct wide {
    char letter = 0;
    std::int64_t number = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (letter, number))

TEST_CASE("the bytes of a record are those the header promises") {
    const byte_buffer record = record_of(wide{'z', -2});
    const std::string fields("z\xfe\xff\xff\xff\xff\xff\xff\xff", 9);
    CHECK(as_text(bytes_view(record).subspan(4)) == fields);
    CHECK(record_layout<wide>() == "{letter:char,number:i64}");
    CHECK(record_layout<post>() ==
          "{number:id,author:text<16>,body:text,depth:u8,net_votes:i32,reward:u64,locked:bool,"
          "state:enum i16,transaction:[u8;20],tags:[text;2],voters:[u64],picture:[enum u8],"
          "prices:[{base:i64,inverted:bool}],last:{base:i64,inverted:bool},"
          "shares:[{account:text<16>,weight:u16};2]}");
    // Written down, so that no compiler or change of ours can alter what is on disk.
    CHECK(record_fingerprint<wide> == 0x6d6b7d59u);
}

TEST_CASE("encode appends") {
    byte_buffer buffer = record_of(wide{'a', 1});
    const std::size_t first = buffer.size();
    encode(wide{'b', 2}, buffer);
    CHECK(record_view<wide>(bytes_view(buffer).first(first)).get<&wide::letter>() == 'a');
    CHECK(record_view<wide>(bytes_view(buffer).subspan(first)).get<&wide::letter>() == 'b');
}

struct base_part {
    std::uint32_t first = 1;
};
BOOST_DESCRIBE_STRUCT(base_part, (), (first))
struct derived_part : base_part {
    archive::detail::int128 second = -1;
};
BOOST_DESCRIBE_STRUCT(derived_part, (base_part), (second))

TEST_CASE("members of bases come first, and 128 bits keep their sign") {
    derived_part before;
    before.second = -(archive::detail::int128(1) << 100);
    derived_part after{{7}, 0};
    const byte_buffer record = record_of(before);
    decode(record, after);
    CHECK(after.first == 1);
    CHECK((after.second == before.second));
    CHECK(record_layout<derived_part>() == "{first:u32,second:i128}");
    CHECK(record_view<derived_part>(record).get<&base_part::first>() == 1);
}

// --- another layout ------------------------------------------------------------------------------

namespace renamed {
struct wide {
    char letter = 0;
    std::int64_t amount = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (letter, amount))
} // namespace renamed
namespace retyped {
struct wide {
    char letter = 0;
    std::uint64_t number = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (letter, number))
} // namespace retyped
namespace reordered {
struct wide {
    std::int64_t number = 0;
    char letter = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (number, letter))
} // namespace reordered
namespace moved {
struct wide {
    char letter = 0;
    std::int64_t number = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (letter, number))
} // namespace moved

TEST_CASE("a record of another layout is a schema_error that shows the layout") {
    const byte_buffer record = record_of(wide{'a', 1});
    renamed::wide by_name;
    retyped::wide by_type;
    reordered::wide by_order;
    CHECK_THROWS_AS(decode(record, by_name), schema_error);
    CHECK_THROWS_AS(decode(record, by_type), schema_error);
    CHECK_THROWS_AS(decode(record, by_order), schema_error);
    CHECK_THROWS_AS(record_view<renamed::wide>(record), schema_error);
    CHECK_THROWS_WITH(decode(record, by_name), Catch::Contains("{letter:char,amount:i64}"));
}

TEST_CASE("the name of the type is no part of its layout") {
    moved::wide after;
    decode(record_of(wide{'a', 1}), after);
    CHECK(after.number == 1);
}
