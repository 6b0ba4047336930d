#include <tools/inspect/compare/diff.hpp>
#include <tools/inspect/compare/state_diff.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/text_table.hpp>
#include <tools/print.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

struct diff_call {
    std::string a;
    std::string b;
    state_diff::question question;
    std::vector<std::string> ignored;
    bool json = false;
};

std::string counts_of(const std::map<std::string, std::uint64_t>& fields) {
    std::string text;
    for (const auto& [field, rows] : fields)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field, grouped(rows));
    return text;
}

std::string text_of(const state_diff::row& row) {
    const std::string name = fmt::format("{} {}", row.type, row.id);
    constexpr const char* where = "  (in the archive)";
    if (row.b.empty())
        return fmt::format("- {}  {}{}\n", name, row.a, row.is_archived_in_a ? where : "");
    if (row.a.empty())
        return fmt::format("+ {}  {}{}\n", name, row.b, row.is_archived_in_b ? where : "");
    std::string text = fmt::format("~ {}  {}\n", name, fmt::join(row.fields, ", "));
    const auto a = json::parse(row.a);
    const auto b = json::parse(row.b);
    for (const std::string& field : row.fields)
        text += fmt::format("    {}: {} -> {}\n", field, a.at(field).dump(), b.at(field).dump());
    return text;
}

/// Of what is in the archives.
std::string left_out_of(const state_diff& found) {
    std::string text;
    for (const state_diff::type& type : found.types)
        if (type.handed_over_a != 0 || type.handed_over_b != 0)
            text +=
                fmt::format("{}: {} and {} rows were handed over to the archives, which were "
                            "not compared; --archive does\n",
                            type.name, grouped(type.handed_over_a), grouped(type.handed_over_b));
    return text;
}

std::string diff_text(const state_diff& found, const diff_call& asked) {
    std::string text = fmt::format("a  {}, revision {}\nb  {}, revision {}\n\n", asked.a,
                                   found.revision_a, asked.b, found.revision_b);
    text_table table(
        {"type", "rows in a", "rows in b", "only in a", "only in b", "changed", "fields"});
    table.is_text(6);
    for (const state_diff::type& type : found.types)
        table.add({type.name, type.is_in_a ? grouped(type.rows_a) : "no type",
                   type.is_in_b ? grouped(type.rows_b) : "no type", grouped(type.only_a),
                   grouped(type.only_b), grouped(type.changed), counts_of(type.fields)});
    text += table.text();
    for (const state_diff::type& type : found.types)
        if (!type.fields_of_one.empty())
            text += fmt::format("{}: one of them has no {}\n", type.name,
                                fmt::join(type.fields_of_one, ", "));
    if (!asked.question.has_archive) text += left_out_of(found);
    if (!found.rows.empty()) text += "\n";
    for (const state_diff::row& row : found.rows)
        text += text_of(row);
    return text + (found.is_same() ? "\nthe same\n" : "\nnot the same\n");
}

/// Members that say where a row is.
std::string where_of(const state_diff::row& row, const diff_call& asked) {
    if (!asked.question.has_archive) return {};
    return fmt::format(",\"archived_in_a\":{},\"archived_in_b\":{}", row.is_archived_in_a,
                       row.is_archived_in_b);
}

json type_json(const state_diff::type& type) {
    return {{"name", type.name},
            {"in_a", type.is_in_a},
            {"in_b", type.is_in_b},
            {"rows_a", type.rows_a},
            {"rows_b", type.rows_b},
            {"handed_over_a", type.handed_over_a},
            {"handed_over_b", type.handed_over_b},
            {"only_a", type.only_a},
            {"only_b", type.only_b},
            {"changed", type.changed},
            {"fields", type.fields},
            {"fields_of_one", type.fields_of_one}};
}

/// Rows are taken as they are: a tree of values could change their numbers.
std::string diff_json(const state_diff& found, const diff_call& asked) {
    json head{{"schema_version", 1},
              {"a", asked.a},
              {"b", asked.b},
              {"revision_a", found.revision_a},
              {"revision_b", found.revision_b},
              {"same", found.is_same()}};
    for (const state_diff::type& type : found.types)
        head["types"].push_back(type_json(type));
    std::string text = head.dump(-1, ' ', false, json::error_handler_t::replace);
    text.back() = ',';
    text += "\"rows\":[";
    for (const state_diff::row& row : found.rows) {
        if (&row != &found.rows.front()) text += ',';
        text += fmt::format("{{\"type\":{},\"id\":{},\"fields\":{},\"a\":{},\"b\":{}{}}}",
                            json(row.type).dump(), row.id, json(row.fields).dump(),
                            row.a.empty() ? "null" : row.a, row.b.empty() ? "null" : row.b,
                            where_of(row, asked));
    }
    return text + "]}\n";
}

exit_code run_diff(const diff_call& asked) {
    row_source a(asked.a);
    row_source b(asked.b);
    const state_diff found = state_diff::of(a, b, asked.question);
    print_or_throw(asked.json ? diff_json(found, asked) : diff_text(found, asked));
    return found.is_same() ? exit_code::done : exit_code::different;
}

} // namespace

void add_diff(CLI::App& program, exit_code& result) {
    const auto asked = std::make_shared<diff_call>();
    CLI::App* verb = program.add_subcommand("diff", "What two states do not have in common");
    verb->add_option("A", asked->a, "The folder of a state")->required();
    verb->add_option("B", asked->b, "The folder of another one")->required();
    verb->add_option("--type", asked->question.types, "Only these types");
    verb->add_option("--ignore-field", asked->ignored, "FIELD of all types, or TYPE.FIELD");
    verb->add_option("--limit", asked->question.rows_limit,
                     "Rows that are printed of each type at most; 0: all")
        ->capture_default_str();
    verb->add_flag("--archive", asked->question.has_archive,
                   "Also objects that are in the archive only");
    verb->add_flag("--json", asked->json, "Print one JSON object");
    verb->callback([asked, &result] {
        asked->question.ignored = {asked->ignored.begin(), asked->ignored.end()};
        result = look_at(asked->a, [&] { return run_diff(*asked); });
    });
}

} // namespace chainbase::inspect
