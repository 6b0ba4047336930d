#include <pool_allocator/base/error.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/compare/state_diff.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

namespace {

/// A state, and its archive if requested and present.
struct side {
    side(row_source& state, bool has_archive)
        : from(state), archive(has_archive ? open_whole_archive(state) : nullptr) {}

    row_source& from;
    std::unique_ptr<archive::store> archive;

    /// All ids of the type are below it.
    [[nodiscard]] std::uint32_t end_of(const std::string& type) const {
        std::uint32_t end = 0;
        from.take_turn([&] { end = from.has(type) ? from.of(type).slots().next_id() : 0; });
        return end;
    }
    /// The rows of a type by id; nothing without such a type.
    [[nodiscard]] std::optional<merged_rows> rows_of(const std::string& type) const {
        bool is_there = false;
        from.take_turn([&] { is_there = from.has(type); });
        if (!is_there) return std::nullopt;
        return std::optional<merged_rows>(std::in_place, from,
                                          row_query{type, "id", {}, {}, {}, false}, archive.get());
    }
};

/// Compares the row streams of one type.
class type_comparison {
public:
    type_comparison(const side& a, const side& b, const std::string& type,
                    const state_diff::question& asked, std::vector<state_diff::row>& to)
        : a_(a.rows_of(type)), b_(b.rows_of(type)), asked_(asked), to_(to) {
        found_.name = type;
        found_.in_a = a_.has_value();
        found_.in_b = b_.has_value();
        match_fields();
    }

    /// Calls `tell` with the ids that it reaches.
    state_diff::type run(const std::function<void(std::uint32_t)>& tell) {
        for (;;) {
            const found_row* const a = a_ ? a_->next() : nullptr;
            const found_row* const b = b_ ? b_->next() : nullptr;
            if (!a && !b) return std::move(found_);
            const bool takes_a = a && (!b || a->id <= b->id);
            const bool takes_b = b && (!a || b->id <= a->id);
            found_.rows_a += takes_a ? 1 : 0;
            found_.rows_b += takes_b ? 1 : 0;
            compare(takes_a ? a : nullptr, takes_b ? b : nullptr);
            tell(takes_a ? a->id : b->id);
            if (takes_a) a_->pop();
            if (takes_b) b_->pop();
        }
    }

private:
    struct pair_of_fields {
        std::string name;
        std::size_t a;
        std::size_t b;
    };

    [[nodiscard]] bool is_ignored(const std::string& field) const {
        return asked_.ignored.contains(field) || asked_.ignored.contains(found_.name + "." + field);
    }

    void match_fields() {
        const auto a = a_ ? a_->format().names() : std::vector<std::string>();
        const auto b = b_ ? b_->format().names() : std::vector<std::string>();
        for (std::size_t i = 0; i < a.size(); ++i) {
            const auto other = std::find(b.begin(), b.end(), a[i]);
            if (is_ignored(a[i])) continue;
            if (other != b.end())
                fields_.push_back({a[i], i, static_cast<std::size_t>(other - b.begin())});
            else if (!b.empty())
                found_.fields_of_one.push_back(a[i]);
        }
        for (const std::string& field : b)
            if (!a.empty() && !is_ignored(field) && std::find(a.begin(), a.end(), field) == a.end())
                found_.fields_of_one.push_back(field);
    }

    void compare(const found_row* a, const found_row* b) {
        std::vector<std::string> fields;
        if (!a || !b) {
            ++(a ? found_.only_a : found_.only_b);
        } else {
            for (const pair_of_fields& field : fields_)
                if (a_->format().value(a->text, field.a) != b_->format().value(b->text, field.b))
                    fields.push_back(field.name);
            if (fields.empty()) return;
            ++found_.changed;
        }
        for (const std::string& field : fields)
            ++found_.fields[field];
        if (asked_.rows_limit != 0 && kept_++ >= asked_.rows_limit) return;
        to_.push_back({found_.name, a ? a->id : b->id, a ? a->text.json : std::string(),
                       b ? b->text.json : std::string(), std::move(fields), a && a->is_archived,
                       b && b->is_archived});
    }

    std::optional<merged_rows> a_;
    std::optional<merged_rows> b_;
    const state_diff::question& asked_;
    std::vector<state_diff::row>& to_;
    state_diff::type found_;
    std::vector<pair_of_fields> fields_;
    std::uint64_t kept_ = 0;
};

/// Type names, with or without those of a state root.
std::set<std::string> names_in(row_source& from, bool has_root) {
    std::set<std::string> names;
    from.take_turn([&] {
        names.clear();
        for (const type_schema* schema : from.types())
            if (has_root || !is_of_root(*schema)) names.insert(schema->name);
    });
    return names;
}

} // namespace

bool state_diff::type::is_same() const noexcept {
    return in_a == in_b && only_a == 0 && only_b == 0 && changed == 0 && fields_of_one.empty();
}

bool state_diff::is_same() const noexcept {
    return std::all_of(types.begin(), types.end(), [](const type& one) { return one.is_same(); });
}

state_diff state_diff::of(row_source& a, row_source& b, const question& asked) {
    state_diff found;
    found.revision_a = a.current_revision();
    found.revision_b = b.current_revision();
    std::set<std::string> names = names_in(a, !asked.types.empty());
    names.merge(names_in(b, !asked.types.empty()));
    for (const std::string& name : asked.types)
        if (!names.contains(name))
            throw usage_error("neither " + a.state().string() + " nor " + b.state().string() +
                              " has a type \"" + name + "\"");
    if (!asked.types.empty()) names = {asked.types.begin(), asked.types.end()};
    const side in_a(a, asked.has_archive);
    const side in_b(b, asked.has_archive);
    auto handed_over_a = objects_handed_over(a);
    auto handed_over_b = objects_handed_over(b);
    progress shown("comparing", "ids");
    std::map<std::string, std::uint32_t> ends;
    std::uint64_t all = 0, before = 0;
    for (const std::string& name : names)
        all += ends[name] = std::max(in_a.end_of(name), in_b.end_of(name));
    for (const std::string& name : names) {
        type_comparison types(in_a, in_b, name, asked, found.rows);
        found.types.push_back(
            types.run([&](std::uint32_t id) { shown.advance(before + id, all); }));
        before += ends[name];
        found.types.back().handed_over_a = handed_over_a[name];
        found.types.back().handed_over_b = handed_over_b[name];
    }
    return found;
}

// The JSON members of a type, in order.
BOOST_DESCRIBE_STRUCT(state_diff::type, (),
                      (name, in_a, in_b, rows_a, rows_b, handed_over_a, handed_over_b, only_a,
                       only_b, changed, fields, fields_of_one))

namespace {

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

/// A note on rows that are only in the archives.
std::string left_out_of(const state_diff& found) {
    std::string text;
    for (const state_diff::type& type : found.types)
        if (type.handed_over_a != 0 || type.handed_over_b != 0)
            text +=
                fmt::format("{}: {} and {} rows were handed over to the archives, which were not "
                            "compared; --archive compares them\n",
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
        table.add({type.name, type.in_a ? grouped(type.rows_a) : "no type",
                   type.in_b ? grouped(type.rows_b) : "no type", grouped(type.only_a),
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

/// Prints rows unparsed: parsing could change their numbers.
std::string row_json(const state_diff::row& row, bool says_where) {
    const std::string one =
        line_with({{"type", row.type}, {"id", row.id}, {"fields", row.fields}},
                  {{"a", row.a.empty() ? "null" : row.a}, {"b", row.b.empty() ? "null" : row.b}});
    if (!says_where) return one;
    return fmt::format("{},\"archived_in_a\":{},\"archived_in_b\":{}}}",
                       one.substr(0, one.size() - 1), row.is_archived_in_a, row.is_archived_in_b);
}

std::string diff_json(const state_diff& found, const diff_call& asked) {
    json head{{"schema_version", 1},
              {"a", asked.a},
              {"b", asked.b},
              {"revision_a", found.revision_a},
              {"revision_b", found.revision_b},
              {"same", found.is_same()}};
    if (!found.types.empty()) head["types"] = json_of(found.types);
    std::vector<std::string> rows;
    for (const state_diff::row& row : found.rows)
        rows.push_back(row_json(row, asked.question.has_archive));
    return line_with(head, {{"rows", fmt::format("[{}]", fmt::join(rows, ","))}}) + "\n";
}

exit_code run_diff(const diff_call& asked) {
    row_source a(asked.a);
    row_source b(asked.b);
    if (asked.question.types.empty())
        for (const row_source* each : {&a, &b})
            each->read_all(/*and_keys=*/false);
    const state_diff found = state_diff::of(a, b, asked.question);
    print_or_throw(asked.json ? diff_json(found, asked) : diff_text(found, asked));
    return found.is_same() ? exit_code::done : exit_code::different;
}

} // namespace

void declare_diff(command& verb) {
    const auto asked = std::make_shared<diff_call>();
    verb.add_option("A", asked->a, "The folder of a state").required();
    verb.add_option("B", asked->b, "The folder of another one").required();
    verb.add_option("--type", asked->question.types, "Only these types");
    verb.add_option("--ignore-field", asked->ignored, "FIELD of all types, or TYPE.FIELD");
    verb.add_option("--limit", asked->question.rows_limit,
                    "Rows to print of each type at most; 0: all")
        .shows_default();
    verb.add_flag("--archive", asked->question.has_archive,
                  "Also objects that are in the archive only");
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] {
        asked->question.ignored = {asked->ignored.begin(), asked->ignored.end()};
        return look_at(asked->a, [&] { return run_diff(*asked); });
    });
}

} // namespace chainbase::inspect
