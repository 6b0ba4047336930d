#include <chainbase/object/schema_of.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/root/known_roots.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/inspect/root/root_record.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/print.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

namespace chainbase::driver {

namespace {

[[noreturn]] void throw_no_roots(const std::filesystem::path& state) {
    throw usage_error(state.string() +
                      ": the state keeps no roots of blocks; a replay, sync or live with "
                      "--state-root all keeps them, from the state's current block on");
}

bool has_type(inspect::row_source& from, const type_schema& wanted) {
    return std::ranges::any_of(from.types(), [&](const type_schema* one) {
        return one->name == wanted.name && one->fields == wanted.fields &&
               one->value_bytes == wanted.value_bytes;
    });
}

/// Visits all objects of type T in a state.
template <typename T, typename Visitor>
void each(inspect::row_source& from, Visitor&& visit) {
    static_assert(std::is_trivially_copyable_v<T>);
    auto all = inspect::row_query{T::type_name, "id", {}, {}, {}, false}.cursor(from);
    inspect::scan<std::vector<T>>(
        from, T::type_name, all,
        [](std::vector<T>& found, const rows::type_rows& rows, slot_number slot) {
            T& one = found.emplace_back();
            std::memcpy(static_cast<void*>(&one), rows.slots().value(slot), sizeof one);
            return true;
        },
        [&](const std::vector<T>& found) { std::ranges::for_each(found, visit); });
}

} // namespace

known_roots known_roots::of_state(inspect::row_source& from) {
    known_roots found{from.state(), true, {}, {}, {}};
    from.take_turn([&] {
        if (!has_type(from, schema_of<block_root>(block_root::type_name)) ||
            !has_type(from, schema_of<chain_identity>(chain_identity::type_name)))
            throw_no_roots(from.state());
        const auto record = inspect::root_record::of(from);
        found.types.clear();
        for (const state_root::committed_type& one : record.types)
            found.types.emplace(one.name.view());
    });
    each<chain_identity>(from, [&](const chain_identity& one) { found.chain = one.chain.view(); });
    each<block_root>(
        from, [&](const block_root& one) { found.by_number[one.number] = {one.root, one.writes}; });
    if (found.by_number.empty()) throw_no_roots(from.state());
    return found;
}

known_roots known_roots::of_state(const std::filesystem::path& state) {
    inspect::row_source from(state);
    return of_state(from);
}

bool known_roots::is_file(const std::filesystem::path& source) {
    return inspect::look_at(source.string(), [&] {
        const auto what = std::filesystem::status(source);
        const bool may_be_checkpoint = source.filename().string().find('@') != std::string::npos;
        if (!std::filesystem::exists(what) && !may_be_checkpoint)
            throw usage_error(source.string() +
                              ": there is neither a state nor a file of roots; check the path");
        return std::filesystem::exists(what) && !std::filesystem::is_directory(what);
    });
}

known_roots known_roots::read(const std::filesystem::path& source) {
    return is_file(source) ? of_file(source) : of_state(source);
}

void declare_roots(command& verb) {
    struct call {
        std::filesystem::path from;
        std::uint64_t first = 1;
        std::uint64_t last = UINT64_MAX;
        std::size_t newest = SIZE_MAX;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("STATE", options->from,
                    "folder of the state, in use or not; or the output of this verb")
        .required();
    verb.add_option("--from", options->first, "number of the first block")
        .whole_number(1, UINT64_MAX);
    verb.add_option("--to", options->last, "number of the last block").whole_number(1, UINT64_MAX);
    verb.add_option("--newest", options->newest, "at most this many blocks, the newest ones")
        .whole_number(1, UINT32_MAX);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        known_roots all = known_roots::read(options->from);
        all.keep(options->first, options->last, options->newest);
        print_or_throw(options->json ? all.to_json() + "\n" : all.to_text(), "call again");
        return exit_code::done;
    });
}

} // namespace chainbase::driver
