#pragma once

#include <undo/fwd.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace chainbase {
class database;
}

namespace chainbase::driver {

/// The process that writes a state of this machine, as another process sees it.
///
/// Not thread-safe.
class other_writer {
public:
    explicit other_writer(std::filesystem::path state);
    ~other_writer();
    other_writer(const other_writer&) = delete;
    other_writer& operator=(const other_writer&) = delete;

    enum class condition {
        works,  ///< or starts; also while this object keeps it out
        killed, ///< ended without closing the state
        ended,  ///< closed the state
    };
    /// Throws what reading the state's folder throws.
    [[nodiscard]] condition look() const;
    /// Opens the state for writing, tells its feed of all completed blocks that a killed writer
    /// left untold, and keeps writers out until this is destroyed. Throws locked_error when there
    /// is a writer, and what opening the state and its feed throws; then it can be called again.
    void keep_out();
    /// Of the state's newest block. Requires keep_out().
    [[nodiscard]] revision_number revision() const;

    /// Marks the state as one whose place `other` took (supersede()), and tells its other
    /// followers. Requires keep_out().
    void pass_on(const std::string& other);
    /// For a state that has this mark already, perhaps of a process that was killed before it told
    /// the followers. Throws locked_error while another process has the state.
    void end_feed_for(const std::string& other);
    /// What its followers are told then: too_far_behind_error::why().
    [[nodiscard]] static std::string farewell(const std::string& other);

    [[nodiscard]] const std::filesystem::path& state() const noexcept { return state_; }

private:
    std::filesystem::path state_;
    std::unique_ptr<database> kept_;
};

} // namespace chainbase::driver
