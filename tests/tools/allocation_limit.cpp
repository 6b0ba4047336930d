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

namespace {

void* allocated(std::size_t size) noexcept {
    return size > chainbase::test::most_bytes ? nullptr : std::malloc(size);
}

} // namespace

void* operator new(std::size_t size) {
    void* const got = allocated(size);
    if (got == nullptr) throw std::bad_alloc();
    return got;
}
// A sanitizer has one of its own, whose memory must not come to the operators below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocated(size);
}
void operator delete(void* one) noexcept {
    std::free(one);
}
void operator delete(void* one, std::size_t) noexcept {
    std::free(one);
}
void operator delete(void* one, const std::nothrow_t&) noexcept {
    std::free(one);
}
