// Altered, truncated, missing or foreign files of a state: opening refuses with a typed exception
// that names cause and place, with nothing on disk changed; or restores everything from a
// checkpoint; or the damage is harmless. The table damage.csv lists the outcomes. Nothing ends the
// process.

#include <chainbase/segment/segment.hpp>
#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/window.hpp>

#include <boost/crc.hpp>
#include <catch2/catch.hpp>
#include <fnmatch.h>
#include <tests/failure/sample_states.hpp>
#include <tests/support/mismatch.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

// --- each file, by the table ---

namespace {

constexpr std::size_t page_bytes = 4096;

/// A row of damage.csv.
struct damage {
    std::string files, mutation, where;
    std::map<std::string, std::string> outcomes; ///< by kind of state
};

class damage_table {
public:
    damage_table() {
        std::ifstream in(CHAINBASE_DAMAGE_TABLE);
        std::vector<std::string> columns;
        for (std::string line; std::getline(in, line);) {
            if (line.starts_with('#')) continue;
            std::vector<std::string> cells;
            std::istringstream parts(line);
            for (std::string cell; std::getline(parts, cell, ',');)
                cells.push_back(cell);
            if (columns.empty()) {
                columns = cells;
                continue;
            }
            expect(cells.size() == columns.size(), "damage.csv: " + line);
            damage row{cells[0], cells[1], cells[2], {}};
            for (std::size_t i = 3; i < cells.size(); ++i)
                row.outcomes[columns[i]] = cells[i];
            rows_.push_back(std::move(row));
        }
        expect(!rows_.empty(), "damage.csv is empty");
    }

    [[nodiscard]] const std::string& outcome(const std::string& file, const std::string& mutation,
                                             const std::string& where,
                                             const std::string& kind) const {
        for (const damage& row : rows_)
            if (row.mutation == mutation && (row.where == "any" || row.where == where) &&
                ::fnmatch(row.files.c_str(), file.c_str(), 0) == 0)
                return row.outcomes.at(kind);
        throw mismatch("damage.csv has nothing on " + file + ": " + mutation + " of " + where);
    }

private:
    std::vector<damage> rows_;
};

/// Sample positions in a file, by region; skips pages of zeros.
std::map<std::string, std::set<std::size_t>> regions_of(const std::string& content) {
    std::map<std::string, std::set<std::size_t>> all;
    if (content.empty()) return all;
    for (const std::size_t at : {0, 9, 20, 61})
        if (at < content.size()) all["header"].insert(at);
    for (const std::size_t at : {64, 72, 80, 100, 130, 180, 300})
        if (at < std::min(content.size(), page_bytes)) all["root"].insert(at);
    for (std::size_t page = page_bytes; page + page_bytes <= content.size(); page += page_bytes) {
        const auto used = content.substr(page, page_bytes).find_first_not_of('\0');
        if (used != std::string::npos) all["body"].insert(page + used);
        if (all["body"].size() == 4) break;
    }
    if (content.size() != page_bytes) all["end"].insert(content.size() - 1);
    return all;
}

/// Lengths to truncate a file to: near its ends, at page boundaries and within pages.
std::set<std::size_t> shorter_lengths(const std::string& name, std::size_t whole) {
    std::set<std::size_t> lengths{0, 1, 100, 4095, 4096, whole / 2, whole / 8192 * 4096, whole - 1};
    if (whole > 4096) lengths.insert(whole - 4096);
    if (name == "segment/catalogue.json") lengths.erase(whole - 1); // only the last newline
    std::erase_if(lengths, [&](std::size_t length) { return length >= whole; });
    return lengths;
}

/// Opens for writing and reads what a program sees before it asks for an object.
void only_open(const fs::path& state) {
    database db(state, quick_options());
    db.add_type<note>("note");
    (void)db.statistics();
    db.abandon();
}

/// A state of one kind of the table; damages its files one by one.
class damage_trial {
public:
    explicit damage_trial(const std::string& kind) : kind_(kind) {
        (kind == "closed"      ? make_closed
         : kind == "abandoned" ? make_abandoned
                               : make_restarted)(path());
        whole_.emplace(path());
    }

    void flip_every_region() const {
        for (const auto& [name, content] : whole_->files())
            for (const auto& [where, places] : regions_of(content))
                for (const std::size_t at : places) {
                    write_at(path() / name, at,
                             std::string(1, static_cast<char>(content[at] ^ 0x41)));
                    INFO(name << ": byte " << at << " of " << content.size());
                    // Objects in pages without a sum are not compared.
                    check(name, "flip", where, kind_ == "restarted" ? open_and_compare : only_open);
                }
        CHECK_NOTHROW(open_and_compare(path()));
    }
    void cut_every_file() const {
        for (const auto& [name, content] : whole_->files())
            for (const std::size_t length : shorter_lengths(name, content.size())) {
                fs::resize_file(path() / name, length);
                INFO(name << " cut to " << length << " of " << content.size());
                const bool is_pages = length != 0 && length % page_bytes == 0;
                check(name, "cut", is_pages ? "pages" : "within", open_and_compare);
            }
        CHECK_NOTHROW(open_and_compare(path()));
    }
    void remove_every_file() const {
        for (const auto& [name, content] : whole_->files()) {
            fs::remove(path() / name);
            INFO(name << " missing");
            CHECK_THAT(check(name, "missing", "any", open_and_compare),
                       Contains(name + ": missing; "));
            fs::remove(path() / name);
            fs::create_directory(path() / name);
            CHECK_THAT(check(name, "folder", "any", open_and_compare),
                       Contains(name + ": is not a regular file; "));
        }
    }

private:
    [[nodiscard]] fs::path path() const { return folder_ / "state"; }

    /// Opens the current state, compares the outcome with the table, and restores the files.
    /// Returns the message.
    std::string check(const std::string& name, const std::string& mutation,
                      const std::string& where, void (*open)(const fs::path&)) const {
        const std::string& outcome = table_.outcome(name, mutation, where, kind_);
        std::string said;
        if (outcome != "-") {
            const state_image before(path());
            const attempt result = attempt_in_child([&] { open(path()); });
            said = result.said;
            INFO(outcome << " expected: " << said);
            const bool is_refused = result.result == verdict::refused;
            if (outcome != "any") CHECK(is_refused == (outcome == "refused"));
            // If everything is read before opening, a refusal changes nothing and names the file.
            if (is_refused && mutation != "flip") CHECK(state_image(path()) == before);
            if (is_refused) CHECK_THAT(said, Contains(place_of(name, where).string()));
        }
        whole_->restore();
        return said;
    }
    /// The path in the message: the file with the wrong header, or at least its folder; the state
    /// when the segment's header is of another boot.
    [[nodiscard]] fs::path place_of(const std::string& name, const std::string& where) const {
        if (kind_ == "restarted" || !name.starts_with("segment/") || name == "segment/header")
            return path();
        const bool is_window = name != "segment/catalogue.json";
        return where == "header" && is_window ? path() / name : path() / "segment";
    }

    std::string kind_;
    scratch_folder folder_;
    std::optional<state_image> whole_;
    damage_table table_;
};

/// Flips bits of the bytes [0, end) of a file: refused and unchanged, or harmless.
void flip_bytes(const fs::path& state, const std::string& name, std::size_t end, std::size_t step) {
    const state_image whole(state);
    const std::string& content = whole.files().at(name);
    for (std::size_t at = 0; at < std::min(end, content.size()); at += step) {
        write_at(state / name, at, std::string(1, static_cast<char>(content[at] ^ 0x21)));
        INFO(name << ": byte " << at);
        const state_image before(state);
        const attempt result = attempt_in_child([&] { open_and_compare(state); });
        INFO(result.said);
        if (result.result == verdict::refused) CHECK(state_image(state) == before);
        whole.restore();
    }
}

} // namespace

TEST_CASE("a byte of any region of any file altered") {
    const std::string kind = GENERATE("closed", "abandoned", "restarted");
    CAPTURE(kind);
    damage_trial(kind).flip_every_region();
}

TEST_CASE("a state with a file cut short") {
    const std::string kind = GENERATE("closed", "abandoned");
    CAPTURE(kind);
    damage_trial(kind).cut_every_file();
}

TEST_CASE("a missing file is named, a folder in its place is refused") {
    const std::string kind = GENERATE("closed", "abandoned");
    CAPTURE(kind);
    damage_trial(kind).remove_every_file();
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
        const attempt result = attempt_in_child([&] {
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

TEST_CASE("what is left of a damaged segment moves away for its last checkpoint") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    open_options how = quick_options();
    how.durability = durability::checkpoint;
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

// --- byte by byte, and what is of another format, boot or program ---

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
            REQUIRE_NOTHROW(result = open_damaged(state));
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
    // Only one mask, since a thousand opens take seconds. It turns digits into digits and letters
    // into letters, so that most results are still a catalogue.
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
        CHECK(open_damaged(state, &said) == verdict::refused);
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
        CHECK(open_damaged(state, &said) == verdict::refused);
        CHECK_THAT(said, Contains("format " + std::to_string(segment_header::current_format + 1)));
        whole.restore();
    }
    {
        std::string header = read_all(state.path / "segment/thing.ids");
        put(header, 8, 7);
        put(header, 60, crc(header, 60));
        write_all(state.path / "segment/thing.ids", header);
        CHECK(open_damaged(state, &said) == verdict::refused);
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
    CHECK(open_damaged(state, &said) == verdict::refused);
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
