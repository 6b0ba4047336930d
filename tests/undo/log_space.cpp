// The log's chunks are used again: its file grows with what can be undone, not with what was done.

#include <chainbase/statistics.hpp>

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

using namespace chainbase;
using namespace chainbase::test;

namespace {

void touch_many(one_type<card>& s, std::uint32_t round) {
    for (const card& c : s.db.objects<card>())
        s.db.modify(c, [&](card& t) {
            t.value = round;
            t.group = round % 50;
        });
}

} // namespace

TEST_CASE("blocks that are committed at a lag reuse the log") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 2000; ++k)
        s.add(k);
    std::uint64_t settled = 0;
    for (std::uint32_t block = 1; block <= 200; ++block) {
        auto session = s.db.start_session();
        touch_many(s, block);
        session.push();
        s.db.commit(s.db.revision() - 5);
        if (block == 30) settled = s.db.memory().log_file().bytes();
    }
    CHECK(s.db.memory().log_file().bytes() == settled);
    s.db.commit(s.db.revision());
    CHECK(s.db.memory().log()->bytes_in_use() == 0);
    s.db.compact();
    CHECK(s.db.memory().log_file().bytes() <= settled);
}

TEST_CASE("sessions that are undone or squashed reuse the log") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 2000; ++k)
        s.add(k);
    std::uint64_t settled = 0;
    for (std::uint32_t block = 1; block <= 100; ++block) {
        auto outer = s.db.start_session();
        touch_many(s, block);
        auto inner = s.db.start_session();
        touch_many(s, block + 1000);
        if (block % 2)
            inner.undo();
        else
            inner.squash();
        if (block % 3)
            outer.undo();
        else
            outer.squash();
        if (block == 10) settled = s.db.memory().log_file().bytes();
    }
    CHECK(s.db.memory().log_file().bytes() == settled);
}

TEST_CASE("the parts of a state's bytes sum to the files' lengths") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 3000; ++k)
        s.add(k);
    auto session = s.db.start_session();
    touch_many(s, 1);
    for (std::uint32_t k = 0; k < 3000; k += 3)
        s.db.remove(*s.at(k));
    const auto all = segment_statistics::read(s.db.memory());
    std::uint64_t sum = all.header + all.log.total;
    for (const auto& buffers : all.buffers)
        sum += buffers.bytes.total;
    for (const auto& type : all.types)
        sum += type.total().total;
    CHECK(sum == all.total);
    const usage used = all.types[0].total();
    CHECK(used.header + used.links + used.values + used.slack + used.punched == used.total);
    CHECK(all.log.header + all.log.values + all.log.slack == all.log.total);
    std::uint64_t files = segment::header_bytes;
    for (const auto& entry : std::filesystem::directory_iterator(s.folder / "state/segment"))
        if (entry.path().filename() != "header" && entry.path().filename() != "catalogue.json")
            files += entry.file_size();
    CHECK(files == all.total);
    CHECK(all.consistent);
    CHECK(all.sessions == 1);
}

TEST_CASE("areas of a hash table count as punched when they are, not while undo needs them") {
    one_type<card> s;
    const auto punched = [&] {
        return segment_statistics::read(s.db.memory()).types[0].tables.punched;
    };
    auto session = s.db.start_session();
    for (std::uint32_t k = 0; k < 3000; ++k)
        s.add(k);
    CHECK(punched() == 0);
    session.push();
    s.db.commit(s.db.revision());
    const auto given_back = punched();
    CHECK(given_back > 0);
    database reader(s.folder / "state", quick_options(open_mode::read_only));
    CHECK(segment_statistics::read(reader.memory()).types[0].tables.punched == given_back);
}
