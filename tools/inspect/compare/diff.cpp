#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/compare/state_diff.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/state/bookkeeping.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

namespace {

/// The rows of a type by id; or none, if there is no such type.
class row_stream {
public:
    using row = merged_rows::row;

    row_stream(row_source& from, const std::string& type, const archive::store* archive) {
        bool is_there = false;
        from.take_turn([&] {
            for (const type_schema* schema : from.types())
                is_there = is_there || schema->name == type;
        });
        if (is_there) rows_.emplace(from, row_query{type, "id", {}, {}, {}, false}, archive);
    }

    [[nodiscard]] bool has_type() const noexcept { return rows_.has_value(); }
    [[nodiscard]] std::vector<std::string> fields() const {
        return rows_ ? rows_->names() : std::vector<std::string>();
    }
    /// The next one, null behind the last.
    [[nodiscard]] const row* next() { return rows_ ? rows_->next() : nullptr; }
    void pop() { rows_->pop(); }

private:
    std::optional<merged_rows> rows_;
};

/// A state, and its archive if that is asked for and there.
struct side {
    side(row_source& state, bool has_archive)
        : from(state), archive(has_archive ? open_whole_archive(state) : nullptr) {}

    row_source& from;
    std::unique_ptr<archive::store> archive;
};

/// Compares two streams of one type.
class type_comparison {
public:
    type_comparison(const side& a, const side& b, const std::string& type,
                    const state_diff::question& asked, std::vector<state_diff::row>& to)
        : a_(a.from, type, a.archive.get()), b_(b.from, type, b.archive.get()), asked_(asked),
          to_(to) {
        found_.name = type;
        found_.is_in_a = a_.has_type();
        found_.is_in_b = b_.has_type();
        match_fields();
    }

    state_diff::type run() {
        for (;;) {
            const row_stream::row* const a = a_.next();
            const row_stream::row* const b = b_.next();
            if (!a && !b) return std::move(found_);
            const bool takes_a = a && (!b || a->id <= b->id);
            const bool takes_b = b && (!a || b->id <= a->id);
            found_.rows_a += takes_a ? 1 : 0;
            found_.rows_b += takes_b ? 1 : 0;
            compare(takes_a ? a : nullptr, takes_b ? b : nullptr);
            if (takes_a) a_.pop();
            if (takes_b) b_.pop();
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
        const auto a = a_.fields();
        const auto b = b_.fields();
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

    void compare(const row_stream::row* a, const row_stream::row* b) {
        std::vector<std::string> fields;
        if (!a || !b) {
            ++(a ? found_.only_a : found_.only_b);
        } else {
            for (const pair_of_fields& field : fields_)
                if (a->cells[field.a] != b->cells[field.b]) fields.push_back(field.name);
            if (fields.empty()) return;
            ++found_.changed;
        }
        for (const std::string& field : fields)
            ++found_.fields[field];
        if (asked_.rows_limit != 0 && kept_++ >= asked_.rows_limit) return;
        to_.push_back({found_.name, a ? a->id : b->id, a ? a->json : "", b ? b->json : "",
                       std::move(fields), a && a->is_archived, b && b->is_archived});
    }

    row_stream a_;
    row_stream b_;
    const state_diff::question& asked_;
    std::vector<state_diff::row>& to_;
    state_diff::type found_;
    std::vector<pair_of_fields> fields_;
    std::uint64_t kept_ = 0;
};

/// With or without those of a state root.
std::set<std::string> names_in(row_source& from, bool has_root) {
    std::set<std::string> names;
    from.take_turn([&] {
        for (const type_schema* schema : from.types())
            if (has_root || !is_of_root(*schema)) names.insert(schema->name);
    });
    return names;
}

} // namespace

bool state_diff::type::is_same() const noexcept {
    return is_in_a == is_in_b && only_a == 0 && only_b == 0 && changed == 0 &&
           fields_of_one.empty();
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
    for (const std::string& name : names) {
        found.types.push_back(type_comparison(in_a, in_b, name, asked, found.rows).run());
        found.types.back().handed_over_a = handed_over_a[name];
        found.types.back().handed_over_b = handed_over_b[name];
    }
    return found;
}

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

void declare_diff(command& verb) {
    const auto asked = std::make_shared<diff_call>();
    verb.add_option("A", asked->a, "The folder of a state").required();
    verb.add_option("B", asked->b, "The folder of another one").required();
    verb.add_option("--type", asked->question.types, "Only these types");
    verb.add_option("--ignore-field", asked->ignored, "FIELD of all types, or TYPE.FIELD");
    verb.add_option("--limit", asked->question.rows_limit,
                    "Rows that are printed of each type at most; 0: all")
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
