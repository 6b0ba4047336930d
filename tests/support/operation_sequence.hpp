#pragma once

#include <tests/support/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace chainbase::test {

/// The operations of a random test. Each has a random source of its own, so that any part of the
/// sequence can be played again by itself.
class operation_sequence {
public:
    /// Gives `random` what the next operation draws from. False at the end.
    bool next(random_source& random) noexcept {
        if (played_ == seeds_->size()) return false;
        random = random_source((*seeds_)[played_++]);
        return true;
    }
    /// Says what an operation is about to do, for whoever reads the shortest sequence that fails;
    /// empty while nobody does.
    [[nodiscard]] std::function<void(std::string)> tell() const {
        if (!told_) return {};
        return [told = told_](std::string what) { told->push_back(std::move(what)); };
    }
    [[nodiscard]] std::size_t played() const noexcept { return played_; }

private:
    friend void check_random_operations(std::uint64_t, std::uint64_t,
                                        const std::function<void(operation_sequence&)>&);

    operation_sequence(const std::vector<std::uint64_t>& seeds, std::vector<std::string>* told)
        : seeds_(&seeds), told_(told) {}

    const std::vector<std::uint64_t>* seeds_;
    std::vector<std::string>* told_;
    std::size_t played_ = 0;
};

/// Plays so many operations from `seed`: `play` makes a new state, applies all of a sequence to it
/// and throws when something is wrong. If it does, shorter and shorter parts of the sequence are
/// played as long as they fail, for two minutes at most, and the test fails with the last of them.
void check_random_operations(std::uint64_t seed, std::uint64_t count,
                             const std::function<void(operation_sequence&)>& play);

} // namespace chainbase::test
