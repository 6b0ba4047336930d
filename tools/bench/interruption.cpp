#include <pool_allocator/error.hpp>
#include <tools/bench/interruption.hpp>

#include <csignal>

namespace chainbase::bench {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note(int) {
    interrupted = 1;
}

void set_handler(void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

} // namespace

catch_interruption::catch_interruption() {
    set_handler(note);
}
catch_interruption::~catch_interruption() {
    set_handler(SIG_DFL);
}

void throw_if_interrupted() {
    if (interrupted != 0) throw error("bench: interrupted; nothing was reported");
}

} // namespace chainbase::bench
