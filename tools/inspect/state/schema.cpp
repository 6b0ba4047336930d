#include <chainbase/object.hpp>
#include <chainbase/object/schema_of.hpp>
#include <chainbase/state_root/recorded_root.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

const std::vector<type_schema>& root_schemas() {
    using namespace state_root;
    static const std::vector<type_schema> all{schema_of<recorded_root>(recorded_root::type_name),
                                              schema_of<committed_type>(committed_type::type_name)};
    return all;
}

/// Whether a type is of the tree that earlier versions kept in the state. Nobody reads it any more.
static bool is_of_former_tree(const type_schema& schema) {
    const auto has = [&](std::string_view field) {
        return std::ranges::find(schema.fields, field, &type_schema::field::name) !=
               schema.fields.end();
    };
    return (schema.name.starts_with("state_root.nodes") && has("branches")) ||
           (schema.name == "state_root.tree" && has("digest")) ||
           (schema.name == "state_root.types" && has("name"));
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
        is<driver::block_root>(schema, driver::block_root::type_name) ||
        is<driver::place_in_feed>(schema, driver::place_in_feed::type_name))
        return "of the driver";
    if (is_of_root(schema)) return "of the state root";
    if (is_of_former_tree(schema)) return "of the state root of an earlier version";
    return {};
}

} // namespace chainbase::inspect

namespace chainbase {

// The JSON members of each part of the report, in order.
BOOST_DESCRIBE_STRUCT(type_schema::field, (), (name, type, offset, bytes))
BOOST_DESCRIBE_STRUCT(type_schema::part, (), (field, descending))
BOOST_DESCRIBE_STRUCT(type_schema::key, (), (name, kind, parts))
BOOST_DESCRIBE_STRUCT(past_migration::field, (), (what, name, was, now))

static json report_value(const catalogue::entry& type) {
    const type_schema& schema = type.schema;
    return {{"name", schema.name},
            {"hash", inspect::hash_text(schema.hash())},
            {"value_bytes", schema.value_bytes},
            {"value_offset", schema.value_offset},
            {"link_bytes", schema.link_bytes},
            {"node_bytes", schema.node_bytes},
            {"root_bytes", schema.root_bytes},
            {"tables", schema.tables},
            {"first_window", type.first_window},
            {"fields", json_of(schema.fields)},
            {"indexes", json_of(schema.keys)}};
}

static json report_value(const past_migration& one) {
    return {{"type", one.type},
            {"was", one.was},
            {"from", inspect::hash_text(one.from)},
            {"to", inspect::hash_text(one.to)},
            {"computed", one.is_computed},
            {"fields", json_of(one.fields)},
            {"keys_added", one.keys_added},
            {"keys_dropped", one.keys_dropped}};
}

} // namespace chainbase

namespace chainbase::inspect {

std::uint64_t schema_hash(const catalogue& types) {
    std::vector<std::uint64_t> hashes; // each covers its type's name
    for (const catalogue::entry& one : types.entries())
        hashes.push_back(one.schema.hash());
    std::ranges::sort(hashes);
    std::string text;
    for (const std::uint64_t hash : hashes)
        text += hash_text(hash);
    return XXH3_64bits(text.data(), text.size());
}

std::string hash_text(std::uint64_t hash) {
    return fmt::format("{:016x}", hash);
}

namespace {

struct schema_call : state_call {
    std::vector<std::string> types;
    bool c_header = false;
    bool dot = false;
};

[[noreturn]] void throw_unknown(const std::string& state, const std::string& type,
                                const catalogue& known) {
    std::string names;
    for (const catalogue::entry& one : known.entries())
        names += (names.empty() ? "" : ", ") + one.schema.name;
    throw usage_error(state + ": has no type \"" + type + "\"; its types are: " + names);
}

std::string parts_text(const type_schema::key& key) {
    std::string text;
    for (const type_schema::part& part : key.parts)
        text += (text.empty() ? "" : ", ") + part.field + (part.descending ? " descending" : "");
    return text;
}

std::string type_text(const type_schema& schema) {
    text_table fields({"field", "type", "offset", "bytes"});
    for (const type_schema::field& one : schema.fields)
        fields.add({one.name, one.type, grouped(one.offset), grouped(one.bytes)});
    std::string text = fmt::format("type {}: hash {}, {} bytes, at {} of slots of {}\n{}",
                                   schema.name, hash_text(schema.hash()), schema.value_bytes,
                                   schema.value_offset, schema.node_bytes, fields.text());
    text += "by id\n";
    for (const type_schema::key& one : schema.keys)
        text += fmt::format("{}: {} ({})\n", one.name, one.kind, parts_text(one));
    return text;
}

std::string migration_text(const past_migration& one) {
    std::string text =
        fmt::format("type {}: was migrated from hash {} to {}{}{}\n", one.type, hash_text(one.from),
                    hash_text(one.to), one.was == one.type ? "" : ", and was called " + one.was,
                    one.is_computed ? "; a function computed fields" : "");
    for (const past_migration::field& field : one.fields)
        text += fmt::format("{}: {}{}{}\n", field.name, field.what,
                            field.was.empty() ? "" : ", was " + field.was,
                            field.now.empty() ? "" : ", became " + field.now);
    for (const std::string& key : one.keys_added)
        text += fmt::format("{}: key made\n", key);
    for (const std::string& key : one.keys_dropped)
        text += fmt::format("{}: key dropped\n", key);
    return text;
}

/// A record label within quotes.
std::string dot_text(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        const bool is_control = static_cast<unsigned char>(c) < ' ' || c == 0x7f;
        if (std::string_view("\\\"{}|<> ").find(c) != std::string_view::npos) safe += '\\';
        safe += is_control ? '?' : c;
    }
    return safe;
}

std::string print_as(const schema_call& asked, const schema_report& report) {
    if (asked.json) return as_json(report);
    if (asked.c_header) return c_header_of(report.types);
    return asked.dot ? as_dot(report) : as_text(report);
}

void run_schema(const schema_call& asked) {
    const named_state named(asked.state);
    schema_report report = read_schema(named.folder(), asked.types, named.origin());
    report.state = asked.state;
    if (named.is_checkpoint()) report.segment = named.origin() / "checkpoint";
    print_or_throw(print_as(asked, report));
}

} // namespace

std::string as_text(const schema_report& report) {
    std::string text = fmt::format("state      {}\nschema     hash {}, of all its types\n",
                                   report.state.string(), hash_text(report.hash));
    for (const catalogue::entry& one : report.types)
        text += "\n" + type_text(one.schema);
    for (const past_migration& one : report.migrations)
        text += "\n" + migration_text(one);
    return text;
}

std::string as_json(const schema_report& report) {
    return lines_of({{"schema_version", 1},
                     {"state", report.state.string()},
                     {"segment", report.segment.string()},
                     {"hash", hash_text(report.hash)},
                     {"types", json_of(report.types)},
                     {"migrations", json_of(report.migrations)}});
}

std::string as_dot(const schema_report& report) {
    std::string text = "digraph schema {\n  rankdir=LR;\n  node [shape=record];\n";
    for (std::size_t n = 0; n < report.types.size(); ++n) {
        const type_schema& schema = report.types[n].schema;
        std::string fields;
        for (const type_schema::field& one : schema.fields)
            fields += dot_text(one.name + ": " + one.type) + "\\l";
        std::string keys;
        for (const type_schema::key& one : schema.keys)
            keys += dot_text(one.name + ": " + one.kind + " (" + parts_text(one) + ")") + "\\l";
        text += fmt::format("  type_{} [label=\"{{{}|{}|{}}}\"];\n", n, dot_text(schema.name),
                            fields, keys);
    }
    return text + "}\n";
}

schema_report read_schema(const std::filesystem::path& state, const std::vector<std::string>& types,
                          const std::filesystem::path& told_by) {
    schema_report report;
    report.state = state;
    report.segment = segment_folder(state);
    const catalogue known = catalogue::read(report.segment);
    report.hash = schema_hash(known);
    if (types.empty()) report.types = known.entries();
    for (const std::string& type : types) {
        const catalogue::entry* found = known.find(type);
        if (!found) throw_unknown(state.string(), type, known);
        report.types.push_back(*found);
    }
    catalogue asked;
    for (const catalogue::entry& one : report.types)
        asked.add(one);
    report.migrations = past_migrations(told_by, asked);
    return report;
}

void declare_schema(command& verb) {
    const auto asked = declare_look<schema_call>(verb, run_schema);
    verb.add_option("TYPE", asked->types, "These types only");
    verb.at_most_one({
        verb.add_flag("--json", asked->json, "Print one JSON object instead of tables"),
        verb.add_flag("--c-header", asked->c_header,
                      "Print a C11 header with a struct for each type"),
        verb.add_flag("--dot", asked->dot, "Print a directed graph for Graphviz"),
    });
}

} // namespace chainbase::inspect
