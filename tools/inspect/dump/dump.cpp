#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/dump/dump_file.hpp>
#include <tools/inspect/maintenance/repair_plan.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace chainbase::inspect {

namespace {

constexpr std::size_t bytes_at_once = std::size_t{256} << 10;

struct dump_call : state_call {
    std::vector<std::string> types;
    std::string output;
    bool resume = false;
    bool rescues = false;
    bool archive = false;
};

/// The head for all requested types. `changes`: the state's counter of changes at that moment.
dump_head head_of(row_source& from, const dump_call& asked, std::uint64_t& changes) {
    dump_head head;
    from.take_turn([&] {
        head.types.clear();
        std::set<std::string> names(asked.types.begin(), asked.types.end());
        if (names.empty())
            for (const type_schema* schema : from.types())
                names.insert(schema->name);
        for (const std::string& name : names) {
            const rows::type_rows of = from.of(name);
            head.types.push_back({of.schema(), of.slots().next_id()});
        }
        head.revision = from.revision();
        changes = from.changes();
    });
    head.has_archive = asked.archive;
    return head;
}

/// Writes the rows of types, one after the other.
class dumper {
public:
    /// `changes`: those of the moment that the head is of.
    dumper(row_source& from, std::uint64_t changes, dump_file& to, std::uint64_t ids, bool prints)
        : from_(from), changes_(changes), to_(to), ids_(ids), shown_("dumping", "rows", prints) {}

    /// From id `first`.
    void write(const type_schema& schema, std::uint32_t first) {
        const row_format format(schema);
        const std::string begin = fmt::format("{{{}:", line_of(schema.name));
        struct batch {
            std::string lines;
            std::uint64_t rows = 0;
        };
        std::unique_ptr<rows::row_cursor> all = std::make_unique<rows::id_cursor>(first);
        scan<batch>(
            from_, schema.name, all,
            [&](batch& to, const rows::type_rows& of, slot_number slot) {
                to.lines += begin;
                format.append_json(to.lines, of.slots().value(slot), of.buffers());
                to.lines += "}\n";
                ++to.rows;
                return true;
            },
            [&](const batch& from) {
                lines_ += from.lines;
                rows_ += from.rows;
                write_if(bytes_at_once);
            });
        write_keys(schema);
    }
    /// As above, for memory and `archive`, which may be null.
    void write_merged(const type_schema& schema, std::uint32_t first,
                      const archive::store* archive) {
        const std::string name = line_of(schema.name);
        row_query asked{schema.name, "id", {}, {std::to_string(first)}, {}, false};
        merged_rows all(from_, asked, archive);
        for (; const merged_rows::row* const one = all.next(); all.pop()) {
            lines_ += fmt::format("{{{}:{}{}}}\n", name, one->text.json,
                                  one->is_archived ? ",\"archived\":true" : "");
            ++rows_;
            write_if(bytes_at_once);
        }
        has_moved_ = has_moved_ || all.has_moved();
    }
    /// Writes the last line. `before`: rows written by an earlier call.
    void finish(std::uint64_t before, std::int64_t revision, bool has_moved) {
        lines_ += fmt::format("{{\"schema_version\":1,\"rows\":{},\"revision\":{},\"moved\":{},"
                              "\"complete\":true}}\n",
                              before + rows_, revision, has_moved_ || has_moved);
        write_if(0);
        to_.finish();
    }

private:
    /// The order of another moment would not match the rows; and it is read in one turn, of which a
    /// snapshot keeps all pages.
    void write_keys(const type_schema& schema) {
        const std::string keys = computed_keys(schema);
        if (keys.empty()) return;
        bool is_same = false;
        bulk_load::key_orders orders;
        from_.take_turn([&] {
            is_same = from_.changes() == changes_ && !file_lock::is_held(from_.state() / "lock");
            if (!is_same) return;
            orders = bulk_load::orders_of(from_.of(schema.name), bulk_load::which_keys::computed);
        });
        if (!is_same) {
            spdlog::warn("{} of {}: a function of the program determines the order, which is not "
                         "in the dump because a process has the state open for writing, or had; "
                         "load cannot make a state of this dump",
                         keys, schema.name);
            return;
        }
        write_orders(schema.name, orders, [&](std::string_view line) {
            lines_ += line;
            lines_ += '\n';
        });
        write_if(bytes_at_once);
    }

    void write_if(std::size_t enough) {
        shown_.show(rows_, ids_);
        if (lines_.size() >= enough) {
            to_.write(lines_);
            lines_.clear();
        }
        if (catch_interruption::caught()) {
            to_.write(lines_);
            to_.finish();
            throw interrupted_error("stopped; the same call with --output and --resume goes on");
        }
    }

    row_source& from_;
    std::uint64_t changes_;
    dump_file& to_;
    std::uint64_t ids_; ///< at least as many as there are rows
    progress shown_;
    std::string lines_;
    std::uint64_t rows_ = 0;
    bool has_moved_ = false;
};

/// The output file of a dump; `found` describes an existing one.
dump_file opened(const dump_call& asked, const dump_file::standing& found) {
    if (asked.output.empty()) return {};
    return asked.resume ? dump_file(asked.output, found) : dump_file(asked.output);
}

exit_code run_dump(const dump_call& asked) {
    if (asked.resume && asked.output.empty())
        throw usage_error("--resume goes on with a file; name it with --output");
    if (asked.rescues) return rescue_to(asked.output, asked.state, asked.types);
    row_source from(asked.state);
    std::uint64_t changes = 0;
    dump_head head = head_of(from, asked, changes);
    dump_file::standing found;
    if (asked.resume) {
        found = dump_file::progress_of(asked.output);
        const dump_head begun = dump_head::of(found.head, asked.output);
        if (!begun.has_types_of(head) || begun.has_archive != head.has_archive)
            throw usage_error(asked.output +
                              ": a dump of other types than these; choose another file");
        head = begun;
    }
    if (found.is_complete) {
        spdlog::info("{} is whole", asked.output);
        return exit_code::done;
    }
    if (asked.types.empty()) from.read_all(/*and_keys=*/true);
    dump_file file = opened(asked, found);
    if (!asked.resume) file.write(head.line());
    const catch_interruption interruption(catch_interruption::further_signals::end_the_process);
    std::uint64_t ids = 0;
    for (const dump_head::type& type : head.types)
        ids += type.next_id;
    dumper rows(from, changes, file, ids, asked.output.empty());
    const bool has_writer = file_lock::is_held(from.state() / "lock");
    const auto archive = asked.archive ? open_whole_archive(from) : nullptr;
    for (const dump_head::type& type : head.types) {
        const std::string& name = type.schema.name;
        if (name < found.type) continue;
        const std::uint32_t first = name == found.type ? found.id + 1 : 0;
        if (asked.archive)
            rows.write_merged(type.schema, first, archive.get());
        else
            rows.write(type.schema, first);
    }
    const std::int64_t revision = from.revision();
    // It may have changed before the dump was resumed, and changed back.
    const bool has_moved =
        changes != from.changes() || revision != head.revision || (asked.resume && has_writer);
    rows.finish(found.rows, revision, has_moved);
    return exit_code::done;
}

} // namespace

void declare_dump(command& verb) {
    const auto asked = declare_look<dump_call>(verb, run_dump);
    verb.add_option("TYPE", asked->types, "Only these types");
    verb.add_option("--output", asked->output, "Write to this file in place of stdout")
        .value_name("FILE");
    command_option& resume = verb.add_flag("--resume", asked->resume, "Go on where the file ends");
    command_option& archive =
        verb.add_flag("--archive", asked->archive, "Also objects that are in the archive only");
    verb.add_flag("--rescue", asked->rescues,
                  "Dump what can still be read of a damaged state, and list what cannot")
        .excludes(resume)
        .excludes(archive);
}

} // namespace chainbase::inspect
