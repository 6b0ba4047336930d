#pragma once

#include <tests/tools/driver_process.hpp>
#include <tests/tools/generated_logs.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace chainbase::test {

/// A driver that replays one log into a fresh state after the other. The test goes on in the same
/// state until be_at_work() finds that its replay ended.
class endless_replay {
public:
    /// Of a log of so many operations.
    endless_replay(std::uint64_t operations, std::uint64_t seed);

    /// Waits until it writes blocks. At the end of a log it begins with a new state.
    void be_at_work();
    /// Waits for the end of the log that it is at, if it is at one, and requires that it ends as it
    /// does when nobody looks.
    void finish();
    /// Whether it ends within the next seconds, as one does whose writer is about to close the
    /// state. Requires that it is at work, or was.
    [[nodiscard]] bool is_about_to_end() const;

    [[nodiscard]] std::string state() const { return log_.folder / ("state" + suffix_); }
    /// How many logs it came to the end of.
    [[nodiscard]] int ends() const noexcept { return ends_; }

private:
    void start();
    [[nodiscard]] bool is_writing() const;

    generated_log log_;
    std::optional<driver_process> run_;
    std::string suffix_;
    std::string digest_; ///< that each replay has at its end
    int started_ = 0;
    int ends_ = 0;
};

} // namespace chainbase::test
