// What `check` says of a state agrees with what opening it does: what it calls sound opens, what
// opening refuses is found or refused.

#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/two_checkpoints.hpp>
#include <tests/support/checkpoints_on_disk.hpp>

#include <fstream>
#include <functional>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace fs = std::filesystem;

namespace {

void write_at(const fs::path& file, std::uint64_t at, std::string_view content) {
    std::fstream both(file, std::ios::binary | std::ios::in | std::ios::out);
    both.seekp(static_cast<std::streamoff>(at));
    both << content;
}

void restart_the_machine(const fs::path& state) {
    write_at(state / "segment/header", offsetof(segment_header, boot), "another boot");
}

/// Newest or not: the checkpoint whose publication is in the file.
void damage_publication(const fs::path& state, const char* name) {
    fs::resize_file(state / "checkpoint" / name, 50);
}

bool opens(const fs::path& state) {
    try {
        database db(state, with_checkpoints());
        db.add_type<account>("account");
        return db.count<account>() != 0;
    } catch (const error&) {
        return false;
    }
}

struct damage {
    const char* name;
    std::function<void(const fs::path&)> make;
    int code;
    const char* words;
    bool opens;
};

/// Does it to a copy of the state, checks that, then opens it.
void expect(const fs::path& origin, const damage& one) {
    const fs::path state = origin.string() + ".copy";
    fs::copy(origin, state, fs::copy_options::recursive);
    one.make(state);
    const outcome said = inspect_with("check " + state.string() + " 2>&1");
    INFO(one.name << "\n" << said.output);
    CHECK(said.code == one.code);
    CHECK_THAT(said.output, Contains(one.words));
    const json found =
        json::parse(inspect_with("check --json " + state.string() + " 2>/dev/null").output);
    CHECK(found.at("sound") == (one.code == 0));
    CHECK(opens(state) == one.opens);
    fs::remove_all(state);
}

std::string random_bytes() {
    std::string bytes(8192, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(i * 97 + 13);
    return bytes;
}

void without_checkpoint(const fs::path& state) {
    fs::remove_all(state / "checkpoint");
}

} // namespace

TEST_CASE("files beside the segment: what opening refuses is found") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    build_two_checkpoints(state);
    const auto replaced = [](const char* name, auto&& by) {
        return [=](const fs::path& at) {
            fs::remove(at / name);
            by(at / name);
        };
    };
    const auto folder = [](const fs::path& at) { fs::create_directory(at); };
    const auto link = [](const fs::path& at) { fs::create_symlink("lock", at); };
    const auto empty = [](const fs::path& at) { fs::resize_file(at / "readers", 0); };
    const auto cut = [](const fs::path& at) { fs::resize_file(at / "readers", 5); };
    const auto other = [](const fs::path& at) { write_at(at / "readers", 0, random_bytes()); };
    const auto place = [](const fs::path& at) {
        (void)std::ofstream(at / "segment.json").put('{');
    };
    const auto open_place = [&](const fs::path& at) {
        place(at);
        fs::permissions(at / "segment.json", fs::perms(0600));
    };
    const auto header = [](const fs::path& at) { fs::remove(at / "segment/header"); };
    const auto file = [](const fs::path& at) {
        fs::remove_all(at / "checkpoint");
        std::ofstream(at / "checkpoint") << "x";
    };
    for (const damage& one : std::vector<damage>{
             {"nothing", [](const fs::path&) {}, 0, "sound: nothing was found", true},
             {"no lock", replaced("lock", [](auto&&) {}), 4, "lock: missing", false},
             {"lock a folder", replaced("lock", folder), 4, "lock: no file", false},
             {"lock a link", replaced("lock", link), 4, "lock: a symbolic link", false},
             {"readers a folder", replaced("readers", folder), 4, "readers: no file", false},
             {"readers a link", replaced("readers", link), 4, "readers: a symbolic link", false},
             {"readers other bytes", other, 4, "header: readers, offset 0: not the readers", false},
             {"readers cut", cut, 4, "header: readers", false},
             {"readers as a kill leaves them", empty, 0, "sound", true},
             {"segment.json", open_place, 4, "header: segment.json: does not say where", false},
             {"no header", header, 4, "segment/header: missing", false},
             {"checkpoint a file", file, 4, "checkpoint: is no folder", false}})
        expect(state, one);
}

TEST_CASE("rights that are too wide are no damage: exit 1 with the command") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    build_two_checkpoints(state);
    for (const char* name :
         {"lock", "segment/header", "segment/catalogue.json", "segment/undo_log",
          "segment/account.objects", "checkpoint/pages", "checkpoint/published.0"}) {
        const auto widen = [&](const fs::path& at) {
            fs::permissions(at / name, fs::perms::others_read, fs::perm_options::add);
        };
        expect(state, {name, widen, 1, "chmod go=", false});
    }
    const auto all = [](const fs::path& at) {
        fs::permissions(at, fs::perms::others_read, fs::perm_options::add);
    };
    const fs::path folder = scratch / "open";
    build_two_checkpoints(folder);
    all(folder);
    const outcome said = inspect_with("check " + folder.string() + " 2>&1");
    CHECK(said.code == 1);
    CHECK_THAT(said.output, Contains("chmod -R go="));
    fs::permissions(state / "checkpoint/pages", fs::perms::others_read, fs::perm_options::add);
    const outcome pages = inspect_with("check --checkpoint " + state.string() + " 2>&1");
    CHECK(pages.code == 1);
    CHECK_THAT(pages.output, Contains("refused, revision") && Contains("chmod go="));
}

TEST_CASE("after a restart of the machine what opening takes is checked and no page is") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    build_two_checkpoints(state);
    restart_the_machine(state);
    const auto newest = [](const fs::path& at) { damage_publication(at, "published.1"); };
    const auto both = [&](const fs::path& at) {
        newest(at);
        damage_publication(at, "published.0");
    };
    const auto torn = [](const fs::path& at) {
        for (const char* name : {"account.objects", "account.ids", "buffers.16"})
            write_at(at / "segment" / name, 4096, random_bytes());
        fs::resize_file(at / "segment/undo_log", 100);
    };
    const auto lost = [](const fs::path& at) { fs::remove_all(at / "segment"); };
    const auto open = [](const fs::path& at) {
        write_at(at / "segment/header", offsetof(segment_header, clean), std::string(1, '\0'));
    };
    for (const damage& one : std::vector<damage>{
             {"nothing else", [](const fs::path&) {}, 0, "the next opening takes checkpoint 2",
              true},
             {"while it was open", open, 0, "restarted while it was open", true},
             {"torn pages", torn, 0, "the next opening takes checkpoint 2 of revision", true},
             {"lost", lost, 0, "its segment is not there", true},
             {"no checkpoint", without_checkpoint, 4, "and there is no checkpoint, so opening",
              false},
             {"one damaged", newest, 4, "the next opening takes checkpoint 1 of revision", true},
             {"both damaged", both, 4, "no checkpoint is whole, so opening fails", false}})
        expect(state, one);
    CHECK(inspect_with("check -v " + state.string()).output.find("account") == std::string::npos);
}

TEST_CASE("after a restart of the machine without checkpoints") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    const auto nothing = [](const fs::path&) {};
    open_options process = quick_options();
    build_two_checkpoints(state, process);
    restart_the_machine(state);
    expect(state, {"closed and not synced", nothing, 4, "without waiting for storage", false});
    fs::remove_all(state);
    process.sync = true;
    build_two_checkpoints(state, process);
    restart_the_machine(state);
    expect(state, {"closed and synced", nothing, 0, "closed properly", true});
    write_at(state / "segment/header", offsetof(segment_header, clean), std::string(1, '\0'));
    expect(state, {"open", nothing, 4, "and there is no checkpoint", false});
}

TEST_CASE("a segment in memory that is gone, or another folder's") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    open_options how = with_checkpoints();
    fs::create_directory(scratch / "memory");
    how.memory_folder = scratch / "memory";
    build_two_checkpoints(state, how);
    CHECK(inspect_with("check " + state.string()).code == 0);
    const auto nothing = [](const fs::path&) {};
    expect(state, {"a copy", nothing, 0, "this folder is a copy", true});
    expect(state, {"and no checkpoint", without_checkpoint, 4, "there is no checkpoint", false});
    fs::remove_all(scratch / "memory");
    fs::create_directory(scratch / "memory");
    const outcome said = inspect_with("check " + state.string());
    CHECK(said.code == 0);
    CHECK_THAT(said.output, Contains("not there any more") && Contains("takes checkpoint 2"));
}

TEST_CASE("what is not known is called unknown and what was not checked is counted") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    build_sample_state(state);
    CHECK_THAT(inspect_with("check " + state.string()).output,
               Contains("sound: nothing was found; 1 thing(s) were not checked"));
    const auto aside = scratch / "aside";
    fs::rename(state / "segment/post.objects", aside);
    const outcome without = inspect_with("check " + state.string());
    CHECK(without.code == 4);
    CHECK_THAT(without.output, Contains("  post: unknown") && Contains("revision   unknown") &&
                                   Contains("not checked: buffers: whether every buffer"));
    const json found = json::parse(inspect_with("check --json " + state.string()).output);
    CHECK(found.at("revision").is_null());
    CHECK(found.at("survived").at(1).at("objects").is_null());
    fs::rename(aside, state / "segment/post.objects");
    fs::resize_file(state / "segment/header", 100);
    const std::string text = inspect_with("check " + state.string()).output;
    CHECK_THAT(text, Contains("condition  unknown\nrevision   unknown\n"));
    CHECK(text.find("not checked: ") == text.rfind("not checked: "));
}

TEST_CASE("advice of the inspector is for who inspects") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    build_sample_state(state);
    CHECK_THAT(inspect_with("check --checkpoint " + state.string() + " 2>&1").output,
               Contains("--durability checkpoint"));
    {
        const writer_process writer(state);
        CHECK_THAT(inspect_with("check --checkpoint " + state.string() + " 2>&1").output,
                   Contains("no checkpoint was made yet"));
    }
}
