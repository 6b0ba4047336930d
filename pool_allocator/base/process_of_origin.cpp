#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <pthread.h>
#include <unistd.h>

namespace chainbase {

std::uint32_t process_of_origin::generation_here_ = 0;

/// Registers a handler that fork() calls in each child.
struct process_of_origin::watch {
    watch() {
        pthread_atfork(nullptr, nullptr, [] { ++generation_here_; });
    }
    static const watch of_this_process;
};

const process_of_origin::watch process_of_origin::watch::of_this_process;

process_of_origin::process_of_origin() noexcept
    : generation_(generation_here_), process_(getpid()) {}

void process_of_origin::throw_elsewhere(const std::string& what) const {
    throw usage_error(what + ": opened by process " + std::to_string(process_) + ", and this is " +
                      std::to_string(getpid()) +
                      ", which it forked: nothing of the state can be used here; open it again");
}

} // namespace chainbase
