#include <chainbase/object.hpp>
#include <chainbase/schema_of.hpp>
#include <chainbase/state_root/node.hpp>
#include <chainbase/state_root/node_source.hpp>
#include <tools/inspect/root/root_types.hpp>

#include <boost/mp11.hpp>

#include <algorithm>
#include <string>

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

} // namespace chainbase::inspect
