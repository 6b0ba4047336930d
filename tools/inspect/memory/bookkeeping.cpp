#include <chainbase/schema_of.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/inspect/memory/bookkeeping.hpp>
#include <tools/inspect/root/root_types.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace chainbase::inspect {

namespace {

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
