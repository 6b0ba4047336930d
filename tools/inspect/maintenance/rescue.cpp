#include <chainbase/rows/value_type.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/maintenance/rescue.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::inspect {

namespace {

using check::object_slots;

/// Where the handles of texts and vectors are in an object.
std::vector<std::uint32_t> references_of(const type_schema& schema) {
    std::vector<std::uint32_t> offsets;
    for (const type_schema::field& field : schema.fields) {
        const auto what = rows::field_type::of(field, schema.value_bytes).what;
        if (what == rows::field_type::kind::text || what == rows::field_type::kind::vector)
            offsets.push_back(field.offset);
    }
    return offsets;
}

/// The slots that hold an object, by its id. Of two that say they have one id it is the one that
/// the table of ids leads to.
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
    rows::type_rows::source from{type.schema, type.objects.get(), type.ids.get(), {}, &buffers};
    for (const auto& table : type.tables) {
        if (!table) throw damaged_error("the file of a hashed key cannot be opened");
        from.tables.push_back(table.get());
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
        const std::vector<std::uint32_t> references = references_of(type.schema());
        const auto can_be_read = [&](slot_number slot) {
            return std::ranges::all_of(references, [&](std::uint32_t offset) {
                const auto handle = rows::copy_at<std::uint64_t>(objects.value(slot) + offset);
                return handle == 0 || state.buffers().content({handle}).has_value();
            });
        };
        for (const slot_number slot : by_id(type)) {
            if (!can_be_read(slot)) {
                one.lost.push_back(objects.id(slot));
                continue;
            }
            one.slots.push_back(slot);
            if (objects.is_hurt(slot)) one.doubtful.push_back(objects.id(slot));
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

} // namespace chainbase::inspect
