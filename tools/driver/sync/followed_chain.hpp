#pragma once

#include <tools/driver/chain_state.hpp>

#include <memory>
#include <utility>

namespace chainbase::driver {

/// What is moved along a branch, block by block: a state, or a node that keeps pending transactions
/// over one. For the thread that applies.
class followed_chain {
public:
    explicit followed_chain(chain_state& state) noexcept : state_(state) {}
    followed_chain(const followed_chain&) = delete;
    followed_chain& operator=(const followed_chain&) = delete;
    virtual ~followed_chain() = default;

    /// Applies the block that follows the head. Throws as chain_state::apply.
    virtual void apply(const decoded_block& next) { state_.apply(next); }
    /// Takes the head back. `last`: its content, or null when that is not known any more.
    virtual void pop(std::shared_ptr<const decoded_block> last) {
        static_cast<void>(std::move(last));
        state_.pop();
    }

    [[nodiscard]] const chain_state& state() const noexcept { return state_; }

protected:
    chain_state& state_;
};

} // namespace chainbase::driver
