#pragma once

#include <filesystem>
#include <string>

namespace chainbase::inspect {

/// A state that is being made in `NAME.unfinished/state`: it is renamed to NAME when it is whole,
/// so that NAME is there whole or not at all. A file beside it says what the folder is, so that the
/// next call removes what one that was killed has left, and nothing else.
class unfinished_state {
public:
    /// For its owner and the group `readers`, if that is not empty. Throws usage_error when
    /// something has the name `target`, or the other name and is not what a call like this one
    /// left; locked_error while another process is at it; io_error.
    explicit unfinished_state(std::filesystem::path target, const std::string& readers = "");
    unfinished_state(const unfinished_state&) = delete;
    unfinished_state& operator=(const unfinished_state&) = delete;
    /// What is not finished goes.
    ~unfinished_state();

    /// Where to make it: a folder that is empty.
    [[nodiscard]] std::filesystem::path path() const { return around_ / "state"; }
    /// Gives it its name. Requires that all in it is on storage. Throws usage_error when something
    /// has it by now, io_error.
    void finish();

private:
    void remove_remains() const;

    std::filesystem::path target_;
    std::filesystem::path around_;
};

} // namespace chainbase::inspect
