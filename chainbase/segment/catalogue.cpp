#include <chainbase/segment/catalogue.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace chainbase {

namespace {

constexpr bool for_people = true;
constexpr int catalogue_format = 1;
/// The layout version of containers and nodes, for the versions of Boost.MultiIndex that
/// compact_links supports.
constexpr int container_layout = 1;

std::string to_json(const type_schema::field& one) {
    return json_object(for_people)
        .add("name", one.name)
        .add("type", one.type)
        .add("offset", one.offset)
        .add("bytes", one.bytes)
        .text();
}

std::string to_json(const type_schema::key& one) {
    const auto part = [](const type_schema::part& of) {
        return json_object(for_people)
            .add("field", of.field)
            .add("descending", of.descending)
            .text();
    };
    return json_object(for_people)
        .add("name", one.name)
        .add("kind", one.kind)
        .add_json("parts", json_array(one.parts, part))
        .text();
}

std::string to_json(const catalogue::entry& one) {
    const auto described = [](const auto& part) { return to_json(part); };
    const type_schema& schema = one.schema;
    return json_object(for_people)
        .add("name", schema.name)
        .add("first_window", one.first_window)
        .add("hash", std::to_string(schema.hash()))
        .add("value_bytes", schema.value_bytes)
        .add("node_bytes", schema.node_bytes)
        .add("link_bytes", schema.link_bytes)
        .add("value_offset", schema.value_offset)
        .add("root_bytes", schema.root_bytes)
        .add("tables", schema.tables)
        .add_json("fields", json_array(schema.fields, described, "\n   "))
        .add_json("keys", json_array(schema.keys, described, "\n   "))
        .text();
}

type_schema schema_of(const json_value& from) {
    type_schema schema;
    schema.name = from.at("name").text();
    const auto number = [&](const char* name) { return from.at(name).number<std::uint32_t>(); };
    schema.value_bytes = number("value_bytes");
    schema.node_bytes = number("node_bytes");
    schema.link_bytes = number("link_bytes");
    schema.value_offset = number("value_offset");
    schema.root_bytes = number("root_bytes");
    schema.tables = number("tables");
    for (const json_value& f : from.at("fields").elements())
        schema.fields.push_back({f.at("name").text(), f.at("type").text(),
                                 f.at("offset").number<std::uint32_t>(),
                                 f.at("bytes").number<std::uint32_t>()});
    for (const json_value& k : from.at("keys").elements()) {
        type_schema::key key{k.at("name").text(), k.at("kind").text(), {}};
        for (const json_value& p : k.at("parts").elements())
            key.parts.push_back({p.at("field").text(), p.at("descending").truth()});
        schema.keys.push_back(std::move(key));
    }
    return schema;
}

bool is_format(const json_value& format, int known) {
    return format.serialized() == std::to_string(known);
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
        const json_value list = json_value::parse(text);
        if (!is_format(list.at("format"), catalogue_format))
            throw format_error(file.string() + ": format " + list.at("format").serialized() +
                               ", this program reads " + std::to_string(catalogue_format) +
                               "; open it with the program that wrote it, or replay");
        if (!is_format(list.at("container_layout"), container_layout))
            throw format_error(file.string() + ": containers of layout " +
                               list.at("container_layout").serialized() + ", this program has " +
                               std::to_string(container_layout) +
                               "; open it with a program built with the same Boost, or replay");
        for (const json_value& type : list.at("types").elements()) {
            catalogue::entry one{schema_of(type), type.at("first_window").number<std::uint32_t>()};
            if (std::to_string(one.schema.hash()) != type.at("hash").text())
                damaged(file, "type " + one.schema.name + ": the schema does not match its hash");
            result.add(std::move(one));
        }
    } catch (const json_error& e) {
        damaged(file, e.what());
    }
    return result;
}

std::string catalogue::text() const {
    const auto described = [](const entry& one) { return to_json(one); };
    return fmt::format("{{\n \"format\": {},\n \"container_layout\": {},\n \"types\": {}\n}}\n",
                       catalogue_format, container_layout, json_array(entries_, described, "\n  "));
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
