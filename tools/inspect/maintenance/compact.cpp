#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/offline/rows/type_layout.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/window.hpp>
#include <tools/inspect/compare/state_diff.hpp>
#include <tools/inspect/maintenance/rebuild.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>
#include <undo/undo_log.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::inspect {

namespace {

/// Allocated bytes of one part of a segment, now and after rebuilding it.
struct compacted_part {
    std::string name;
    std::uint64_t before = 0;
    std::uint64_t after = 0; ///< estimated from its counts
};
BOOST_DESCRIBE_STRUCT(compacted_part, (), (name, before, after))

constexpr std::uint64_t page = window_header::page_bytes;

std::uint64_t whole_pages(std::uint64_t bytes) {
    return (bytes + page - 1) / page * page;
}

/// A pool uses one slot for itself.
std::uint64_t pool_bytes(std::uint64_t live, std::uint64_t slot_bytes) {
    return page + whole_pages((live + 1) * slot_bytes);
}

/// Tables keep a fifth free. An area's offset equals its length; the header page and a hole precede
/// it.
std::uint64_t table_bytes(std::uint64_t entries) {
    std::uint64_t capacity = std::uint64_t{1} << hash_table::min_log2;
    while (entries > capacity - capacity / 5)
        capacity *= 2;
    return page + hash_table::entry_bytes * capacity;
}

std::uint64_t type_bytes(const type_report& type, const type_schema& schema,
                         const type_windows& windows) {
    // Ids in use keep their pages.
    const std::uint64_t ids = page + whole_pages(type.next_id * sizeof(slot_number));
    std::uint64_t bytes =
        pool_bytes(type.objects, type.node_bytes) + std::min(ids, type.ids.held());
    for (const rows::type_layout::table& table : rows::type_layout::of(schema).tables)
        bytes +=
            table_bytes(rows::copy_at<hash_state>(windows.objects->root() + table.words_at).used);
    for (const auto& tree : windows.btrees)
        bytes += pool_bytes(btree::state_in(*tree).nodes.live - 1, sizeof(btree_node));
    return bytes;
}

/// Types first, then "buffers", "undo log" and "header"; the last is the sum, "total". `from` is
/// the state's segment, open for reading.
std::vector<compacted_part> compact_estimate(const state_report& state, const segment& from) {
    std::vector<compacted_part> all;
    for (std::size_t number = 0; number < state.types.size(); ++number) {
        const type_report& type = state.types[number];
        all.push_back(
            {type.name, type.total().held(),
             type_bytes(type, from.types().entries()[number].schema, *from.windows()[number])});
    }
    compacted_part buffers{"buffers"};
    for (const buffer_report& one : state.buffers) {
        const std::uint64_t live = one.memory.bytes.slots_live;
        buffers.before += one.memory.held();
        const bool is_class = one.name != "buffers.runs";
        buffers.after += live == 0  ? page
                         : is_class ? pool_bytes(live, one.slot_bytes)
                                    : page + live * page;
    }
    all.push_back(buffers);
    all.push_back({"undo log", state.log.held(), page + undo_log_view::chunk_bytes});
    all.push_back({"header", state.header.file_bytes, state.header.file_bytes});
    compacted_part total{"total"};
    for (const compacted_part& one : all) {
        total.before += one.before;
        total.after += one.after;
    }
    all.push_back(total);
    return all;
}

struct compact_call : state_call {
    bool only_tells = false;
    bool commits = false;
};

std::string compact_text(const std::vector<compacted_part>& parts, bool is_done) {
    text_table table(
        {"", is_done ? "bytes before" : "bytes now", is_done ? "after" : "then, about"});
    for (const compacted_part& one : parts) {
        if (&one == &parts.back()) table.rule();
        table.add({one.name, bytes_in_words(one.before), bytes_in_words(one.after)});
    }
    return table.text();
}

std::string compact_json(const compact_call& asked, const std::vector<compacted_part>& parts,
                         bool is_done) {
    return line_of({{"schema_version", 1},
                    {"state", asked.state},
                    {"done", is_done},
                    {"parts", json_of(parts)}}) +
           "\n";
}

void require_nothing_to_undo(const state_report& state, const compact_call& asked) {
    if (state.sessions != 0 && !asked.commits && !asked.only_tells)
        throw usage_error(fmt::format("{}: {} block(s) after revision {} can still be undone, "
                                      "but not after compacting; commit them in the program, or "
                                      "call again with --commit, which keeps their changes for "
                                      "good",
                                      asked.state, state.sessions, state.irreversible_revision));
}

/// Copies all types, in order, with all objects.
void copy_all(bulk_load::new_state& to, row_source& from) {
    progress shown("copying", "objects");
    from.take_turn([&] {
        std::uint64_t all = 0, before = 0;
        for (const type_schema* schema : from.types())
            all += from.of(schema->name).slots().next_id();
        for (const type_schema* schema : from.types()) {
            const rows::type_rows rows = from.of(schema->name);
            bulk_load::object_loader loader = to.add_type(*schema);
            loader.add_all(rows, [&](std::uint32_t id) { shown.advance(before + id, all); });
            before += rows.slots().next_id();
            if (loader.objects() != rows.slots().live())
                throw damaged_error(schema->name +
                                    ": its ids lead to fewer objects than it has, so nothing was "
                                    "changed; run chainbase-inspect check");
            finish(loader, rows.slots().next_id(), bulk_load::orders_of(rows), from.state());
        }
        to.close(from.revision());
    });
}

void require_same(const std::filesystem::path& made, row_source& from) {
    row_source copy(made);
    if (state_diff::of(from, copy, {{}, {}, 1}).is_same()) return;
    throw damaged_error(from.state().string() +
                        ": the new segment does not have the same objects, so nothing was "
                        "changed; run chainbase-inspect check");
}

/// Copying a damaged state would lose unreachable objects for good.
void require_whole(const std::string& state) {
    progress shown("checking");
    const check::state_check found(state, shown.as_callback());
    if (found.report().found_in_all() == 0) return;
    throw damaged_error(state +
                        ": is not sound, so nothing was changed (chainbase-inspect repair):\n" +
                        first_findings(found.report(), 3));
}

void compact(const compact_call& asked) {
    const catch_interruption interruption;
    bulk_load::segment_replacement replacement(asked.state);
    require_whole(asked.state);
    {
        row_source from(asked.state);
        from.read_all(/*and_keys=*/true);
        bulk_load::new_state made(replacement.folder(), replacement.limits());
        copy_all(made, from);
        require_same(replacement.folder(), from);
    }
    require_sound(replacement.folder());
    if (catch_interruption::caught()) throw interrupted_error("stopped; nothing was changed");
    replacement.replace();
}

std::vector<compacted_part> estimate_of(const state_report& state) {
    open_options reading;
    reading.mode = open_mode::read_only;
    return compact_estimate(state, segment(state.state, reading));
}

exit_code run_compact(const compact_call& asked) {
    const state_report before = read_state(asked.state);
    require_at_rest(before);
    require_nothing_to_undo(before, asked);
    std::vector<compacted_part> parts = estimate_of(before);
    if (!asked.only_tells) {
        compact(asked);
        renew_checkpoint(asked.state);
        const std::vector<compacted_part> after = estimate_of(read_state(asked.state));
        for (std::size_t number = 0; number < parts.size(); ++number)
            parts[number].after = after[number].before;
    }
    const bool is_done = !asked.only_tells;
    print_or_throw(asked.json ? compact_json(asked, parts, is_done) : compact_text(parts, is_done));
    return exit_code::done;
}

} // namespace

void declare_compact(command& verb) {
    const auto asked = declare_look<compact_call>(verb, run_compact);
    verb.add_flag("--dry-run", asked->only_tells, "Only show what compacting would free");
    verb.add_flag("--commit", asked->commits,
                  "Compact even if blocks can still be undone; keeps their changes for good");
    verb.add_flag("--json", asked->json, "Print one JSON object instead of a table");
}

} // namespace chainbase::inspect
