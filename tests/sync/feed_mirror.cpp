/// The bytes of a feed as a standby gets them over TCP: messages, and the files that they are put
/// into. With programs: tests/programs/test_standby_tcp.py.

#include <chainbase/feed/feed_end.hpp>
#include <chainbase/feed/follower.hpp>
#include <tools/driver/standby/feed_mirror.hpp>

#include <catch2/catch.hpp>
#include <tests/support/property.hpp>
#include <tests/support/temporary_folder.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace chainbase;
using namespace chainbase::test;
using feed::feed_position;

namespace {

const checkpoint::slot_file::identity ours{std::byte{1}};

bytes content_of(const std::filesystem::path& file) {
    std::ifstream from(file, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(from), {}};
    const auto found = std::as_bytes(std::span(all));
    return {found.begin(), found.end()};
}

/// A feed of some files, of blocks that create an object of no type.
struct written_feed {
    temporary_folder folder{memory_or_disk()};
    std::vector<feed_position> files;
    feed_position end = 0;
    int blocks = 0;

    explicit written_feed(int count) : blocks(count) {
        const auto to = feed::feed_folder(folder.path());
        disk& on = disk::of_system();
        on.make_folder(to);
        feed::feed_end all(on, to, ours, 2'000, 0);
        all.begin({0, 0}, "a test begins");
        for (std::uint32_t i = 1; i <= static_cast<std::uint32_t>(count); ++i) {
            feed::entry one;
            one.revision = i;
            one.serial = i;
            one.next_ids = {{i % 7, i}};
            all.add(one);
        }
        all.sync();
        end = all.at();
        files = feed::entries_files(on, to);
    }
    [[nodiscard]] bytes file(feed_position first) const {
        return content_of(feed::entries_file(feed::feed_folder(folder.path()), first));
    }
};

/// Puts what follows `place`, at most `most` bytes, `spoilt`.
feed_position put(driver::feed_mirror& to, const written_feed& from, feed_position place,
                  std::size_t most, std::uint8_t spoilt = 0) {
    const feed_position first = *std::prev(std::ranges::upper_bound(from.files, place));
    bytes content = from.file(first);
    content.erase(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(place - first));
    content.resize(std::min(content.size(), most));
    content[content.size() / 2] ^= std::byte{spoilt};
    to.put({first, place, content});
    return place + content.size();
}

} // namespace

TEST_CASE(
    "a mirror has the bytes of the feed, whatever pieces come and whenever it is made again") {
    check_property(20, 100, [] {
        const written_feed from(*rc::gen::inRange(1, 200));
        RC_ASSERT(from.blocks < 150 || from.files.size() > 2U);
        const temporary_folder to(memory_or_disk());
        std::optional<driver::feed_mirror> mirror(std::in_place, to / "copy", true);
        RC_ASSERT(!mirror->has_begun());
        mirror->begin(ours, "one", {0, true, 0});
        for (feed_position at = 0; at < from.end;) {
            at = put(*mirror, from, at, *rc::gen::inRange<std::size_t>(200, 3'000));
            RC_ASSERT(mirror->end() <= at);
            const int what = *rc::gen::inRange(0, 6);
            if (what == 5) {
                mirror.reset();
                mirror.emplace(to / "copy", false);
                RC_ASSERT(mirror->state() == ours);
            }
            if (what >= 4) at = mirror->resume().value_or(0);
        }
        RC_ASSERT(mirror->end() == from.end);
        const auto files = feed::feed_folder(to / "copy");
        RC_ASSERT(feed::entries_files(disk::of_system(), files) == from.files);
        for (const feed_position one : from.files)
            RC_ASSERT(content_of(feed::entries_file(files, one)) == from.file(one));
        const feed_position behind =
            from.files[*rc::gen::inRange<std::size_t>(0, from.files.size())];
        driver::feed_mirror::prune(to / "copy", behind);
        const auto left = feed::entries_files(disk::of_system(), files);
        RC_ASSERT(left.front() == behind);
    });
}

TEST_CASE("no byte of a feed can be another one: the place is named, and what is whole stays") {
    check_property(30, 100, [] {
        const written_feed from(100);
        const temporary_folder to(memory_or_disk());
        driver::feed_mirror mirror(to / "copy", true);
        mirror.begin(ours, "one", {0, true, 0});
        const auto until = *rc::gen::inRange<feed_position>(0, from.end - 1);
        feed_position at = 0;
        while (at < until)
            at = put(mirror, from, at, std::min<std::size_t>(500, until - at));
        const feed_position whole = mirror.end();
        const auto bit = static_cast<std::uint8_t>(1 << *rc::gen::inRange(0, 8));
        std::string said;
        try { // at the latest when the entry is there to its end
            at = put(mirror, from, at, *rc::gen::inRange<std::size_t>(1, 300), bit);
            while (at < from.end)
                at = put(mirror, from, at, 500);
        } catch (const error& problem) {
            said = problem.what();
        }
        RC_ASSERT(said.find("entries.") != std::string::npos);
        RC_ASSERT(mirror.end() >= whole);
        for (auto left = mirror.resume().value_or(0); left < from.end;)
            left = put(mirror, from, left, 700);
        RC_ASSERT(mirror.end() == from.end);
    });
}

TEST_CASE("a mirror is one state's, and one process's") {
    const temporary_folder to(memory_or_disk());
    {
        driver::feed_mirror mirror(to / "copy", false);
        mirror.begin(ours, "one", {0, true, 0});
        CHECK_THROWS_AS(mirror.begin({std::byte{2}}, "one", {0, true, 0}), usage_error);
        CHECK_THROWS_AS(driver::feed_mirror(to / "copy", true), locked_error);
    }
    CHECK(driver::feed_mirror(to / "copy", false).state() == ours);
    CHECK_FALSE(driver::feed_mirror(to / "copy", true).has_begun());
}

TEST_CASE("messages of a feed are read as they were written, and refused when they cannot be") {
    using namespace driver;
    const auto payload = [](const bytes& frame) {
        return byte_view(frame).subspan(sizeof(wire::frame_header));
    };
    const bytes asked = framed(
        feed_request_message{std::string(64, 'n'), ours, wire::feed_begin::place, 1ULL << 60});
    const feed_request_message read = read_feed_request(payload(asked));
    CHECK(read.name == std::string(64, 'n'));
    CHECK(read.state == ours);
    CHECK(read.place == 1ULL << 60);
    const feed_state_message told{ours, 5, -1, 9, wire::feed_writer::taken};
    CHECK(read_feed_state(payload(framed(told))) == told);
    const auto kept = read_feed_keep(payload(framed(feed_keep_message{7, 8, true})));
    CHECK((kept.place == 7 && kept.revision == 8 && kept.takes_over));

    const bytes three(3);
    const auto part = [&](std::uint64_t file, std::uint64_t place, byte_view content) {
        return read_feed_part(payload(framed(feed_part_message{file, place, content})));
    };
    CHECK(part(5, 5, three).content.size() == 3);
    CHECK(part(0, UINT64_MAX - 3, three).place == UINT64_MAX - 3);
    CHECK_THROWS_AS(part(5, 4, three), peer_error);
    CHECK_THROWS_AS(part(5, 5, {}), peer_error);
    CHECK_THROWS_AS(part(0, UINT64_MAX - 2, three), peer_error);
    const auto refused = [](const feed_request_message& one) {
        CHECK_THROWS_AS(read_feed_request(byte_view(framed(one)).subspan(16)), peer_error);
    };
    refused({"", ours, wire::feed_begin::place, 0});
    refused({"a\n", ours, wire::feed_begin::place, 0});
    refused({"a", ours, wire::feed_begin{0}, 0});
    refused({"a", ours, wire::feed_begin{4}, 0});
    for (const std::uint32_t one : {0U, 7U})
        CHECK_THROWS_AS(read_feed_state(payload(framed(feed_state_message{
                            ours, 5, -1, 9, static_cast<wire::feed_writer>(one)}))),
                        peer_error);
    for (const std::size_t size : {0, 23, 25})
        CHECK_THROWS_AS(read_feed_keep(bytes(size)), peer_error);
}
