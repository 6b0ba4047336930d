#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/root/read_only_tree.hpp>
#include <tools/inspect/state/schema.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>

namespace chainbase::inspect {

namespace {

using state_root::capacities;
using state_root::node_ref;
using state_root::node_view;
using state_root::tree_head;

constexpr std::size_t first_node_type = 2; // of root_schemas()

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

/// Call it in a turn.
void check_types(row_source& state) {
    const auto all = state.types();
    if (!find(all, tree_head::type_name))
        throw usage_error(
            fmt::format("{} has no state root: none of its types is {}; open it with a "
                        "program that keeps one (chainbase-driver ... --state-root all), which "
                        "makes it",
                        state.state().string(), tree_head::type_name));
    for (const type_schema& known : root_schemas()) {
        const type_schema* const there = find(all, known.name);
        if (!there)
            throw usage_error(fmt::format(
                "{} has no state root yet: {} is missing, since its program was stopped while it "
                "made the root; open it with that program again, which goes on",
                state.state().string(), known.name));
        if (is_of_root(*there)) continue;
        throw format_error(fmt::format(
            "{}: this version does not know its state root: {} has another layout ({}); use the "
            "chainbase-inspect of the program that made it",
            state.state().string(), known.name, difference(*there, known)));
    }
}

/// At most 800 bytes each.
constexpr std::size_t max_copies = 20'000;

} // namespace

read_only_tree::read_only_tree(row_source& state) : state_(state) {
    check_types(state);
    read_head(state.of(tree_head::type_name));
    read_types(state.of(state_root::named_type::type_name));
    if (types_.empty() && head_.leaves == 0)
        throw usage_error(fmt::format("{}: its state root is turned off: it commits to no type; "
                                      "chainbase-driver ... --state-root all makes one",
                                      state.state().string()));
    nodes_.reserve(capacities.size());
    for (unsigned number = 0; number < capacities.size(); ++number)
        nodes_.push_back(state.of(node_type(number)));
}

void read_only_tree::read_head(const rows::type_rows& of) {
    const slot_number slot = of.slots().next_id() == 0 ? 0 : of.slots().slot_of(0);
    if (slot == 0)
        throw usage_error(fmt::format("{} has no state root yet; open it with the program that "
                                      "keeps one, which makes it",
                                      state_.state().string()));
    std::memcpy(static_cast<void*>(&head_), of.slots().value(slot), sizeof head_);
    if (head_.format != tree_head::current_format)
        throw format_error(fmt::format(
            "{}: its state root is of format {}, this version knows {}; use the chainbase-inspect "
            "of the program that made it, or open the state with the program of this version that "
            "keeps the root, which makes it anew",
            state_.state().string(), head_.format, tree_head::current_format));
}

void read_only_tree::read_types(const rows::type_rows& of) {
    const auto handle_at = std::ranges::find_if(of.schema().fields, [](const auto& one) {
                               return one.name == "name";
                           })->offset;
    const std::uint32_t end = std::min<std::uint32_t>(of.slots().next_id(), UINT16_MAX + 1);
    for (std::uint32_t number = 0; number < end; ++number) {
        const slot_number slot = of.slots().slot_of(number);
        if (slot == 0) continue;
        const auto text = of.buffers().content(
            {rows::copy_at<std::uint64_t>(of.slots().value(slot) + handle_at)});
        if (!text)
            throw damaged_error(fmt::format("{}: {} {}: its name refers to no buffer; run "
                                            "chainbase-inspect check",
                                            state_.state().string(), of.schema().name, number));
        types_.emplace(static_cast<std::uint16_t>(number),
                       std::string(reinterpret_cast<const char*>(text->data()), text->size()));
    }
}

std::optional<node_view> read_only_tree::find(node_ref node) const {
    const rows::slot_reader& slots = nodes_[node.capacity_class()].slots();
    const slot_number slot = slots.slot_of(node.number());
    if (slot == 0) return std::nullopt;
    return node_view(slots.value(slot), node.capacity());
}

node_view read_only_tree::view(node_ref node) const {
    if (const auto found = find(node)) return *found;
    damaged(name_of(node) + ", to which another node leads, is not there");
}

std::string_view read_only_tree::type_name(std::uint16_t number) const {
    if (const auto known = types_.find(number); known != types_.end()) return known->second;
    damaged(fmt::format("no type has the number {}, which a leaf names", number));
}

std::string read_only_tree::name() const {
    return state_.state().string() + ": state root";
}

std::uint32_t read_only_tree::end(unsigned capacity_class) const {
    return std::min(nodes_[capacity_class].slots().next_id(), node_ref::max_nodes);
}

const std::string& node_type(unsigned capacity_class) {
    return root_schemas()[first_node_type + capacity_class].name;
}

std::string name_of(node_ref node) {
    return fmt::format("{} {}", node_type(node.capacity_class()), node.number());
}

std::vector<node_range> node_ranges(unchanging_state& state, std::uint32_t nodes_at_once) {
    std::vector<node_range> all;
    state.take_turn([&] {
        all.clear();
        const read_only_tree tree(state.source());
        for (unsigned number = 0; number < capacities.size(); ++number)
            for (std::uint32_t begin = 0; begin < tree.end(number); begin += nodes_at_once)
                all.push_back({number, begin, std::min(begin + nodes_at_once, tree.end(number))});
    });
    return all;
}

void each_node(unchanging_state& state, node_range range,
               const std::function<void(const read_only_tree&, node_ref, const node_view&)>& look) {
    using clock = std::chrono::steady_clock;
    constexpr std::uint32_t between = 64; // nodes between two clock reads
    while (range.begin < range.end) {
        state.take_turn([&] {
            const auto until = clock::now() + row_source::slice;
            const read_only_tree tree(state.source());
            for (bool is_first = true; range.begin < range.end; ++range.begin, is_first = false) {
                if (!is_first && range.begin % between == 0 && clock::now() > until) break;
                const auto node = node_ref::make(range.begin, range.capacity_class);
                if (const auto found = tree.find(node)) look(tree, node, *found);
            }
        });
    }
}

using state_root::node_ref;
using state_root::node_view;

copied_tree::copied_tree(unchanging_state& state) : state_(state) {
    state_.take_turn([&] {
        const read_only_tree tree(state_.source());
        head_ = tree.head();
        types_ = tree.types();
    });
}

node_view copied_tree::view(node_ref node) const {
    auto found = copies_.find(node.bits());
    if (found == copies_.end()) {
        if (copies_.size() > max_copies) copies_.clear();
        state_.take_turn([&] {
            const read_only_tree tree(state_.source());
            copy(tree, node);
            const node_view copied = tree.view(node);
            if (!copied.is_possible()) return;
            for (unsigned place = 0, digit = 0; digit < state_root::branches_per_node; ++digit) {
                if (!copied.has(digit)) continue;
                if (!copied.is_leaf(digit)) copy(tree, node_ref(copied.reference(place)));
                ++place;
            }
        });
        found = copies_.find(node.bits());
    }
    return {found->second.data(), node.capacity()};
}

void copied_tree::copy(const read_only_tree& from, node_ref node) const {
    const auto bytes = from.view(node).all();
    copies_[node.bits()].assign(bytes.begin(), bytes.end());
}

std::string_view copied_tree::type_name(std::uint16_t number) const {
    if (const auto known = types_.find(number); known != types_.end()) return known->second;
    damaged(fmt::format("no type has the number {}, which a leaf names", number));
}

std::string copied_tree::name() const {
    return state_.source().state().string() + ": state root";
}

} // namespace chainbase::inspect
