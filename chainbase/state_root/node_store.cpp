#include <chainbase/segment/segment.hpp>
#include <chainbase/state_root/node_store.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/undo_log.hpp>

#include <boost/mp11.hpp>

#include <algorithm>
#include <cstring>

namespace chainbase::state_root {

namespace {

constexpr id<tree_head> only_head{0};

/// Calls visit with node<C> as a type, C being the capacity of this class.
template <typename Visitor>
decltype(auto) with_node_type(unsigned capacity_class, Visitor&& visit) {
    return boost::mp11::mp_with_index<capacities.size()>(capacity_class, [&](auto number) {
        return visit(std::type_identity<node<capacities[number]>>());
    });
}

template <typename Visitor>
void each_node_type(Visitor&& visit) {
    for (unsigned number = 0; number < capacities.size(); ++number)
        with_node_type(number, visit);
}

/// A writable view: nodes are const only outside of this module.
template <typename T>
std::byte* bytes_of(const T& value) {
    return reinterpret_cast<std::byte*>(const_cast<T*>(&value));
}

} // namespace

node_store::node_store(database& state) : state_(state) {
    state_.add_type<tree_head>(tree_head::type_name);
    state_.add_type<named_type>(named_type::type_name);
    unsigned number = 0;
    each_node_type([&](auto type) {
        using node_type = typename decltype(type)::type;
        state_.add_type<node_type>("state_root.nodes" + std::to_string(capacities[number++]));
    });
}

const tree_head& node_store::head() const {
    static const tree_head of_no_tree;
    const tree_head* const found = state_.find(only_head);
    return found ? *found : of_no_tree;
}

void node_store::make_head() {
    if (!state_.find(only_head)) state_.create<tree_head>([](tree_head&) {});
}

std::byte* node_store::place_of(node_ref node) const {
    return with_node_type(node.capacity_class(), [&](auto type) {
        using node_type = typename decltype(type)::type;
        const node_type* found = state_.find(id<node_type>(node.number()));
        if (!found)
            damaged("there is no node " + std::to_string(node.number()) + " of " +
                    std::to_string(node.capacity()) + " children, to which another node leads");
        return bytes_of(*found);
    });
}

std::string node_store::name() const {
    return state_.state() + ": state root";
}

node_view node_store::free_node(std::uint32_t first, unsigned capacity_class) const {
    const auto ref = node_ref::make(first - 1, capacity_class);
    const node_view node = view(ref);
    if (node.branches() == 0) return node;
    damaged("the list of free nodes leads to node " + std::to_string(ref.number()) + " of " +
            std::to_string(ref.capacity()) + " children, which is not free");
}

std::map<std::string, std::uint16_t> node_store::type_numbers() const {
    std::map<std::string, std::uint16_t> all;
    for (const named_type& one : state_.objects<named_type>())
        all.emplace(one.name, static_cast<std::uint16_t>(one.id.value));
    return all;
}

void node_store::set_types(const std::set<std::string>& names) {
    const auto known = type_numbers();
    for (const auto& [name, number] : known)
        if (!names.contains(name)) state_.remove(state_.get(id<named_type>(number)));
    for (const std::string& name : names) {
        if (known.contains(name)) continue;
        if (state_.next_id<named_type>().value > UINT16_MAX)
            throw limit_error(state_.state() +
                              ": state root: 65536 types were committed to in turn; load the state "
                              "anew from a dump, and make the root there");
        state_.create<named_type>([&](named_type& one) { one.name = std::string_view(name); });
    }
}

std::string_view node_store::type_name(std::uint16_t number) const {
    if (const named_type* found = state_.find(id<named_type>(number))) return found->name;
    damaged("no type has the number " + std::to_string(number) + ", which a leaf names");
}

std::uint32_t node_store::made(unsigned capacity_class) const {
    return with_node_type(capacity_class, [&](auto type) {
        return static_cast<std::uint32_t>(state_.count<typename decltype(type)::type>());
    });
}

void node_store::reset() {
    session all = state_.start_session();
    make_head();
    apply([&] {
        std::array<std::uint32_t, capacities.size()> free{};
        for (unsigned number = 0; number < capacities.size(); ++number)
            free[number] = free_all(number);
        write_empty_head(free);
    });
    all.squash();
}

void node_store::clear() {
    session all = state_.start_session();
    make_head();
    each_node_type([&](auto type) { state_.clear<typename decltype(type)::type>(); });
    apply([&] { write_empty_head({}); });
    all.squash();
}

void node_store::write_empty_head(const std::array<std::uint32_t, capacities.size()>& free) {
    tree_head empty;
    empty.id = head().id;
    empty.free = free;
    write_head(empty);
}

std::uint32_t node_store::free_all(unsigned capacity_class) {
    return with_node_type(capacity_class, [&](auto type) {
        using node_type = typename decltype(type)::type;
        std::uint32_t first = 0;
        for (std::uint32_t end = state_.next_id<node_type>().value; end != 0; --end) {
            if (!state_.find(id<node_type>(end - 1))) continue;
            write_free(node_ref::make(end - 1, capacity_class), first);
            first = end;
        }
        return first;
    });
}

void node_store::reserve(const std::array<std::uint32_t, capacities.size()>& nodes) {
    for (unsigned number = 0; number < capacities.size(); ++number) {
        std::uint32_t missing = nodes[number];
        for (std::uint32_t next = head().free[number]; next != 0 && missing != 0; --missing)
            next = free_node(next, number).reference(0);
        if (missing == 0) continue;
        with_node_type(number, [&](auto type) {
            using node_type = typename decltype(type)::type;
            std::uint32_t first = head().free[number];
            for (; missing != 0; --missing) {
                if (state_.next_id<node_type>().value >= node_ref::max_nodes)
                    throw limit_error(name() + ": " + std::to_string(node_ref::max_nodes) +
                                      " nodes of " + std::to_string(capacities[number]) +
                                      " children were made, in this tree and in those that were "
                                      "removed; load the state anew from a dump, and make the root "
                                      "there");
                const node_type& made =
                    state_.create<node_type>([&](node_type& one) { one.references[0] = first; });
                first = made.id.value + 1;
            }
            state_.modify(head(), [&](tree_head& one) { one.free[number] = first; });
        });
    }
}

void node_store::apply(const std::function<void()>& change) {
    operation all(*state_.memory().log(), write_barrier::record_bytes(sizeof(tree_head)));
    change();
    all.complete();
}

node_ref node_store::take(unsigned capacity_class) {
    tree_head now = head();
    std::uint32_t& first = now.free[capacity_class];
    const auto taken = node_ref::make(first - 1, capacity_class);
    first = free_node(first, capacity_class).reference(0);
    write_head(now);
    return taken;
}

void node_store::free(node_ref node) {
    tree_head now = head();
    std::uint32_t& first = now.free[node.capacity_class()];
    write_free(node, first);
    first = node.number() + 1;
    write_head(now);
}

void node_store::write_free(node_ref node, std::uint32_t next) {
    constexpr std::array<std::byte, 4> no_children{};
    std::byte* const place = place_of(node);
    write_difference(place + node_view::branches_at, no_children.data(), no_children.size());
    write_difference(place + node_view::references_at(node.capacity()),
                     reinterpret_cast<const std::byte*>(&next), sizeof next);
}

void node_store::write(node_ref node, const node_content& content) {
    std::byte* const place = place_of(node);
    const unsigned capacity = node.capacity();
    alignas(8) std::array<std::byte, node_view::bytes(branches_per_node)> wanted;
    std::memcpy(wanted.data(), place, node_view::bytes(capacity));
    const auto put = [&](std::size_t offset, const auto& value) {
        std::memcpy(&wanted[offset], &value, sizeof value);
    };
    put(node_view::branches_at, content.branches);
    put(node_view::leaves_at, content.leaves);
    for (std::size_t i = 0; i < content.children.size(); ++i) {
        const child& one = content.children[i];
        put(node_view::digests_at + sizeof(sha256_digest) * i, one.digest);
        put(node_view::references_at(capacity) + 4 * i, one.reference);
        put(node_view::types_at(capacity) + 2 * i, one.type);
    }
    if (content.groups) put(node_view::groups_at(capacity), *content.groups);
    write_difference(place, wanted.data(), node_view::bytes(capacity));
}

void node_store::write_digest(const node_view& node, unsigned digit, const sha256_digest& digest) {
    write_difference(bytes_of(node.digest(node.place_of(digit))), digest.data(), digest.size());
}

void node_store::write_groups(const node_view& node,
                              const std::array<sha256_digest, groups_per_node>& groups) {
    write_difference(bytes_of(node.group(0)), reinterpret_cast<const std::byte*>(&groups),
                     sizeof groups);
}

void node_store::write_head(const tree_head& head) {
    write_difference(bytes_of(this->head()), reinterpret_cast<const std::byte*>(&head),
                     sizeof head);
}

/// Compares by words of 4 bytes, the log's unit.
void node_store::write_difference(std::byte* place, const std::byte* wanted, std::size_t bytes) {
    constexpr std::size_t word = sizeof(std::uint32_t);
    write_barrier& barrier = write_barrier::active();
    const auto word_at = [](const std::byte* at) {
        std::uint32_t value;
        std::memcpy(&value, at, sizeof value);
        return value;
    };
    const auto differs = [&](std::size_t at) {
        return word_at(place + at) != word_at(wanted + at);
    };
    for (std::size_t begin = 0; begin < bytes; begin += word) {
        if (!differs(begin)) continue;
        std::size_t end = begin + word;
        while (end < bytes && differs(end))
            end += word;
        barrier.reserve(write_barrier::record_bytes(end - begin));
        barrier.record(place + begin, end - begin);
        std::memcpy(place + begin, wanted + begin, end - begin);
        begin = end;
    }
}

} // namespace chainbase::state_root
