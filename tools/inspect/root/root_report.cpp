#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/root/looked_at_tree.hpp>
#include <tools/inspect/root/node_check.hpp>
#include <tools/inspect/root/object_check.hpp>
#include <tools/inspect/root/root_report.hpp>
#include <tools/inspect/rows/object_row.hpp>
#include <tools/inspect/rows/still_attempts.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

namespace chainbase::inspect {

namespace {

using state_root::branches_per_node;
using state_root::capacities;
using state_root::node_ref;
using state_root::node_view;

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
                      [&](const looked_at_tree&, node_ref at, const node_view& node) {
                          count(at, node, found_);
                      });
        name_types(found_);
        if (asked_.verify) verify(found_);
        return std::move(found_);
    }

private:
    void read_head(row_source& state) {
        const looked_at_tree tree(state);
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
