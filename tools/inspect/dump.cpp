#include <chainbase/catalogue.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/dump.hpp>
#include <tools/inspect/dump_file.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/row_format.hpp>
#include <tools/inspect/row_scan.hpp>
#include <tools/interruption.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t bytes_at_once = std::size_t{256} << 10;

struct call {
    std::string state;
    std::vector<std::string> types;
    std::string output;
    bool resume = false;
};

/// All types that are asked for, by name.
std::map<std::string, const type_schema*> types_of(row_source& from, const call& asked) {
    std::map<std::string, const type_schema*> all;
    from.take_turn([&] {
        for (const type_schema* schema : from.types())
            all[schema->name] = schema;
        if (asked.types.empty()) return;
        std::map<std::string, const type_schema*> some;
        for (const std::string& name : asked.types)
            some[name] = &from.of(name).schema();
        all.swap(some);
    });
    return all;
}

std::string head_of(const std::map<std::string, const type_schema*>& types, std::int64_t revision) {
    catalogue listed;
    for (const auto& [name, schema] : types)
        listed.add({*schema, 0});
    json head{{"schema_version", 1},
              {"dump", 1},
              {"revision", revision},
              {"types", json::parse(listed.text())["types"]}};
    for (json& type : head["types"])
        type.erase("first_window");
    return head.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Writes the rows of types, one after the other.
class dumper {
public:
    dumper(row_source& from, dump_file& to) : from_(from), to_(to) {}

    /// From id `first` on.
    void write(const type_schema& schema, std::uint32_t first) {
        const row_format format(schema);
        std::string begin = json(schema.name).dump(-1, ' ', false, json::error_handler_t::replace);
        begin = "{" + begin + ":";
        rows::id_cursor cursor(first);
        scan(
            from_, schema.name, cursor,
            [&](const rows::type_rows& of, slot_number slot) {
                lines_ += begin;
                format.append_json(lines_, of.slots().value(slot), of.buffers());
                lines_ += "}\n";
                ++rows_;
                return true;
            },
            [&] { write_if(bytes_at_once); });
    }
    /// The last line. `before`: rows that an earlier call wrote.
    void finish(std::uint64_t before, std::int64_t begun_at, std::int64_t revision) {
        lines_ += fmt::format("{{\"schema_version\":1,\"rows\":{},\"revision\":{},\"moved\":{},"
                              "\"complete\":true}}\n",
                              before + rows_, revision, begun_at != revision);
        write_if(0);
        to_.finish();
    }

private:
    void write_if(std::size_t enough) {
        if (lines_.size() >= enough) {
            to_.write(lines_);
            lines_.clear();
        }
        if (catch_interruption::noted()) {
            to_.write(lines_);
            to_.finish();
            throw interrupted_error("stopped; the same call with --output and --resume goes on");
        }
    }

    row_source& from_;
    dump_file& to_;
    std::string lines_;
    std::uint64_t rows_ = 0;
};

/// Of which revision a dump was when it began, if it is one of these types.
std::int64_t begun_at(const std::string& head, const std::string& ours, const std::string& file) {
    json found = json::parse(head);
    const std::int64_t revision = found.value("revision", std::int64_t{0});
    found["revision"] = json::parse(ours)["revision"];
    if (found != json::parse(ours))
        throw usage_error(file + ": a dump of other types than these; choose another file");
    return revision;
}

exit_code run(const call& asked) {
    if (asked.resume && asked.output.empty())
        throw usage_error("--resume goes on with a file: name it (--output)");
    row_source from(asked.state);
    const auto types = types_of(from, asked);
    std::int64_t revision = from.current_revision();
    const std::string head = head_of(types, revision);
    dump_file::standing found;
    dump_file file = asked.output.empty() ? dump_file()
                     : asked.resume       ? dump_file(asked.output, found)
                                          : dump_file(asked.output);
    if (asked.resume) revision = begun_at(found.head, head, asked.output);
    if (found.is_complete) {
        spdlog::info("{} is whole", asked.output);
        return exit_code::done;
    }
    if (!asked.resume) file.write(head);
    const catch_interruption interruption(catch_interruption::further_signals::end_the_process);
    dumper rows(from, file);
    for (auto type = types.lower_bound(found.type); type != types.end(); ++type)
        if (type->first != found.type)
            rows.write(*type->second, 0);
        else if (found.id != UINT32_MAX)
            rows.write(*type->second, found.id + 1);
    rows.finish(found.rows, revision, from.current_revision());
    return exit_code::done;
}

} // namespace

void add_dump(CLI::App& program, exit_code& result) {
    const auto asked = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand("dump", "All objects as JSON lines");
    verb->add_option("DIR", asked->state, "The folder of the state")->required();
    verb->add_option("TYPE", asked->types, "Only these types");
    verb->add_option("--output", asked->output, "Write to this file in place of stdout");
    verb->add_flag("--resume", asked->resume, "Go on where the file ends");
    verb->callback(
        [asked, &result] { result = look_at(asked->state, [&] { return run(*asked); }); });
}

} // namespace chainbase::inspect
