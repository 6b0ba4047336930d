#include <tools/interruption.hpp>

#include <csignal>

namespace chainbase {

namespace {

volatile std::sig_atomic_t signals = 0;

void note(int) {
    signals = 1;
}

void set_handler(void (*handler)(int), int flags) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | flags;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

} // namespace

catch_interruption::catch_interruption(further_signals further) {
    signals = 0;
    set_handler(note,
                further == further_signals::end_the_process ? static_cast<int>(SA_RESETHAND) : 0);
}

catch_interruption::~catch_interruption() {
    set_handler(SIG_DFL, 0);
}

bool catch_interruption::caught() noexcept {
    return signals != 0;
}

} // namespace chainbase
