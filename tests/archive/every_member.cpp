// An object with every kind of member: its record, the same record from the catalogue, and its
// round trip through the archive.

#include <archive/lifecycle.hpp>
#include <archive/record/described_record.hpp>
#include <archive/record/record.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/schema_of.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/stores.hpp>
#include <tests/support/scratch_state.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

__extension__ typedef __int128 wide;

namespace every_member {

enum class colour : std::uint8_t { red, green };

struct part {
    shared_string name;
    std::array<std::int16_t, 2> pair{};
    shared_vector<std::uint64_t> numbers;
};
BOOST_DESCRIBE_STRUCT(part, (), (name, pair, numbers))

struct by_digest;
struct by_label;
struct by_amount;

struct thing {
    chainbase::id<thing> id;
    bool flag = false;
    fixed_bytes<20> digest;
    fixed_string<8> label;
    wide amount = 0;
    shared_string text;
    shared_bytes raw;
    part alone;
    std::array<part, 2> two;
    shared_vector<shared_string> names;
    shared_vector<part> parts;
    shared_vector<shared_vector<std::uint16_t>> lists;
    chainbase::id<thing> other;

    using keys = chainbase::keys<hashed_unique<by_digest, &thing::digest>,
                                 ordered_unique<by_label, &thing::label>,
                                 ordered_non_unique<by_amount, descending<&thing::amount>>>;
    using archived_by = archive::tags<by_digest, by_label, by_amount>;
};
BOOST_DESCRIBE_STRUCT(thing, (),
                      (id, flag, digest, label, amount, text, raw, alone, two, names, parts, lists,
                       other))

void fill(thing& one, int n) {
    const std::string number = std::to_string(n);
    one.flag = n % 2 == 1;
    one.digest[0] = std::byte(n);
    one.label = "l" + number;
    one.amount = -(wide{n} << 80);
    one.text = "text " + number;
    one.raw = std::array{std::byte{1}, std::byte(n)};
    one.alone.name = "alone";
    one.alone.pair = {1, static_cast<std::int16_t>(-n)};
    one.two[1].numbers = {1, 2, static_cast<std::uint64_t>(n)};
    one.names = {"a", "", "name " + number};
    one.parts.emplace_back();
    one.parts.push_back(one.alone);
    one.parts.emplace_back(shared_string("p" + number), std::array<std::int16_t, 2>{3, 4},
                           shared_vector<std::uint64_t>{5});
    one.lists = {{1, 2}, {}, {static_cast<std::uint16_t>(n)}};
    one.other = id<thing>(static_cast<std::uint32_t>(n));
}

std::string record_of(const thing& one) {
    archive::byte_buffer bytes;
    archive::encode(one, bytes);
    return std::string(archive::as_text(bytes));
}

} // namespace every_member

using namespace every_member;

TEST_CASE("an object with every kind of member has one record, from its type and its catalogue") {
    const scratch_folder folder;
    database state(folder / "state", quick_options());
    state.add_type<thing>("thing");
    const thing& made = state.create<thing>([](thing& one) { fill(one, 3); });
    const archive::described_record known(schema_of<thing>("thing"));
    std::string layout = archive::record_layout<thing>();
    layout.replace(layout.find("enum "), 5, ""); // the catalogue has std::byte's underlying integer
    CHECK(known.layout() == layout);
    CHECK(known.undescribed().empty());
    const std::string record = record_of(made);

    thing again;
    archive::decode(archive::as_bytes(record), again);
    CHECK(record_of(again) == record);
    CHECK(again.parts[2].name == "p3");
    CHECK(again.lists[0][1] == 2);
    const archive::record_view<thing> view(archive::as_bytes(record));
    CHECK(view.get<&thing::names>()[2] == "name 3");
    CHECK(view.get<&thing::digest>() == made.digest);
    CHECK(view.get<&thing::other>() == made.other);

    rows::segment_buffers::files files{};
    auto next = files.begin();
    state.memory().buffers().each_window([&](const window& file) { *next++ = &file; });
    archive::byte_buffer from_catalogue;
    known.append(reinterpret_cast<const std::byte*>(&made), rows::segment_buffers(files),
                 from_catalogue);
    // Without the fingerprints of the layouts.
    CHECK(record.substr(4) == std::string(archive::as_text(from_catalogue)).substr(4));
}

TEST_CASE("an object with every kind of member is archived and found, by each key, as it was") {
    const scratch_folder folder;
    database state(folder / "state", quick_options());
    state.add_type<thing>("thing");
    heap_store rows;
    archive::lifecycle<thing> all(state, rows, "thing");
    {
        session block = state.start_session();
        for (int n = 0; n < 4; ++n)
            all.retire(state.create<thing>([&](thing& one) { fill(one, n); }));
        block.push();
    }
    const std::string record = record_of(state.get(id<thing>(2)));
    const fixed_bytes<20> digest = state.get(id<thing>(2)).digest;
    state.commit(state.revision());
    {
        session block = state.start_session();
        CHECK(all.hand_over(state.committed_revision()) == 4);
        block.push();
    }
    CHECK(state.count<thing>() == 0);
    for (const auto& found :
         {all.find(id<thing>(2)), all.find<by_digest>(digest), all.find<by_label>("l2")}) {
        REQUIRE(found);
        CHECK_FALSE(found->in_memory());
        CHECK(found->get<&thing::names>()[2] == "name 2");
    }
    std::vector<std::uint32_t> order;
    for (auto at = all.range<by_amount>(); at.valid(); at.next())
        order.push_back(at->id().value);
    CHECK(order == std::vector<std::uint32_t>{0, 1, 2, 3});
    CHECK(record_of(all.find(id<thing>(2))->copy()) == record);
}
