#include <chainbase/catalogue.hpp>
#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/file_error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace chainbase {

namespace {

using nlohmann::json;

constexpr int catalogue_format = 1;
/// Of the containers and nodes that the versions of Boost.MultiIndex lay out which compact_links
/// knows.
constexpr int container_layout = 1;

json to_json(const type_schema& schema) {
    json fields = json::array();
    for (const auto& f : schema.fields)
        fields.push_back(
            {{"name", f.name}, {"type", f.type}, {"offset", f.offset}, {"bytes", f.bytes}});
    json keys = json::array();
    for (const auto& k : schema.keys) {
        json parts = json::array();
        for (const auto& p : k.parts)
            parts.push_back({{"field", p.field}, {"descending", p.descending}});
        keys.push_back({{"name", k.name}, {"kind", k.kind}, {"parts", parts}});
    }
    return {{"name", schema.name},
            {"value_bytes", schema.value_bytes},
            {"node_bytes", schema.node_bytes},
            {"link_bytes", schema.link_bytes},
            {"value_offset", schema.value_offset},
            {"root_bytes", schema.root_bytes},
            {"tables", schema.tables},
            {"fields", fields},
            {"keys", keys},
            {"hash", std::to_string(schema.hash())}};
}

type_schema from_json(const json& from) {
    type_schema schema;
    from.at("name").get_to(schema.name);
    from.at("value_bytes").get_to(schema.value_bytes);
    from.at("node_bytes").get_to(schema.node_bytes);
    from.at("link_bytes").get_to(schema.link_bytes);
    from.at("value_offset").get_to(schema.value_offset);
    from.at("root_bytes").get_to(schema.root_bytes);
    from.at("tables").get_to(schema.tables);
    for (const json& f : from.at("fields"))
        schema.fields.push_back({f.at("name"), f.at("type"), f.at("offset"), f.at("bytes")});
    for (const json& k : from.at("keys")) {
        type_schema::key key{k.at("name"), k.at("kind"), {}};
        for (const json& p : k.at("parts"))
            key.parts.push_back({p.at("field"), p.at("descending")});
        schema.keys.push_back(std::move(key));
    }
    return schema;
}

[[noreturn]] void damaged(const std::filesystem::path& file, const std::string& what) {
    throw damaged_error(file.string() + ": " + what +
                        "; restore the file from a copy of the state, or replay into a new folder");
}

} // namespace

catalogue catalogue::read(const std::filesystem::path& folder) {
    const auto file = file_in(folder);
    require_there(file);
    return catalogue_of(read_file(file), file);
}

catalogue catalogue_of(const std::string& text, const std::filesystem::path& file) {
    catalogue result;
    try {
        const json list = json::parse(text);
        if (list.at("format") != catalogue_format)
            throw format_error(file.string() + ": format " + list.at("format").dump() +
                               ", this program reads " + std::to_string(catalogue_format) +
                               "; open it with the program that wrote it, or replay");
        if (list.at("container_layout") != container_layout)
            throw format_error(file.string() + ": containers of layout " +
                               list.at("container_layout").dump() + ", this program has " +
                               std::to_string(container_layout) +
                               "; open it with a program built with the same Boost, or replay");
        for (const json& type : list.at("types")) {
            catalogue::entry one{from_json(type), type.at("first_window").get<std::uint32_t>()};
            if (std::to_string(one.schema.hash()) != type.at("hash").get<std::string>())
                damaged(file, "type " + one.schema.name + ": the schema does not match its hash");
            result.add(std::move(one));
        }
    } catch (const json::parse_error& e) {
        damaged(file, "offset " + std::to_string(e.byte) + ": not valid JSON");
    } catch (const json::exception& e) {
        damaged(file, std::string("not a catalogue: ") + e.what());
    }
    return result;
}

std::string catalogue::text() const {
    json types = json::array();
    for (const entry& one : entries_) {
        json type = to_json(one.schema);
        type["first_window"] = one.first_window;
        types.push_back(std::move(type));
    }
    const json list = {
        {"format", catalogue_format}, {"container_layout", container_layout}, {"types", types}};
    return list.dump(1) + "\n";
}

void catalogue::write(const std::filesystem::path& folder) const {
    replace_file(file_in(folder), text());
}

const catalogue::entry* catalogue::find(const std::string& type) const noexcept {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const entry& one) { return one.schema.name == type; });
    return found == entries_.end() ? nullptr : &*found;
}

} // namespace chainbase
