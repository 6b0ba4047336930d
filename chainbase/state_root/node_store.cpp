#include <chainbase/state_root/node_store.hpp>
#include <pool_allocator/error.hpp>
#include <undo/operation.hpp>

#include <boost/mp11.hpp>

#include <algorithm>
#include <cstring>

namespace chainbase::state_root {

namespace {

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

} // namespace

node_store::node_store(database& state) : state_(state) {
    state_.add_type<tree_head>("state_root.tree");
    state_.add_type<named_type>("state_root.types");
    unsigned number = 0;
    each_node_type([&](auto type) {
        using node_type = typename decltype(type)::type;
        state_.add_type<node_type>("state_root.nodes" + std::to_string(capacities[number++]));
    });
    const bool is_new = state_.count<tree_head>() == 0;
    if (is_new && state_.memory().writable()) state_.create<tree_head>([](tree_head&) {});
}

std::byte* node_store::place_of(node_ref node) const {
    return with_node_type(node.capacity_class(), [&](auto type) {
        using node_type = typename decltype(type)::type;
        const node_type* found = state_.find(id<node_type>(node.number()));
        if (!found)
            throw damaged_error(state_.memory().state().string() +
                                ": state root: there is no node " + std::to_string(node.number()) +
                                " of " + std::to_string(node.capacity()) +
                                " children, to which another one leads; make the root anew");
        return reinterpret_cast<std::byte*>(const_cast<node_type*>(found));
    });
}

std::uint16_t node_store::type_number(std::string_view name) {
    for (const named_type& one : state_.objects<named_type>())
        if (std::string_view(one.name) == name) return static_cast<std::uint16_t>(one.id.value);
    if (state_.count<named_type>() > UINT16_MAX)
        throw limit_error("state root: more than 65536 types; leave some of them out");
    const named_type& made = state_.create<named_type>([&](named_type& one) { one.name = name; });
    return static_cast<std::uint16_t>(made.id.value);
}

std::string_view node_store::type_name(std::uint16_t number) const {
    if (const named_type* found = state_.find(id<named_type>(number))) return found->name;
    throw damaged_error(state_.memory().state().string() + ": state root: no type has the number " +
                        std::to_string(number) + ", which a leaf names; make the root anew");
}

std::uint32_t node_store::made(unsigned capacity_class) const {
    return with_node_type(capacity_class, [&](auto type) {
        return static_cast<std::uint32_t>(state_.count<typename decltype(type)::type>());
    });
}

std::uint32_t node_store::free(unsigned capacity_class) const {
    std::uint32_t count = 0;
    for (std::uint32_t next = head().free[capacity_class]; next != 0; ++count)
        next = view(node_ref::make(next - 1, capacity_class)).reference(0);
    return count;
}

void node_store::clear() {
    session all = state_.start_session();
    each_node_type([&](auto type) { state_.clear<typename decltype(type)::type>(); });
    state_.modify(head(), [](tree_head& head) {
        head.leaves = 0;
        head.digest = {};
        head.has_root = 0;
        head.free = {};
    });
    all.squash();
}

void node_store::reserve(const std::array<std::uint32_t, capacities.size()>& nodes) {
    for (unsigned number = 0; number < capacities.size(); ++number) {
        std::uint32_t missing = nodes[number];
        for (std::uint32_t next = head().free[number]; next != 0 && missing != 0; --missing)
            next = view(node_ref::make(next - 1, number)).reference(0);
        if (missing == 0) continue;
        with_node_type(number, [&](auto type) {
            using node_type = typename decltype(type)::type;
            std::uint32_t first = head().free[number];
            for (; missing != 0; --missing) {
                if (state_.next_id<node_type>().value >= node_ref::max_nodes)
                    throw limit_error("state root: more than " +
                                      std::to_string(node_ref::max_nodes) + " nodes of " +
                                      std::to_string(capacities[number]) + " children");
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
    const auto taken = node_ref::make(now.free[capacity_class] - 1, capacity_class);
    now.free[capacity_class] = view(taken).reference(0);
    write_head(now);
    return taken;
}

void node_store::let_go(node_ref node) {
    tree_head now = head();
    std::uint32_t& first = now.free[node.capacity_class()];
    const child next{{}, first, 0, false};
    write(node, {0, 0, std::span(&next, 1)});
    first = node.number() + 1;
    write_head(now);
}

void node_store::write(node_ref node, const node_content& content) {
    std::byte* const place = place_of(node);
    const unsigned capacity = node.capacity();
    alignas(8) std::array<std::byte, node_view::bytes(branches_per_node)> wanted;
    std::memcpy(wanted.data(), place, node_view::bytes(capacity));
    const auto put = [&](std::size_t offset, const auto& value) {
        std::memcpy(&wanted[offset], &value, sizeof value);
    };
    put(4, content.branches);
    put(6, content.leaves);
    for (std::size_t i = 0; i < content.children.size(); ++i) {
        const child& one = content.children[i];
        put(node_view::digests_at + sizeof(sha256_digest) * i, one.digest);
        put(node_view::references_at(capacity) + 4 * i, one.reference);
        put(node_view::types_at(capacity) + 2 * i, one.type);
    }
    write_difference(place, wanted.data(), node_view::bytes(capacity));
}

void node_store::write_digest(node_ref node, unsigned place, const sha256_digest& digest) {
    write_difference(place_of(node) + node_view::digests_at + sizeof(sha256_digest) * place,
                     digest.data(), digest.size());
}

void node_store::write_head(const tree_head& head) {
    const tree_head& now = this->head();
    write_difference(reinterpret_cast<std::byte*>(const_cast<tree_head*>(&now)),
                     reinterpret_cast<const std::byte*>(&head), sizeof head);
}

/// In words, as the log has them.
void node_store::write_difference(std::byte* place, const std::byte* wanted, std::size_t bytes) {
    constexpr std::size_t word = 4;
    write_barrier& barrier = write_barrier::active();
    const auto differs = [&](std::size_t at) {
        return std::memcmp(place + at, wanted + at, word) != 0;
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
