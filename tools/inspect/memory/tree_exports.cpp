#include <tools/inspect/escaped.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/memory/tree.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

std::string dump(const json& what, int indent) {
    return what.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

json to_json(const memory_node& node) {
    json all = {{"name", node.name}, {"bytes", node.bytes}, {"held", node.held}};
    if (node.children.empty()) return all;
    json children = json::array();
    for (const memory_node& each : node.children)
        children.push_back(to_json(each));
    all["children"] = std::move(children);
    return all;
}

/// A folder is an array that begins with what is known of itself, a file an object.
json to_ncdu(const memory_node& node, const std::string& name) {
    if (node.children.empty()) return {{"name", name}, {"asize", node.bytes}, {"dsize", node.held}};
    json all = json::array({{{"name", name}}});
    for (const memory_node& each : node.children)
        all.push_back(to_ncdu(each, each.name));
    return all;
}

/// Without what a folded stack gives a meaning to.
std::string frame_of(const std::string& name) {
    std::string frame = valid_utf8(name);
    std::ranges::replace(frame, ';', ':');
    std::ranges::replace_if(
        frame, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; }, '_');
    return frame;
}

void fold(const memory_node& node, const std::string& above, std::string& to) {
    const std::string stack = above + frame_of(node.name);
    if (node.children.empty()) to += fmt::format("{} {}\n", stack, node.bytes);
    for (const memory_node& each : node.children)
        fold(each, stack + ";", to);
}

} // namespace

std::string as_json(const state_tree& found) {
    return dump({{"schema_version", 1},
                 {"state", found.state.state.string()},
                 {"segment", found.state.segment.string()},
                 {"condition", to_string(found.state.condition)},
                 {"consistent", found.state.consistent},
                 {"discrepancies", found.state.discrepancies},
                 {"bytes", found.root.bytes},
                 {"tree", to_json(found.root)}},
                1);
}

std::string as_ncdu(const state_tree& found) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const json about = {
        {"progname", "chainbase-inspect"},
        {"progver", "1"},
        {"timestamp", std::chrono::duration_cast<std::chrono::seconds>(now).count()}};
    const std::string top = std::filesystem::absolute(found.state.state).string();
    return dump(json::array({1, 2, about, to_ncdu(found.root, top)}), -1);
}

std::string as_folded(const state_tree& found) {
    std::string all;
    fold(found.root, "", all);
    return all;
}

} // namespace chainbase::inspect
