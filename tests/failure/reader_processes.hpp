#pragma once

#include <sys/types.h>
#include <tests/failure/two_sides.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace chainbase::test {

/// What readers, writers and the test tell each other, in memory that they share.
struct crowd_board {
    static constexpr std::size_t most_readers = 4;

    std::atomic<std::uint32_t> blocks{0}; ///< begun
    std::atomic<std::uint32_t> torn{0};   ///< looks that saw part of a block
    std::atomic<std::uint32_t> receding{0};
    std::atomic<bool> stop{false};
    std::array<std::atomic<std::uint32_t>, most_readers> looks{}; ///< by reader
    std::array<std::atomic<std::uint32_t>, most_readers> heights{};
};

/// Processes that read and write one state, each of which may be killed and started again. What is
/// left of them goes with the object.
class process_crowd {
public:
    explicit process_crowd(std::filesystem::path state);
    ~process_crowd();
    process_crowd(const process_crowd&) = delete;
    process_crowd& operator=(const process_crowd&) = delete;

    /// Starts a process that applies blocks of the seed; `at_begin` is called in it first.
    void start_writer(std::uint64_t seed, const std::function<void()>& at_begin = {});
    /// Starts a process that looks at the state again and again.
    void start_reader(std::size_t which);

    void kill_writer();
    void kill_reader(std::size_t which);
    /// Whether the writer ended by itself, or was killed by what start_writer's call prepared.
    [[nodiscard]] bool writer_has_ended();
    [[nodiscard]] pid_t reader(std::size_t which) const { return readers_[which]; }

    /// Waits until so many more blocks were begun, until each reader looked so many times more.
    /// Throws mismatch when one of them has ended.
    void await_blocks(std::uint32_t more);
    void await_looks(std::uint32_t more);
    /// Lets all come to an end by themselves. Throws mismatch when one of them failed.
    void finish();

    [[nodiscard]] crowd_board& board() noexcept { return *board_; }

private:
    void require_running(pid_t process) const;

    std::filesystem::path state_;
    std::shared_ptr<crowd_board> board_;
    pid_t writer_ = 0;
    std::array<pid_t, crowd_board::most_readers> readers_{};
};

} // namespace chainbase::test
