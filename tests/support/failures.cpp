#include <tests/support/failures.hpp>

#include <csignal>

namespace chainbase::test {

namespace {

std::uint64_t left = 0;
std::uint64_t counted = 0;
bool has_failed = false;
fault::point failed_at{};
fault::point watched{};

bool acquires(fault::point at) {
    return at == fault::point::slot || at == fault::point::chunk || at == fault::point::growth;
}

void fail(fault::point at) {
    if (!acquires(at) || has_failed || left-- != 0) return;
    has_failed = true;
    failed_at = at;
    throw injected_failure();
}

void kill(fault::point at) {
    if (at == watched && left-- == 0) std::raise(SIGKILL);
}

void count(fault::point at) {
    if (at == watched) ++counted;
}

} // namespace

fail_nth::fail_nth(std::uint64_t n) {
    left = n;
    has_failed = false;
    fault::hook = fail;
}

fail_nth::~fail_nth() {
    fault::hook = nullptr;
}

bool fail_nth::failed() noexcept {
    return has_failed;
}

fault::point fail_nth::where() noexcept {
    return failed_at;
}

void kill_at_nth(fault::point at, std::uint64_t n) {
    watched = at;
    left = n;
    fault::hook = kill;
}

void count_points(fault::point at) {
    watched = at;
    counted = 0;
    fault::hook = count;
}

std::uint64_t points_counted() noexcept {
    return counted;
}

} // namespace chainbase::test
