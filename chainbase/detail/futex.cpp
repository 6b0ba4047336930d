#include <chainbase/detail/futex.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace chainbase::detail {

void sleep_on(const std::uint32_t& word, std::uint32_t seen,
              std::chrono::nanoseconds most) noexcept {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
    const timespec relative{seconds.count(), (most - seconds).count()};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &relative, nullptr, 0);
}

void wake_on(const std::uint32_t& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace chainbase::detail
