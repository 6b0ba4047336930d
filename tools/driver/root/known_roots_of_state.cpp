#include <chainbase/schema.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/inspect/root/looked_at_tree.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_scan.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstring>
#include <type_traits>

namespace chainbase::driver {

namespace {

[[noreturn]] void throw_no_roots(const std::filesystem::path& state) {
    throw usage_error(
        state.string() +
        ": the state keeps no roots of blocks; replay, sync or live with --state-root "
        "all, from its first block on, keep them");
}

const type_schema& require_type(inspect::row_source& from) {
    const type_schema wanted = schema_of<block_root>(block_root::type_name);
    for (const type_schema* one : from.types())
        if (one->name == wanted.name && one->fields == wanted.fields &&
            one->value_bytes == sizeof(block_root))
            return *one;
    throw_no_roots(from.state());
}

} // namespace

known_roots known_roots::of_state(const std::filesystem::path& state) {
    known_roots found{state, {}, {}};
    inspect::row_source from(state);
    from.take_turn([&] {
        (void)require_type(from);
        const inspect::looked_at_tree tree(from);
        for (const auto& [number, name] : tree.types())
            found.types.insert(name);
    });
    const auto all =
        inspect::row_query{block_root::type_name, "id", {}, {}, {}, false}.cursor(from);
    inspect::scan(from, block_root::type_name, *all,
                  [&](const rows::type_rows& rows, slot_number slot) {
                      static_assert(std::is_trivially_copyable_v<block_root>);
                      block_root one;
                      std::memcpy(static_cast<void*>(&one), rows.slots().value(slot), sizeof one);
                      found.by_number[one.number] = {one.root, one.writes};
                      return true;
                  });
    if (found.by_number.empty()) throw_no_roots(state);
    return found;
}

known_roots known_roots::read(const std::filesystem::path& source) {
    return std::filesystem::is_regular_file(source) ? of_file(source) : of_state(source);
}

} // namespace chainbase::driver
