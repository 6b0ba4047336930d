#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/error.hpp>

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <utility>

namespace chainbase {

namespace {

/// Threads created during its lifetime block all signals except those of their own faults, whose
/// handlers report the crash.
class without_signals {
public:
    without_signals() noexcept {
        sigset_t all;
        sigfillset(&all);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
            sigdelset(&all, fault);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    without_signals(const without_signals&) = delete;
    without_signals& operator=(const without_signals&) = delete;

private:
    sigset_t before_;
};

} // namespace

std::thread background_thread(const char* name, std::function<void()> work) {
    const without_signals blocked;
    try {
        return std::thread([name, work = std::move(work)] {
            pthread_setname_np(pthread_self(), name);
            work();
        });
    } catch (const std::system_error& problem) {
        throw limit_error("cannot start the thread \"" + std::string(name) +
                          "\": " + problem.what() +
                          "; raise the limits of processes and of addresses (ulimit -u, -v)");
    }
}

} // namespace chainbase
