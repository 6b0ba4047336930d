#include <pool_allocator/error.hpp>
#include <tools/inspect/dump/dump_file.hpp>
#include <tools/inspect/dump/dump_head.hpp>
#include <tools/inspect/dump/dump_keys.hpp>
#include <tools/inspect/maintenance/dump_rescue.hpp>
#include <tools/inspect/maintenance/rescue.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/interruption.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t bytes_at_once = std::size_t{256} << 10;

std::string text_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::uint64_t write_rows(const rescued_type& type, const rows::buffer_source& buffers,
                         dump_file& to) {
    const check::object_slots& objects = *type.from->objects();
    const std::string begin = fmt::format("{{{}:", text_of(type.from->schema().name));
    const row_format format(type.from->schema());
    std::string lines;
    for (const slot_number slot : type.slots) {
        lines += begin;
        format.append_json(lines, objects.value(slot), buffers);
        lines += "}\n";
        if (lines.size() < bytes_at_once) continue;
        to.write(lines);
        lines.clear();
        if (catch_interruption::noted()) throw interrupted_error("stopped; the dump is not whole");
    }
    write_orders(type.from->schema().name, type.orders, [&](std::string_view line) {
        lines += line;
        lines += '\n';
    });
    to.write(lines);
    return type.slots.size();
}

void tell(const rescued_type& type) {
    const std::string& name = type.from->schema().name;
    if (!type.lost.empty()) spdlog::warn("{}: {} objects cannot be read", name, type.lost.size());
    if (!type.doubtful.empty())
        spdlog::warn("{}: {} objects are there, and bytes of them may be wrong", name,
                     type.doubtful.size());
    if (!type.why_no_orders.empty())
        spdlog::warn("{}: the order of {} cannot be read ({}), so load cannot make a state of it",
                     name, computed_keys(type.from->schema()), type.why_no_orders);
}

void tell_of_log(const check::state_check& state) {
    if (state.log().is_known) return;
    spdlog::warn("{}: segment/undo_log cannot be read, so the revision is not known, and what an "
                 "unfinished block did could not be undone",
                 state.state().string());
}

std::vector<rescued_type> chosen(const check::state_check& state,
                                 const std::vector<std::string>& types) {
    std::vector<rescued_type> all = rescue(state);
    for (const std::string& name : lost_types(state))
        if (types.empty() || std::ranges::find(types, name) != types.end())
            spdlog::error("{}: nothing of it can be read; run chainbase-inspect check", name);
    if (types.empty()) return all;
    for (const std::string& name : types)
        if (std::ranges::none_of(state.types(), [&](const check::type_check& one) {
                return one.schema().name == name;
            }))
            throw usage_error(state.state().string() + " has no type \"" + name + "\"");
    std::erase_if(all, [&](const rescued_type& one) {
        return std::ranges::find(types, one.from->schema().name) == types.end();
    });
    return all;
}

} // namespace

exit_code rescue_to(const std::string& output, const std::string& state,
                    const std::vector<std::string>& types) {
    const catch_interruption interruption;
    const check::state_check found(state);
    if (!found.is_mapped())
        throw damaged_error(state + ": nothing can be read of its segment; run chainbase-inspect "
                                    "check");
    if (!found.knows_types())
        throw damaged_error(state + ": segment/catalogue.json cannot be read, and says what the "
                                    "objects are; put it in place from a copy of the state, or "
                                    "run chainbase-inspect repair");
    const std::vector<rescued_type> all = chosen(found, types);
    tell_of_log(found);
    dump_head head;
    head.revision = found.log().revision;
    for (const rescued_type& one : all)
        head.types.push_back({one.from->schema(), one.from->next_id()});
    dump_file file = output.empty() ? dump_file() : dump_file(std::filesystem::path(output));
    file.write(head.line());
    std::uint64_t rows = 0;
    json lost = json::object();
    json doubtful = json::object();
    for (const rescued_type& one : all) {
        tell(one);
        rows += write_rows(one, found.buffers(), file);
        const std::string& name = one.from->schema().name;
        if (!one.lost.empty()) lost[name] = one.lost;
        if (!one.doubtful.empty()) doubtful[name] = one.doubtful;
    }
    const bool is_whole = lost.empty() && lost_types(found).empty() && found.log().is_known;
    file.write(text_of({{"schema_version", 1},
                        {"rows", rows},
                        {"revision", head.revision},
                        {"moved", false},
                        {"rescued", true},
                        {"lost", lost},
                        {"lost_types", lost_types(found)},
                        {"doubtful", doubtful},
                        {"complete", true}}) +
               "\n");
    file.finish();
    return is_whole ? exit_code::done : exit_code::damaged;
}

} // namespace chainbase::inspect
