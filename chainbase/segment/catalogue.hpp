#pragma once

#include <chainbase/object/schema.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {

/// The types of a segment, kept as the text file `catalogue.json` in its folder.
///
/// A type exists exactly when it is listed: its files are made first, then the list is replaced in
/// one rename, so a crash at any point leaves a segment that opens.
class catalogue {
public:
    struct entry {
        type_schema schema;
        std::uint32_t first_window = 0; ///< objects, then ids, then one per hashed key
    };

    /// Reads the list in `folder`. Throws io_error, damaged_error (with the offset), format_error.
    static catalogue read(const std::filesystem::path& folder);
    /// Replaces the list in `folder`, durably. Throws io_error, out_of_space_error.
    void write(const std::filesystem::path& folder) const;
    /// The content that write() writes.
    [[nodiscard]] std::string text() const;

    [[nodiscard]] const entry* find(const std::string& type) const noexcept;
    void add(entry added) { entries_.push_back(std::move(added)); }
    void remove_last() { entries_.pop_back(); }
    [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }

    [[nodiscard]] static std::filesystem::path file_in(const std::filesystem::path& folder) {
        return folder / "catalogue.json";
    }

private:
    std::vector<entry> entries_;
};

/// Parses the output of catalogue::text(). `file` names its origin in messages. Throws
/// damaged_error (with the offset), format_error.
[[nodiscard]] catalogue catalogue_of(const std::string& text, const std::filesystem::path& file);

} // namespace chainbase
