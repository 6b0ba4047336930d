// A state whose segment is in a memory folder.

#include <chainbase/database.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/page_cache.hpp>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <tests/support/captured_log.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

/// A state folder and a memory folder.
class sample {
public:
    sample() {
        fs::create_directory(memory);
        fs::permissions(memory, fs::perms(01777));
    }

    [[nodiscard]] open_options how() const {
        open_options options = quick_options();
        options.durability = durability::checkpoint;
        options.checkpoints.interval = std::chrono::milliseconds(0);
        options.memory_folder = memory;
        return options;
    }

    /// The number of entries in the memory folder.
    [[nodiscard]] std::size_t homes() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(memory), fs::directory_iterator()));
    }
    [[nodiscard]] fs::path home() const {
        REQUIRE(homes() == 1);
        return fs::directory_iterator(memory)->path();
    }

    scratch_folder folder;
    fs::path memory = folder / "memory";
    fs::path state = folder / "state";
};

/// A database whose type counts how often it was written.
class things {
public:
    things(const fs::path& state, const open_options& how) : db(state, how) {
        db.add_type<card>("thing");
    }
    void add() {
        db.create<card>([&](card& one) { one.key = static_cast<std::uint32_t>(count()); });
    }
    [[nodiscard]] std::size_t count() const { return db.count<card>(); }
    [[nodiscard]] fs::path segment() const { return db.segment_folder(); }
    [[nodiscard]] opening::way way() const { return db.opened().how; }
    [[nodiscard]] const std::string& why() const { return db.opened().why; }

    database db;
};

void write_one(const sample& s, const open_options& how) {
    things all(s.state, how);
    all.add();
    all.db.close();
}
void write_one(const sample& s) {
    write_one(s, s.how());
}

open_options reading() {
    return quick_options(open_mode::read_only);
}

} // namespace

TEST_CASE("a segment in memory is attached again by writers and readers") {
    const sample s;
    {
        things all(s.state, s.how());
        CHECK(all.way() == opening::way::created);
        CHECK(all.segment() == s.home() / "segment");
        all.add();
        CHECK(things(s.state, reading()).count() == 1);
        all.db.abandon();
    }
    CHECK_FALSE(fs::exists(s.state / "segment"));
    {
        open_options without = s.how();
        without.memory_folder.clear(); // used when the state is created
        things all(s.state, without);
        CHECK(all.way() == opening::way::rolled_back);
        CHECK(all.segment() == s.home() / "segment");
        all.db.close();
    }
    CHECK(things(s.state, reading()).count() == 1);
    fs::rename(s.state, s.folder / "renamed");
    CHECK(things(s.folder / "renamed", s.how()).way() == opening::way::attached);
}

TEST_CASE("a segment in memory is private to the state's owner") {
    const sample s;
    const mode_t before = umask(0);
    write_one(s);
    umask(before);
    for (const auto& entry : fs::recursive_directory_iterator(s.memory)) {
        CAPTURE(entry.path().string());
        CHECK(entry.status().permissions() == fs::perms(entry.is_directory() ? 0700 : 0600));
    }
    fs::permissions(s.home(), fs::perms(0755));
    CHECK_THROWS_AS(things(s.state, s.how()), access_error);
    fs::permissions(s.home(), fs::perms(0700));
    CHECK(things(s.state, s.how()).count() == 1);
}

TEST_CASE("a segment in memory is for the group that may look at the state") {
    if (geteuid() != 0) {
        WARN("skipped: only root gives files to any group");
        return;
    }
    const sample s;
    open_options how = s.how();
    how.readers_group = "43210";
    things(s.state, how).add();
    fs::remove_all(s.home());
    things(s.state, s.how()).add(); // restored
    for (const auto& entry : fs::recursive_directory_iterator(s.memory)) {
        CAPTURE(entry.path().string());
        CHECK(entry.status().permissions() == fs::perms(entry.is_directory() ? 0750 : 0640));
        struct stat found{};
        REQUIRE(stat(entry.path().c_str(), &found) == 0);
        CHECK(found.st_gid == 43'210);
    }
}

TEST_CASE("after the machine restarted the checkpoint is restored into a new home") {
    const sample s;
    write_one(s);
    const fs::path before = s.home();
    fs::remove_all(before);
    CHECK_THROWS_WITH(things(s.state, reading()), Contains("restores its last checkpoint"));
    open_options how = s.how();
    if (GENERATE(false, true)) how.memory_folder.clear(); // the previous place
    things all(s.state, how);
    CHECK(all.way() == opening::way::restored);
    CHECK(all.count() == 1);
    CHECK(s.home() != before);
    CHECK(all.segment() == s.home() / "segment");
}

TEST_CASE("a segment of another boot on a disk gives way to the restored one") {
    const sample s;
    write_one(s);
    const fs::path before = s.home();
    {
        std::fstream header(before / "segment" / "header",
                            std::ios::binary | std::ios::in | std::ios::out);
        header.seekp(offsetof(segment_header, boot));
        header << "another boot";
    }
    CHECK(things(s.state, s.how()).way() == opening::way::restored);
    CHECK(s.home() != before); // the only one
}

TEST_CASE("a segment in the state folder moves to memory when it is restored there, and back") {
    const sample s;
    open_options how = s.how();
    how.memory_folder = "none";
    write_one(s, how);
    fs::remove_all(s.state / "segment");
    {
        const things all(s.state, s.how());
        CHECK(all.segment() == s.home() / "segment");
    }
    // And back.
    fs::remove_all(s.home());
    fs::remove(s.state / "segment.json");
    things all(s.state, how);
    CHECK(all.segment() == s.state / "segment");
    CHECK(all.count() == 1);
    CHECK(s.homes() == 0);
}

TEST_CASE(
    "a closed segment moves where it is asked for, and stays where the checkpoint is not its own") {
    const sample s;
    open_options on_disk = s.how();
    on_disk.memory_folder = "none";
    write_one(s, on_disk);
    for (int round = 0; round < 3; ++round) {
        things in_memory(s.state, s.how());
        CHECK(in_memory.way() == opening::way::restored);
        CHECK_THAT(in_memory.why(), Contains("moves from " + s.state.string()));
        CHECK(in_memory.segment() == s.home() / "segment");
        CHECK_FALSE(fs::exists(s.state / "segment"));
        in_memory.add();
        in_memory.db.close();
        things back(s.state, on_disk);
        CHECK(back.segment() == s.state / "segment");
        CHECK(s.homes() == 0);
        CHECK(back.count() == 2 + static_cast<std::size_t>(round));
        back.db.close();
    }
    open_options without = on_disk;
    without.durability = durability::process;
    {
        things all(s.state, without);
        all.add(); // in no checkpoint
        all.db.close();
    }
    things stays(s.state, s.how());
    CHECK(stays.way() == opening::way::attached);
    CHECK(stays.segment() == s.state / "segment");
    CHECK(stays.count() == 5);
    CHECK(s.homes() == 0);
    stays.add();
    stays.db.abandon();
    things died(s.state, s.how()); // no closing made a checkpoint of it
    CHECK(died.way() == opening::way::rolled_back);
    CHECK(died.segment() == s.state / "segment");
    CHECK(died.count() == 6);
}

TEST_CASE("a move whose checkpoint is damaged leaves the segment, whole, where it was") {
    const sample s;
    write_one(s);
    write_one(s);
    std::fstream pages(s.state / "checkpoint" / "pages",
                       std::ios::binary | std::ios::in | std::ios::out);
    for (int at = 0; at < 4096 * 64; at += 512) {
        pages.seekp(at);
        pages << "these bytes are damage";
    }
    pages.close();
    open_options on_disk = s.how();
    on_disk.memory_folder = "none";
    const fs::path before = s.home();
    const things all(s.state, on_disk);
    CHECK(all.way() == opening::way::attached);
    CHECK(all.segment() == before / "segment");
    CHECK(all.count() == 2);
    CHECK_FALSE(fs::exists(s.state / "segment.new"));
}

TEST_CASE("a home that no state has is found, and none that one has") {
    const sample s;
    write_one(s);
    CHECK(segment_place::orphans(s.memory).empty());
    const fs::path home = s.home();
    fs::rename(s.state, s.folder / "renamed");
    const auto found = segment_place::orphans(s.memory);
    REQUIRE(found.size() == 1);
    CHECK(found.front().home == home);
    CHECK(found.front().state == s.state);
    CHECK(found.front().bytes > 100'000);
    things(s.folder / "renamed", s.how()).db.close(); // it says where it is now
    CHECK(segment_place::orphans(s.memory).empty());
    fs::remove_all(s.folder / "renamed");
    CHECK(segment_place::orphans(s.memory).size() == 1);
    fs::remove(home / "state.json");
    CHECK(segment_place::orphans(s.memory).front().state.empty());
    CHECK(segment_place::orphans(s.folder / "nowhere").empty());
}

TEST_CASE("a copy of a state folder does not get the original's segment") {
    const sample s;
    write_one(s);
    fs::copy(s.state, s.folder / "copy", fs::copy_options::recursive);
    for (const char* one : {"state", "copy"})
        CHECK(fs::exists(s.folder / one / "segment.json"));
    things original(s.state, s.how());
    CHECK(original.way() == opening::way::attached);
    original.add();
    CHECK_THROWS_WITH(things(s.folder / "copy", reading()), Contains("is a copy"));
    {
        things copy(s.folder / "copy", s.how());
        CHECK(copy.way() == opening::way::restored);
        CHECK_THAT(copy.why(), Contains("is a copy") && Contains(s.state.string()));
        CHECK(copy.segment() != original.segment());
        CHECK(copy.count() == 1);
        copy.add();
        copy.add();
        copy.db.close();
    }
    CHECK(s.homes() == 2);
    CHECK(original.count() == 2);
    CHECK(things(s.folder / "copy", s.how()).count() == 3);
}

TEST_CASE("what is put back from a copy goes on from its own checkpoint") {
    const sample s;
    write_one(s);
    const auto all_of_it = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(s.state, s.folder / "backup", all_of_it);
    const auto time_of_backup = fs::last_write_time(s.state / "segment.json");
    write_one(s);
    const int how = GENERATE(0, 1, 2);
    CAPTURE(how);
    const auto time = fs::last_write_time(s.state / "segment.json");
    if (how == 0) fs::remove_all(s.state); // else over the existing files
    fs::copy(s.folder / "backup", s.state, all_of_it);
    if (how == 2) { // like programs that keep times
        fs::last_write_time(s.state / "segment.json", time_of_backup);
        CHECK(time != time_of_backup); // so that comparing times alone finds a difference
    }
    things all(s.state, s.how());
    CHECK(all.way() == opening::way::restored);
    CHECK(all.count() == 1);
    CHECK(s.homes() == 2); // the other one is never removed
}

TEST_CASE("links to segment.json, and new rights, leave the segment tied") {
    const sample s;
    write_one(s);
    const fs::path file = s.state / "segment.json";
    const fs::path home = s.home();
    const auto is_attached = [&] {
        const things all(s.state, s.how());
        CHECK(all.count() == 1);
        CHECK(s.home() == home);
        return all.way() == opening::way::attached;
    };
    fs::create_hard_link(file, s.folder / "link");
    CHECK(things(s.state, reading()).count() == 1);
    CHECK(is_attached());
    fs::remove(s.folder / "link");
    CHECK(is_attached());
    fs::permissions(file, fs::perms(0600));
    CHECK(is_attached());
    REQUIRE(chown(file.c_str(), geteuid(), getegid()) == 0);
    CHECK(things(s.state, reading()).count() == 1);
    CHECK(is_attached());
}

TEST_CASE("a copy made of hard links does not get the original's segment") {
    const sample s;
    write_one(s);
    fs::copy(s.state, s.folder / "copy",
             fs::copy_options::recursive | fs::copy_options::create_hard_links);
    CHECK(fs::hard_link_count(s.state / "segment.json") == 2);
    CHECK_THROWS_WITH(things(s.folder / "copy", reading()), Contains("is a copy"));
    CHECK(things(s.state, s.how()).way() == opening::way::attached);
    fs::rename(s.state, s.folder / "renamed");
    fs::rename(s.folder / "copy", s.state); // the name does not matter
    CHECK_THROWS_WITH(things(s.state, reading()), Contains("is a copy"));
    CHECK(things(s.folder / "renamed", s.how()).way() == opening::way::attached);
}

TEST_CASE("a segment that was tied by an earlier version is attached") {
    const sample s;
    write_one(s);
    struct stat file{};
    REQUIRE(stat((s.state / "segment.json").c_str(), &file) == 0);
    const fs::path tie = s.home() / "state.json";
    std::ostringstream text;
    text << std::ifstream(tie).rdbuf();
    std::smatch identity;
    const std::string all = text.str();
    REQUIRE(std::regex_search(all, identity, std::regex("\"identity\": \"([0-9a-f]+)\"")));
    const auto changed = static_cast<std::uint64_t>(file.st_ctim.tv_sec) * 1'000'000'000U +
                         static_cast<std::uint64_t>(file.st_ctim.tv_nsec);
    const bool is_same = GENERATE(true, false);
    std::ofstream(tie) << R"({"format":1,"state":"/before","identity":")" << identity[1]
                       << R"(","device":)" << file.st_dev << R"(,"inode":)" << file.st_ino
                       << R"(,"changed":)" << changed + (is_same ? 0 : 1) << "}";
    const things again(s.state, s.how());
    CHECK(again.way() == (is_same ? opening::way::attached : opening::way::restored));
    CHECK(again.count() == 1);
}

TEST_CASE("what was planted under the segment's name is not attached") {
    const sample s;
    write_one(s);
    const fs::path home = s.home();
    fs::rename(home, s.folder / "elsewhere");
    const int how = GENERATE(0, 1, 2, 3);
    CAPTURE(how);
    if (how == 0) { // a link, even to the segment itself
        fs::create_symlink(s.folder / "elsewhere", home);
    } else if (how == 1) { // an empty folder
        fs::create_directory(home);
    } else if (how == 2) { // the segment of another user
        if (geteuid() != 0) return;
        fs::copy(s.folder / "elsewhere", home, fs::copy_options::recursive);
        REQUIRE(chown(home.c_str(), 54'321, 54'321) == 0);
    } else { // of another state of the same user
        sample other;
        write_one(other);
        fs::copy(other.home(), home, fs::copy_options::recursive);
    }
    CHECK_THROWS_AS(things(s.state, reading()), unclean_error);
    {
        things all(s.state, s.how());
        CHECK(all.way() == opening::way::restored);
        CHECK_THAT(all.why(), Contains(home.string()));
        CHECK(all.count() == 1);
        CHECK(all.segment() != home / "segment");
        all.add();
        all.db.close();
    }
    CHECK(fs::exists(fs::symlink_status(home))); // left alone
    CHECK(things(s.state, s.how()).count() == 2);
}

TEST_CASE("a segment whose header is another state's is refused") {
    const sample s;
    const sample other;
    write_one(s);
    write_one(other);
    fs::copy_file(other.home() / "segment" / "header", s.home() / "segment" / "header",
                  fs::copy_options::overwrite_existing);
    CHECK_THROWS_WITH(things(s.state, s.how()), Contains("segment of another state"));
}

TEST_CASE("without checkpoints nothing is kept in memory that a crash takes") {
    const sample s;
    open_options how = s.how();
    how.durability = durability::process;
    if (!is_memory(s.folder.path())) {
        WARN("skipped: no memory to put a segment in");
        return;
    }
    CHECK_THROWS_WITH(things(s.state, how), Contains("is lost when the machine stops"));
    CHECK(s.homes() == 0);
    write_one(s);
    CHECK_THROWS_WITH(things(s.state, how), Contains("is lost when the machine stops"));
    CHECK(things(s.state, s.how()).count() == 1);
    how.memory_folder = "none"; // was closed just now
    {
        const things moved(s.state, how);
        CHECK(moved.way() == opening::way::restored);
        CHECK(moved.segment() == s.state / "segment");
        CHECK(moved.count() == 1);
        CHECK(s.homes() == 0);
    }
    write_one(s);
    write_one(s); // moves it back, since it was closed with checkpoints
    fs::remove_all(s.home());
    CHECK(things(s.state, how).way() == opening::way::restored);
    how.memory_folder = s.folder / "none";
    CHECK_THROWS_WITH(things(s.folder / "other", how), Contains("is not a folder"));
}

TEST_CASE("without checkpoints a segment in memory that cannot move is refused, and says why") {
    const sample s;
    if (!is_memory(s.folder.path())) {
        WARN("skipped: no memory to put a segment in");
        return;
    }
    write_one(s);
    open_options how = s.how();
    how.durability = durability::process;
    how.memory_folder = "none";
    fs::rename(s.state / "checkpoint", s.folder / "aside");
    CHECK_THROWS_WITH(things(s.state, how),
                      Contains("cannot move: there is no checkpoint of its last closing") &&
                          Contains("when it was closed with checkpoints"));
    fs::rename(s.folder / "aside", s.state / "checkpoint");
    {
        things died(s.state, s.how());
        died.add();
        died.db.abandon();
    }
    CHECK_THROWS_WITH(things(s.state, how), Contains("when it was closed with checkpoints"));
    CHECK(things(s.state, s.how()).count() == 2);
    CHECK(things(s.state, how).segment() == s.state / "segment");
}

TEST_CASE("a state whose segment is gone and that has no checkpoint says what there is to choose") {
    const sample s;
    {
        things all(s.state, s.how());
        all.db.abandon();
    }
    fs::remove_all(s.home());
    fs::remove_all(s.state / "checkpoint");
    CHECK_THROWS_WITH(things(s.state, s.how()), Contains("segment.json") && Contains("Choose"));
    fs::remove(s.state / "segment.json");
    CHECK(things(s.state, s.how()).way() == opening::way::created);
}

TEST_CASE("a segment that was not finished is removed by the next writer") {
    const sample s;
    write_one(s);
    const fs::path other = s.memory / "chainbase-other";
    if (GENERATE(false, true)) {
        // As if it died before completing the move: the same file under its former name, its time
        // of change not recorded yet.
        const fs::path tie = s.home() / "state.json";
        std::ostringstream text;
        text << std::ifstream(tie).rdbuf();
        std::ofstream(tie) << std::regex_replace(text.str(), std::regex("(\"times\": \\[)[^\\]]*"),
                                                 "$01");
        fs::rename(s.state / "segment.json", s.state / "segment.json.new");
        CHECK(things(s.state, s.how()).count() == 1);
        CHECK(s.homes() == 1);
    } else { // another state's unfinished one
        fs::copy(s.home(), other, fs::copy_options::recursive);
        std::ofstream(s.state / "segment.json.new")
            << R"({"format":1,"home":")" << other.string() << R"(","identity":""})";
        CHECK(things(s.state, s.how()).count() == 1);
        CHECK(fs::exists(other / "segment" / "header"));
    }
    CHECK_FALSE(fs::exists(s.state / "segment.json.new"));
}

TEST_CASE("one line of the log says where a new segment is, and why") {
    const sample s;
    open_options how = s.how();
    int states = 0;
    const auto said = [&] {
        const captured_log log;
        const std::string name = "state" + std::to_string(++states);
        things(s.folder / name, how).db.close();
        const std::string all = log.text();
        const std::string sign = "/" + name + ": its segment is in ";
        const std::size_t at = all.find(sign);
        REQUIRE(at != std::string::npos);
        CHECK(all.find(sign, at + 1) == std::string::npos);
        return all.substr(at + sign.size(), all.find('\n', at) - at - sign.size());
    };
    CHECK_THAT(said(), Contains(s.memory.string()) && Contains("memory_folder names it"));
    how.memory_folder = "none";
    CHECK(said() == "the state folder: memory_folder is none");
    how.memory_folder.clear();
    constexpr const char* preferred = "CHAINBASE_MEMORY_FOLDER"; // none, in tests
    CHECK(said() == "the state folder: CHAINBASE_MEMORY_FOLDER is none");
    const std::string before = std::getenv(preferred);
    setenv(preferred, s.memory.c_str(), /*overwrite=*/1);
    if (is_memory(s.folder.path()))
        CHECK(said() == "the state folder: the state folder is in memory itself");
    setenv(preferred, before.c_str(), /*overwrite=*/1);
    how.durability = durability::process;
    CHECK_THAT(said(), Contains("the state folder: without checkpoints (durability::process)"));
}

TEST_CASE("a segment beside the place of another is removed only if a move left it") {
    const sample s;
    open_options on_disk = s.how();
    on_disk.memory_folder = "none";
    write_one(s, on_disk);
    const fs::path beside = s.state / "segment";
    const fs::path kept = s.folder / "kept";
    fs::create_directory(kept);
    for (const auto& one : fs::directory_iterator(beside))
        fs::create_hard_link(one.path(), kept / one.path().filename());
    const auto opens = [&] {
        const things all(s.state, s.how());
        return all.way() == opening::way::attached && all.count() == 1 && s.homes() == 1;
    };
    things(s.state, s.how()).db.close();
    CHECK_FALSE(fs::exists(beside));
    fs::rename(kept, beside); // somebody put it there
    CHECK(opens());
    CHECK(fs::exists(beside / "header"));
    for (const char* aside : {"segment.beside", "segment.beside.2"}) {
        CHECK(things(s.state, on_disk).count() == 1); // closed by it, in memory
        CHECK(things(s.state, on_disk).count() == 1);
        CHECK(fs::exists(s.state / aside / "header"));
        CHECK(s.homes() == 0);
        things(s.state, s.how()).db.close();
        things(s.state, s.how()).db.close();
        CHECK(s.homes() == 1);
        if (!fs::exists(beside)) fs::copy(s.state / "segment.beside", beside);
    }
}

TEST_CASE("a malformed place of a segment is refused") {
    const sample s;
    write_one(s);
    const fs::path file = s.state / "segment.json";
    for (const char* text :
         {"", "{", "{}", "[]", "1", R"({"format":1})", R"({"format":1,"home":1,"identity":""})",
          R"({"format":1,"home":"relative","identity":""})",
          R"({"format":1,"home":"/","identity":""})", R"({"format":1,"home":"","identity":""})"}) {
        CAPTURE(text);
        std::ofstream(file, std::ios::trunc) << text;
        CHECK_THROWS_AS(things(s.state, s.how()), damaged_error);
        CHECK(s.homes() == 1);
    }
    std::ofstream(file, std::ios::trunc) << R"({"format":2})";
    CHECK_THROWS_AS(things(s.state, s.how()), format_error);
    fs::remove(file);
    CHECK(things(s.state, s.how()).count() == 1); // from the checkpoint
}
