#pragma once

#include <chainbase/database.hpp>

#include <tests/chainbase/small_types.hpp>
#include <tests/failure/attempt.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace chainbase::test {

/// The folders below a folder, and the content of every file but `readers`, which says who looks at
/// the state and not what it is.
class state_image {
public:
    explicit state_image(const std::filesystem::path& folder);

    /// Writes back what differs, and removes what is more.
    void restore() const;
    [[nodiscard]] const std::map<std::string, std::string>& files() const noexcept {
        return files_;
    }
    bool operator==(const state_image&) const = default;

private:
    std::filesystem::path folder_;
    std::set<std::string> folders_;            ///< paths relative to the folder
    std::map<std::string, std::string> files_; ///< by such a path
};

[[nodiscard]] std::string read_all(const std::filesystem::path& file);
void write_all(const std::filesystem::path& file, const std::string& content);
/// Overwrites bytes within a file.
void write_at(const std::filesystem::path& file, std::size_t offset, const std::string& bytes);

/// A closed state with a few objects of one type called "thing", to be maltreated.
class sample_state {
public:
    sample_state();
    /// Opens it and compares it with what was stored. Throws what opening throws, and mismatch.
    void open_and_compare() const;

    scratch_folder folder;
    std::filesystem::path path;
};

/// Whether opening the state as it is now fails with one of the engine's exceptions and leaves all
/// files alone ("refused"), or works with everything in place ("works"). Throws mismatch otherwise.
verdict open_maltreated(const sample_state& state, std::string* said = nullptr);

} // namespace chainbase::test
