#include <chainbase/bulk_load/new_state.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/dump/dump_reader.hpp>
#include <tools/inspect/dump/load.hpp>
#include <tools/inspect/dump/unfinished_state.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/rows/row_reader.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

namespace chainbase::inspect {

namespace {

using nlohmann::ordered_json;

struct load_call {
    std::string state;
    std::string dump = "-";
    std::string readers_group;
    bool takes_moved = false;
    bool json = false;
};

void load_rows(dump_reader& from, row_reader& reader, bulk_load::object_loader& to) {
    while (const nlohmann::json* row = from.next_row(to.schema().name)) {
        if (catch_interruption::noted())
            throw interrupted_error("stopped; nothing was made, call again");
        try {
            to.add(reader.read(*row), reader);
        } catch (const usage_error& problem) {
            throw damaged_error(from.place() + ": " + problem.what() +
                                "; mend the line, or make the dump again");
        }
    }
}

/// Returns how many objects it has.
std::uint64_t load_type(dump_reader& from, const dump_head::type& type, bulk_load::new_state& to) {
    row_reader reader(type.schema);
    bulk_load::object_loader loader = to.add_type(type.schema);
    load_rows(from, reader, loader);
    const bulk_load::key_orders orders = from.orders(type.schema.name);
    try {
        loader.finish(type.next_id, orders);
    } catch (const usage_error& problem) {
        throw damaged_error(from.place() + ": " + problem.what() +
                            "; dump the state while no process has it open for writing");
    }
    return loader.objects();
}

/// Whether a life cycle handed objects over: what it keeps of a type is called after that.
bool needs_archive(const dump_head& head) {
    return std::ranges::any_of(head.types, [](const dump_head::type& one) {
        return one.schema.name.ends_with(".retired") && one.next_id != 0;
    });
}

exit_code run_load(const load_call& asked) {
    dump_reader from(asked.dump);
    if (from.head().has_archive)
        throw damaged_error(from.place() + ": a dump with rows of the archive, which are not to be "
                                           "in memory; dump without --archive, and copy the folder "
                                           "archive of the state");
    unfinished_state made(asked.state, asked.readers_group);
    const catch_interruption interruption;
    ordered_json types = ordered_json::array();
    std::uint64_t objects = 0;
    bulk_load::new_state::limits limits;
    limits.readers_group = asked.readers_group;
    bulk_load::new_state state(made.path(), limits);
    for (const dump_head::type& type : from.head().types) {
        const std::uint64_t rows = load_type(from, type, state);
        types.push_back({{"name", type.schema.name}, {"rows", rows}});
        objects += rows;
    }
    const dump_reader::tail tail = from.end();
    if (tail.moved && !asked.takes_moved)
        throw damaged_error(from.place() + ": the state went on while it was dumped, so the rows "
                                           "are of different blocks; dump it while no process has "
                                           "it open for writing, or take them as they are "
                                           "(--moved)");
    state.close(tail.revision);
    made.finish();
    if (needs_archive(from.head()))
        spdlog::info(
            "the rows of the archive are not part of a dump: copy the folder archive of the "
            "state that was dumped into {}",
            asked.state);
    const ordered_json report{{"schema_version", 1},
                              {"state", asked.state},
                              {"revision", tail.revision},
                              {"rows", objects},
                              {"types", types}};
    print_or_throw(asked.json
                       ? report.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n"
                       : fmt::format("{}: {} objects of {} types, revision {}\n", asked.state,
                                     objects, types.size(), tail.revision));
    return exit_code::done;
}

} // namespace

void add_load(CLI::App& program, exit_code& result) {
    const auto asked = std::make_shared<load_call>();
    CLI::App* verb = program.add_subcommand("load", "A new state from a dump");
    verb->add_option("DIR", asked->state, "The folder to make; it must not be there")->required();
    verb->add_option("FILE", asked->dump, "What dump wrote; without it, or as -, stdin");
    verb->add_option("--readers-group", asked->readers_group,
                     "The group whose members may look at the state");
    verb->add_flag("--moved", asked->takes_moved,
                   "Also of a dump whose state went on while it was made");
    verb->add_flag("--json", asked->json, "Print one JSON object");
    verb->callback(
        [asked, &result] { result = look_at(asked->state, [&] { return run_load(*asked); }); });
}

} // namespace chainbase::inspect
