#pragma once

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>

#include <cstdint>

namespace chainbase::test {

/// Fixture of a random test (TEST_CASE_METHOD): a failure prints the seed that repeats it.
class seeded {
protected:
    const std::uint64_t seed = new_seed();
    random_source random{seed};

private:
    Catch::ScopedMessage told_{
        Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info)
        << "CHAINBASE_TEST_SEED=" << seed};
};

} // namespace chainbase::test
