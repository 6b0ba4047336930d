// A state is opened with another layout of a type: refused, and the message names what differs.

#include <catch2/catch.hpp>
#include <tests/failure/state_image.hpp>

#include <array>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

struct by_other;
using two_halves = std::array<std::uint16_t, 2>;

#define VARIANT(name, members, names, ...)                                                         \
    struct name {                                                                                  \
        chainbase::id<name> id;                                                                    \
        members using keys = chainbase::keys<__VA_ARGS__>;                                         \
        BOOST_DESCRIBE_CLASS(name, (), names, (), ())                                              \
    }

#define USUAL(name) hashed_unique<by_key, &name::key>, hashed_non_unique<by_group, &name::group>

VARIANT(renamed, std::uint32_t key; std::uint32_t group; std::uint32_t amount;
        , (id, key, group, amount), USUAL(renamed));
VARIANT(retyped, std::uint32_t key; std::uint32_t group; std::int32_t value;
        , (id, key, group, value), USUAL(retyped));
VARIANT(reordered, std::uint32_t group; std::uint32_t key; std::uint32_t value;
        , (id, group, key, value), USUAL(reordered));
VARIANT(longer, std::uint32_t key; std::uint32_t group; std::uint32_t value; std::uint32_t more;
        , (id, key, group, value, more), USUAL(longer));
VARIANT(shorter, std::uint32_t key; std::uint32_t group;, (id, key, group), USUAL(shorter));
VARIANT(halved, std::uint32_t key; std::uint32_t group; two_halves value;
        , (id, key, group, value), USUAL(halved));
VARIANT(other_kind, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_non_unique<by_key, &other_kind::key>,
        hashed_non_unique<by_group, &other_kind::group>);
VARIANT(other_part, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_unique<by_key, &other_part::value>,
        hashed_non_unique<by_group, &other_part::group>);
VARIANT(more_parts, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_unique<by_key, &more_parts::key, &more_parts::value>,
        hashed_non_unique<by_group, &more_parts::group>);
VARIANT(other_tag, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_unique<by_other, &other_tag::key>,
        hashed_non_unique<by_group, &other_tag::group>);
VARIANT(fewer_keys, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_unique<by_key, &fewer_keys::key>);
VARIANT(swapped_keys, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), hashed_non_unique<by_group, &swapped_keys::group>,
        hashed_unique<by_key, &swapped_keys::key>);
VARIANT(ordered_key, std::uint32_t key; std::uint32_t group; std::uint32_t value;
        , (id, key, group, value), ordered_unique<by_key, &ordered_key::key>,
        hashed_non_unique<by_group, &ordered_key::group>);

/// What opening says when the type is declared as T.
template <typename T>
std::string said_of(const sample_state& state) {
    const state_image before(state.path);
    const std::string said = message_of<schema_error>([&] {
        database db(state.path, quick_options(open_mode::read_only));
        db.add_type<T>("thing");
    });
    CHECK(state_image(state.path) == before);
    CHECK(message_of<schema_error>([&] {
              database db(state.path, quick_options());
              db.add_type<T>("thing");
          }) == said);
    CHECK_THAT(said, Contains("thing"));
    return said;
}

} // namespace

TEST_CASE("each difference of a layout is named") {
    const sample_state state;
    CHECK_THAT(said_of<renamed>(state),
               Contains("field") && Contains("value") && Contains("amount"));
    CHECK_THAT(said_of<retyped>(state), Contains("value") && Contains("u32") && Contains("i32"));
    CHECK_THAT(said_of<reordered>(state), Contains("key") && Contains("group"));
    CHECK_THAT(said_of<longer>(state), Contains("more"));
    CHECK_THAT(said_of<shorter>(state), Contains("value"));
    CHECK_THAT(said_of<halved>(state), Contains("value") && Contains("u16[2]"));
    CHECK_THAT(said_of<other_kind>(state), Contains("by_key") && Contains("hashed_non_unique"));
    CHECK_THAT(said_of<other_part>(state), Contains("by_key") && Contains("value"));
    CHECK_THAT(said_of<more_parts>(state), Contains("by_key") && Contains("value"));
    CHECK_THAT(said_of<other_tag>(state), Contains("by_key") && Contains("by_other"));
    CHECK_THAT(said_of<fewer_keys>(state), Contains("by_group"));
    CHECK_THAT(said_of<swapped_keys>(state), Contains("by_key") && Contains("by_group"));
    CHECK_THAT(said_of<ordered_key>(state), Contains("by_key") && Contains("ordered_unique"));
    CHECK_NOTHROW(state.open_and_compare());
}
