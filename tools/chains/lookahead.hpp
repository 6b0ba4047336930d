#pragma once

#include <tools/chains/chain_model.hpp>

#include <cstddef>
#include <utility>

namespace chainbase {

/// How many transactions ahead memory is asked for: far enough that it answers, near enough that
/// the cache still has it.
inline constexpr std::size_t keys_ahead = 24;
inline constexpr std::size_t objects_ahead = 16;
inline constexpr std::size_t ids_ahead = 8;

/// Prefetches for transactions that are applied one after the other: a step before each, which asks
/// for the memory of some that come later.
///
/// A Cursor names a transaction: done(), block(), transaction(), next(). Copies go on alone.
template <typename Cursor>
class lookahead {
public:
    lookahead(const chain_model& model, const Cursor& first)
        : model_(model), keys_(first), objects_(first), ids_(first) {
        for (std::size_t i = 0; i < keys_ahead; ++i) {
            ask_for_keys();
            if (i >= keys_ahead - objects_ahead) ask_for_objects();
            if (i >= keys_ahead - ids_ahead) ask_for_ids();
        }
    }
    /// To be called before each transaction is applied.
    void step() {
        ask_for_keys();
        ask_for_objects();
        ask_for_ids();
    }

private:
    void ask_for_keys() {
        if (keys_.done()) return;
        model_.prefetch_keys(keys_.block(), keys_.transaction());
        keys_.next();
    }
    void ask_for_objects() {
        if (objects_.done()) return;
        model_.prefetch_objects(objects_.block(), objects_.transaction());
        objects_.next();
    }
    void ask_for_ids() {
        if (ids_.done()) return;
        model_.prefetch_ids(ids_.block(), ids_.transaction());
        ids_.next();
    }

    const chain_model& model_;
    Cursor keys_;
    Cursor objects_;
    Cursor ids_;
};

/// The transactions of consecutive blocks.
class run_cursor {
public:
    explicit run_cursor(run_of_blocks run) noexcept : run_(run) { skip_empty(); }

    [[nodiscard]] bool done() const noexcept { return run_.empty(); }
    [[nodiscard]] const decoded_block& block() const noexcept { return *run_.front(); }
    [[nodiscard]] std::size_t transaction() const noexcept { return transaction_; }
    void next() noexcept {
        if (++transaction_ == block().transactions()) {
            run_ = run_.subspan(1);
            transaction_ = 0;
            skip_empty();
        }
    }

private:
    void skip_empty() noexcept {
        while (!run_.empty() && run_.front()->transactions() == 0)
            run_ = run_.subspan(1);
    }

    run_of_blocks run_;
    std::size_t transaction_ = 0;
};

} // namespace chainbase
