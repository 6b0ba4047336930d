// A closed state with flipped bits, of another format, boot or program: refused with
// an exception that says what and where, with nothing on disk changed; or harmless.

#include <boost/crc.hpp>
#include <catch2/catch.hpp>
#include <tests/failure/state_image.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

struct flips {
    std::size_t tried = 0;
    std::size_t refused = 0;
};

/// Flips bits of the bytes [begin, end) of a file, one byte at a time, by each of `masks`, and
/// opens.
flips flip_each(const sample_state& state, const fs::path& file, std::size_t begin, std::size_t end,
                std::size_t step = 1, std::string_view masks = "\x01\x80\x0A") {
    const state_image whole(state.path);
    const std::string content = read_all(file);
    flips done;
    for (std::size_t at = begin; at < std::min(end, content.size()); at += step)
        for (const char mask : masks) {
            write_at(file, at, std::string(1, static_cast<char>(content[at] ^ mask)));
            INFO(file << ": byte " << at << " flipped by " << int{mask});
            verdict result{};
            REQUIRE_NOTHROW(result = open_maltreated(state));
            ++done.tried;
            if (result == verdict::refused) {
                ++done.refused;
                write_at(file, at, std::string(1, content[at]));
            } else {
                whole.restore();
            }
        }
    return done;
}

std::uint32_t crc(const std::string& bytes, std::size_t length) {
    boost::crc_32_type sum;
    sum.process_bytes(bytes.data(), length);
    return sum.checksum();
}

void put(std::string& bytes, std::size_t offset, std::uint32_t word) {
    std::memcpy(bytes.data() + offset, &word, sizeof word);
}

} // namespace

TEST_CASE("each byte of the segment's header flipped") {
    const sample_state state;
    const fs::path file = state.path / "segment/header";
    constexpr std::size_t summed = offsetof(segment_header, clean);
    const flips first = flip_each(state, file, 0, summed);
    CHECK(first.refused == first.tried);
    flip_each(state, file, summed, sizeof(segment_header));
    flip_each(state, file, sizeof(segment_header), segment::header_bytes, 97);
}

TEST_CASE("each byte of the catalogue flipped") {
    const sample_state state;
    const fs::path file = state.path / "segment/catalogue.json";
    // One mask, since a thousand opens take seconds. It makes digits other digits, and letters
    // other letters, so that most of what comes out is a catalogue still.
    const flips all = flip_each(state, file, 0, SIZE_MAX, 1, "\x01");
    CHECK(all.tried == fs::file_size(file));
    CHECK(all.refused == all.tried);
}

TEST_CASE("bytes of the windows' header pages flipped") {
    const sample_state state;
    const auto all_refused = [&](const fs::path& file, std::size_t begin, std::size_t end,
                                 std::size_t step) {
        const flips done = flip_each(state, file, begin, end, step);
        CHECK(done.tried == 3 * ((end - begin + step - 1) / step));
        CHECK(done.refused == done.tried);
    };
    for (const char* name : {"undo_log", "thing.objects", "thing.ids", "thing.0.hash",
                             "thing.1.hash", "buffers.16", "buffers.runs"}) {
        const fs::path file = state.path / "segment" / name;
        all_refused(file, 0, 64, 3);
        all_refused(file, 64, 200, 5);
        all_refused(file, 200, 4096, 509);
    }
}

TEST_CASE("a catalogue that places a type outside the windows is refused") {
    const sample_state state;
    const fs::path file = state.path / "segment/catalogue.json";
    const std::string content = read_all(file);
    const std::string field = "\"first_window\": 26";
    const auto at = content.find(field);
    REQUIRE(at != std::string::npos);
    for (const char* other :
         {"0", "1", "25", "77", "80", "4000", "4294967295", "-4", "2.6e9", "27"}) {
        std::string changed = content;
        changed.replace(at, field.size(), std::string("\"first_window\": ") + other);
        write_all(file, changed);
        std::string said;
        INFO(other);
        CHECK(open_maltreated(state, &said) == verdict::refused);
    }
}

TEST_CASE("another format is refused by name") {
    const sample_state state;
    const state_image whole(state.path);
    std::string said;
    {
        std::string header = read_all(state.path / "segment/header");
        put(header, 16, segment_header::current_format + 1);
        put(header, 32, crc(header, 32));
        write_all(state.path / "segment/header", header);
        CHECK(open_maltreated(state, &said) == verdict::refused);
        CHECK_THAT(said, Contains("format " + std::to_string(segment_header::current_format + 1)));
        whole.restore();
    }
    {
        std::string header = read_all(state.path / "segment/thing.ids");
        put(header, 8, 7);
        put(header, 60, crc(header, 60));
        write_all(state.path / "segment/thing.ids", header);
        CHECK(open_maltreated(state, &said) == verdict::refused);
        CHECK_THAT(said, Contains("format 7") && Contains("thing.ids"));
        whole.restore();
    }
}

TEST_CASE("a state that was open when the machine restarted is refused with the choices") {
    const sample_state state;
    const fs::path file = state.path / "segment/header";
    write_at(file, 36, std::string(4, '\0'));
    write_at(file, 48, "00000000-0000-0000-0000-000000000000");
    std::string said;
    CHECK(open_maltreated(state, &said) == verdict::refused);
    CHECK_THAT(said, Contains("restarted") && Contains("replay"));
    CHECK_THROWS_AS(database(state.path, quick_options(open_mode::read_only)), unclean_error);
}

TEST_CASE("a folder of something else is refused and left alone, whatever its files are called") {
    const scratch_folder folder;
    const fs::path other = folder / "other";
    const auto refused = [&] {
        const state_image before(other);
        CHECK_THROWS_AS(database(other, quick_options()), error);
        CHECK_THROWS_AS(database(other, quick_options(open_mode::read_only)), error);
        CHECK(state_image(other) == before);
    };
    fs::create_directory(other);
    write_all(other / "letter.txt", "dear reader");
    refused();
    CHECK_THROWS_AS(database(other, quick_options()), format_error);
    write_all(other / "lock", "held by somebody\n");
    refused();
    fs::create_directory(other / "segment");
    refused();
    write_all(other / "segment/header", "a header of another program");
    refused();
    write_all(other / "segment/header", std::string(8192, 'h'));
    refused();

    write_all(folder / "file", "not a folder");
    CHECK_THROWS_AS(database(folder / "file", quick_options()), error);
    CHECK(read_all(folder / "file") == "not a folder");

    CHECK_THROWS_AS(database(folder / "nothing", quick_options(open_mode::read_only)),
                    format_error);
    CHECK_FALSE(fs::exists(folder / "nothing"));
}

TEST_CASE("options that cannot be met are refused and leave no state behind") {
    const scratch_folder folder;
    open_options odd = quick_options();
    odd.window_bytes = 3'000'000;
    CHECK_THROWS_AS(database(folder / "state", odd), usage_error);
    open_options few = quick_options();
    few.windows = 3;
    CHECK_THROWS_AS(database(folder / "state", few), usage_error);
    CHECK_FALSE(fs::exists(folder / "state"));
    open_options huge = quick_options();
    huge.window_bytes = std::size_t{1} << 46;
    huge.windows = 1000;
    CHECK_THROWS_AS(database(folder / "state", huge), limit_error);
    CHECK_FALSE(fs::exists(folder / "state/segment.new"));
    const database db(folder / "state", quick_options());
    CHECK(db.revision() == 0);
}
