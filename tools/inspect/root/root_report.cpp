#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/root/node_check.hpp>
#include <tools/inspect/root/object_check.hpp>
#include <tools/inspect/root/read_only_tree.hpp>
#include <tools/inspect/root/root_report.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

namespace chainbase::inspect {

namespace {

using state_root::branches_per_node;
using state_root::capacities;
using state_root::node_ref;
using state_root::node_view;

/// Bit i of a set: there is the size i.
using size_set = std::uint32_t;

/// Places for children in all arrays.
std::uint64_t places(const children_histogram& nodes, size_set sparse) {
    std::uint64_t sum = 0;
    std::uint64_t fitting = branches_per_node; // from the largest number of children down
    for (unsigned children = branches_per_node; children > 0; --children) {
        if (sparse >> children & 1) fitting = children;
        sum += nodes[children] * fitting;
    }
    return sum;
}

std::vector<unsigned> sizes_of(size_set set) {
    std::vector<unsigned> all;
    for (unsigned size = 1; size < branches_per_node; ++size)
        if (set >> size & 1) all.push_back(size);
    return all;
}

std::uint64_t bytes_of(const root_report::by_capacity& nodes) {
    std::uint64_t sum = 0;
    for (unsigned number = 0; number < capacities.size(); ++number)
        sum += nodes[number] * node_view::bytes(capacities[number]);
    return sum;
}

/// An object as `get` prints it; empty when it cannot be read.
std::string row_of(row_source& state, const archive::store* archive, const root_fault& fault) {
    try {
        const auto found = object_row::find(state, archive, fault.type, fault.id);
        return found ? found->json : std::string();
    } catch (const error&) {
        return {};
    }
}

/// One try to look at all of it.
class attempt {
public:
    attempt(row_source& state, const root_report::question& asked)
        : state_(state, [&] { read_head(state); }), asked_(asked) {
        found_.is_rolled_back = state.is_rolled_back();
    }

    /// The root alone: what one turn reads.
    [[nodiscard]] const root_report& head() const noexcept { return found_; }
    root_report run() {
        constexpr std::uint32_t nodes_at_once = UINT32_MAX >> 1;
        for (const node_range& range : node_ranges(state_, nodes_at_once))
            each_node(state_, range,
                      [&](const read_only_tree&, node_ref at, const node_view& node) {
                          count(at, node, found_);
                      });
        name_types(found_);
        if (asked_.verify) verify(found_);
        return std::move(found_);
    }

private:
    void read_head(row_source& state) {
        const read_only_tree tree(state);
        found_.revision = state.revision();
        found_.root = hex(tree.head().digest);
        found_.root_revision = tree.head().revision;
        found_.objects = tree.head().leaves;
        types_ = tree.types();
    }

    void count(node_ref at, const node_view& node, root_report& to) {
        if (node.branches() == 0) {
            ++to.free[at.capacity_class()];
            return;
        }
        ++to.nodes[at.capacity_class()];
        ++to.nodes_by_children[node.size()];
        if (node.size() > at.capacity()) return; // damaged: there is no such child
        for (unsigned digit = 0; digit < branches_per_node; ++digit)
            if (node.has(digit) && node.is_leaf(digit)) ++leaves_[node.at_digit(digit).type];
    }

    void name_types(root_report& to) {
        for (const auto& [number, leaves] : leaves_)
            types_.try_emplace(number, fmt::format("(no type has the number {})", number));
        for (const auto& [number, name] : types_)
            to.types.push_back({name, leaves_[number]});
        std::ranges::sort(to.types, {}, &root_report::type::name);
    }

    void verify(root_report& to) {
        const auto archive = open_archive(state_.source());
        root_faults faults(asked_.limit);
        node_check nodes(state_);
        nodes.run(asked_.threads, faults);
        object_check objects(state_, archive.get(), nodes);
        objects.run(asked_.threads, faults);
        for (const auto what : {root_fault::kind::other_content, root_fault::kind::not_in_root})
            for (root_fault& one : faults.named(what))
                one.row = row_of(state_.source(), archive.get(), one);
        state_.take_turn([] {}); // these were of that moment, too
        to.verified = {objects.objects(), objects.archived_objects(), nodes.nodes(),
                       std::move(faults)};
    }

    root_report found_;
    std::map<std::uint16_t, std::string> types_;
    still_state state_;
    const root_report::question& asked_;
    std::map<std::uint16_t, std::uint64_t> leaves_;
};

} // namespace

array_sizes array_sizes::of(const children_histogram& nodes, std::vector<unsigned> sparse) {
    size_set set = 0;
    for (const unsigned size : sparse)
        set |= size_set{1} << size;
    const std::uint64_t dense = places(nodes, 0);
    const double ratio =
        dense == 0 ? 1 : static_cast<double>(places(nodes, set)) / static_cast<double>(dense);
    return {std::move(sparse), ratio};
}

array_sizes array_sizes::best(const children_histogram& nodes, unsigned count) {
    array_sizes found;
    std::uint64_t least = UINT64_MAX;
    constexpr size_set end = size_set{1} << branches_per_node;
    for (size_set set = 0; set < end; set += 2) { // no size 0
        if (static_cast<unsigned>(std::popcount(set)) != count) continue;
        const std::uint64_t sum = places(nodes, set);
        const bool is_better = sum < least || (sum == least && sizes_of(set) < found.sizes);
        if (!is_better) continue;
        least = sum;
        found.sizes = sizes_of(set);
    }
    return of(nodes, std::move(found.sizes));
}

void root_faults::add(root_fault one) {
    ++counts_[static_cast<std::size_t>(one.what)];
    if (has_room(one.what)) named(one.what).push_back(std::move(one));
}

void root_faults::add(root_faults&& others) {
    for (std::size_t number = 0; number < kinds; ++number) {
        counts_[number] += others.counts_[number];
        for (root_fault& one : others.named_[number])
            if (has_room(one.what)) named(one.what).push_back(std::move(one));
    }
}

std::uint64_t root_faults::total() const noexcept {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::uint64_t root_report::all_nodes() const noexcept {
    return std::accumulate(nodes.begin(), nodes.end(), std::uint64_t{0});
}

std::uint64_t root_report::leaves() const noexcept {
    std::uint64_t sum = 0;
    for (const type& one : types)
        sum += one.objects;
    return sum;
}

std::uint64_t root_report::bytes() const noexcept {
    return bytes_of(nodes);
}

std::uint64_t root_report::free_bytes() const noexcept {
    return bytes_of(free);
}

std::uint64_t root_report::dense_bytes() const noexcept {
    return all_nodes() * dense_node_bytes;
}

double root_report::bytes_per_object() const noexcept {
    return objects == 0
               ? 0
               : static_cast<double>(bytes() + free_bytes()) / static_cast<double>(objects);
}

double root_report::dense_ratio() const noexcept {
    return all_nodes() == 0 ? 1 : static_cast<double>(bytes()) / static_cast<double>(dense_bytes());
}

std::vector<array_sizes> root_report::best_sizes() const {
    constexpr unsigned most = 5;
    std::vector<array_sizes> all;
    for (unsigned count = 0; count <= most; ++count)
        all.push_back(array_sizes::best(nodes_by_children, count));
    return all;
}

array_sizes root_report::sizes_in_use() const {
    return array_sizes::of(nodes_by_children, {capacities.begin(), capacities.end() - 1});
}

root_report root_report::of(const std::filesystem::path& state, const question& asked) {
    row_source from(state);
    if (auto found = attempt_while_still([&] { return attempt(from, asked).run(); }))
        return *std::move(found);
    root_report found;
    if (auto head = attempt_while_still([&] { return attempt(from, asked).head(); }))
        found = *std::move(head);
    else
        found.revision = from.current_revision();
    found.has_moved = true;
    return found;
}

} // namespace chainbase::inspect
