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

/// The folders below a folder, and the content of every file but `readers`, which says who looks at
/// the state and not what it is.
class state_image {
public:
    explicit state_image(const std::filesystem::path& folder);

    /// Writes back what differs, and removes what is more. The segment is the state's own then, as
    /// if its files had never been others: the header here and there says so.
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
    std::string said; ///< what the exception said
};

/// Runs `work` in a process of its own, so that a signal, or a loop, is a failure and not the end
/// of the test. Throws mismatch when it ends with a signal or with another exception.
[[nodiscard]] attempt attempt_apart(const std::function<void()>& work);

} // namespace chainbase::test
