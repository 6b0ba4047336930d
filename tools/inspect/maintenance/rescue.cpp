#include <chainbase/offline/rows/described_buffers.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/dump/dump_file.hpp>
#include <tools/inspect/maintenance/repair_plan.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/interruption.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace chainbase::inspect {

namespace {

using check::object_slots;

/// Whether every buffer referenced by these values exists, recursively.
bool are_there(const rows::buffer_source& buffers, std::span<const std::byte> values,
               const buffer_layout& of) {
    bool all = true;
    of.each_handle(values.size(), [&](std::size_t at, const buffer_layout& elements) {
        const buffer_handle handle{rows::copy_at<std::uint64_t>(values.data() + at)};
        const auto content = buffers.content(handle);
        all = all && content && are_there(buffers, *content, elements);
    });
    return all;
}

/// The slots with objects, by id. If two slots claim one id, the table of ids decides.
std::vector<slot_number> by_id(const check::type_check& type) {
    const object_slots& objects = *type.objects();
    std::vector<slot_number> slots;
    for (slot_number slot = 1; slot < objects.end(); ++slot)
        if (objects.is_live(slot) && objects.id(slot) != UINT32_MAX) slots.push_back(slot);
    const auto is_entered = [&](slot_number slot) {
        return type.find(objects.id(slot)) == std::optional(slot);
    };
    std::ranges::sort(slots, [&](slot_number a, slot_number b) {
        return std::pair(objects.id(a), !is_entered(a)) < std::pair(objects.id(b), !is_entered(b));
    });
    const auto twice =
        std::ranges::unique(slots, {}, [&](slot_number slot) { return objects.id(slot); });
    slots.erase(twice.begin(), twice.end());
    return slots;
}

rows::type_rows rows_of(const check::mapped_state::type& type, const rows::buffer_source& buffers) {
    rows::type_rows::source from{type.schema, type.objects.get(), type.ids.get(), {}, {}, &buffers};
    for (const auto& table : type.tables) {
        if (!table) throw damaged_error("the file of a hashed key cannot be opened");
        from.tables.push_back(table.get());
    }
    for (const auto& tree : type.btrees) {
        if (!tree) throw damaged_error("the file of a btree key cannot be opened");
        from.btrees.push_back(tree.get());
    }
    return rows::type_rows(std::move(from));
}

void rescue_orders(rescued_type& to, const check::mapped_state::type& mapped,
                   const rows::buffer_source& buffers) {
    try {
        to.orders = bulk_load::orders_of(rows_of(mapped, buffers), bulk_load::which_keys::computed);
    } catch (const damaged_error& problem) {
        to.why_no_orders = problem.what();
        return;
    }
    const object_slots& objects = *to.from->objects();
    to.orders.retain([&](std::uint32_t id) {
        return std::ranges::binary_search(to.slots, id, {},
                                          [&](slot_number slot) { return objects.id(slot); });
    });
}

} // namespace

std::vector<rescued_type> rescue(const check::state_check& state) {
    std::vector<rescued_type> all;
    for (const check::type_check& type : state.types()) {
        if (!type.objects()) continue;
        const object_slots& objects = *type.objects();
        rescued_type one;
        one.from = &type;
        const rows::described_buffers described(type.schema());
        const auto can_be_read = [&](slot_number slot) {
            const std::span value(objects.value(slot), type.schema().value_bytes);
            return are_there(state.buffers(), value, described.of_object());
        };
        for (const slot_number slot : by_id(type)) {
            if (!can_be_read(slot)) {
                one.lost.push_back(objects.id(slot));
                continue;
            }
            one.slots.push_back(slot);
            if (objects.is_damaged(slot)) one.doubtful.push_back(objects.id(slot));
        }
        for (const check::mapped_state::type& mapped : state.mapped().types())
            if (mapped.schema == &type.schema()) rescue_orders(one, mapped, state.buffers());
        all.push_back(std::move(one));
    }
    std::ranges::sort(all, {}, [](const rescued_type& one) { return one.from->schema().name; });
    return all;
}

std::vector<std::string> lost_types(const check::state_check& state) {
    std::vector<std::string> names;
    for (const check::type_check& type : state.types())
        if (!type.objects()) names.push_back(type.schema().name);
    return names;
}

namespace {

constexpr std::size_t bytes_at_once = std::size_t{256} << 10;

std::uint64_t write_rows(const rescued_type& type, const rows::buffer_source& buffers,
                         dump_file& to) {
    const check::object_slots& objects = *type.from->objects();
    const std::string begin = fmt::format("{{{}:", line_of(type.from->schema().name));
    const row_format format(type.from->schema());
    std::string lines;
    for (const slot_number slot : type.slots) {
        lines += begin;
        format.append_json(lines, objects.value(slot), buffers);
        lines += "}\n";
        if (lines.size() < bytes_at_once) continue;
        to.write(lines);
        lines.clear();
        if (catch_interruption::caught()) throw interrupted_error("stopped; the dump is not whole");
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
        spdlog::warn("{}: {} objects can be read, but bytes of them may be wrong", name,
                     type.doubtful.size());
    if (!type.why_no_orders.empty())
        spdlog::warn("{}: the order of {} cannot be read ({}), so load cannot make a state of "
                     "this dump",
                     name, computed_keys(type.from->schema()), type.why_no_orders);
}

void tell_of_log(const check::state_check& state) {
    if (state.log().is_known) return;
    spdlog::warn("{}: segment/undo_log cannot be read, so the revision is not known, and the "
                 "changes of an unfinished block could not be undone",
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
        throw damaged_error(state + ": segment/catalogue.json, which describes the objects, "
                                    "cannot be read; replace it from a copy of the state, or run "
                                    "chainbase-inspect repair");
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
    file.write(line_of({{"schema_version", 1},
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
