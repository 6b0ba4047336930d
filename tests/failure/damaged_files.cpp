// Files that are cut, altered or missing, under a state that was closed and under one whose writer
// died, which has no checksum over its root blocks: each is refused with a typed exception and left
// alone, or does no harm.

#include <chainbase/segment.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/window.hpp>

#include <catch2/catch.hpp>
#include <tests/failure/sample_states.hpp>

#include <algorithm>
#include <set>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

/// Opens the state as it is now; checks that it is refused and unchanged, or works. Afterwards the
/// state is `whole` again.
attempt try_to_open(const fs::path& state, const state_image& whole) {
    const state_image before(state);
    attempt result = attempt_apart([&] { open_and_compare(state); });
    INFO(result.said);
    if (result.result == verdict::refused) CHECK(state_image(state) == before);
    whole.restore();
    return result;
}

/// The lengths to cut a file to: at its ends, and at pages and within them.
std::set<std::size_t> shorter_lengths(const std::string& name, std::size_t whole) {
    std::set<std::size_t> lengths{0, 1, 100, 4095, 4096, whole / 2, whole / 8192 * 4096, whole - 1};
    if (whole > 4096) lengths.insert(whole - 4096);
    if (name == "segment/catalogue.json") lengths.erase(whole - 1); // only the last newline
    std::erase_if(lengths, [&](std::size_t length) { return length >= whole; });
    return lengths;
}

/// Where `unused_may_be_gone`, whole pages that nothing was written to may be missing.
void cut_every_file(const fs::path& state, bool unused_may_be_gone) {
    const state_image whole(state);
    for (const auto& [name, content] : whole.files()) {
        if (name == "lock" || name == "readers") continue; // made anew
        for (const std::size_t length : shorter_lengths(name, content.size())) {
            fs::resize_file(state / name, length);
            INFO(name << " cut to " << length << " of " << content.size());
            const attempt result = try_to_open(state, whole);
            if (unused_may_be_gone && length != 0 && length % 4096 == 0) continue;
            CHECK(result.result == verdict::refused);
        }
    }
    CHECK_NOTHROW(open_and_compare(state));
}

void remove_every_file(const fs::path& state) {
    const state_image whole(state);
    for (const auto& [name, content] : whole.files()) {
        if (name == "readers") continue; // made anew
        fs::remove(state / name);
        INFO(name << " missing");
        const attempt result = try_to_open(state, whole);
        CHECK(result.result == verdict::refused);
        CHECK_THAT(result.said, Contains(name + ": missing; "));
        fs::remove(state / name);
        fs::create_directory(state / name);
        const attempt second = try_to_open(state, whole);
        CHECK(second.result == verdict::refused);
        CHECK_THAT(second.said, Contains(name + ": is no regular file; "));
    }
}

/// Flips bits of the bytes [0, end) of a file.
void flip_bytes(const fs::path& state, const std::string& name, std::size_t end, std::size_t step) {
    const state_image whole(state);
    const std::string& content = whole.files().at(name);
    for (std::size_t at = 0; at < std::min(end, content.size()); at += step) {
        write_at(state / name, at, std::string(1, static_cast<char>(content[at] ^ 0x21)));
        INFO(name << ": byte " << at);
        (void)try_to_open(state, whole);
    }
}

} // namespace

TEST_CASE("a closed state with a file cut short") {
    const scratch_folder folder;
    make_closed(folder / "state");
    cut_every_file(folder / "state", false);
}

TEST_CASE("an abandoned state with a file cut short") {
    const scratch_folder folder;
    make_abandoned(folder / "state");
    cut_every_file(folder / "state", true);
}

TEST_CASE("a missing file is named, a folder in its place is refused") {
    const scratch_folder folder;
    make_closed(folder / "closed");
    remove_every_file(folder / "closed");
    make_abandoned(folder / "abandoned");
    remove_every_file(folder / "abandoned");
}

TEST_CASE("what is left of a damaged segment moves away for its last checkpoint") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    open_options how = quick_options();
    how.promise = durability::checkpoint;
    {
        database db(state, how);
        db.add_type<note>("note");
        write_note(db, "one", 1);
        db.close();
    }
    for (const char* name : {"header", "note.objects"}) {
        fs::resize_file(state / "segment" / name, 100);
        try {
            const database db(state, how);
            FAIL("opened");
        } catch (const damaged_error& e) {
            CHECK_THAT(e.what(), Contains(name) && Contains("move " + (state / "segment").string() +
                                                            " away and open the state again"));
        }
        fs::rename(state / "segment", folder / (std::string("away.") + name));
        database db(state, how);
        db.add_type<note>("note");
        CHECK(db.count<note>() == 1);
        db.close();
    }
}

TEST_CASE("an abandoned state with flipped bytes") {
    const scratch_folder folder;
    make_abandoned(folder / "state");
    flip_bytes(folder / "state", "segment/header", sizeof(segment_header), 2);
    flip_bytes(folder / "state", "segment/catalogue.json", SIZE_MAX, 41);
    for (const char* name : {"undo_log", "note.objects", "note.ids", "note.0.hash", "note.1.hash",
                             "buffers.16", "buffers.runs"})
        flip_bytes(folder / "state", std::string("segment/") + name, sizeof(window_header), 5);
}
