// A byte of each region of each file of a state is altered: its header, its root block, pages in
// the middle, its end. Opening refuses with the file's name, or restores all from a checkpoint, or
// works; what it does not look at is what these tests list. Nothing ends the process.

#include <chainbase/statistics.hpp>

#include <catch2/catch.hpp>
#include <tests/failure/sample_states.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

constexpr std::size_t page_bytes = 4096;

enum class region { header, root, body, end };

/// Places in a file, by region; pages of zeros are nobody's.
std::map<region, std::set<std::size_t>> regions_of(const std::string& content) {
    std::map<region, std::set<std::size_t>> all;
    if (content.empty()) return all;
    for (const std::size_t at : {0, 9, 20, 61})
        if (at < content.size()) all[region::header].insert(at);
    for (const std::size_t at : {64, 72, 80, 100, 130, 180, 300})
        if (at < std::min(content.size(), page_bytes)) all[region::root].insert(at);
    for (std::size_t page = page_bytes; page + page_bytes <= content.size(); page += page_bytes) {
        const auto used = content.substr(page, page_bytes).find_first_not_of('\0');
        if (used != std::string::npos) all[region::body].insert(page + used);
        if (all[region::body].size() == 4) break;
    }
    if (content.size() != page_bytes) all[region::end].insert(content.size() - 1);
    return all;
}

/// Opens for writing and looks at what a program sees before it asks for an object.
void only_open(const fs::path& state) {
    database db(state, quick_options());
    db.add_type<note>("note");
    (void)segment_statistics::read(db);
    db.abandon();
}

bool is_window(const std::string& name) {
    return name.starts_with("segment/") && name != "segment/header" &&
           name != "segment/catalogue.json";
}

template <typename Check>
void flip_every_region(const fs::path& state, Check&& check) {
    const state_image whole(state);
    for (const auto& [name, content] : whole.files())
        for (const auto& [where, places] : regions_of(content))
            for (const std::size_t at : places) {
                write_at(state / name, at, std::string(1, static_cast<char>(content[at] ^ 0x41)));
                INFO(name << ": byte " << at << " of " << content.size());
                check(name, where);
                whole.restore();
            }
}

} // namespace

TEST_CASE("a closed state with a byte of any region of a file altered") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    make_closed(state);
    flip_every_region(state, [&](const std::string& name, region where) {
        const attempt result = attempt_apart([&] { only_open(state); });
        INFO(result.said);
        const bool is_small = name == "segment/catalogue.json";
        const bool is_summed =
            is_window(name) && (where == region::header || where == region::root);
        if (is_summed || (is_small && where != region::end)) {
            CHECK(result.result == verdict::refused);
            CHECK_THAT(result.said, Contains((state / "segment").string()));
        }
        // Pages of objects, keys, buffers and of the log below its end have no sum.
        if (is_window(name) && where == region::end) CHECK(result.result == verdict::works);
        if (name == "lock") CHECK(result.result == verdict::works);
    });
    CHECK_NOTHROW(open_and_compare(state));
}

TEST_CASE("an abandoned state with a byte of any region of a file altered") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    make_abandoned(state);
    flip_every_region(state, [&](const std::string& name, region where) {
        const attempt result = attempt_apart([&] { only_open(state); });
        INFO(result.said);
        if (is_window(name) && where == region::header) {
            CHECK(result.result == verdict::refused);
            CHECK_THAT(result.said, Contains((state / name).string()));
        }
    });
    CHECK_NOTHROW(open_and_compare(state));
}

TEST_CASE("a log that points out of its file is not read, by who only reads either") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    make_abandoned(state);
    const state_image whole(state);
    constexpr std::size_t words = sizeof(window_header);
    for (const std::size_t word :
         {offsetof(log_words, tail), offsetof(log_words, newest), offsetof(log_words, oldest)}) {
        write_at(state / "segment/undo_log", words + word + 4, "\x7f");
        INFO("word " << word);
        const attempt result = attempt_apart([&] {
            open_options options = quick_options(open_mode::read_only);
            options.allow_unclean = true;
            segment opened(state, options);
            (void)segment_statistics::read(opened);
        });
        CHECK(result.result == verdict::refused);
        CHECK_THAT(result.said, Contains((state / "segment/undo_log").string()));
        whole.restore();
    }
}

TEST_CASE("a byte of any file altered costs nothing where a checkpoint is restored") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    make_restarted(state);
    flip_every_region(state, [&](const std::string& name, region) {
        const attempt result = attempt_apart([&] { open_and_compare(state); });
        INFO(result.said);
        // Whose checkpoint it is stands behind what the header's checksum covers.
        const bool may_refuse = name.starts_with("checkpoint/") || name == "segment/header";
        if (!may_refuse) CHECK(result.result == verdict::works);
        if (result.result == verdict::refused) CHECK_THAT(result.said, Contains(state.string()));
    });
    CHECK_NOTHROW(open_and_compare(state));
}
