#include <chainbase/snapshot/guarded_read.hpp>
#include <pool_allocator/address_space.hpp>
#include <pool_allocator/shared_buffer.hpp>
#include <pool_allocator/size_classes.hpp>

#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstring>

namespace chainbase::detail {

namespace {

struct read_frame {
    sigjmp_buf begin;
    std::exception_ptr error;
    read_frame* outer;
};

thread_local constinit read_frame* innermost = nullptr;

/// The handler reads the word at any access of a guarded read, of which the compiler knows nothing.
void set_innermost(read_frame* to) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    innermost = to;
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Servers block signals in their threads; a blocked SIGSEGV ends the process.
void let_faults_in() noexcept {
    static thread_local constinit bool is_done = false;
    if (is_done) return;
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    is_done = pthread_sigmask(SIG_UNBLOCK, &faults, nullptr) == 0;
}

} // namespace

[[gnu::noinline]] void run_guarded(void (*call)(void*), void* with) {
    let_faults_in();
    read_frame frame{};
    frame.outer = innermost;
    if (sigsetjmp(frame.begin, 0) != 0) { // the handler does not block the signal
        set_innermost(frame.outer);
        std::rethrow_exception(std::move(frame.error));
    }
    set_innermost(&frame);
    try {
        call(with);
    } catch (...) {
        set_innermost(frame.outer);
        throw;
    }
    set_innermost(frame.outer);
}

void leave_guarded_read(std::exception_ptr error) noexcept {
    if (!innermost) return;
    innermost->error = std::move(error);
    siglongjmp(innermost->begin, 1);
}

void touch(const void* begin, std::size_t bytes) {
    constexpr std::size_t page = window_header::page_bytes;
    const auto* at = static_cast<const volatile std::byte*>(begin);
    for (std::size_t i = 0; i < bytes; i += page)
        (void)at[i];
    if (bytes > 0) (void)at[bytes - 1];
}

void touch_buffers(const void* values, std::size_t bytes, const buffer_layout& of) {
    const auto range = address_space::containing(values);
    of.each_handle(bytes, [&](std::size_t at, const buffer_layout& inner) {
        buffer_handle buffer;
        std::memcpy(&buffer, static_cast<const std::byte*>(values) + at, sizeof buffer);
        if (buffer.bits == 0) return;
        const std::byte* content = size_classes::locate(range, buffer);
        touch(content, buffer.length());
        if (!inner.is_flat()) touch_buffers(content, buffer.length(), inner);
    });
}

} // namespace chainbase::detail
