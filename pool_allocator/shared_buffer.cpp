#include <pool_allocator/address_space.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/shared_buffer.hpp>
#include <pool_allocator/size_classes.hpp>
#include <pool_allocator/write_barrier.hpp>

#include <cstdlib>
#include <new>
#include <string>

namespace chainbase {

namespace {

/// A heap buffer keeps its length in front of the content; 16 bytes keep the content aligned.
constexpr std::size_t heap_prefix = 16;

buffer_handle heap_copy(std::span<const std::byte> content) {
    if (content.empty()) return {};
    if (content.size() > UINT32_MAX)
        throw limit_error("a shared buffer holds less than 4 GiB, not " +
                          std::to_string(content.size()) + " bytes");
    auto* memory = static_cast<std::byte*>(std::malloc(heap_prefix + content.size()));
    if (!memory) throw std::bad_alloc();
    const auto length = static_cast<std::uint32_t>(content.size());
    std::memcpy(memory, &length, sizeof length);
    std::memcpy(memory + heap_prefix, content.data(), content.size());
    return {reinterpret_cast<std::uint64_t>(memory)};
}

/// The addresses that a segment handle at `place` belongs to. A bitwise image of an object lies
/// outside; only an operation makes one, and it means its own segment.
address_space::range range_of(const void* place) noexcept {
    const address_space::range found = address_space::containing(place);
    if (found.bytes != 0 || !write_barrier::in_operation()) return found;
    return address_space::containing(write_barrier::active().range_base());
}

} // namespace

const std::byte* shared_buffer::data() const noexcept {
    if (handle_.in_segment()) return size_classes::locate(range_of(this), handle_);
    return handle_.bits ? heap() + heap_prefix : nullptr;
}

void shared_buffer::assign(std::span<const std::byte> content) {
    const address_space::range place = address_space::containing(this);
    if (place.bytes == 0) {
        const buffer_handle fresh = heap_copy(content);
        release();
        handle_ = fresh;
        return;
    }
    if (!write_barrier::in_operation() ||
        reinterpret_cast<std::uintptr_t>(write_barrier::active().range_base()) != place.base)
        throw usage_error("a shared string was assigned outside of create or modify of its "
                          "database; change objects only within these calls");
    size_classes& buffers = *write_barrier::active().buffers();
    buffers.expect_free(); // nothing may fail once the new buffer is made: it would be lost
    const buffer_handle fresh = buffers.allocate(content);
    buffers.free_later(handle_);
    handle_ = fresh;
}

void shared_buffer::release() noexcept {
    if (!handle_.in_segment()) std::free(heap()); // in a segment the operation frees it
}

} // namespace chainbase
