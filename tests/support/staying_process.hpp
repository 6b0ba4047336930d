#pragma once

#include <catch2/catch.hpp>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chainbase::test {

/// A process that does something and stays until it is killed, with this object at the latest.
class staying_process {
public:
    /// Returns once it did so: `work` is called in it, and tells.
    template <typename Work>
    explicit staying_process(Work work) {
        int told[2];
        REQUIRE(::pipe(told) == 0);
        number_ = ::fork();
        REQUIRE(number_ >= 0);
        if (number_ == 0) stay(work, told[1]);
        ::close(told[1]);
        char got = 0;
        const bool is_told = ::read(told[0], &got, 1) == 1;
        ::close(told[0]);
        if (!is_told) kill();
        REQUIRE(is_told);
    }
    staying_process(const staying_process&) = delete;
    staying_process& operator=(const staying_process&) = delete;
    ~staying_process() { kill(); }

    [[nodiscard]] pid_t number() const noexcept { return number_; }

    void kill() noexcept {
        if (is_killed_ || number_ <= 0) return;
        ::kill(number_, SIGKILL);
        ::waitpid(number_, nullptr, 0);
        is_killed_ = true;
    }

private:
    /// `work` is given what to call when it is done, which does not return.
    template <typename Work>
    [[noreturn]] static void stay(Work& work, int told) {
        try {
            work([told] {
                static_cast<void>(::write(told, "x", 1));
                for (;;)
                    ::pause();
            });
        } catch (...) {
            ::_exit(2);
        }
        ::_exit(1);
    }

    pid_t number_ = 0;
    bool is_killed_ = false;
};

} // namespace chainbase::test
