#pragma once

#include <tests/support/temporary_folder.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace chainbase::test {

/// The folders below a folder, and the content of every file except `readers`, which describes the
/// state's users and not the state.
class state_image {
public:
    explicit state_image(const std::filesystem::path& folder);

    /// Restores changed files and removes additional ones. The segment then counts as the state's
    /// original, not as a copy: the headers are adapted.
    void restore() const;
    [[nodiscard]] const std::map<std::string, std::string>& files() const noexcept {
        return files_;
    }
    bool operator==(const state_image&) const = default;

private:
    void claim_segment() const;

    std::filesystem::path folder_;
    std::set<std::string> folders_;                    ///< paths relative to the folder
    mutable std::map<std::string, std::string> files_; ///< by such a path
};

/// Overwrites bytes within a file.
void write_at(const std::filesystem::path& file, std::size_t offset, const std::string& bytes);

/// Whether something failed with one of the engine's exceptions, or worked.
enum class verdict { works, refused };

struct attempt {
    verdict result = verdict::works;
    std::string said; ///< the exception's message
};

/// Runs `work` in a child process, so that a signal or an endless loop is a failure and does not
/// end the test. Throws mismatch when it ends with a signal or with another exception.
[[nodiscard]] attempt attempt_in_child(const std::function<void()>& work);

} // namespace chainbase::test
