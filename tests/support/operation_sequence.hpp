#pragma once

#include <tests/support/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace chainbase::test {

/// The operations of a random test. Each has its own random source, so that any part of the
/// sequence can be replayed alone.
class operation_sequence {
public:
    /// Sets `random` to the next operation's source. False at the end.
    bool next(random_source& random) noexcept {
        if (played_ == seeds_->size()) return false;
        random = random_source((*seeds_)[played_++]);
        return true;
    }
    /// A function that prints the next operation, for the shortest failing sequence; empty
    /// otherwise.
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

/// Plays so many operations from `seed`: `play` makes a new state, applies the whole sequence to it
/// and throws on a fault. After a failure, ever shorter parts of the sequence are played while they
/// fail, for two minutes at most, and the test fails with the last of them.
void check_random_operations(std::uint64_t seed, std::uint64_t count,
                             const std::function<void(operation_sequence&)>& play);

} // namespace chainbase::test
