#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/error.hpp>
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
    auto* memory = static_cast<std::byte*>(std::malloc(heap_prefix + content.size()));
    if (!memory) throw std::bad_alloc();
    const auto length = static_cast<std::uint32_t>(content.size());
    std::memcpy(memory, &length, sizeof length);
    std::memcpy(memory + heap_prefix, content.data(), content.size());
    return {reinterpret_cast<std::uint64_t>(memory)};
}

buffer_handle handle_at(const std::byte* place) noexcept {
    buffer_handle handle;
    std::memcpy(&handle, place, sizeof handle);
    return handle;
}

void store_handle(std::byte* place, buffer_handle handle) noexcept {
    std::memcpy(place, &handle, sizeof handle);
}

/// The addresses that a segment handle at `place` belongs to. A bitwise image of an object lies
/// outside of any segment; only an operation makes one, and its handles belong to the operation's
/// segment.
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

/// The buffers made by one splice(); freed unless it completes.
class shared_buffer::splicing {
public:
    /// In the segment whose buffers these are; null: on the heap.
    explicit splicing(size_classes* in) noexcept : in_(in) {}
    splicing(const splicing&) = delete;
    splicing& operator=(const splicing&) = delete;
    ~splicing() {
        for (const buffer_handle one : made_) {
            if (in_)
                in_->free_later(one); // room was reserved
            else
                std::free(reinterpret_cast<void*>(one.bits));
        }
    }
    void complete() noexcept { made_.clear(); }

    /// Makes a buffer of the bytes of `before`, copies of the elements in `added`, and the bytes of
    /// `after`: kept elements keep their own buffers.
    buffer_handle make(std::span<const std::byte> before, std::span<const std::byte> added,
                       std::span<const std::byte> after, const buffer_layout& elements) {
        const std::size_t bytes = before.size() + added.size() + after.size();
        if (bytes > UINT32_MAX)
            throw limit_error("a shared buffer holds less than 4 GiB, not " +
                              std::to_string(bytes) + " bytes");
        if (elements.is_flat() && bytes == added.size()) return keep(added);
        std::vector<std::byte> all;
        all.reserve(bytes);
        for (const auto part : {before, added, after})
            all.insert(all.end(), part.begin(), part.end());
        elements.each_handle(added.size(), [&](std::size_t at, const buffer_layout& inner) {
            // Read in place: the address tells which segment the handle belongs to.
            const auto& one = *reinterpret_cast<const shared_buffer*>(added.data() + at);
            store_handle(all.data() + before.size() + at, make({}, one.content(), {}, inner));
        });
        return keep(all);
    }
    buffer_handle keep(std::span<const std::byte> content) {
        if (content.empty()) return {};
        made_.emplace_back();
        if (in_) {
            in_->expect_free(made_.size());
            made_.back() = in_->allocate(content);
        } else {
            made_.back() = heap_copy(content);
        }
        return made_.back();
    }

private:
    size_classes* in_;
    std::vector<buffer_handle> made_;
};

void shared_buffer::splice(std::size_t at, std::size_t removed, std::span<const std::byte> added,
                           const buffer_layout& elements) {
    const auto old = content();
    if (at > old.size() || removed > old.size() - at)
        throw usage_error("a shared vector of " + std::to_string(old.size() / elements.bytes) +
                          " elements has none at " + std::to_string(at / elements.bytes));
    const auto before = old.first(at);
    const auto after = old.subspan(at + removed);
    const auto gone = old.subspan(at, removed);
    const address_space::range place = address_space::containing(this);
    if (place.bytes == 0) {
        splicing work(nullptr);
        const buffer_handle fresh = work.make(before, added, after, elements);
        work.complete();
        if (!handle_.in_segment()) { // may be an image outside of the segment
            release_all(gone, elements);
            std::free(heap());
        }
        handle_ = fresh;
        return;
    }
    if (!write_barrier::in_operation() ||
        reinterpret_cast<std::uintptr_t>(write_barrier::active().range_base()) != place.base)
        throw usage_error("a shared string was assigned outside of create or modify of its "
                          "database; change objects only within these calls");
    size_classes& buffers = size_classes::of(write_barrier::active());
    if (elements.is_flat() && before.empty() && after.empty()) { // an assignment, usually of text
        buffers.expect_free(1); // nothing may fail once the new buffer is made: it would be lost
        const buffer_handle fresh = buffers.allocate(added);
        buffers.free_later(handle_);
        handle_ = fresh;
        return;
    }
    splicing work(&buffers);
    const buffer_handle fresh = work.make(before, added, after, elements);
    buffers.free_later_in(gone, elements);
    buffers.free_later(handle_); // room was reserved above
    work.complete();
    handle_ = fresh;
}

buffer_handle shared_buffer::heap_copy_of(buffer_handle from, const buffer_layout& elements,
                                          const reader& read) {
    if (from.bits == 0) return {};
    const std::vector<std::byte> content = read(from);
    std::vector<std::byte> all = content;
    elements.each_handle(all.size(), [&](std::size_t at, const buffer_layout&) {
        store_handle(all.data() + at, {}); // not copied yet
    });
    try {
        elements.each_handle(all.size(), [&](std::size_t at, const buffer_layout& inner) {
            store_handle(all.data() + at,
                         heap_copy_of(handle_at(content.data() + at), inner, read));
        });
        return heap_copy(all);
    } catch (...) {
        release_all(all, elements);
        throw;
    }
}

void shared_buffer::release(buffer_handle handle, const buffer_layout& elements) noexcept {
    if (handle.bits == 0 || handle.in_segment()) return; // in a segment the operation frees it
    auto* const memory = reinterpret_cast<std::byte*>(handle.bits);
    std::uint32_t length = 0;
    std::memcpy(&length, memory, sizeof length);
    release_all({memory + heap_prefix, length}, elements);
    std::free(memory);
}

/// Releases all buffers that these values own.
void shared_buffer::release_all(std::span<const std::byte> values,
                                const buffer_layout& of) noexcept {
    of.each_handle(values.size(), [&](std::size_t at, const buffer_layout& inner) {
        release(handle_at(values.data() + at), inner);
    });
}

} // namespace chainbase
