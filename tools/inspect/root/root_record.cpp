#include <chainbase/state_root/id_tree.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/root/root_record.hpp>
#include <tools/inspect/state/schema.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace chainbase::inspect {

namespace {

using state_root::committed_type;
using state_root::recorded_root;

const type_schema* find(const std::vector<const type_schema*>& all, const std::string& name) {
    const auto found =
        std::ranges::find_if(all, [&](const type_schema* one) { return one->name == name; });
    return found == all.end() ? nullptr : *found;
}

/// How a type differs from this version's.
std::string difference(const type_schema& there, type_schema known) {
    known.node_bytes = there.node_bytes;
    known.link_bytes = there.link_bytes;
    known.value_offset = there.value_offset;
    known.root_bytes = there.root_bytes;
    return known.difference(there);
}

[[noreturn]] void throw_no_root(row_source& state) {
    if (find(state.types(), "state_root.tree"))
        throw usage_error(fmt::format(
            "{}: its state root is of an earlier version, which kept the tree in the state; open "
            "it with the program of this version that keeps the root (chainbase-driver ... "
            "--state-root all), which makes it anew",
            state.state().string()));
    throw usage_error(fmt::format("{} has no state root: none of its types is {}; open it with a "
                                  "program that keeps one (chainbase-driver ... --state-root all), "
                                  "which makes it",
                                  state.state().string(), recorded_root::type_name));
}

void check_types(row_source& state) {
    const auto all = state.types();
    if (!find(all, recorded_root::type_name)) throw_no_root(state);
    for (const type_schema& known : root_schemas()) {
        const type_schema* const there = find(all, known.name);
        if (!there || is_of_root(*there)) continue;
        throw format_error(fmt::format(
            "{}: this version does not know its state root: {} has another layout ({}); use the "
            "chainbase-inspect of the program that made it",
            state.state().string(), known.name, difference(*there, known)));
    }
}

/// The objects of a type, by id.
template <typename T>
std::vector<T> objects_of(row_source& state) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all;
    if (!state.has(T::type_name)) return all; // its program was stopped between two types
    const rows::type_rows of = state.of(T::type_name);
    rows::id_cursor().advance(of, [&](slot_number slot) {
        std::memcpy(static_cast<void*>(&all.emplace_back()), of.slots().value(slot), sizeof(T));
        return true;
    });
    return all;
}

bool is_height(std::uint32_t height) {
    return height <= 32 && height % 4 == 0;
}

/// FORMAT.md: the root over these types.
sha256_digest root_over(const std::vector<committed_type>& types) {
    std::vector<state_root::leaf_update> sealed_types;
    for (const committed_type& one : types)
        sealed_types.push_back({static_cast<std::uint32_t>(sealed_types.size()),
                                state_root::sealed(one.height, one.root, one.name.view())});
    state_root::id_tree all;
    all.update(sealed_types);
    return state_root::sealed(all.height(), all.root(), {});
}

} // namespace

root_record root_record::of(row_source& state) {
    check_types(state);
    const auto roots = objects_of<recorded_root>(state);
    if (roots.empty())
        throw usage_error(fmt::format(
            "{} has no state root: it was turned off, is not made yet, or is of an earlier "
            "version; a "
            "program that keeps one makes it when it opens the state (chainbase-driver ... "
            "--state-root all)",
            state.state().string()));
    if (roots.front().format != state_root::current_format)
        throw format_error(fmt::format(
            "{}: its state root is of format {}, this version knows {}; use the chainbase-inspect "
            "of the program that made it, or open the state with the program of this version that "
            "keeps the root, which makes it anew",
            state.state().string(), roots.front().format, state_root::current_format));
    return {roots.front(), objects_of<committed_type>(state)};
}

const committed_type* root_record::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find_if(
        types, [&](const committed_type& one) { return one.name.view() == name; });
    return found == types.end() ? nullptr : &*found;
}

std::vector<root_record::contradiction> root_record::contradictions() const {
    std::vector<contradiction> all;
    std::uint64_t objects = 0;
    bool are_heights = true;
    for (const committed_type& one : types) {
        objects += one.objects;
        if (is_height(one.height)) continue;
        are_heights = false;
        all.push_back({committed_type::type_name, one.id.value,
                       fmt::format("no tree is of height {}, which it says that of {} is",
                                   one.height, one.name.view())});
    }
    if (are_heights && root_over(types) != recorded.root)
        all.push_back({recorded_root::type_name, recorded.id.value,
                       "the root does not follow from the roots of the types"});
    if (objects != recorded.objects)
        all.push_back({recorded_root::type_name, recorded.id.value,
                       fmt::format("it says that the root commits to {} objects; the types have {}",
                                   recorded.objects, objects)});
    return all;
}

} // namespace chainbase::inspect
