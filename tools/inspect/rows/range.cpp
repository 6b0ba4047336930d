#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_printer.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_scan.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

namespace chainbase::inspect {

namespace {

struct range_call {
    std::string state;
    row_query query;
    std::uint64_t limit = 100;
    bool archive = false;
    bool json = false;
};

void add_query(command& verb, call& asked) {
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
    row_printer printer(from, asked.query.type, asked.query.key,
                        asked.json ? row_printer::form::json_lines : row_printer::form::table);
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
    row_printer printer(from, asked.query.type, asked.query.key,
                        asked.json ? row_printer::form::json_lines : row_printer::form::table);
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
    const nlohmann::ordered_json report{{"schema_version", 1},
                                        {"state", asked.state},
                                        {"type", asked.query.type},
                                        {"key", asked.query.key},
                                        {"revision", from.current_revision()},
                                        {"rows", rows}};
    print_or_throw(
        asked.json
            ? report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"
            : grouped(rows) + "\n");
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

} // namespace chainbase::inspect
