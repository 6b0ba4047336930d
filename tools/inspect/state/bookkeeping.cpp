#include <chainbase/object.hpp>
#include <chainbase/schema_of.hpp>
#include <chainbase/state_root/node.hpp>
#include <chainbase/state_root/node_source.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/inspect/state/bookkeeping.hpp>

#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace chainbase::inspect {

namespace {

std::vector<type_schema> make_schemas() {
    using namespace state_root;
    std::vector<type_schema> all{schema_of<tree_head>(tree_head::type_name),
                                 schema_of<named_type>(named_type::type_name)};
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<capacities.size()>>([&](auto number) {
        all.push_back(schema_of<node<capacities[number]>>("state_root.nodes" +
                                                          std::to_string(capacities[number])));
    });
    return all;
}

bool is_of_life_cycle(const std::string& name, const std::set<std::string>& names) {
    constexpr std::array<std::string_view, 4> parts{".retired", ".filter", ".removed",
                                                    ".withdrawn"};
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
        return name.ends_with(part) && names.contains(name.substr(0, name.size() - part.size()));
    });
}

template <typename T>
bool is(const type_schema& schema, const char* name) {
    return schema.name == name && schema.fields == schema_of<T>(name).fields;
}

} // namespace

const std::vector<type_schema>& root_schemas() {
    static const std::vector<type_schema> all = make_schemas();
    return all;
}

bool is_of_root(const type_schema& schema) {
    return std::ranges::any_of(root_schemas(), [&](const type_schema& one) {
        return one.name == schema.name && one.fields == schema.fields &&
               one.value_bytes == schema.value_bytes;
    });
}

std::string why_bookkeeping(const type_schema& schema, const std::set<std::string>& names) {
    if (is_of_life_cycle(schema.name, names)) return "of a life cycle";
    if (schema.name == "archive.table" || schema.name == "archive.row" ||
        schema.name == "archive.key")
        return "of an archive in memory";
    if (is<driver::chain_identity>(schema, "chain_identity") ||
        is<driver::applied_block>(schema, "applied_block") ||
        is<driver::root_setting>(schema, driver::root_setting::type_name) ||
        is<driver::block_root>(schema, driver::block_root::type_name))
        return "of the driver";
    if (is_of_root(schema)) return "of the state root";
    return {};
}

} // namespace chainbase::inspect
