#pragma once

#include <chainbase/snapshot/snapshot.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace chainbase {

/// A snapshot for all threads of a server: they share one, so that a page is copied once for all,
/// and change to a newer one between requests. There are two, of which a thread of the pool renews
/// one while the other one is read.
///
///     read_pool pool(db);
///     const amount held = pool.read([&](const snapshot& then) {
///         return then.get<account, by_name>("alice").balance;
///     });
///
/// Thread-safe; the destructor requires that nobody reads. A forked child cannot use it.
class read_pool {
public:
    struct options {
        /// A request reads a snapshot that was the newest one so long ago at most; or, where that
        /// is longer, four times as long as the last renewal took, or as that under way has taken
        /// with its wait for readers. 0: that was the newest one when the request began.
        std::chrono::milliseconds most_age{10};
        /// A snapshot that has taken more memory gives it back.
        std::uint64_t most_bytes = std::uint64_t{256} << 20;
    };

    /// Of a state that this process has open and that outlives the pool, with the types that it
    /// has when a snapshot is taken: at the first request, and when all are in use. Until the pool
    /// ends there may be no add_type(), compact() or close(), also in a thread that asks for
    /// nothing.
    explicit read_pool(const database& of, const options& how);
    explicit read_pool(const database& of) : read_pool(of, options()) {}
    /// Of the state in a folder, whoever writes it; `add_types`, which a thread of the pool calls,
    /// adds those that are read.
    read_pool(std::string state, std::function<void(snapshot&)> add_types, const options& how);
    ~read_pool();
    read_pool(const read_pool&) = delete;
    read_pool& operator=(const read_pool&) = delete;

    /// Returns read(const snapshot&). Calls it again, with a newer snapshot, when the block was
    /// undone or left behind meanwhile; so it must not keep what an earlier call found, nor may
    /// its result refer to the snapshot. Throws what it throws and what taking a snapshot throws;
    /// too_old_error when that happened to every one of several snapshots.
    template <typename Read>
    auto read(Read&& read) {
        for (unsigned tries = 1;; ++tries) {
            const std::shared_ptr<const snapshot> now = current();
            try {
                return read(*now);
            } catch (const too_old_error&) {
                if (tries == most_tries) throw;
            }
        }
    }

    /// The snapshot that a request reads which begins now. Throws what taking one throws.
    [[nodiscard]] std::shared_ptr<const snapshot> current();

    /// How many snapshots it has taken, or renewed.
    [[nodiscard]] std::uint64_t taken() const;

private:
    class renewer;
    using taker = std::function<std::unique_ptr<snapshot>()>;
    static constexpr unsigned most_tries = 10;

    std::unique_ptr<renewer> renewer_;
};

} // namespace chainbase
