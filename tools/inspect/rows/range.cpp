#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>

namespace chainbase::inspect {

namespace {

/// Prints rows of one type to stdout as they come: as a table, in parts, or as JSON lines, of which
/// the first one says what they are, and the last one that they are all:
///
///     {"schema_version": 1, "state", "type", "key", "revision", "rolled_back"}
///     {row}...                          with the archive: {"row": {row}, "archived": false}...
///     {"schema_version": 1, "rows": 2, "more": false}
class row_printer {
public:
    /// Takes a turn.
    row_printer(row_source& from, const std::string& type, const std::string& key, bool is_json)
        : is_json_(is_json) {
        json head;
        from.take_turn([&] {
            format_ = std::make_unique<row_format>(from.of(type).schema());
            head = {{"schema_version", 1},
                    {"state", from.state().string()},
                    {"type", type},
                    {"key", key},
                    {"revision", from.revision()},
                    {"rolled_back", from.is_rolled_back()}};
        });
        if (is_json_) text_ = line_of(head) + "\n";
    }
    /// For rows of memory and of the archive, each of which says where it is.
    void say_where() { says_where_ = true; }

    /// In a turn: keeps an object.
    void add(const std::byte* object, const rows::buffer_source& buffers) {
        ++rows_;
        if (!is_json_) return cells_.push_back(format_->cells(object, buffers));
        format_->append_json(text_, object, buffers);
        text_ += '\n';
    }
    /// Keeps a row, and where it is.
    void add(const merged_rows::row& one) {
        ++rows_;
        if (is_json_) {
            text_ += fmt::format("{{\"row\":{},\"archived\":{}}}\n", one.json, one.is_archived);
            return;
        }
        cells_.push_back(one.cells);
        cells_.back().push_back(one.is_archived ? "archive" : "memory");
    }
    /// After a turn: prints what is kept, when it is enough to be worth it. Throws io_error.
    void print_some() {
        constexpr std::size_t bytes_at_once = std::size_t{64} << 10;
        constexpr std::size_t rows_at_once = 1000; // of a table, whose columns fit these
        if (text_.size() >= bytes_at_once || cells_.size() >= rows_at_once) print();
    }
    /// Prints the rest. `more`: there are rows that were not asked for. Throws io_error.
    void finish(bool more) {
        if (is_json_)
            text_ += fmt::format("{{\"schema_version\":1,\"rows\":{},\"more\":{}}}\n", rows_, more);
        print();
    }

    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

private:
    void print() {
        if (!cells_.empty()) text_ += table();
        cells_.clear();
        print_or_throw(text_, "call again for the rest");
        text_.clear();
    }
    std::string table() {
        std::vector<std::string> titles = format_->names();
        const std::size_t fields = titles.size();
        if (says_where_) titles.push_back("where");
        text_table all(std::move(titles));
        for (std::size_t field = 0; field < fields; ++field)
            if (format_->is_text(field)) all.is_text(field);
        if (says_where_) all.is_text(fields);
        for (auto& row : cells_)
            all.add(std::move(row));
        return all.text();
    }

    bool is_json_;
    std::unique_ptr<row_format> format_;
    std::string text_; ///< JSON lines
    std::vector<std::vector<std::string>> cells_;
    std::uint64_t rows_ = 0;
    bool says_where_ = false;
};

struct range_call {
    std::string state;
    row_query query;
    std::uint64_t limit = 100;
    bool archive = false;
    bool json = false;
};

void add_query(command& verb, range_call& asked) {
    verb.add_option("DIR", asked.state, "The folder of the state").required();
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

/// Rows of both places, in one order.
exit_code run_merged_range(const range_call& asked) {
    row_source from(asked.state);
    const auto archive = open_whole_archive(from);
    merged_rows rows(from, asked.query, archive.get());
    row_printer printer(from, asked.query.type, asked.query.key, asked.json);
    printer.say_where();
    const merged_rows::row* one = rows.next();
    for (; one && (asked.limit == 0 || printer.rows() < asked.limit); one = rows.next()) {
        printer.add(*one);
        printer.print_some();
        rows.pop();
    }
    printer.finish(one != nullptr);
    warn_if_moved(rows, asked);
    return exit_code::done;
}

exit_code run_range(const range_call& asked) {
    if (asked.archive) return run_merged_range(asked);
    row_source from(asked.state);
    const auto cursor = asked.query.cursor(from);
    row_printer printer(from, asked.query.type, asked.query.key, asked.json);
    bool more = false;
    scan(
        from, asked.query.type, *cursor,
        [&](const rows::type_rows& of, slot_number slot) {
            more = asked.limit != 0 && printer.rows() == asked.limit;
            if (!more) printer.add(of.slots().value(slot), of.buffers());
            return !more;
        },
        [&] { printer.print_some(); });
    printer.finish(more);
    if (more && !asked.json)
        spdlog::info("there are more than {}; --limit N shows N, --limit 0 all", asked.limit);
    return exit_code::done;
}

/// Of all the type itself keeps count; else they are gone through.
std::uint64_t count_rows(row_source& from, const row_query& query) {
    const auto cursor = query.cursor(from);
    std::uint64_t rows = 0;
    if (query.is_all())
        from.take_turn([&] { rows = from.of(query.type).slots().live(); });
    else
        scan(from, query.type, *cursor, [&](const rows::type_rows&, slot_number) {
            ++rows;
            return true;
        });
    return rows;
}

std::uint64_t count_merged(row_source& from, const range_call& asked) {
    const auto archive = open_whole_archive(from);
    merged_rows all(from, asked.query, archive.get());
    std::uint64_t rows = 0;
    for (; all.next(); all.pop())
        ++rows;
    warn_if_moved(all, asked);
    return rows;
}

exit_code run_count(const range_call& asked) {
    row_source from(asked.state);
    const std::uint64_t rows =
        asked.archive ? count_merged(from, asked) : count_rows(from, asked.query);
    const json report{{"schema_version", 1},
                      {"state", asked.state},
                      {"type", asked.query.type},
                      {"key", asked.query.key},
                      {"revision", from.current_revision()},
                      {"rows", rows}};
    print_or_throw(asked.json ? lines_of(report, 2) : grouped(rows) + "\n");
    return exit_code::done;
}

struct sample_call {
    std::string state;
    std::string type;
    std::uint64_t rows = 10;
    std::uint64_t seed = 1;
    bool json = false;
};

/// Ids of objects by trying them, in a turn; fewer than wanted when most ids are not in use any
/// more, or there are not as many.
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
    rows::id_cursor all;
    scan(from, asked.type, all, [&](const rows::type_rows& of, slot_number slot) {
        const std::uint32_t id = of.slots().id(slot);
        const std::uint64_t place = random() % ++seen;
        if (chosen.size() < asked.rows)
            chosen.push_back(id);
        else if (place < asked.rows)
            chosen[place] = id;
        return true;
    });
    return {chosen.begin(), chosen.end()};
}

std::set<std::uint32_t> choose(row_source& from, const sample_call& asked) {
    std::mt19937_64 random(asked.seed);
    std::set<std::uint32_t> found;
    from.take_turn([&] { found = try_ids(from.of(asked.type).slots(), asked, random); });
    return found.size() == asked.rows ? found : choose_of_all(from, asked, random);
}

exit_code run_sample(const sample_call& asked) {
    row_source from(asked.state);
    const std::set<std::uint32_t> chosen = choose(from, asked);
    row_printer printer(from, asked.type, "id", asked.json);
    for (const std::uint32_t id : chosen) {
        rows::id_cursor one(id, id); // may be gone meanwhile
        scan(
            from, asked.type, one,
            [&](const rows::type_rows& of, slot_number slot) {
                printer.add(of.slots().value(slot), of.buffers());
                return true;
            },
            [&] { printer.print_some(); });
    }
    printer.finish(false);
    return exit_code::done;
}

} // namespace

void declare_range(command& verb) {
    const auto asked = std::make_shared<range_call>();
    add_query(verb, *asked);
    verb.add_flag("--reverse", asked->query.is_reverse, "From the last one to the first");
    verb.add_option("--limit", asked->limit, "How many at most; 0: all").shows_default();
    verb.add_flag("--json", asked->json, "Print JSON lines");
    verb.runs([asked] { return look_at(asked->state, [&] { return run_range(*asked); }); });
}

void declare_count(command& verb) {
    const auto asked = std::make_shared<range_call>();
    add_query(verb, *asked);
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] { return look_at(asked->state, [&] { return run_count(*asked); }); });
}

void declare_sample(command& verb) {
    const auto asked = std::make_shared<sample_call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_option("TYPE", asked->type, "The name of a type (`schema` lists them)").required();
    verb.add_option("--rows", asked->rows, "How many at most")
        .shows_default()
        .whole_number(1, 1'000'000);
    verb.add_option("--seed", asked->seed, "Another one chooses others").shows_default();
    verb.add_flag("--json", asked->json, "Print JSON lines");
    verb.runs([asked] { return look_at(asked->state, [&] { return run_sample(*asked); }); });
}

} // namespace chainbase::inspect
