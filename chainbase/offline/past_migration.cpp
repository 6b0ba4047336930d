#include <chainbase/offline/past_migration.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <utility>

namespace chainbase {

namespace fs = std::filesystem;

namespace {

constexpr int migrations_format = 1;
constexpr bool is_for_people = true;

fs::path migrations_file(const fs::path& state) {
    return state / "migrations.json";
}

std::string text_of(const past_migration::field& one) {
    return json_object(is_for_people)
        .add("what", one.what)
        .add("name", one.name)
        .add("was", one.was)
        .add("now", one.now)
        .text();
}

std::string text_of(const std::vector<std::string>& names) {
    return json_array(names, [](const std::string& name) { return to_json(name); });
}

/// Hashes are texts, as in catalogue.json.
std::string text_of(const past_migration& one) {
    return json_object(is_for_people)
        .add("type", one.type)
        .add("was", one.was)
        .add("from", std::to_string(one.from))
        .add("to", std::to_string(one.to))
        .add("computed", one.is_computed)
        .add_json("fields",
                  json_array(
                      one.fields, [](const auto& field) { return text_of(field); }, "\n   "))
        .add_json("keys_added", text_of(one.keys_added))
        .add_json("keys_dropped", text_of(one.keys_dropped))
        .text();
}

std::uint64_t hash_in(const json_value& value) {
    const std::string text = value.text();
    std::uint64_t hash = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), hash);
    if (failed != std::errc() || end != text.data() + text.size())
        throw json_error("\"" + text + "\" is no hash");
    return hash;
}

std::vector<std::string> names_of(const json_value& list) {
    std::vector<std::string> names;
    for (const json_value& one : list.elements())
        names.push_back(one.text());
    return names;
}

past_migration migration_of(const json_value& from) {
    past_migration one{.type = from.at("type").text(),
                       .was = from.at("was").text(),
                       .from = hash_in(from.at("from")),
                       .to = hash_in(from.at("to")),
                       .is_computed = from.at("computed").truth(),
                       .fields = {},
                       .keys_added = names_of(from.at("keys_added")),
                       .keys_dropped = names_of(from.at("keys_dropped"))};
    for (const json_value& field : from.at("fields").elements())
        one.fields.push_back({field.at("what").text(), field.at("name").text(),
                              field.at("was").text(), field.at("now").text()});
    return one;
}

std::vector<past_migration> all_in(const fs::path& file) {
    std::vector<past_migration> all;
    if (!fs::exists(file)) return all;
    constexpr const char* then = "; remove it, and the state no longer tells its migrations";
    try {
        const json_value text = json_value::parse(read_file(file));
        if (text.at("format").serialized() != std::to_string(migrations_format))
            throw format_error(fmt::format("{}: format {}, this program reads {}; use a newer one",
                                           file.string(), text.at("format").serialized(),
                                           migrations_format));
        for (const json_value& one : text.at("migrations").elements())
            all.push_back(migration_of(one));
    } catch (const json_error& problem) {
        throw damaged_error(file.string() + ": " + problem.what() + then);
    }
    return all;
}

/// Names of keys in `a` that are not in `b`, or are declared otherwise there.
std::vector<std::string> keys_without(const type_schema& a, const type_schema& b) {
    std::vector<std::string> found;
    for (const type_schema::key& key : a.keys)
        if (std::ranges::find(b.keys, key) == b.keys.end()) found.push_back(key.name);
    return found;
}

} // namespace

past_migration past_migration::of(const type_schema& from, const type_schema& to,
                                  const snapshot_file::migration_rules& rules) {
    using snapshot_file::field_change;
    past_migration one{.type = to.name,
                       .was = from.name,
                       .from = from.hash(),
                       .to = to.hash(),
                       .is_computed = static_cast<bool>(rules.compute),
                       .fields = {},
                       .keys_added = keys_without(to, from),
                       .keys_dropped = keys_without(from, to)};
    for (const field_change& change : snapshot_file::object_of_record::changes(from, to, rules))
        if (change.what != field_change::kind::same)
            one.fields.push_back(
                {std::string(to_string(change.what)), change.field, change.was, change.now});
    return one;
}

std::vector<past_migration> past_migrations(const fs::path& state, const catalogue& types) {
    std::set<std::uint64_t> reached;
    for (const catalogue::entry& one : types.entries())
        reached.insert(one.schema.hash());
    std::vector<past_migration> all = all_in(migrations_file(state));
    std::vector<past_migration> found;
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
        if (!reached.contains(one->to)) continue;
        reached.insert(one->from);
        found.push_back(std::move(*one));
    }
    std::ranges::reverse(found);
    return found;
}

void add_past_migrations(const fs::path& state, const catalogue& types,
                         std::vector<past_migration> next) {
    std::vector<past_migration> all = past_migrations(state, types);
    std::ranges::move(next, std::back_inserter(all));
    replace_file(
        migrations_file(state),
        fmt::format("{{\n \"format\": {},\n \"migrations\": {}\n}}\n", migrations_format,
                    json_array(all, [](const auto& one) { return text_of(one); }, "\n  ")));
}

} // namespace chainbase
