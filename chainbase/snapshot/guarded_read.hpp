#pragma once

#include <pool_allocator/buffer_layout.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

/// Reads of snapshot memory that can fail. A page of it is filled at the first touch, by a signal
/// handler; when that cannot be done, the handler leaves the read by a jump to where it began,
/// which then throws.
///
/// So nothing between may depend on a destructor: only the walk through the containers is guarded,
/// and it returns no object before all bytes of that were touched. What was touched stays.
namespace chainbase::detail {

/// Calls call(with). Throws what it throws, and what leave_guarded_read() was given.
void run_guarded(void (*call)(void*), void* with);

/// For the handler: ends the guarded read of this thread with this error. Returns if there is none.
void leave_guarded_read(std::exception_ptr error) noexcept;

/// Touches all bytes, and those of the buffers in these values.
void touch(const void* begin, std::size_t bytes);
void touch_buffers(const void* values, std::size_t bytes, const buffer_layout& of);

/// Returns read(). Throws too_old_error, busy_error and other errors of reading a snapshot.
template <typename Read>
auto guarded(Read&& read) {
    using result_type = std::invoke_result_t<Read&>;
    if constexpr (std::is_void_v<result_type>) {
        run_guarded([](void* with) { (*static_cast<std::remove_reference_t<Read>*>(with))(); },
                    const_cast<void*>(static_cast<const void*>(std::addressof(read))));
    } else {
        std::optional<result_type> result;
        auto call = [&] { result.emplace(read()); };
        run_guarded([](void* with) { (*static_cast<decltype(call)*>(with))(); }, &call);
        return result_type(std::move(*result));
    }
}

/// The object, all of it touched; null stays null. Within a guarded read.
template <typename T>
const T* touched(const T* object) {
    if (!object) return nullptr;
    touch(object, sizeof(T));
    if constexpr (count_places<T>() != 0) touch_buffers(object, sizeof(T), buffer_layout_of<T>);
    return object;
}

} // namespace chainbase::detail
