#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

namespace {

// --- get -----------------------------------------------------------------------------------------

struct get_call : state_call {
    std::string type;
    std::string key;
    std::vector<std::string> parts;
};

/// Rows of memory and of the archive.
struct answer {
    found_rows in_memory;
    std::vector<found_row> archived;
    bool is_archive_asked = false;
    bool is_rolled_back = false;

    [[nodiscard]] bool is_empty() const noexcept {
        return in_memory.rows.empty() && archived.empty();
    }
};

answer look_up(const get_call& asked) {
    answer found;
    row_source from(asked.state);
    found.is_rolled_back = from.is_rolled_back();
    found.in_memory = find_rows(from, asked.type, asked.key, asked.parts);
    if (found.in_memory.is_unique && !found.in_memory.rows.empty()) return found;
    if (auto archived = find_archived(from, asked.type, asked.key, asked.parts)) {
        found.is_archive_asked = true;
        found.archived = *std::move(archived);
    }
    return found;
}

/// Prints rows unparsed: parsing could change their numbers.
std::string get_json(const get_call& asked, const answer& found) {
    const auto list = [&](const std::vector<found_row>& rows) {
        std::vector<std::string> all;
        for (const found_row& row : rows)
            all.push_back(row.text.json);
        return fmt::format("[{}]", fmt::join(all, ","));
    };
    return line_with(
               {{"schema_version", 1},
                {"state", asked.state},
                {"type", asked.type},
                {"key", asked.key},
                {"revision", found.in_memory.revision},
                {"rolled_back", found.is_rolled_back}},
               {{"rows", list(found.in_memory.rows)}, {"archived_rows", list(found.archived)}}) +
           "\n";
}

/// One field a line.
std::string columns_text(const row_format& format, const row_text& row) {
    const std::vector<std::string> names = format.names();
    std::size_t width = 0;
    for (const std::string& name : names)
        width = std::max(width, name.size());
    std::string text;
    for (std::size_t field = 0; field < names.size(); ++field) {
        std::string_view value = format.value(row, field);
        if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
        text += fmt::format("{:<{}}  {}\n", names[field], width, value);
    }
    return text;
}

/// Rows separated by an empty line; archived ones are marked.
std::string get_text(const answer& found) {
    std::string text;
    for (const auto* rows : {&found.in_memory.rows, &found.archived})
        for (const found_row& row : *rows) {
            if (!text.empty()) text += '\n';
            text += columns_text(*found.in_memory.format, row.text);
            if (row.is_archived) text += "(in the archive)\n";
        }
    return text;
}

exit_code run_get(const get_call& asked) {
    const answer found = look_up(asked);
    warn_if_rolled_back(found.is_rolled_back, asked.state, found.in_memory.revision);
    print_or_throw(asked.json ? get_json(asked, found) : get_text(found));
    if (!found.is_empty()) return exit_code::done;
    spdlog::error("{}: no {} has {} {}{}; `range {} {} id` lists those that are there", asked.state,
                  asked.type, asked.key, fmt::join(asked.parts, " "),
                  found.is_archive_asked
                      ? ", in memory or in the archive"
                      : " in memory (the archive has no rows of this type by this key)",
                  asked.state, asked.type);
    return exit_code::failed;
}

// --- range, count, sample ------------------------------------------------------------------------

/// Streams rows of one type to stdout: as a table, or as JSON lines between a head and an end line:
///
///     {"schema_version": 1, "state", "type", "key", "revision", "rolled_back"}
///     {row}...                          with the archive: {"row": {row}, "archived": false}...
///     {"schema_version": 1, "rows": 2, "more": false}
class row_printer {
public:
    /// Takes a turn. `says_where`: each row says whether it is from memory or the archive.
    row_printer(row_source& from, const row_query& query, bool is_json, bool says_where = false)
        : is_json_(is_json), says_where_(says_where) {
        json head;
        from.take_turn([&] {
            format_ = std::make_unique<row_format>(from.of(query.type).schema());
            head = {{"schema_version", 1},         {"state", from.state().string()},
                    {"type", query.type},          {"key", query.key},
                    {"revision", from.revision()}, {"rolled_back", from.is_rolled_back()}};
        });
        if (is_json_)
            text_ = line_of(head) + "\n";
        else
            table_.emplace(table());
    }

    void add(const found_row& one) {
        ++rows_;
        if (is_json_) {
            if (says_where_)
                text_ +=
                    fmt::format("{{\"row\":{},\"archived\":{}}}\n", one.text.json, one.is_archived);
            else
                text_.append(one.text.json) += '\n';
            return;
        }
        std::vector<std::string> cells = format_->cells_of(one.text);
        if (says_where_) cells.emplace_back(one.is_archived ? "archive" : "memory");
        table_->add(std::move(cells));
        ++kept_rows_;
    }
    /// After a turn: prints the buffered rows when there are enough. Throws io_error.
    void print_some() {
        constexpr std::size_t bytes_at_once = std::size_t{64} << 10;
        // of a table, whose column widths are those so far
        constexpr std::size_t rows_at_once = 1000;
        if (text_.size() >= bytes_at_once || kept_rows_ >= rows_at_once) print();
    }
    /// Prints the rest. `more`: further rows were not requested. Throws io_error.
    void finish(bool more) {
        if (is_json_)
            text_ += fmt::format("{{\"schema_version\":1,\"rows\":{},\"more\":{}}}\n", rows_, more);
        print();
    }

    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

private:
    void print() {
        if (kept_rows_ != 0) text_ += table_->next_part();
        kept_rows_ = 0;
        print_or_throw(text_, "call again for the rest");
        text_.clear();
    }
    /// A table without rows.
    [[nodiscard]] text_table table() const {
        std::vector<std::string> titles = format_->names();
        const std::size_t fields = titles.size();
        if (says_where_) titles.push_back("where");
        text_table all(std::move(titles));
        for (std::size_t field = 0; field < fields; ++field)
            if (format_->is_text(field)) all.is_text(field);
        if (says_where_) all.is_text(fields);
        return all;
    }

    bool is_json_;
    bool says_where_;
    std::unique_ptr<row_format> format_;
    std::string text_; ///< JSON lines
    std::optional<text_table> table_;
    std::size_t kept_rows_ = 0; ///< in the table
    std::uint64_t rows_ = 0;
};

struct range_call : state_call {
    row_query query;
    std::uint64_t limit = 100;
    bool archive = false;
};

void add_query(command& verb, range_call& asked) {
    verb.add_option("TYPE", asked.query.type, "The name of a type (`schema` lists them)")
        .required();
    verb.add_option("KEY", asked.query.key, "The name of one of its ordered keys").shows_default();
    verb.add_option("PART", asked.query.only,
                    "Leading parts of the key: only objects that have them");
    verb.add_option("--from", asked.query.from,
                    "Begin with this key (the parts after PART...), or the next one there is");
    verb.add_option("--to", asked.query.to, "End with this key, and all that begin with it");
    verb.add_flag("--archive", asked.archive, "Also objects that are in the archive only");
}

void warn_if_moved(merged_rows& rows, const range_call& asked) {
    if (rows.has_moved())
        spdlog::warn("{}: objects left memory for the archive meanwhile; some of them may be "
                     "missing, so call again",
                     asked.state);
}

void run_range(const range_call& asked) {
    row_source from(asked.state);
    const auto archive = asked.archive ? open_whole_archive(from) : nullptr;
    merged_rows rows(from, asked.query, archive.get());
    row_printer printer(from, asked.query, asked.json, asked.archive);
    const std::uint64_t changes = from.changes();
    const found_row* one = rows.next();
    for (; one && (asked.limit == 0 || printer.rows() < asked.limit); one = rows.next()) {
        printer.add(*one);
        printer.print_some();
        rows.pop();
    }
    printer.finish(one != nullptr);
    if (from.changes() != changes)
        spdlog::warn("{}: the state went on and the block that was read could not be kept, so the "
                     "rows are of several blocks",
                     asked.state);
    if (printer.rows() == 0 && !asked.json)
        spdlog::info("{}: no {} in this range of {} is in memory{}", asked.state, asked.query.type,
                     asked.query.key, asked.archive ? " or in the archive" : "");
    if (one && !asked.json)
        spdlog::info("there are more than {}; --limit N shows N, --limit 0 all", asked.limit);
    warn_if_moved(rows, asked);
}

/// The type counts all its objects in memory; otherwise visits them.
std::uint64_t count_rows(row_source& from, const range_call& asked) {
    std::uint64_t rows = 0;
    const row_query& query = asked.query;
    if (asked.archive) {
        const auto archive = open_whole_archive(from);
        merged_rows all(from, query, archive.get());
        for (; all.next(); all.pop())
            ++rows;
        warn_if_moved(all, asked);
        return rows;
    }
    auto cursor = query.cursor(from);
    if (query.is_all())
        from.take_turn([&] { rows = from.of(query.type).slots().live(); });
    else
        scan<std::uint64_t>(
            from, query.type, cursor,
            [](std::uint64_t& seen, const rows::type_rows&, slot_number) {
                ++seen;
                return true;
            },
            [&](std::uint64_t seen) { rows += seen; });
    return rows;
}

void run_count(const range_call& asked) {
    row_source from(asked.state);
    const std::uint64_t rows = count_rows(from, asked);
    const json report{{"schema_version", 1},         {"state", asked.state},
                      {"type", asked.query.type},    {"key", asked.query.key},
                      {"revision", from.revision()}, {"rows", rows}};
    print_or_throw(asked.json ? lines_of(report, 2) : grouped(rows) + "\n");
}

struct sample_call : state_call {
    std::string type;
    std::uint64_t rows = 10;
    std::uint64_t seed = 1;
};

/// Picks random ids in a turn; fewer than wanted when most ids are unused, or there are too few.
std::set<std::uint32_t> try_ids(const rows::slot_reader& slots, const sample_call& asked,
                                std::mt19937_64& random) {
    constexpr std::uint64_t tries_each = 16;
    std::set<std::uint32_t> found;
    if (slots.next_id() == 0) return found;
    std::uniform_int_distribution<std::uint32_t> any(0, slots.next_id() - 1);
    for (std::uint64_t tries = 0; tries < tries_each * asked.rows; ++tries) {
        if (found.size() == asked.rows) break;
        const std::uint32_t id = any(random);
        if (slots.slot_of(id) != 0) found.insert(id);
    }
    return found;
}

/// Vitter's reservoir ("Random Sampling with a Reservoir", 1985, algorithm R): one pass over all.
std::set<std::uint32_t> choose_of_all(row_source& from, const sample_call& asked,
                                      std::mt19937_64& random) {
    std::vector<std::uint32_t> chosen;
    std::uint64_t seen = 0;
    using ids = std::vector<std::uint32_t>;
    std::unique_ptr<rows::row_cursor> all = std::make_unique<rows::id_cursor>();
    const auto read = [](ids& found, const rows::type_rows& of, slot_number slot) {
        found.push_back(of.slots().id(slot));
        return true;
    };
    const auto take = [&](const ids& found) {
        for (const std::uint32_t id : found) {
            const std::uint64_t place = random() % ++seen;
            if (chosen.size() < asked.rows)
                chosen.push_back(id);
            else if (place < asked.rows)
                chosen[place] = id;
        }
    };
    scan<ids>(from, asked.type, all, read, take);
    return {chosen.begin(), chosen.end()};
}

std::set<std::uint32_t> choose(row_source& from, const sample_call& asked) {
    std::mt19937_64 random(asked.seed);
    std::set<std::uint32_t> found;
    from.take_turn([&] {
        random.seed(asked.seed);
        found = try_ids(from.of(asked.type).slots(), asked, random);
    });
    return found.size() == asked.rows ? found : choose_of_all(from, asked, random);
}

void run_sample(const sample_call& asked) {
    row_source from(asked.state);
    const std::set<std::uint32_t> chosen = choose(from, asked);
    row_printer printer(from, row_query{asked.type, "id", {}, {}, {}, false}, asked.json);
    for (const std::uint32_t id : chosen) {
        const std::string word = std::to_string(id);
        merged_rows one(from, row_query{asked.type, "id", {word}, {}, {}, false}, nullptr);
        if (const found_row* const found = one.next()) printer.add(*found); // else it is gone
        printer.print_some();
    }
    printer.finish(false);
    if (printer.rows() == 0 && !asked.json)
        spdlog::info("{}: no {} is in memory", asked.state, asked.type);
}

} // namespace

void declare_get(command& verb) {
    const auto asked = declare_look<get_call>(verb, run_get);
    verb.add_option("TYPE", asked->type, "The name of a type (`schema` lists them)").required();
    verb.add_option("KEY", asked->key, "The name of one of its keys, or id").required();
    verb.add_option("PART", asked->parts, "The parts of the key, in order").required();
    verb.add_flag("--json", asked->json, "Print one JSON object");
}

void declare_range(command& verb) {
    const auto asked = declare_look<range_call>(verb, run_range);
    add_query(verb, *asked);
    verb.add_flag("--reverse", asked->query.is_reverse, "From the last one to the first");
    verb.add_option("--limit", asked->limit, "How many at most; 0: all").shows_default();
    verb.add_flag("--json", asked->json, "Print JSON lines");
}

void declare_count(command& verb) {
    const auto asked = declare_look<range_call>(verb, run_count);
    add_query(verb, *asked);
    verb.add_flag("--json", asked->json, "Print one JSON object");
}

void declare_sample(command& verb) {
    const auto asked = declare_look<sample_call>(verb, run_sample);
    verb.add_option("TYPE", asked->type, "The name of a type (`schema` lists them)").required();
    verb.add_option("--rows", asked->rows, "How many at most")
        .shows_default()
        .whole_number(1, 1'000'000);
    verb.add_option("--seed", asked->seed, "Seed of the random choice").shows_default();
    verb.add_flag("--json", asked->json, "Print JSON lines");
}

} // namespace chainbase::inspect
