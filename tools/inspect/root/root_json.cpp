#include <tools/inspect/json_text.hpp>
#include <tools/inspect/root/root_report.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;
using state_root::branches_per_node;
using state_root::capacities;
using state_root::node_view;

json sizes_json(const array_sizes& from) {
    return {{"sizes", from.sparse}, {"ratio", from.ratio}};
}

json types_json(const root_report& found) {
    json all = json::array();
    for (const root_report::type& one : found.types)
        all.push_back({{"name", one.name}, {"objects", one.objects}});
    return all;
}

json tree_of(const root_report& found) {
    json tree{{"nodes", found.all_nodes()},
              {"bytes", found.bytes()},
              {"free_bytes", found.free_bytes()},
              {"dense_bytes", found.dense_bytes()},
              {"bytes_per_object", found.bytes_per_object()},
              {"dense_ratio", found.dense_ratio()},
              {"array_bytes_per_child", array_sizes::bytes_per_child},
              {"nodes_by_children", json::array()},
              {"capacities", json::array()},
              {"best_sizes", json::array()}};
    for (unsigned children = 1; children <= branches_per_node; ++children)
        tree["nodes_by_children"].push_back(found.nodes_by_children[children]);
    for (unsigned number = 0; number < capacities.size(); ++number)
        tree["capacities"].push_back({{"capacity", capacities[number]},
                                      {"node_bytes", node_view::bytes(capacities[number])},
                                      {"nodes", found.nodes[number]},
                                      {"free", found.free[number]}});
    for (const array_sizes& best : found.best_sizes())
        tree["best_sizes"].push_back(sizes_json(best));
    tree["sizes_in_use"] = sizes_json(found.sizes_in_use());
    return tree;
}

/// Rows are taken as they are: a tree of values could change their numbers.
std::string named_of(const root_faults& faults) {
    std::string text;
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        for (const root_fault& one : faults.named(static_cast<root_fault::kind>(number))) {
            std::string head = line_of({{"kind", root_fault::names[number]},
                                        {"type", one.type},
                                        {"id", one.id},
                                        {"what", one.text},
                                        {"archived", one.is_archived}});
            head.back() = ',';
            text += (text.empty() ? "" : ",") + head +
                    "\"row\":" + (one.row.empty() ? "null" : one.row) + "}";
        }
    return text;
}

std::string verified_json(const root_report& found) {
    const root_report::verification& all = *found.verified;
    json head{{"sound", found.is_sound()},
              {"objects", all.objects},
              {"archived_objects", all.archived_objects},
              {"nodes", all.nodes},
              {"faults", all.faults.total()}};
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        head["faults_by_kind"][std::string(root_fault::names[number])] =
            all.faults.count(static_cast<root_fault::kind>(number));
    std::string text = line_of(head);
    text.back() = ',';
    return text + "\"named\":[" + named_of(all.faults) + "]}";
}

} // namespace

std::string as_json(const root_report& found, const std::string& state) {
    json head{{"schema_version", 1},
              {"state", state},
              {"revision", found.revision},
              {"rolled_back", found.is_rolled_back},
              {"moved", found.has_moved}};
    const bool is_known = !found.root.empty();
    head["root"] = is_known ? json(found.root) : json();
    head["root_revision"] = is_known ? json(found.root_revision) : json();
    head["current"] = is_known ? json(found.is_current()) : json();
    head["objects"] = is_known ? json(found.objects) : json();
    head["types"] = types_json(found);
    head["tree"] = !found.has_moved ? tree_of(found) : json();
    std::string text = line_of(head);
    text.back() = ',';
    return text + "\"verified\":" + (found.verified ? verified_json(found) : "null") + "}\n";
}

} // namespace chainbase::inspect
