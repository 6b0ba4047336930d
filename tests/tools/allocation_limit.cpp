#include <tests/tools/allocation_limit.hpp>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace chainbase::test {
namespace {

std::atomic<std::size_t> most_bytes = SIZE_MAX;

} // namespace

allocation_limit::allocation_limit(std::size_t most) {
    most_bytes = most;
}
allocation_limit::~allocation_limit() {
    most_bytes = SIZE_MAX;
}

} // namespace chainbase::test

void* operator new(std::size_t size) {
    void* const got = size > chainbase::test::most_bytes ? nullptr : std::malloc(size);
    if (got == nullptr) throw std::bad_alloc();
    return got;
}
void operator delete(void* one) noexcept {
    std::free(one);
}
void operator delete(void* one, std::size_t) noexcept {
    std::free(one);
}
