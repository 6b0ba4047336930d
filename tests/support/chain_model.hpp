#pragma once

#include <tests/support/world.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace chainbase::test {

/// The size of a chain and its blocks.
struct chain_options {
    habits changes{.objects = 12};
    bool filled = true;             ///< a new state gets its objects before the first step
    std::uint32_t transactions = 5; ///< of a block, fewer than that
    std::uint32_t operations = 8;   ///< of a transaction, fewer than that
    open_options how = quick_options();
};

/// A deterministic chain over all sample types: step n applies a block in a session (with inner
/// transactions of which some fail), or pops the last block; blocks are committed at a lag, now and
/// then all of them. What step n does depends on the seed, n and the state only.
class chain_model {
public:
    static constexpr std::size_t lag = 5;

    chain_model(const std::filesystem::path& state, std::uint64_t seed,
                const chain_options& options = {});

    void apply(std::uint64_t step);
    [[nodiscard]] world& state() noexcept { return world_; }
    [[nodiscard]] const world& state() const noexcept { return world_; }

private:
    void apply_block(random_source& random);

    chain_options options_;
    world world_;
    std::uint64_t seed_;
};

} // namespace chainbase::test
