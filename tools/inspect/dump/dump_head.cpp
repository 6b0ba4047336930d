#include <chainbase/catalogue.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/dump/dump_head.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

constexpr int version = 1;

/// Lists types as the catalogue of a state does.
json listed(const std::vector<dump_head::type>& types) {
    catalogue all;
    for (const dump_head::type& one : types)
        all.add({one.schema, 0});
    return json::parse(all.text());
}

} // namespace

std::string dump_head::line() const {
    json head{{"schema_version", 1}, {"dump", version}, {"revision", revision}};
    if (has_archive) head["archive"] = true;
    head["types"] = listed(types)["types"];
    for (std::size_t number = 0; number < types.size(); ++number) {
        head["types"][number].erase("first_window");
        head["types"][number]["next_id"] = types[number].next_id;
    }
    return head.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

dump_head dump_head::of(const std::string& line, const std::string& file) {
    const json found = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!found.is_object() || !found.contains("dump"))
        throw damaged_error(file + ": line 1: no dump begins there; choose another file");
    if (found["dump"] != version)
        throw format_error(file + ": line 1: a dump of version " + found["dump"].dump() +
                           ", this program reads " + std::to_string(version) +
                           "; use the program that wrote it");
    dump_head head;
    json all = listed({});
    try {
        found.at("revision").get_to(head.revision);
        head.has_archive = found.value("archive", false);
        all["types"] = found.at("types");
        for (json& type : all["types"]) {
            type["first_window"] = 0;
            if (!type.at("next_id").is_number_unsigned() || type["next_id"] > UINT32_MAX)
                throw damaged_error(file + ": line 1: " + type["next_id"].dump() + " is no id");
        }
        const catalogue types = catalogue_of(all.dump(), file);
        for (std::size_t number = 0; number < types.entries().size(); ++number)
            head.types.push_back({types.entries()[number].schema,
                                  found["types"][number].at("next_id").get<std::uint32_t>()});
    } catch (const json::exception& problem) {
        throw damaged_error(file + ": line 1: " + problem.what());
    }
    return head;
}

bool dump_head::has_types_of(const dump_head& other) const {
    return std::ranges::equal(types, other.types,
                              [](const type& a, const type& b) { return a.schema == b.schema; });
}

} // namespace chainbase::inspect
