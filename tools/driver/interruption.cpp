#include <tools/driver/interruption.hpp>

#include <csignal>

namespace chainbase::driver {

namespace {

volatile std::sig_atomic_t signals = 0;

void note(int) {
    signals = 1;
}

void set_handler(void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

} // namespace

catch_interruption::catch_interruption() {
    signals = 0;
    set_handler(note);
}

catch_interruption::~catch_interruption() {
    set_handler(SIG_DFL);
}

bool catch_interruption::noted() const noexcept {
    return signals != 0;
}

} // namespace chainbase::driver
