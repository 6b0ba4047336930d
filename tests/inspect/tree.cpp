#include <tools/inspect/memory/memory_tree.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/exact.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace chainbase;
using namespace chainbase::test;
using inspect::memory_node;
using inspect::state_tree;
using nlohmann::json;

namespace {

std::uint64_t bytes_below(const std::filesystem::path& folder) {
    std::uint64_t sum = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder))
        if (each.is_regular_file()) sum += each.file_size();
    return sum;
}

std::uint64_t require_sums(const memory_node& node) {
    if (node.children.empty()) return node.bytes;
    std::uint64_t leaves = 0;
    std::uint64_t held = 0;
    std::uint64_t least = node.bytes;
    for (const memory_node& each : node.children) {
        REQUIRE(each.bytes > 0);
        REQUIRE(each.bytes <= least); // in order of size
        REQUIRE(each.held <= each.bytes);
        least = each.bytes;
        leaves += require_sums(each);
        held += each.held;
    }
    REQUIRE(node.bytes == leaves);
    REQUIRE(node.held == held);
    return leaves;
}

const memory_node& at(const memory_node& node, const std::string& name) {
    INFO(name);
    const auto found = std::ranges::find(node.children, name, &memory_node::name);
    REQUIRE(found != node.children.end());
    return *found;
}

/// A state beside whose segment there are files of other kinds, one with a hostile name.
void build_state_with_files(const std::filesystem::path& state, const std::string& name) {
    build_sample_state(state);
    std::filesystem::create_directories(state / "archive/inner");
    std::ofstream(state / "archive/inner/000007.sst") << std::string(50'000, 'x');
    std::filesystem::create_directory(state / "checkpoint");
    std::ofstream(state / "checkpoint/pages") << std::string(12'345, 'x');
    std::ofstream(state / name) << "0123456789";
}

state_tree tree_of(const std::filesystem::path& state) {
    state_tree found{inspect::read_state(state), {}};
    found.root = inspect::memory_tree(found.state);
    return found;
}

std::uint64_t ncdu_bytes(const json& node, const char* size) {
    if (node.is_object()) return node.at(size).get<std::uint64_t>();
    std::uint64_t sum = 0;
    REQUIRE(node.at(0).contains("name"));
    for (std::size_t each = 1; each < node.size(); ++each)
        sum += ncdu_bytes(node.at(each), size);
    return sum;
}

/// The lines of a folded tree: stacks and their bytes.
std::vector<std::pair<std::string, std::uint64_t>> stacks_of(const std::string& folded) {
    std::vector<std::pair<std::string, std::uint64_t>> stacks;
    std::istringstream lines(folded);
    for (std::string line; std::getline(lines, line);) {
        REQUIRE(std::ranges::count(line, ' ') == 1);
        const std::size_t space = line.find(' ');
        stacks.emplace_back(line.substr(0, space), std::stoull(line.substr(space + 1)));
    }
    return stacks;
}

/// What a page carries as its data.
json data_in(const std::string& page) {
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t from = page.find(begin) + begin.size();
    return json::parse(page.substr(from, page.find("</script", from) - from));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t found = text.find(part); found != std::string::npos;
         found = text.find(part, found + 1))
        ++count;
    return count;
}

constexpr const char* hostile = "a;b <script><!--\"\n";

} // namespace

TEST_CASE("tree: the leaves of a closed state sum to its files") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_state_with_files(state, "notes");
    const state_tree found = tree_of(state);
    require_sums(found.root);
    CHECK(found.root.bytes == bytes_below(state));
    const memory_node& segment = at(found.root, "segment");
    CHECK(segment.bytes == bytes_of_files(state / "segment"));
    CHECK(at(segment, "catalogue.json").bytes == found.state.other_files);
    CHECK(at(at(at(found.root, "archive"), "inner"), "000007.sst").bytes == 50'000);
    CHECK(at(at(found.root, "checkpoint"), "pages").bytes == 12'345);
    CHECK(at(found.root, "notes").bytes == 10);

    const inspect::type_report& account = found.state.types.at(0);
    const memory_node& node = at(at(segment, "types"), "account");
    CHECK(node.bytes == account.total().bytes.total);
    CHECK(at(node, "values").bytes == account.nodes.bytes.values);
    CHECK(at(node, "links").bytes == account.nodes.bytes.links);
    CHECK(at(node, "ids").bytes == account.ids.bytes.total);
    CHECK(at(segment, "buffers").bytes == found.state.buffers_total().bytes.total);
    CHECK(at(at(segment, "undo_log"), "records").bytes == found.state.log.bytes.values);
    CHECK(at(segment, "types").bytes == found.state.types_total().bytes.total);
}

TEST_CASE("tree: what was punched is not held") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    compact_sample_state(state);
    const state_tree found = tree_of(state);
    require_sums(found.root);
    CHECK(found.root.bytes == bytes_below(state));
    const memory_node& segment = at(found.root, "segment");
    CHECK(segment.bytes - segment.held >= found.state.total().bytes.punched);
}

TEST_CASE("tree --json and --ncdu and --folded say the same bytes") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_state_with_files(state, hostile);
    const folder_image before = image_of(state);
    const std::uint64_t bytes = bytes_below(state);
    const auto print = [&](const std::string& form) {
        const outcome result = inspect_with("tree " + state.string() + form);
        REQUIRE(result.code == 0);
        return result.output;
    };
    const std::string text = print(" --json");
    CHECK(text.starts_with("{\n \"schema_version\": 1,"));
    const json found = json::parse(text);
    CHECK(found.at("state") == state.string());
    CHECK(found.at("segment") == (state / "segment").string());
    CHECK(found.at("condition") == "closed");
    CHECK(found.at("consistent") == true);
    CHECK(found.at("discrepancies").empty());
    CHECK(found.at("bytes") == bytes);
    CHECK(found.at("tree").at("bytes") == bytes);
    CHECK(found.at("tree").at("name") == "state");
    CHECK(found.at("tree").at("children").is_array());

    const json ncdu = json::parse(print(" --ncdu"));
    REQUIRE(ncdu.size() == 4);
    CHECK(ncdu[0] == 1);
    CHECK(ncdu[1] == 2);
    CHECK(ncdu[2].at("progname") == "chainbase-inspect");
    CHECK(ncdu[3][0].at("name") == state.string());
    CHECK(ncdu_bytes(ncdu[3], "asize") == bytes);
    CHECK(ncdu_bytes(ncdu[3], "dsize") == found.at("tree").at("held"));

    std::uint64_t sum = 0;
    bool is_named = false;
    for (const auto& [stack, size] : stacks_of(print(" --folded"))) {
        CHECK(stack.starts_with("state;"));
        is_named = is_named || stack == "state;a:b_<script><!--\"_";
        sum += size;
    }
    CHECK(sum == bytes);
    CHECK(is_named);
    CHECK(image_of(state) == before);
}

TEST_CASE("tree --html: one page that names cannot break") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_state_with_files(state, hostile);
    const auto file = scratch / "tree.html";
    std::ofstream(file) << "before";
    const outcome result = inspect_with("tree " + state.string() + " --html " + file.string());
    REQUIRE(result.code == 0);
    CHECK(result.output.empty());
    std::ifstream in(file);
    const std::string page(std::istreambuf_iterator<char>(in), {});
    CHECK(page.starts_with("<!DOCTYPE html>"));
    CHECK(occurrences(page, "<script") == 2); // its own
    CHECK(occurrences(page, "<!--") == 0);
    CHECK(occurrences(page, "://") == 0); // nothing from elsewhere
    const json data = data_in(page);
    CHECK(data == json::parse(inspect::as_json(tree_of(state))));
    CHECK(data.at("bytes") == bytes_below(state));
    const auto& children = data.at("tree").at("children");
    CHECK(
        std::ranges::any_of(children, [](const json& each) { return each.at("name") == hostile; }));
}

TEST_CASE("tree --html: a type may be called anything") {
    const std::string name = "</script><script>\xff\xE2\x80\xA8";
    state_tree found{{}, {"state", 5, 5, {{name, 5, 5, {}}}}};
    const std::string page = inspect::as_html(found);
    CHECK(occurrences(page, "</script") == 2);
    const std::string read = data_in(page).at("tree").at("children")[0].at("name");
    CHECK(read == "</script><script>\xEF\xBF\xBD\xE2\x80\xA8");
    CHECK(inspect::as_folded(found) == "state;" + read + " 5\n");
}

TEST_CASE("tree: the text has every part with its share") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const std::string text = inspect::as_text(tree_of(state));
    CHECK(text.starts_with("state "));
    for (const char* part : {"100.0 %", "├─ segment", "account", "marker", "undo_log",
                             "buffers.runs", "catalogue.json", "█"}) {
        INFO(part);
        CHECK(text.find(part) != std::string::npos);
    }
}

TEST_CASE("tree beside a writer and after its death: inner nodes sum and nothing is changed") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    {
        writer_process writer(state);
        for (int samples = 0; samples < 20; ++samples) {
            const outcome result = inspect_with("tree " + state.string() + " --json");
            REQUIRE(result.code == 0);
            REQUIRE(json::parse(result.output).at("condition") == "writer_running");
            require_sums(tree_of(state).root);
        }
    }
    const folder_image before = image_of(state);
    const state_tree found = tree_of(state);
    CHECK(found.state.condition == inspect::condition::writer_died);
    require_sums(found.root);
    CHECK(inspect_with("tree " + state.string() + " >/dev/null").code == 0);
    CHECK(image_of(state) == before);
}

TEST_CASE("tree: a wrong call is exit 2 and no state is exit 1") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const std::string call = "tree " + state.string();
    for (const char* more : {" --ncdu --json", " --folded --html x.html", " --yaml", " more"}) {
        INFO(more);
        CHECK(inspect_with(call + more + " >/dev/null 2>&1").code == 2);
    }
    CHECK(inspect_with(call + " --html " + (state / "x.html").string() + " 2>/dev/null").code == 2);
    CHECK(inspect_with("tree " + (scratch / "none").string() + " 2>/dev/null").code == 1);
    CHECK(inspect_with("map " + (scratch / "none").string() + " 2>/dev/null").code == 1);
    CHECK(inspect_with(call + " --json 2>/dev/null >/dev/full").code == 1);
}
