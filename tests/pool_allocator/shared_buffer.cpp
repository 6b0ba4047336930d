#include <pool_allocator/shared_buffer.hpp>

#include <catch2/catch.hpp>

using namespace chainbase;

TEST_CASE("a shared string is compared with text in place") {
    const shared_string text(std::string_view("beta"));
    CHECK(text == std::string_view("beta"));
    CHECK("beta" == text);
    CHECK(text != "alpha");
    CHECK(text > "alpha");
    CHECK(std::string_view("gamma") > text);
    CHECK(text == shared_string(std::string_view("beta")));
    // Longer than any shared string: a copy of it would throw.
    const std::string_view huge(text.view().data(), std::size_t{1} << 33);
    CHECK_FALSE(text == huge);
}
