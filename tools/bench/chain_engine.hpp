#pragma once

#include <tools/chains/chain_model.hpp>

#include <cstdint>

namespace chainbase::bench {

/// A chain's rules over one engine's state, with its sessions. Calls come once per block,
/// transaction and session, the same for every engine.
///
/// For one thread; frees everything when destroyed. Sessions nest and end in reverse order.
class chain_engine {
public:
    chain_engine() = default;
    chain_engine(const chain_engine&) = delete;
    chain_engine& operator=(const chain_engine&) = delete;
    virtual ~chain_engine() = default;

    [[nodiscard]] virtual chain_model& model() = 0;
    /// Whether the model's prefetch calls do something here.
    [[nodiscard]] virtual bool asks_ahead() const = 0;

    virtual void start_session() = 0;
    /// Keeps the session under way as a revision that can be undone.
    virtual void push() = 0;
    /// Undoes the newest session, pushed or not.
    virtual void undo() = 0;
    /// Merges the session under way into the one below.
    virtual void squash() = 0;
    virtual void commit(std::int64_t revision) = 0;
    [[nodiscard]] virtual std::int64_t revision() const = 0;

    /// Objects in memory, and what the state holds for them, its undo memory included.
    [[nodiscard]] virtual std::uint64_t objects() const = 0;
    [[nodiscard]] virtual std::uint64_t held_bytes() const = 0;
};

} // namespace chainbase::bench
