#include <tests/support/random_source.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace chainbase::test {

namespace {

std::uint64_t from_environment(const char* name, std::uint64_t usual) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 0) : usual;
}

} // namespace

std::uint64_t test_seed(std::uint64_t usual) {
    return from_environment("CHAINBASE_TEST_SEED", usual);
}

std::uint64_t test_operations(std::uint64_t usual) {
    return from_environment("CHAINBASE_TEST_OPERATIONS", usual);
}

std::uint64_t new_seed() {
    std::random_device device;
    return test_seed(std::uint64_t{device()} % 1'000'000'000);
}

std::uint64_t short_test_operations(std::uint64_t usual) {
    return std::min(usual, test_operations(usual));
}

std::string random_text(random_source& random) {
    std::uint32_t length = random.below(40);
    if (random.chance(50)) length = 0;
    if (random.chance(60)) length = random.below(400);
    if (random.chance(5)) length = random.below(20'000);
    if (random.chance(1)) length = 60'000 + random.below(90'000);
    std::string text(length, static_cast<char>('a' + random.below(26)));
    for (std::uint32_t i = 0; i < length && i < 8; ++i)
        text[i] = static_cast<char>('a' + random.below(26));
    return text;
}

} // namespace chainbase::test
