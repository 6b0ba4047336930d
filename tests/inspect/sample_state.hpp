#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace chainbase::test {

/// What build_sample_state leaves behind.
struct sample_counts {
    std::uint64_t accounts = 1000;
    std::uint64_t posts = 400;
    std::uint64_t tokens = 3000;
    std::uint64_t removed_tokens = 2500; ///< of them, so that tables and ids have something to shed
    std::int64_t revision = 12;
    std::int64_t irreversible = 9;
};

/// Makes a state with several types, strings, and sessions that can be undone, and closes it.
sample_counts build_sample_state(const std::filesystem::path& state);

/// Opens the state for writing, commits what there is, compacts it and closes it.
void compact_sample_state(const std::filesystem::path& state);

/// Opens the state for writing, adds some long posts and removes a third of all, which frees
/// buffers of several sizes and leaves a free run of 70 pages; commits it all.
void remove_sample_posts(const std::filesystem::path& state);

/// Opens the state for writing and closes it: what a node does after it was killed. Returns the
/// revision.
std::int64_t reopen_sample_state(const std::filesystem::path& state);

/// Another process that opens a state and changes it in sessions without a pause: creates,
/// modifies, removes, undoes, pushes, commits, and compacts now and then.
class writer_process {
public:
    /// Returns once the first session is done.
    explicit writer_process(const std::filesystem::path& state);
    writer_process(const writer_process&) = delete;
    writer_process& operator=(const writer_process&) = delete;
    ~writer_process() { kill(); }

    [[nodiscard]] pid_t process() const noexcept { return process_; }
    /// Lets it close its state and waits; returns whether it ended well.
    bool stop();
    /// kill -9.
    void kill() noexcept;

private:
    pid_t process_ = -1;
    int leash_ = -1; ///< closed to stop it
};

} // namespace chainbase::test
