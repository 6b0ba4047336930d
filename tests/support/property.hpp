#pragma once

#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <tests/support/random_source.hpp>

#include <sstream>
#include <utility>

namespace chainbase::test {

/// Checks `property` (a function that draws its input by `*generator` and asserts by RC_ASSERT) for
/// so many inputs of sizes up to `size`. A failure prints the smallest failing input and the seed,
/// which CHAINBASE_TEST_SEED repeats.
///
/// Use no Catch2 assertion in it: a failing property is retried with smaller inputs.
template <typename Property>
void check_property(int inputs, int size, Property&& property) {
    rc::detail::TestParams how;
    how.seed = new_seed();
    how.maxSuccess = inputs;
    how.maxSize = size;
    const auto result = rc::detail::checkTestable(std::forward<Property>(property),
                                                  rc::detail::TestMetadata(), how);
    std::ostringstream said;
    rc::detail::printResultMessage(result, said);
    INFO("CHAINBASE_TEST_SEED=" << how.seed << ": " << said.str());
    CHECK(result.template is<rc::detail::SuccessResult>());
}

/// Checks it with further seeds until `reached()`: the tested case has occurred often enough,
/// whatever the seed.
template <typename Reached, typename Property>
void check_property_until(Reached&& reached, int inputs, int size, Property&& property) {
    for (int rounds = 0; rounds < 50; ++rounds) {
        check_property(inputs, size, property);
        if (reached()) return;
    }
    FAIL("what the property is about did not happen often enough");
}

} // namespace chainbase::test
