// Files and folders of a state that another user can write, or read.

#include <pool_allocator/base/private_folder.hpp>

#include <catch2/catch.hpp>
#include <grp.h>
#include <sys/stat.h>
#include <tests/failure/sample_states.hpp>
#include <tests/support/chain_model.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

constexpr uid_t stranger = 54'321;
constexpr gid_t readers = 43'210;

open_options for_readers() {
    open_options how = with_checkpoints();
    how.readers_group = std::to_string(readers);
    return how;
}

void write_thing(const fs::path& state, const open_options& how) {
    database db(state, how);
    db.add_type<card>("thing");
    db.create<card>([&](card& one) { one.key = static_cast<std::uint32_t>(db.count<card>()); });
    db.close();
}

std::size_t count_things(const fs::path& state, const open_options& how = with_checkpoints()) {
    database db(state, how);
    db.add_type<card>("thing");
    return db.count<card>();
}

struct stat status_of(const fs::path& file) {
    struct stat found{};
    if (lstat(file.c_str(), &found) != 0) throw std::runtime_error("no " + file.string());
    return found;
}

/// The state's folder and everything in it.
std::vector<fs::path> all_of(const fs::path& state) {
    std::vector<fs::path> all{state};
    for (const auto& entry : fs::recursive_directory_iterator(state))
        all.push_back(entry.path());
    return all;
}

void require_rights(const fs::path& state, mode_t file, mode_t folder, gid_t group) {
    for (const fs::path& one : all_of(state)) {
        CAPTURE(one.string());
        const struct stat found = status_of(one);
        mode_t wanted = S_ISDIR(found.st_mode) ? folder : file;
        if (one.filename() == "readers" && file == 0640) wanted = 0660; // readers must write to it
        CHECK((found.st_mode & 07777) == wanted);
        CHECK(found.st_gid == group);
    }
}

/// The message of a refused opening, which changes nothing.
std::string refusal(const fs::path& state, const open_options& how = with_checkpoints()) {
    return message_of<access_error>([&] { (void)count_things(state, how); });
}

/// Follows the advice in a message.
void run_advice(const std::string& said) {
    const std::size_t begin = said.find('`') + 1;
    const std::string command = said.substr(begin, said.find('`', begin) - begin);
    CAPTURE(said, command);
    CHECK(std::system(command.c_str()) == 0);
}

/// Runs `work` as another user, in `group` only.
void as_stranger(gid_t group, const std::function<void()>& work) {
    const ending end = run_process([&] {
        if (setgroups(0, nullptr) != 0 || setgid(group) != 0 || setuid(stranger) != 0) _exit(9);
        work();
    });
    CHECK_FALSE(end.killed);
}

bool is_root() {
    if (geteuid() == 0) return true;
    WARN("skipped: only root gives files to others");
    return false;
}

const std::vector<std::string> named = {"lock",
                                        "segment/header",
                                        "segment/catalogue.json",
                                        "segment/undo_log",
                                        "segment/buffers.16",
                                        "segment/buffers.runs",
                                        "segment/thing.objects",
                                        "segment/thing.ids",
                                        "checkpoint/pages",
                                        "checkpoint/published.0"};

/// A state with one object.
struct written_state {
    written_state() { write_thing(state, with_checkpoints()); }

    /// Its folders and the named files.
    [[nodiscard]] std::vector<fs::path> named_paths() const {
        std::vector<fs::path> all{state, state / "segment", state / "checkpoint"};
        for (const std::string& name : named)
            all.push_back(state / name);
        return all;
    }

    scratch_folder folder;
    fs::path state = folder / "state";
};

} // namespace

TEST_CASE("a state is for its owner alone whatever the umask") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    const mode_t before = umask(GENERATE(as<mode_t>{}, 0000, 0077, 0777));
    write_thing(state, with_checkpoints());
    require_rights(state, 0600, 0700, getegid());
    fs::remove_all(state / "segment");
    write_thing(state, with_checkpoints()); // restored
    umask(before);
    require_rights(state, 0600, 0700, getegid());
    CHECK(count_things(state) == 2);
}

TEST_CASE("a state of a group is read by its members and by nobody else") {
    if (!is_root()) return;
    const scratch_folder folder;
    fs::permissions(folder.path(), fs::perms(0755));
    const fs::path state = folder / "state";
    const mode_t before = umask(GENERATE(as<mode_t>{}, 0000, 0077));
    write_thing(state, for_readers());
    fs::remove_all(state / "segment");
    write_thing(state, with_checkpoints()); // restored; the group is known without naming it
    umask(before);
    require_rights(state, 0640, 0750, readers);
    const open_options reading = quick_options(open_mode::read_only);
    as_stranger(readers, [&] {
        expect(count_things(state, reading) == 2, "a member reads");
        try {
            (void)count_things(state);
            expect(false, "a member wrote");
        } catch (const access_error& e) {
            expect(std::string(e.what()).find("belongs to user 0") != std::string::npos, e.what());
        }
    });
    as_stranger(readers + 1, [&] {
        try {
            (void)count_things(state, reading);
            expect(false, "a stranger read");
        } catch (const error&) {
        }
    });
    CHECK(count_things(state, reading) == 2);
    open_options for_others = for_readers();
    for_others.readers_group = std::to_string(readers + 1);
    CHECK_THAT(refusal(state, for_others), Contains("was not made for the group"));
    for_others.readers_group = "no such group";
    CHECK_THROWS_AS(count_things(folder / "other", for_others), usage_error);
    CHECK_FALSE(fs::exists(folder / "other"));
}

TEST_CASE("a group is let in by the command that is named when a state was not made for it") {
    if (!is_root()) return;
    const scratch_folder folder;
    fs::permissions(folder.path(), fs::perms(0755));
    const fs::path state = folder / "it's a state";
    open_options how = for_readers();
    if (GENERATE(false, true)) {
        how.memory_folder = folder / "memory";
        fs::create_directory(how.memory_folder);
        fs::permissions(how.memory_folder, fs::perms(0755));
    }
    how.readers_group.clear();
    write_thing(state, how);
    how.readers_group = std::to_string(readers);
    const state_image before(state);
    const std::string said = refusal(state, how);
    CHECK(state_image(state) == before);
    run_advice(said);
    require_rights(state, 0640, 0750, readers);
    CHECK(count_things(state, how) == 1);
    as_stranger(readers, [&] {
        expect(count_things(state, quick_options(open_mode::read_only)) == 1, "a member reads");
    });
    write_thing(state, how);
    require_rights(state, 0640, 0750, readers);
}

TEST_CASE("a group that is not there or that no number can name makes no state") {
    const scratch_folder folder;
    open_options how = with_checkpoints();
    for (const char* group : {"no such group", "99999999999", "4294967295", "4294967296", "-1",
                              "18446744073709551616", "0x1", "1 "}) {
        CAPTURE(group);
        how.readers_group = group;
        CHECK_THROWS_AS(count_things(folder / "above" / "state", how), usage_error);
        CHECK(fs::is_empty(folder.path()));
        CHECK_THROWS_AS(group_called(group), usage_error);
    }
    CHECK_THROWS_AS(group_called(""), usage_error);
    CHECK(group_called("0") == 0);
    CHECK(group_called("4294967294") == 4294967294);
}

TEST_CASE("a file open to others is refused until the command that is named was given") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    const mode_t more = GENERATE(as<mode_t>{}, 0004, 0002, 0020, 0040);
    write_thing(state, with_checkpoints());
    for (const fs::path& one : {state, state / "segment", state / "checkpoint"}) {
        const mode_t folder_mode = 0700 | more;
        if (more == 0040) continue; // a group without permission to enter
        REQUIRE(chmod(one.c_str(), folder_mode) == 0);
        const std::string said = refusal(state);
        CHECK_THAT(said, Contains(one.string() + ": has mode"));
        CHECK((status_of(one).st_mode & 07777) == folder_mode);
        run_advice(said);
        CHECK(count_things(state) == 1);
    }
    for (const std::string& name : named) {
        const fs::path file = state / name;
        REQUIRE(chmod(file.c_str(), 0600 | more) == 0);
        const std::string said = refusal(state);
        CHECK_THAT(said, Contains(file.string() + ": has mode"));
        run_advice(said);
        CHECK(count_things(state) == 1);
    }
}

TEST_CASE("one command makes a state private that an earlier version wrote") {
    const scratch_folder folder;
    const fs::path state = folder / "it's a state";
    write_thing(state, with_checkpoints());
    for (const fs::path& one : all_of(state))
        fs::permissions(one, fs::is_directory(one) ? fs::perms(0755) : fs::perms(0644));
    run_advice(refusal(state));
    CHECK(count_things(state) == 1);
    require_rights(state, 0600, 0700, getegid());
}

TEST_CASE_METHOD(written_state, "a file of another user is refused") {
    if (!is_root()) return;
    for (const fs::path& one : named_paths()) {
        REQUIRE(lchown(one.c_str(), stranger, getegid()) == 0);
        const std::string said = refusal(state);
        CHECK_THAT(said, Contains(one.string() + ": belongs to user 54321"));
        run_advice(said);
        CHECK(count_things(state) == 1);
    }
}

TEST_CASE_METHOD(written_state,
                 "a reader trusts the owner of the folder that it names and nobody else") {
    if (!is_root()) return;
    for (const fs::path& one : all_of(state))
        REQUIRE(lchown(one.c_str(), stranger, getegid()) == 0);
    const open_options reading = quick_options(open_mode::read_only);
    CHECK(count_things(state, reading) == 1); // root may
    const fs::path planted = state / GENERATE("segment", "segment/header", "segment/thing.ids");
    REQUIRE(lchown(planted.c_str(), stranger + 1, getegid()) == 0);
    CHECK_THAT(refusal(state, reading), Contains(planted.string() + ": belongs to user 54322"));
}

TEST_CASE_METHOD(written_state, "a link is not followed") {
    for (const fs::path& one : named_paths()) {
        fs::rename(one, folder / "elsewhere");
        fs::create_symlink(folder / "elsewhere", one);
        CHECK_THAT(refusal(state), Contains(one.string() + ": is a symbolic link"));
        if (one == state) CHECK_THAT(refusal(state / ""), Contains("is a symbolic link"));
        fs::remove(one);
        fs::rename(folder / "elsewhere", one);
        CHECK(count_things(state) == 1);
    }
}

TEST_CASE_METHOD(written_state, "what is no regular file is refused and not waited for") {
    for (const std::string& name : named) {
        fs::rename(state / name, folder / "elsewhere");
        REQUIRE(mkfifo((state / name).c_str(), 0600) == 0);
        CHECK_THROWS_AS(count_things(state), access_error);
        fs::remove(state / name);
        fs::rename(folder / "elsewhere", state / name);
    }
    CHECK(count_things(state) == 1);
}

TEST_CASE("a new file takes the place of a link and leaves what that leads to alone") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    {
        database(state, quick_options()).close();
    }
    write_all(folder / "precious", "precious");
    for (const char* name : {"thing.objects", "catalogue.json.new"})
        fs::create_symlink(folder / "precious", state / "segment" / name);
    write_thing(state, quick_options());
    CHECK(read_all(folder / "precious") == "precious");
    CHECK(count_things(state, quick_options()) == 1);
    require_rights(state, 0600, 0700, getegid());
}

TEST_CASE("a state is not made in a folder that others may look into") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    fs::create_directory(state);
    fs::permissions(state, fs::perms(0755));
    const std::string said = refusal(state);
    CHECK(fs::is_empty(state));
    run_advice(said);
    write_thing(state, with_checkpoints());
    CHECK_THAT(message_of<access_error>([] { private_folder("/tmp", true); }),
               Contains("belongs to the state alone"));
}
