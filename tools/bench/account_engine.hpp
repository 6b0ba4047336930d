#pragma once

#include <tools/bench/account_plan.hpp>
#include <tools/bench/account_store.hpp>
#include <tools/bench/measurements.hpp>

namespace chainbase::bench {

/// An engine with its type erased. Each function builds a database in `options.directory`, measures
/// whole batches (so that no virtual call stands inside a timed loop), checks what the engine did
/// against the plan, and destroys the database.
///
/// Throws: chainbase::error when the engine gave a wrong result; whatever the engine throws.
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

} // namespace chainbase::bench
