#pragma once

#include <tools/bench/account.hpp>
#include <tools/bench/account_store.hpp>
#include <tools/bench/measurements.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace chainbase::bench {

/// The inputs of a run, made before anything is timed and equal for every engine and round: the
/// objects, and for each row which of them it touches in which order.
///
/// Immutable after construction. Sizes follow from the number of objects: `batch` objects (a
/// quarter of all, at most 100,000) are touched by each timed row; `calls` sessions share a batch
/// where the row is per call; `small_sessions` sessions of three objects make a session_3 row.
class account_plan {
public:
    static constexpr std::uint32_t min_objects = 400;
    static constexpr std::uint32_t calls = 10;
    static constexpr std::uint32_t touched_by_small_session = 3;

    /// Effects: makes objects [0, objects + batch) from `seed`; those from `objects` on are created
    /// in sessions only. Requires: objects >= min_objects.
    account_plan(std::uint32_t objects, std::uint64_t seed);

    [[nodiscard]] std::uint32_t objects() const noexcept { return objects_; }
    [[nodiscard]] std::uint32_t batch() const noexcept { return batch_; }
    [[nodiscard]] std::uint32_t small_sessions() const noexcept { return small_sessions_; }

    /// Number of objects read by the iterate rows.
    [[nodiscard]] std::uint32_t scan() const noexcept { return scan_; }

    /// The object with this id as it is created; id < objects() + batch().
    [[nodiscard]] const account& object(std::uint32_t id) const noexcept { return accounts_[id]; }

    /// A random balance; `step` counts the changes of a row, so that no row writes an unchanged
    /// value.
    [[nodiscard]] std::int64_t balance(std::uint64_t step) const noexcept {
        return static_cast<std::int64_t>(mix(seed_ ^ mix(step)) >> 24);
    }

    /// `count` distinct random ids below objects(), in random order; another list for each `row`.
    [[nodiscard]] std::vector<std::uint32_t> random_ids(std::uint64_t row,
                                                        std::uint32_t count) const;

private:
    std::uint32_t objects_;
    std::uint32_t batch_;
    std::uint32_t small_sessions_;
    std::uint32_t scan_;
    std::uint64_t seed_;
    std::vector<account> accounts_;
};

/// An engine with its type erased. Each function builds a database in `options.directory`, measures
/// whole batches (so that no virtual call is within a timed loop), checks the results against the
/// plan, and destroys the database.
///
/// Throws: chainbase::error when the engine returned a wrong result; whatever the engine throws.
class account_engine {
public:
    virtual ~account_engine() = default;

    /// create, find, iterate, modify, remove and bytes, outside any session.
    virtual void measure_plain(const account_plan&, const store_options&, measurements&) = 0;

    /// find_by_name_hashed; nothing for an engine without hashed keys.
    virtual void measure_hashed(const account_plan&, const store_options&, measurements&) = 0;

    /// Sessions, undo, squash and commit; nothing for an engine without sessions.
    virtual void measure_sessions(const account_plan&, const store_options&, measurements&) = 0;
};

/// @name One factory per engine, as described in the README
/// @{
std::unique_ptr<account_engine> make_chainbase_engine();
std::unique_ptr<account_engine> make_chainbase_btree_engine();
std::unique_ptr<account_engine> make_classical_engine();
std::unique_ptr<account_engine> make_heap_engine();
std::unique_ptr<account_engine> make_offset_ptr_pool_engine();
std::unique_ptr<account_engine> make_node_allocator_engine();
std::unique_ptr<account_engine> make_adaptive_pool_engine();
std::unique_ptr<account_engine> make_lmdb_engine();
std::unique_ptr<account_engine> make_rocksdb_engine();
/// @}

} // namespace chainbase::bench
