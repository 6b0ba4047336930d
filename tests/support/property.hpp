#pragma once

#include <catch2/catch.hpp>
#include <rapidcheck.h>
#include <tests/support/random_source.hpp>

#include <sstream>
#include <utility>

namespace chainbase::test {

/// Checks `property` (a function that draws its input by `*generator` and says RC_ASSERT) for so
/// many inputs whose size rises to `size`. A failure is told with the smallest input that fails and
/// the seed, which CHAINBASE_TEST_SEED repeats.
///
/// No Catch2 assertion within: what fails is tried again with smaller inputs.
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

} // namespace chainbase::test
