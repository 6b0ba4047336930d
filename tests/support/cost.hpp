#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>

namespace chainbase::test {

/// Prints the time of a call of `once`: the least mean of 15 rounds.
template <typename Once>
void print_cost(const char* name, Once&& once) {
    double least = 1e9;
    for (int round = 0; round < 15; ++round) {
        constexpr int times = 200'000;
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < times; ++i) {
            once();
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        const auto took = std::chrono::steady_clock::now() - begin;
        least = std::min(least, static_cast<double>(took.count()) / times);
    }
    std::cout << name << ": " << least << " ns\n";
}

} // namespace chainbase::test
