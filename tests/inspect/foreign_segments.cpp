// Segments of other formats, of other programs and of nobody: every verb says what it is in the
// way, none crashes, and nothing is changed.
#include <chainbase/segment/segment_header.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// In place, so that owner and mode stay.
void put(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

void put_at(const fs::path& file, std::streamoff offset, const std::string& bytes) {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(offset);
    out.write(bytes.data(), std::ssize(bytes));
}

void replace(const fs::path& file, const std::string& from, const std::string& to) {
    std::string text = content(file);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    put(file, text.replace(at, from.size(), to));
}

/// A header as another version of this program writes it.
void set_format(const fs::path& segment, std::uint32_t format) {
    std::string page = content(segment / "header");
    segment_header header{};
    std::memcpy(&header, page.data(), sizeof header);
    header.format = format;
    header.checksum = detail::static_checksum(header);
    std::memcpy(page.data(), &header, sizeof header);
    put(segment / "header", page);
}

struct spoilt {
    const char* what;
    std::function<void(const fs::path& segment)> spoil;
};

const std::vector<spoilt>& kinds() {
    static const std::vector<spoilt> all{
        {"an older format", [](const fs::path& of) { set_format(of, 1); }},
        {"a newer format", [](const fs::path& of) { set_format(of, 3); }},
        {"another program's header",
         [](const fs::path& of) {
             put_at(of / "header", 0, std::string("CHAINDB\0\x01\0\0\0", 12));
         }},
        {"an empty header", [](const fs::path& of) { put(of / "header", ""); }},
        {"a header that was cut", [](const fs::path& of) { fs::resize_file(of / "header", 100); }},
        {"a header of zeros", [](const fs::path& of) { put(of / "header", std::string(4096, 0)); }},
        {"no header", [](const fs::path& of) { fs::remove(of / "header"); }},
        {"a catalogue of another format",
         [](const fs::path& of) {
             replace(of / "catalogue.json", "\"format\": 1", "\"format\": 0");
         }},
        {"containers of another layout",
         [](const fs::path& of) {
             replace(of / "catalogue.json", "\"container_layout\": 1", "\"container_layout\": 2");
         }},
        {"a catalogue that is none", [](const fs::path& of) { put(of / "catalogue.json", "[]"); }},
        {"a catalogue that is no JSON",
         [](const fs::path& of) { put(of / "catalogue.json", "\xff\xfe types"); }},
        {"no catalogue", [](const fs::path& of) { fs::remove(of / "catalogue.json"); }},
        {"another type's file",
         [](const fs::path& of) {
             fs::copy_file(of / "post.objects", of / "account.objects",
                           fs::copy_options::overwrite_existing);
         }},
        {"a window of another format",
         [](const fs::path& of) { put_at(of / "account.ids", 8, std::string(4, '\x07')); }},
        {"a window that is none", [](const fs::path& of) { put(of / "undo_log", "log"); }},
        {"no window", [](const fs::path& of) { fs::remove(of / "buffers.64"); }},
    };
    return all;
}

/// Every verb that looks at a state, or tells what it would do; DIR stands for it.
const std::vector<std::string>& calls() {
    static const std::vector<std::string> all{
        "info DIR",
        "stat DIR",
        "stat DIR --watch --count 1",
        "map DIR",
        "tree DIR",
        "tree DIR --ncdu",
        "tree DIR --folded",
        "schema DIR",
        "get DIR account id 1",
        "range DIR account by_name",
        "count DIR account",
        "sample DIR account",
        "dump DIR",
        "diff DIR DIR",
        "archive DIR",
        "check DIR",
        "check DIR --checkpoint",
        "undo DIR",
        "locks DIR",
        "digest DIR",
        "warm DIR --dry-run",
        "top DIR --json --count 1 --interval 0.1",
        "compact DIR --dry-run",
        "resize DIR",
        "repair DIR",
        "dump DIR --rescue",
    };
    return all;
}

std::string call_of(std::string call, const fs::path& state) {
    for (std::size_t at = 0; (at = call.find("DIR", at)) != std::string::npos;)
        call.replace(at, 3, state.string());
    return call;
}

/// Those that speak of the segment's inside cannot do so of any of these.
bool needs_windows(const std::string& call) {
    if (call.find("--rescue") != std::string::npos) return false;
    return call.starts_with("digest") || call.starts_with("top") || call.starts_with("compact") ||
           call.starts_with("resize") || call.starts_with("stat") || call.starts_with("get") ||
           call.starts_with("range") || call.starts_with("dump") || call.starts_with("diff") ||
           call.starts_with("sample");
}

/// Those that are for such segments: what is damaged is told, with exit code 4, or that nothing can
/// be done.
bool is_for_damage(const std::string& call) {
    return call.starts_with("repair") || call.find("--rescue") != std::string::npos;
}

void require_told(const std::string& call, const fs::path& state) {
    const outcome said = inspect_with(call_of(call, state) + " 2>&1 >/dev/null");
    const outcome printed = inspect_with(call_of(call, state) + " 2>/dev/null");
    INFO(call << " ended with " << printed.code << ", stderr: " << said.output);
    REQUIRE(said.code == printed.code);
    REQUIRE((printed.code == 0 || printed.code == 1 || printed.code == 4));
    REQUIRE((printed.code == 0 || !said.output.empty() || !printed.output.empty()));
    if (is_for_damage(call)) REQUIRE(printed.code != 0);
    if (!needs_windows(call)) return;
    REQUIRE(printed.code == 1);
    REQUIRE(said.output.find(state.string()) != std::string::npos);
    REQUIRE(said.output.find(';') != std::string::npos); // and what to do
}

void require_json(const std::string& call, const fs::path& state) {
    if (call.starts_with("dump") || call.find("--ncdu") != std::string::npos ||
        call.find("--folded") != std::string::npos)
        return;
    const std::string flag = call.find("--json") == std::string::npos ? " --json" : "";
    const outcome printed = inspect_with(call_of(call, state) + flag + " 2>/dev/null");
    INFO(call << " --json: " << printed.output);
    if (printed.output.empty()) return;
    const auto found = nlohmann::json::parse(printed.output);
    REQUIRE(found.at("schema_version") == 1);
}

} // namespace

TEST_CASE("segments of other formats and programs: every verb says so and changes nothing") {
    const scratch_folder scratch;
    build_sample_state(scratch / "sound");
    for (const spoilt& kind : kinds()) {
        INFO(kind.what);
        const fs::path state = scratch / "state";
        fs::remove_all(state);
        fs::copy(scratch / "sound", state, fs::copy_options::recursive);
        kind.spoil(state / "segment");
        const folder_image before = content_of(state);
        for (const std::string& call : calls()) {
            require_told(call, state);
            require_json(call, state);
        }
        CHECK(content_of(state) == before);
    }
}

TEST_CASE("the file of another chain's database: every verb says that no state is there") {
    const scratch_folder scratch;
    const fs::path state = scratch / "state";
    fs::create_directory(state);
    fs::permissions(state, fs::perms::owner_all);
    put(state / "shared_memory.bin", std::string(1 << 16, '\x42'));
    const folder_image before = content_of(state);
    for (const std::string& call : calls()) {
        const outcome said = inspect_with(call_of(call, state) + " 2>&1 >/dev/null");
        INFO(call << " ended with " << said.code << ": " << said.output);
        REQUIRE(said.code == 1);
        REQUIRE(said.output.find(state.string()) != std::string::npos);
    }
    CHECK(content_of(state) == before);
}
