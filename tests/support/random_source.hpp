#pragma once

#include <cstdint>
#include <string>

namespace chainbase::test {

/// A copyable source of numbers, equal on all platforms for equal seeds (splitmix64). A copy
/// repeats the original's numbers, so a model and the engine can be given the same change.
class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : seed_(seed), state_(seed) {}

    [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

    std::uint64_t next() noexcept {
        std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15U;
        z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9U;
        z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EBU;
        return z ^ z >> 31;
    }
    /// A number below `end`.
    std::uint32_t below(std::uint32_t end) noexcept {
        return static_cast<std::uint32_t>((next() >> 32) * end >> 32);
    }
    bool chance(std::uint32_t per_thousand) noexcept { return below(1000) < per_thousand; }
    bool one_in(std::uint32_t n) noexcept { return below(n) == 0; }

private:
    std::uint64_t seed_;
    std::uint64_t state_;
};

/// The seed of a test: `usual`, or that of the environment variable CHAINBASE_TEST_SEED.
[[nodiscard]] std::uint64_t test_seed(std::uint64_t usual);
/// An untried seed, or that of CHAINBASE_TEST_SEED. Print it.
[[nodiscard]] std::uint64_t new_seed();
/// How many operations a long randomized test runs: `usual`, or CHAINBASE_TEST_OPERATIONS (more in
/// a soak, fewer under sanitizers).
[[nodiscard]] std::uint64_t test_operations(std::uint64_t usual);
/// As test_operations, for a short test, which a soak does not lengthen.
[[nodiscard]] std::uint64_t short_test_operations(std::uint64_t usual);

/// A text of random length: mostly short, sometimes empty or long, rarely larger than any class of
/// buffers.
[[nodiscard]] std::string random_text(random_source& random);

} // namespace chainbase::test
