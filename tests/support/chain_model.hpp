#pragma once

#include <tests/support/world.hpp>

#include <cstdint>
#include <map>
#include <vector>

namespace chainbase::test {

/// A deterministic chain over all sample types: step n applies a block in a session (with inner
/// transactions of which some fail), or pops the last block; blocks are committed at a lag, now and
/// then all of them. What step n does depends on the seed, n and the state only.
class chain_model {
public:
    static constexpr std::size_t lag = 5;

    chain_model(std::filesystem::path state, std::uint64_t seed);

    void apply(std::uint64_t step);
    [[nodiscard]] world& state() noexcept { return world_; }

private:
    void apply_block(random_source& random);

    world world_;
    std::uint64_t seed_;
};

} // namespace chainbase::test
