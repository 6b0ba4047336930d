#include <catch2/catch.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <fstream>

using namespace chainbase::test;

namespace {

/// Runs with stderr and stdout swapped, so that `output` is the message.
outcome message_of(const std::string& arguments) {
    return inspect_with(arguments + " 3>&1 1>/dev/null 2>&3");
}

} // namespace

TEST_CASE("a folder that is no state: exit 1, a message that names it, nothing on stdout") {
    const scratch_folder scratch;
    const std::string missing = (scratch / "missing").string();
    const std::string empty = scratch.path().string();
    std::ofstream(scratch / "file") << "not a folder";
    for (const std::string& folder : {missing, empty, (scratch / "file").string()}) {
        const outcome result = inspect_with("stat " + folder + " --json 2>/dev/null");
        CHECK(result.code == 1);
        CHECK(result.output.empty());
        const std::string message = message_of("stat " + folder).output;
        INFO(message);
        CHECK(message.find(folder) != std::string::npos);
        CHECK(message.find("check the path") != std::string::npos);
    }
    CHECK_FALSE(std::filesystem::exists(missing));
}

TEST_CASE("a state with damage: exit 1, the message names the file, nothing is changed") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const auto damage = [&](const char* file) {
        std::fstream out(state / "segment" / file, std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(8);
        out.write("\xff\xff\xff\xff", 4);
    };
    for (const char* file : {"account.objects", "undo_log", "header", "catalogue.json"}) {
        const auto copy = scratch / "copy";
        std::filesystem::copy(state, copy, std::filesystem::copy_options::recursive);
        damage(file);
        const folder_image before = image_of(state);
        const outcome result = message_of("stat " + state.string());
        INFO(result.output);
        CHECK(result.code == 1);
        CHECK(result.output.find(file) != std::string::npos);
        CHECK(image_of(state) == before);
        std::filesystem::remove_all(state);
        std::filesystem::rename(copy, state);
    }
}

TEST_CASE("a closed state whose archive cannot be read: exit 1, and what is known is printed") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    CHECK(inspect_with("stat " + state.string() + " 2>&1").code == 0);
    std::filesystem::create_directory(state / "archive");
    std::ofstream(state / "archive/notes.txt") << "something else";
    const outcome result = inspect_with("stat " + state.string() + " 2>/dev/null");
    CHECK(result.code == 1);
    CHECK(result.output.find("every sum holds") != std::string::npos);
    CHECK(result.output.find("not readable now") != std::string::npos);
    CHECK(message_of("stat " + state.string()).output.find("its archive cannot be read") !=
          std::string::npos);
}

TEST_CASE("a report that stdout does not take: exit 1") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    for (const char* form : {"", " --json"})
        CHECK(inspect_with("stat " + state.string() + form + " 2>/dev/null >/dev/full").code == 1);
}

TEST_CASE("a wrong call: exit 2") {
    for (const char* arguments : {"", "stat", "stat / --yaml", "stat / /", "status /", "--json"}) {
        INFO(arguments);
        CHECK(inspect_with(std::string(arguments) + " >/dev/null 2>&1").code == 2);
    }
}

TEST_CASE("help is no failure") {
    CHECK(inspect_with("--help").output.find("stat") != std::string::npos);
    CHECK(inspect_with("stat --help").code == 0);
}
