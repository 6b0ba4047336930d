// `warm`: what is in memory before and after, that holes and contents stay, and what it says of
// huge pages. Whether pages are made depends on the machine; what is said must be true on each.

#include <tools/inspect/maintenance/warm.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tests/inspect/exact.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/terminal_program.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using inspect::resident_file;
using inspect::warmed_file;
using inspect::warming_report;
using nlohmann::json;

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t page = 4096;

std::uint64_t held(const fs::path& file) {
    struct stat found{};
    REQUIRE(::stat(file.c_str(), &found) == 0);
    return static_cast<std::uint64_t>(found.st_blocks) * 512;
}

std::uint64_t held_below(const fs::path& folder) {
    std::uint64_t sum = 0;
    for (const auto& each : fs::directory_iterator(folder))
        sum += held(each.path());
    return sum;
}

/// Takes a file out of memory, where it is on a disk.
void make_cold(const fs::path& file) {
    const int opened = ::open(file.c_str(), O_RDONLY);
    REQUIRE(opened >= 0);
    ::fsync(opened);
    ::posix_fadvise(opened, 0, 0, POSIX_FADV_DONTNEED);
    ::close(opened);
}

void make_cold_below(const fs::path& folder) {
    for (const auto& each : fs::directory_iterator(folder))
        make_cold(each.path());
}

/// Data, a hole, data: `pages` each.
fs::path file_with_hole(const scratch_folder& scratch, std::uint64_t pages) {
    const fs::path file = scratch / "holes";
    const std::string data(pages * page, 'x');
    std::ofstream(file, std::ios::binary) << data;
    fs::resize_file(file, 2 * pages * page);
    std::ofstream(file, std::ios::binary | std::ios::app) << data;
    return file;
}

json told(const std::string& arguments) {
    const outcome result = inspect_with("warm " + arguments + " --json");
    REQUIRE(result.code == 0);
    CHECK(result.output.starts_with("{\n \"schema_version\": 1,"));
    return json::parse(result.output);
}

std::uint64_t sum_of(const json& files, const char* member) {
    std::uint64_t sum = 0;
    for (const json& file : files)
        sum += file.at(member).get<std::uint64_t>();
    return sum;
}

/// What must hold of every file on every machine.
void require_true(const json& file) {
    const auto of = [&](const char* name) { return file.at(name).get<std::uint64_t>(); };
    REQUIRE(of("data_bytes") <= of("bytes"));
    REQUIRE(of("to_fetch") <= of("data_bytes"));
    REQUIRE(of("huge_candidates") <= of("data_bytes"));
    if (!file.at("resident_after").is_null()) REQUIRE(of("resident_after") <= of("bytes"));
    if (!file.at("huge").is_null()) REQUIRE(of("huge") <= of("bytes"));
}

} // namespace

TEST_CASE("a resident file: what is data, what is in memory, and holes that stay") {
    const scratch_folder scratch;
    const fs::path file = file_with_hole(scratch, 600); // the hole begins within a slice
    const std::uint64_t before = held(file);
    resident_file found(file);
    CHECK(found.bytes() == 1800 * page);
    const auto data = found.data();
    REQUIRE(data.size() == 2);
    CHECK(data[0].begin == 0);
    CHECK(data[0].bytes == 600 * page);
    CHECK(data[1].begin == 1200 * page);
    CHECK(data[1].bytes == 600 * page);
    for (const auto& part : data)
        found.fetch(part);
    for (const auto& part : data)
        CHECK(found.resident(part) == part.bytes);
    CHECK(found.resident({page / 2, page}) == page);
    CHECK(held(file) == before);
}

TEST_CASE("a resident file: of a disk what was cold is in memory after it was fetched") {
    const scratch_folder scratch;
    const fs::path file = fs::path(CHAINBASE_INSPECT_MANUAL) / "warm-test";
    std::ofstream(file, std::ios::binary) << std::string(300 * page + 17, 'x');
    make_cold(file);
    {
        resident_file found(file);
        const auto cold = found.resident();
        REQUIRE(cold);
        if (*cold == found.bytes()) WARN("skipped: this file system keeps everything in memory");
        found.fetch({0, found.bytes()});
        CHECK(found.resident() == found.bytes());
    }
    fs::remove(file);
}

TEST_CASE("a resident file: one that is cut meanwhile, that is empty, that is gone") {
    const scratch_folder scratch;
    const fs::path file = scratch / "file";
    std::ofstream(file, std::ios::binary) << std::string(100 * page, 'x');
    resident_file found(file);
    fs::resize_file(file, 10 * page);
    found.fetch({0, 100 * page});
    CHECK(found.resident() == 10 * page);
    CHECK(found.data().back().bytes <= 100 * page);
    CHECK(resident_file(file, 3 * page + 1).resident() == 3 * page + 1);
    fs::resize_file(file, 0);
    CHECK(found.data().empty());
    CHECK(found.resident() == 0);
    const resident_file empty(file);
    CHECK(empty.bytes() == 0);
    CHECK(empty.data().empty());
    CHECK(empty.resident() == 0);
    CHECK_THROWS_AS(resident_file(scratch / "none"), io_error);
}

TEST_CASE("warm: after it all that files hold is in memory, and nothing else is another") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    compact_sample_state(state); // punches holes
    const folder_image before = image_of(state);
    const std::uint64_t held_before = held_below(state / "segment");
    make_cold_below(state / "segment");
    for (const char* how : {" --dry-run", "", " --hugepages", " --hugepages --dry-run"}) {
        INFO(how);
        const bool is_dry = std::string(how).find("dry") != std::string::npos;
        const json found = told(state.string() + how);
        CHECK(found.at("state") == state.string());
        CHECK(found.at("segment") == (state / "segment").string());
        CHECK(found.at("dry_run") == is_dry);
        CHECK(found.at("interrupted") == false);
        CHECK_FALSE(found.at("file_system").get<std::string>().empty());
        const json& total = found.at("total");
        CHECK(total.at("bytes") == bytes_of_files(state / "segment"));
        for (const json& file : found.at("files"))
            require_true(file);
        for (const char* member : {"bytes", "data_bytes", "to_fetch", "huge_candidates"})
            CHECK(total.at(member) == sum_of(found.at("files"), member));
        CHECK(total.at("data_bytes").get<std::uint64_t>() <= held_before);
        CHECK(total.at("data_bytes") < total.at("bytes")); // there are holes
        if (is_dry) {
            CHECK(total.at("resident_after").is_null());
            CHECK(total.at("huge").is_null());
        } else {
            CHECK(total.at("resident_after") >= total.at("data_bytes"));
            CHECK(total.at("huge").is_null() == (std::string(how).empty()));
        }
        CHECK(held_below(state / "segment") == held_before);
    }
    CHECK(image_of(state) == before);
    CHECK(told(state.string() + " --dry-run").at("total").at("to_fetch") == 0);
}

TEST_CASE("warm --hugepages: what is not in huge pages has a reason, and what is was a candidate") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    std::ofstream(state / "segment/large", std::ios::binary) << std::string(5 << 20, 'x');
    const json found = told(state.string() + " --hugepages");
    const std::uint64_t huge_page = found.at("huge_page_bytes");
    if (huge_page != 2U << 20) {
        WARN("skipped: huge pages are of another size here, or none");
        return;
    }
    for (const json& file : found.at("files")) {
        INFO(file.dump());
        require_true(file);
        const std::uint64_t candidates = file.at("huge_candidates");
        CHECK(candidates % huge_page == 0);
        CHECK(file.at("why_not_huge").is_null() == (file.at("huge") >= candidates));
        if (file.at("file") == "large") CHECK(candidates == 4U << 20);
    }
    const outcome text = inspect_with("warm " + state.string() + " --hugepages");
    CHECK_THAT(text.output, Contains("in huge pages") && Contains("large"));
}

TEST_CASE("warm beside a writer and after its death takes no lock and leaves it going") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    {
        writer_process writer(state);
        for (int times = 0; times < 10; ++times) {
            const json found = told(state.string() + (times % 2 == 0 ? "" : " --hugepages"));
            for (const json& file : found.at("files"))
                require_true(file);
            CHECK_FALSE(fs::exists(state / "readers.new"));
        }
        CHECK_THAT(inspect_with("locks " + state.string()).output, Contains("readers    none"));
        CHECK(writer.stop());
    }
    {
        writer_process writer(state);
        writer.kill();
    }
    const folder_image before = image_of(state);
    CHECK(told(state.string()).at("total").at("resident_after") > 0);
    CHECK(image_of(state) == before);
    reopen_sample_state(state);
    CHECK(inspect_with("check " + state.string() + " >/dev/null").code == 0);
}

TEST_CASE("warm: progress on a terminal only, and what a report says of what is unknown") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    CHECK(inspect_with("warm " + state.string() + " 2>&1 >/dev/null").output.empty());
    terminal_program shown({"warm", state.string()}, {120, 60, {}});
    CHECK(shown.end() == 0);
    CHECK_THAT(shown.screen().text(), Contains("in memory after"));
    warming_report report;
    report.files.resize(1);
    report.files[0].name = "account.objects";
    report.files[0].bytes = report.files[0].data_bytes = report.files[0].to_fetch = 8192;
    report.files[0].why_not_huge = "because";
    CHECK_THAT(inspect::as_text(report), Contains("unknown") && Contains("only to who owns") &&
                                             Contains("not all in huge pages, 1 file(s): because"));
    CHECK(json::parse(inspect::as_json(report)).at("total").at("resident_after").is_null());
    report.files[0].resident_before = 0;
    report.files[0].resident_after = 4096;
    CHECK_THAT(inspect::as_text(report), Contains("4,096 bytes are not in memory after all"));
}

TEST_CASE("warm: a wrong call is exit 2, no state is exit 1") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    CHECK(inspect_with("warm " + state.string() + " more 2>/dev/null").code == 2);
    CHECK(inspect_with("warm 2>/dev/null").code == 2);
    const outcome none = inspect_with("warm " + (scratch / "none").string() + " 2>&1");
    CHECK(none.code == 1);
    CHECK_THAT(none.output, Contains("no chainbase state is there"));
    CHECK(inspect_with("warm " + state.string() + " --json 2>/dev/null >/dev/full").code == 1);
}
