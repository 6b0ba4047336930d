// Files that are cut, altered, missing or of another program, under a state that was closed and
// under one whose writer died, which has no checksum over its root blocks: each is refused with a
// typed exception and left alone, or does no harm. Every attempt is a process of its own, so that a
// signal is a failure and not the end of the test.

#include <chainbase/segment.hpp>
#include <pool_allocator/window.hpp>

#include <catch2/catch.hpp>
#include <tests/opening/sample.hpp>

#include <cstring>
#include <fstream>
#include <set>

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using kind = outcome::kind;

namespace {

/// Opens the state as it is now; checks that it is refused and unchanged, or works. Afterwards the
/// state is `whole` again.
outcome try_to_open(const fs::path& state, const folder_content& whole) {
    const folder_content before = content_of(state);
    outcome result = run_apart([&] { open_and_compare(state); });
    INFO(result.said);
    CHECK((result.how == kind::works || result.how == kind::refused));
    if (result.how == kind::refused) CHECK(content_of(state) == before);
    restore(state, whole);
    return result;
}

void write_file(const fs::path& file, const std::string& content) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

void cut_every_file(const fs::path& state) {
    const folder_content whole = content_of(state);
    for (const auto& [name, content] : whole) {
        if (content == "/" || name == "lock") continue;
        std::set<std::size_t> lengths{
            0, 100, 4095, 4096, content.size() / 2, content.size() / 8192 * 4096};
        if (content.size() > 4096) lengths.insert(content.size() - 4096);
        for (const std::size_t length : lengths) {
            if (length >= content.size()) continue;
            fs::resize_file(state / name, length);
            INFO(name << " cut to " << length << " of " << content.size());
            const outcome result = try_to_open(state, whole);
            if (length % 4096 != 0 || length == 0) CHECK(result.how == kind::refused);
        }
    }
}

void remove_every_file(const fs::path& state) {
    const folder_content whole = content_of(state);
    for (const auto& [name, content] : whole) {
        if (content == "/") continue;
        fs::remove(state / name);
        INFO(name << " missing");
        const outcome result = try_to_open(state, whole);
        CHECK(result.how == kind::refused);
        CHECK_THAT(result.said, Contains(name));
        fs::remove(state / name);
        fs::create_directory(state / name);
        CHECK(try_to_open(state, whole).how == kind::refused);
    }
}

/// Flips bits of the bytes [0, end) of a file.
void flip_bytes(const fs::path& state, const std::string& name, std::size_t end, std::size_t step) {
    const folder_content whole = content_of(state);
    std::string content = whole.at(name);
    for (std::size_t at = 0; at < std::min(end, content.size()); at += step) {
        content[at] = static_cast<char>(content[at] ^ 0x21);
        write_file(state / name, content);
        content[at] = static_cast<char>(content[at] ^ 0x21);
        INFO(name << ": byte " << at);
        try_to_open(state, whole);
    }
}

const char* const windows[] = {"segment/undo_log",    "segment/note.objects", "segment/note.ids",
                               "segment/note.0.hash", "segment/note.1.hash",  "segment/buffers.16",
                               "segment/buffers.runs"};

} // namespace

TEST_CASE("a closed state with a file cut short") {
    const own_folder folder;
    make_closed(folder / "state");
    cut_every_file(folder / "state");
}

TEST_CASE("an abandoned state with a file cut short") {
    const own_folder folder;
    make_abandoned(folder / "state");
    cut_every_file(folder / "state");
    const outcome at_last = run_apart([&] { open_and_compare(folder / "state"); });
    INFO(at_last.said);
    CHECK(at_last.how == kind::works);
}

TEST_CASE("a missing file is named, a folder in its place is refused") {
    const own_folder folder;
    make_closed(folder / "closed");
    remove_every_file(folder / "closed");
    make_abandoned(folder / "abandoned");
    remove_every_file(folder / "abandoned");
}

TEST_CASE("an abandoned state with flipped bytes") {
    const own_folder folder;
    make_abandoned(folder / "state");
    flip_bytes(folder / "state", "segment/header", sizeof(chainbase::segment_header), 2);
    flip_bytes(folder / "state", "segment/catalogue.json", SIZE_MAX, 41);
    for (const char* name : windows)
        flip_bytes(folder / "state", name, sizeof(chainbase::window_header), 5);
}

TEST_CASE("a closed state with flipped bytes in a root block") {
    const own_folder folder;
    make_closed(folder / "state");
    for (const char* name : windows)
        flip_bytes(folder / "state", name, 256, 17);
}

TEST_CASE("a folder of another program is refused, whatever its files are called") {
    const own_folder folder;
    const fs::path other = folder / "other";
    const auto refused = [&] {
        const folder_content before = content_of(other);
        const outcome result = run_apart([&] { open_and_compare(other); });
        INFO(result.said);
        CHECK(result.how == kind::refused);
        CHECK(content_of(other) == before);
    };
    fs::create_directory(other);
    write_file(other / "letter.txt", "dear reader");
    refused();
    write_file(other / "lock", "held by somebody\n");
    refused();
    fs::create_directory(other / "segment");
    refused();
    write_file(other / "segment/header", std::string(8192, 'h'));
    refused();
}
