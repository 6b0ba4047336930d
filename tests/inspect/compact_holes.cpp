// Ids that are gone take no memory in a state that is made anew, and compact tells in bytes that
// the file system holds.
#include <tools/inspect/memory/state_report.hpp>

#include <catch2/catch.hpp>
#include <linux/magic.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <tests/inspect/maintenance_support.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/tools/temporary_folder.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t page = window_header::page_bytes;
constexpr std::uint32_t accounts = 200'000;
constexpr std::uint64_t ids_in_page = page / sizeof(slot_number);

/// Not tmpfs: there no holes are made among ids, since reading them would fill them.
std::optional<fs::path> a_disk() {
    for (const fs::path& one :
         {fs::temp_directory_path(), fs::path("/var/tmp"), fs::current_path()}) {
        struct statfs system{};
        if (::statfs(one.c_str(), &system) == 0 && system.f_type != TMPFS_MAGIC &&
            ::access(one.c_str(), W_OK) == 0)
            return one;
    }
    return std::nullopt;
}

/// A state with objects at both ends of its ids, and with one in the middle.
struct mostly_removed : made_state {
    explicit mostly_removed(const temporary_folder& in) : made_state(in.path()) {
        database db(path(), quick_options());
        db.add_type<account>("account");
        add_accounts(db, accounts);
        for (std::uint32_t n = 100; n < accounts - 1; ++n)
            if (n != accounts / 2) db.remove(db.get(id<account>(n)));
    }
    [[nodiscard]] fs::path file(const char* name) const {
        return fs::path(path()) / "segment" / name;
    }
};

/// What the file system holds of a file, as far as that is within it.
std::uint64_t held(const fs::path& file) {
    struct stat found{};
    REQUIRE(::stat(file.c_str(), &found) == 0);
    return std::min(static_cast<std::uint64_t>(found.st_size),
                    512 * static_cast<std::uint64_t>(found.st_blocks));
}

json part(const json& report, const std::string& name) {
    for (const json& one : report.at("parts"))
        if (one.at("name") == name) return one;
    FAIL("no part " << name);
    return {};
}

std::uint64_t held_of_type(const made_state& state, const std::string& type) {
    std::uint64_t sum = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(state.path()) / "segment"))
        if (entry.path().filename().string().starts_with(type + ".")) sum += held(entry.path());
    return sum;
}

std::uint64_t held_of_all(const made_state& state) {
    std::uint64_t sum = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(state.path()) / "segment"))
        if (entry.path().filename() != "catalogue.json") sum += held(entry.path()); // is no part
    return sum;
}

/// That `compact --dry-run` tells what is held now.
void require_told(const made_state& state) {
    const folder_image untouched = content_of(state.path());
    const json told = state.report("compact", "--dry-run");
    INFO(told.dump(1));
    CHECK(part(told, "account").at("before") == held_of_type(state, "account"));
    CHECK(part(told, "total").at("before") == held_of_all(state));
    const inspect::state_report found = inspect::read_state(state.path());
    CHECK(part(told, "account").at("before") == found.types.at(0).total().held());
    CHECK(part(told, "total").at("before") == found.total().held());
    CHECK(part(told, "undo log").at("before") == found.log.held());
    CHECK(part(told, "buffers").at("before") == found.buffers_total().held());
    CHECK(content_of(state.path()) == untouched);
}

} // namespace

TEST_CASE("ids that no object has are holes after compact") {
    const auto disk = a_disk();
    if (!disk) {
        WARN("skipped: no disk to write to, all is tmpfs");
        return;
    }
    const temporary_folder folder(*disk);
    const mostly_removed state(folder);
    const fs::path ids = state.file("account.ids");
    const std::uint64_t length_at_least = page + accounts * sizeof(slot_number);
    const std::string before = state.content();
    REQUIRE(held(ids) > accounts * sizeof(slot_number) / 2);
    require_told(state);

    const json done = state.report("compact", "--commit");
    CHECK(fs::file_size(ids) >= length_at_least);
    CHECK(held(ids) <= 4 * page); // the header, and where the three groups of ids are
    CHECK(inspect::read_state(state.path()).types.at(0).ids.held() == held(ids));
    CHECK(part(done, "account").at("after") == held_of_type(state, "account"));
    CHECK(part(done, "total").at("after") == held_of_all(state));
    CHECK(part(done, "account").at("after") < part(done, "account").at("before"));
    CHECK(state.content() == before);
    state.require_sound();
}

TEST_CASE("compact tells of ids that are holes already what is held of them") {
    const auto disk = a_disk();
    if (!disk) {
        WARN("skipped: no disk to write to, all is tmpfs");
        return;
    }
    const temporary_folder folder(*disk);
    const mostly_removed state(folder);
    REQUIRE(state.run("compact", "--commit").code == 0);
    const fs::path ids = state.file("account.ids");
    REQUIRE(held(ids) < fs::file_size(ids) / 10);
    require_told(state);
    const json told = state.report("compact", "--dry-run");
    CHECK(part(told, "account").at("after") == part(told, "account").at("before"));
    CHECK(part(told, "total").at("after") == part(told, "total").at("before"));

    const std::string before = state.content();
    {
        database db(state.path(), quick_options()); // in the midst of the holes, too
        db.add_type<account>("account");
        CHECK(db.next_id<account>().value == accounts);
        CHECK(db.find(id<account>(accounts / 4)) == nullptr);
        CHECK(db.get(id<account>(accounts / 2)).number == accounts / 2);
        add_accounts(db, 2 * static_cast<std::uint32_t>(ids_in_page));
    }
    require_told(state);
    CHECK(state.content() != before);
    state.require_sound();
}
