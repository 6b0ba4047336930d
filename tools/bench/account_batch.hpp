#pragma once

#include <pool_allocator/error.hpp>
#include <tools/bench/account_plan.hpp>
#include <tools/bench/account_store.hpp>
#include <tools/bench/stopwatch.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

/// What the groups of rows share: batches, filling, and checking that the engine did its work.
namespace chainbase::bench {

/// Runs `work()` as one batch of a store with transactions, and simply runs it for others.
template <typename Store, typename Work>
void in_batch(Store& store, access kind, Work&& work) {
    if constexpr (batches<Store>) store.begin_batch(kind);
    std::forward<Work>(work)();
    if constexpr (batches<Store>) store.end_batch();
}

/// Returns: the nanoseconds that the batch took, the engine's own begin and end included.
template <typename Store, typename Work>
double timed_batch(Store& store, access kind, Work&& work) {
    return nanoseconds([&] { in_batch(store, kind, std::forward<Work>(work)); });
}

/// Throws unless `holds`; `what` completes "the engine gave a wrong result: ...".
inline void check_result(bool holds, const std::string& what) {
    if (!holds) throw error("bench: the engine gave a wrong result: " + what);
}

/// Creates the plan's objects in batches; `created(id, handle)` sees each. Returns: nanoseconds.
template <typename Store, typename Created>
double fill(Store& store, const account_plan& plan, Created&& created) {
    double total = 0;
    for (std::uint32_t first = 0; first < plan.objects(); first += plan.batch()) {
        const std::uint32_t last = std::min(plan.objects(), first + plan.batch());
        total += timed_batch(store, access::write, [&] {
            for (std::uint32_t id = first; id < last; ++id)
                created(id, store.create(plan.object(id)));
        });
    }
    return total;
}

/// What a store holds, in two numbers that change with every object and field that a row touches.
struct store_digest {
    std::uint64_t objects = 0;
    std::uint64_t values = 0;

    template <typename Object>
    void add(const Object& object) noexcept {
        ++objects;
        values += digest_of(object);
    }
    friend bool operator==(const store_digest&, const store_digest&) = default;
};

/// Reads every object, by id and by name; throws when the two orders do not hold the same.
template <typename Store>
store_digest digest_of_store(Store& store) {
    store_digest by_id;
    store_digest by_name;
    in_batch(store, access::read, [&] {
        store.for_each_by_id(UINT32_MAX, [&](const auto& object) { by_id.add(object); });
        store.for_each_by_name(UINT32_MAX, [&](const auto& object) { by_name.add(object); });
    });
    check_result(by_id == by_name, "the orders by id and by name hold different objects");
    return by_id;
}

/// The handles of these objects in this order, copied without touching the objects themselves.
template <typename Handle>
std::vector<Handle> handles_of(const std::vector<Handle>& all,
                               const std::vector<std::uint32_t>& ids) {
    std::vector<Handle> result;
    result.reserve(ids.size());
    for (const std::uint32_t id : ids)
        result.push_back(all[id]);
    return result;
}

/// The names of these objects in this order.
inline std::vector<account_name> names_of(const account_plan& plan,
                                          const std::vector<std::uint32_t>& ids) {
    std::vector<account_name> result;
    result.reserve(ids.size());
    for (const std::uint32_t id : ids)
        result.push_back(plan.object(id).name);
    return result;
}

/// What the find rows must add up to.
inline std::uint64_t sum_of_balances(const account_plan& plan,
                                     const std::vector<std::uint32_t>& ids) {
    std::uint64_t sum = 0;
    for (const std::uint32_t id : ids)
        sum += static_cast<std::uint64_t>(plan.object(id).balance);
    return sum;
}

} // namespace chainbase::bench
