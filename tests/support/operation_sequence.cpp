#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <tests/support/operation_sequence.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <sstream>

namespace chainbase::test {

namespace {

using seeds = std::vector<std::uint64_t>;
using clock = std::chrono::steady_clock;

constexpr std::chrono::minutes patience{2};

struct failure {
    std::size_t played;
    std::string what;
};

/// The sequence, and those that lack a part of it.
rc::Shrinkable<seeds> shrinkable(const seeds& all) {
    return rc::shrinkable::shrinkRecur(
        all, [](const seeds& longer) { return rc::shrink::removeChunks(longer); });
}

} // namespace

void check_random_operations(std::uint64_t seed, std::uint64_t count,
                             const std::function<void(operation_sequence&)>& play) {
    const auto failure_of = [&](const seeds& all, std::vector<std::string>* told = nullptr) {
        operation_sequence sequence(all, told);
        try {
            play(sequence);
            return std::optional<failure>();
        } catch (const std::exception& e) {
            return std::optional<failure>({sequence.played(), e.what()});
        }
    };
    random_source random(seed);
    seeds all(count);
    for (std::uint64_t& one : all)
        one = random.next();
    const std::optional<failure> first = failure_of(all);
    if (!first) return;

    all.resize(first->played);
    const clock::time_point end = clock::now() + patience;
    const seeds shortest = rc::shrinkable::findLocalMin(shrinkable(all), [&](const seeds& shorter) {
                               return clock::now() < end && failure_of(shorter).has_value();
                           }).first;
    std::vector<std::string> told;
    const std::optional<failure> last = failure_of(shortest, &told);
    std::ostringstream text;
    for (std::size_t i = 0; i < told.size(); ++i)
        text << "\n  " << i + 1 << ". " << told[i];
    FAIL("seed " << seed << ", operation " << first->played << ": " << first->what
                 << "\nrun again with CHAINBASE_TEST_SEED=" << seed << "\nshrunk to "
                 << shortest.size() << " operations:" << text.str()
                 << "\n  then: " << (last ? last->what : "no failure, this time"));
}

} // namespace chainbase::test
