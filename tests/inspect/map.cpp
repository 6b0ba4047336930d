#include <tools/inspect/memory/segment_map.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/map_sums.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

namespace {

/// Lets the first free slot of a file of buffers follow itself.
void tie_free_list(const std::filesystem::path& file, std::uint64_t slot_bytes) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    slot_number first = 0;
    bytes.seekg(sizeof(window_header));
    bytes.read(reinterpret_cast<char*>(&first), sizeof first);
    REQUIRE(first != 0);
    bytes.seekp(static_cast<std::streamoff>(4096 + first * slot_bytes));
    bytes.write(reinterpret_cast<const char*>(&first), sizeof first);
}

} // namespace

TEST_CASE("map --json has every member, and its numbers add up") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const outcome printed = inspect_with("map " + state.string() + " --json");
    REQUIRE(printed.code == 0);
    const json found = json::parse(printed.output);
    CHECK(printed.output.starts_with("{\n \"schema_version\": 1,"));
    CHECK(found.at("state") == state.string());
    CHECK(found.at("segment") == (state / "segment").string());
    CHECK(found.at("condition") == "closed");
    CHECK(found.at("consistent") == true);
    CHECK(found.at("discrepancies").empty());
    CHECK(found.at("page_bytes") == 4096);
    const auto number = [](const json& in, const char* name) {
        return in.at(name).get<std::uint64_t>();
    };
    std::uint64_t bytes = 0;
    std::uint64_t in_use = 0;
    for (const json& file : found.at("files")) {
        INFO(file.at("file"));
        CHECK((file.at("type").is_null() || file.at("type").is_string()));
        CHECK(number(file, "header") + number(file, "in_use") + number(file, "free") +
                  number(file, "never_used") ==
              number(file, "bytes"));
        std::uint64_t pages = number(file.at("pages"), "header");
        pages += number(file.at("pages"), "never_used");
        for (const json& some : file.at("pages").at("fullness"))
            pages += some.get<std::uint64_t>();
        CHECK(pages == number(file.at("pages"), "all"));
        CHECK(number(file.at("pages"), "punched") <= file.at("pages").at("fullness")[0]);
        std::uint64_t of_cells = 0;
        for (const json& cell : file.at("cells"))
            of_cells += number(cell, "bytes_in_use");
        CHECK(of_cells == number(file, "header") + number(file, "in_use"));
        for (const char* slots : {"reserved", "used", "free", "never_used"})
            CHECK(file.at("slots").at(slots).is_number_unsigned());
        CHECK(number(file.at("longest_free_run"), "pages") <= number(file.at("pages"), "all"));
        bytes += number(file, "bytes");
        in_use += number(file, "in_use");
    }
    CHECK(bytes == number(found, "bytes"));
    CHECK(in_use == number(found, "in_use"));
    CHECK(bytes + number(found, "other_files") == bytes_of_files(state / "segment"));
}

TEST_CASE("map: the picture has a line per file that fits the terminal") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const segment_map found = inspect::read_segment_map(state);
    const auto columns_of = [](const std::string& line) {
        return std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
    };
    for (const std::size_t columns : {60, 80, 133}) {
        std::istringstream lines(inspect::as_text(found, columns));
        std::ptrdiff_t pictures = 0;
        for (std::string line; std::getline(lines, line) && !line.starts_with("pages");) {
            if (!line.ends_with(" %")) continue;
            ++pictures;
            CHECK(columns_of(line) == static_cast<std::ptrdiff_t>(columns));
        }
        CHECK(pictures == std::ranges::count_if(found.windows, [](const window_map& file) {
                  return !file.is_unused_class();
              }));
    }
    const std::string text = inspect::as_text(found, 80);
    for (const char* part : {"closed properly", "token.objects", "░", "█", "never used", "100 %",
                             "longest free run"}) {
        INFO(part);
        CHECK(text.find(part) != std::string::npos);
    }
}

TEST_CASE("map of a closed state with damage: it ends with exit 1 and says where") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    remove_sample_posts(state);
    const segment_map before = inspect::read_segment_map(state);
    const auto with_free = std::ranges::find_if(before.windows, [](const window_map& file) {
        return file.kind == "buffers" && file.slots.free > 1;
    });
    REQUIRE(with_free != before.windows.end());
    tie_free_list(state / "segment" / with_free->name, with_free->slot_bytes);
    outcome result = inspect_with("map " + state.string() + " 2>/dev/null");
    CHECK(result.code == 1);
    CHECK(result.output.find(with_free->name + ": its free list leads to slot") !=
          std::string::npos);

    std::fstream ids(state / "segment/token.ids", std::ios::in | std::ios::out | std::ios::binary);
    ids.seekp(4096 + 4 * 2700);
    ids.write("\xff\xff\xff\x7f", 4);
    ids.close();
    result = inspect_with("map " + state.string() + " 2>/dev/null");
    CHECK(result.code == 1);
    CHECK(result.output.find("token.ids: 1 entries that lead to no object") != std::string::npos);
    for (const window_map& each : inspect::read_segment_map(state).windows)
        require_sums(each);
}

TEST_CASE("map --svg writes a picture that replaces a file and leaves nothing else") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    std::filesystem::create_directory(scratch / "out");
    const auto file = scratch / "out/map.svg";
    std::ofstream(file) << "before";
    const folder_image before = image_of(state);
    CHECK(inspect_with("map " + state.string() + " --svg " + file.string() + " >/dev/null").code ==
          0);
    CHECK(image_of(state) == before);
    const folder_image after = image_of(scratch / "out");
    REQUIRE(after.size() == 1);
    const std::string& svg = after.begin()->second.second;
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(svg.find("prefers-color-scheme: dark") != std::string::npos);
    for (const char* part : {"<title>token.objects: ", "<title>post.ids: ", "class=\"empty\""}) {
        INFO(part);
        CHECK(svg.find(part) != std::string::npos);
    }
}

TEST_CASE("map --svg: what may not be written is refused with exit 2 and nothing changes") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    std::filesystem::create_symlink(state / "segment/header", scratch / "link.svg");
    const folder_image before = image_of(state);
    for (const auto& file : {state / "map.svg", state / "segment/header", scratch / "link.svg",
                             scratch / "missing/map.svg", scratch.path()}) {
        INFO(file);
        CHECK(inspect_with("map " + state.string() + " --svg " + file.string() + " >/dev/null 2>&1")
                  .code == 2);
    }
    CHECK(image_of(state) == before);
}

TEST_CASE("map: names may be any text") {
    segment_map found;
    found.state = "/a <b> & \"c\"\xff";
    window_map file;
    file.name = "<script>&\x01.objects";
    file.kind = "objects";
    file.bytes = file.header_bytes = file.end = 4096;
    file.in_use = {4096};
    file.is_hole = {false};
    file.slots.used = 1;
    found.windows.push_back(file);
    const std::string svg = inspect::as_svg(found);
    CHECK(svg.find("<script") == std::string::npos);
    CHECK(svg.find("&lt;script&gt;&amp; .objects") != std::string::npos);
    CHECK(svg.find("/a &lt;b&gt; &amp; &quot;c&quot;\xEF\xBF\xBD") != std::string::npos);
    CHECK(json::parse(inspect::as_json(found)).at("files")[0].at("file") == file.name);
}
