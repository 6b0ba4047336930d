// Contents of chunks, their roots and files: against the definitions, and damaged in every way.

#include <chainbase/offline/snapshot_file/chunk.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/snapshot_file/sample_rows.hpp>

#include <algorithm>
#include <set>

using namespace chainbase;
using namespace chainbase::test;
using namespace chainbase::snapshot_file;
using archive::byte_buffer;
using archive::bytes_view;
using Catch::Matchers::Contains;

namespace {

void append_little(byte_buffer& to, std::uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i)
        to.push_back(static_cast<std::byte>(number >> 8 * i));
}

/// As FORMAT.md has them.
byte_buffer naive_content(const sample_rows& rows) {
    byte_buffer content;
    for (const auto& [id, row] : rows) {
        append_little(content, id, 4);
        append_little(content, row.record.size() + (row.is_archived ? 0x8000'0000 : 0), 4);
        archive::append(content, row.record);
        if (!row.is_archived) continue;
        append_little(content, row.keys.size(), 4);
        archive::append(content, row.keys);
    }
    return content;
}

/// A chunk's file around any frame.
byte_buffer file_around(bytes_view frame) {
    byte_buffer file;
    archive::append(file, archive::as_bytes("chnkrow1"));
    append_little(file, archive::hash_of(frame), 8);
    archive::append(file, frame);
    return file;
}

constexpr std::uint32_t zstd_magic = 0xFD2F'B528;

/// A frame of zstd (RFC 8878) that says `says`, of one block with any type and size.
byte_buffer frame_of(std::uint32_t says, bytes_view block, unsigned type, std::uint32_t size) {
    byte_buffer frame;
    append_little(frame, zstd_magic, 4);
    frame.push_back(std::byte{0b1010'0000}); // one segment, four bytes of length
    append_little(frame, says, 4);
    append_little(frame, 1 | type << 1 | size << 3, 3);
    archive::append(frame, block);
    return frame;
}
byte_buffer stored_frame(std::uint32_t says, bytes_view block) {
    return frame_of(says, block, 0, static_cast<std::uint32_t>(block.size()));
}

void require_refused(bytes_view file, std::uint64_t bytes, const std::string& why) {
    REQUIRE_THROWS_AS(unpacked(file, bytes, "of the test"), damaged_error);
    REQUIRE_THROWS_WITH(unpacked(file, bytes, "of the test"),
                        Contains("of the test") && Contains(why));
}

template <typename Alter>
void require_no_content(bytes_view content, const std::string& why, Alter&& alter) {
    byte_buffer altered(content.begin(), content.end());
    alter(altered);
    REQUIRE_THROWS_WITH(root_of(altered, {0, 32}, "of the test"),
                        Contains("of the test") && Contains(why));
}

} // namespace

TEST_CASE("a content is what the page says, and is read back row by row") {
    random_source random(test_seed(1));
    CAPTURE(random.seed());
    for (std::uint64_t i = 0; i < short_test_operations(300); ++i) {
        const sample_rows rows = random_rows(random, 60, 40);
        const chunk_content content = content_in(rows, {0, 32});
        REQUIRE(archive::same(content.bytes(), naive_content(rows)));
        REQUIRE(content.objects() == rows.size());
        std::uint32_t archived = 0;
        auto expected = rows.begin();
        each_row(content.bytes(), "", [&](const chunk_row& one) {
            REQUIRE(one.id == expected->first);
            REQUIRE(archive::same(one.record, expected->second.record));
            REQUIRE(one.is_archived == expected->second.is_archived);
            REQUIRE(archive::same(one.keys, expected->second.keys));
            archived += one.is_archived ? 1 : 0;
            ++expected;
        });
        REQUIRE(expected == rows.end());
        REQUIRE(content.archived() == archived);
    }
}

TEST_CASE("the root of a chunk is that of its node") {
    random_source random(test_seed(2));
    CAPTURE(random.seed());
    for (std::uint64_t i = 0; i < short_test_operations(300); ++i) {
        const sample_rows rows = random_rows(random, random.one_in(10) ? 3000 : 100, 20);
        const unsigned height = random.below(33);
        const std::uint32_t some =
            rows.empty()
                ? 0
                : std::next(rows.begin(), random.below(static_cast<std::uint32_t>(rows.size())))
                      ->first;
        const node at{static_cast<std::uint32_t>(std::uint64_t{some} >> height << height), height};
        CAPTURE(at.first, at.height, rows.size());
        REQUIRE(root_of(content_in(rows, at).bytes(), at, "") == naive_root(rows, at));
    }
}

TEST_CASE("the root of all rows is that of the state root's tree") {
    random_source random(test_seed(3));
    CAPTURE(random.seed());
    for (std::uint64_t i = 0; i < short_test_operations(200); ++i) {
        const sample_rows rows = random_rows(random, random.one_in(20) ? 20'000 : 300, 10);
        const state_root::id_tree tree = tree_of(rows);
        REQUIRE(tree.height() == height_of(rows));
        const node whole{0, tree.height()};
        REQUIRE(root_of(content_in(rows, whole).bytes(), whole, "") == tree.root());
    }
    const sample_rows last{{highest_id, {random_bytes(random, 3)}}};
    REQUIRE(root_of(content_in(last, {0, 32}).bytes(), {0, 32}, "") == tree_of(last).root());
}

TEST_CASE("a content that is none is refused") {
    random_source random(test_seed(4));
    CAPTURE(random.seed());
    sample_rows rows;
    for (std::uint32_t id = 3; id < 9; ++id)
        rows[id] = {random_bytes(random, 5), id % 2 == 0,
                    random_bytes(random, id % 2 == 0 ? 7 : 0)};
    const chunk_content content = content_in(rows, {0, 4});
    const bytes_view bytes = content.bytes();

    // The rows end at some lengths, and nowhere else.
    std::set<std::size_t> ends{0};
    each_row(bytes, "", [&](const chunk_row& one) { ends.insert(*ends.rbegin() + one.bytes()); });
    REQUIRE(*ends.rbegin() == bytes.size());
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
        if (ends.contains(cut))
            REQUIRE_NOTHROW(root_of(bytes.first(cut), {0, 4}, "x"));
        else
            REQUIRE_THROWS_AS(root_of(bytes.first(cut), {0, 4}, "x"), damaged_error);

    require_no_content(bytes, "offset 0: it is cut",
                       [](byte_buffer& all) { all[7] = std::byte{0x7f}; });
    require_no_content(bytes, "offset 0: it is cut",
                       [](byte_buffer& all) { std::fill_n(all.begin() + 4, 4, std::byte{0xff}); });
    require_no_content(bytes, "offset 13: its id", [](byte_buffer& all) { all[13] = all[0]; });
    REQUIRE_THROWS_WITH(root_of(bytes, {0, 3}, "x"), Contains("its id 8 is not from 0 to 7"));
    REQUIRE_THROWS_WITH(root_of(bytes, {4, 2}, "x"), Contains("its id 3 is not from 4 to 7"));
    REQUIRE_THROWS_WITH(root_of(bytes, {4, 3}, "x"), Contains("no node"));
    REQUIRE_THROWS_WITH(root_of(bytes, {0, 33}, "x"), Contains("no node"));
}

TEST_CASE("a row beyond the limit is not taken") {
    const std::byte any{};
    const bytes_view large(&any, most_row_bytes - 11); // nobody reads it
    chunk_content content;
    REQUIRE_THROWS_AS(content.add({7, large, true, {}}), limit_error);
    REQUIRE_THROWS_WITH(content.add({7, large, true, {}}), Contains("object 7"));
    REQUIRE(content.bytes().empty());
}

TEST_CASE("what is packed unpacks to the same") {
    random_source random(test_seed(5));
    CAPTURE(random.seed());
    for (std::uint64_t i = 0; i < short_test_operations(200); ++i) {
        byte_buffer content = random_bytes(random, random.below(random.one_in(5) ? 500'000 : 300));
        if (random.one_in(2)) std::fill(content.begin(), content.end(), std::byte{7});
        const byte_buffer file = packed(content);
        REQUIRE(file.size() <= most_file_bytes(content.size()));
        REQUIRE(file == packed(content));
        REQUIRE(unpacked(file, content.size(), "") == content);
        REQUIRE_THROWS_AS(unpacked(file, content.size() + 1, ""), damaged_error);
    }
}

TEST_CASE("a flipped bit and a cut in the file of a chunk are found") {
    random_source random(test_seed(6));
    CAPTURE(random.seed());
    for (const std::uint32_t rows : {1U, 20U}) {
        sample_rows all;
        for (std::uint32_t id = 0; id < rows; ++id)
            all[id] = random_row(random, 20);
        const chunk_content content = content_in(all, {0, 8});
        const std::size_t bytes = content.bytes().size();
        byte_buffer file = packed(content.bytes());
        for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
            file[bit / 8] ^= std::byte{1} << bit % 8;
            REQUIRE_THROWS_AS(unpacked(file, bytes, ""), damaged_error);
            file[bit / 8] ^= std::byte{1} << bit % 8;
        }
        for (std::size_t cut = 0; cut < file.size(); ++cut)
            REQUIRE_THROWS_AS(unpacked(bytes_view(file).first(cut), bytes, ""), damaged_error);
        file.push_back({});
        REQUIRE_THROWS_AS(unpacked(file, bytes, ""), damaged_error);
    }
    byte_buffer file = packed(random_bytes(random, 300'000));
    for (std::uint64_t i = 0; i < short_test_operations(10'000); ++i) {
        const std::uint32_t bit = random.below(static_cast<std::uint32_t>(8 * file.size()));
        file[bit / 8] ^= std::byte{1} << bit % 8;
        REQUIRE_THROWS_AS(unpacked(file, 300'000, ""), damaged_error);
        file[bit / 8] ^= std::byte{1} << bit % 8;
    }
}

TEST_CASE("files of chunks that were made with another length are refused before memory is taken") {
    const byte_buffer content(100, std::byte{5});
    REQUIRE(unpacked(file_around(stored_frame(100, content)), 100, "") == content);
    require_refused(file_around(stored_frame(1000, content)), 100, "1000 bytes, not of 100");
    require_refused(file_around(stored_frame(1000, content)), 1000, "the frame");
    require_refused(file_around(stored_frame(50, content)), 50, "the frame");

    byte_buffer two = stored_frame(100, content);
    archive::append(two, stored_frame(100, content));
    require_refused(file_around(two), 200, "100 bytes, not of 200");
    byte_buffer more = stored_frame(100, content);
    more.push_back({});
    require_refused(file_around(more), 100, "1 bytes follow");

    byte_buffer skipped; // a frame that is to be passed over
    append_little(skipped, 0x184D'2A50, 4);
    append_little(skipped, 0, 4);
    require_refused(file_around(skipped), 0, "no frame");
    byte_buffer silent; // a frame that does not say its length
    append_little(silent, zstd_magic, 4);
    append_little(silent, 0, 2);
    append_little(silent, 1 | 100 << 3, 3);
    archive::append(silent, content);
    require_refused(file_around(silent), 100, "does not say");

    // 128 KiB of one byte in four: it says 1 GiB, and a manifest that says so, too, has it refused
    // where its bytes end.
    const byte_buffer bomb = frame_of(1 << 30, byte_buffer(1), 1, 100'000);
    require_refused(file_around(bomb), 8 << 20, "1073741824 bytes, not of 8388608");
    require_refused(file_around(bomb), std::uint64_t{1} << 40, "beyond the limit");
    require_refused(byte_buffer(1000), 8, "1000 bytes are no chunk");
    require_refused({}, 8, "0 bytes are no chunk");
}

TEST_CASE("random bytes are no chunk") {
    random_source random(test_seed(7));
    CAPTURE(random.seed());
    for (std::uint64_t i = 0; i < short_test_operations(20'000); ++i) {
        const std::uint64_t bytes = random.below(300);
        byte_buffer frame = random_bytes(random, random.below(100));
        if (random.one_in(2) && frame.size() >= 9) { // something that begins as a frame
            const byte_buffer begin = stored_frame(static_cast<std::uint32_t>(bytes), {});
            std::copy_n(begin.begin(), 9, frame.begin());
        }
        REQUIRE_THROWS_AS(unpacked(frame, bytes, ""), damaged_error);
        std::uint64_t found = bytes;
        try { // with a sum that fits
            found = unpacked(file_around(frame), bytes, "").size();
        } catch (const damaged_error&) {
        }
        REQUIRE(found == bytes);
        try {
            (void)root_of(frame, {0, 32}, "");
        } catch (const damaged_error&) {
        }
    }
}
