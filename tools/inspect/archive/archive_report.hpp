#pragma once

#include <archive/fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What the archive beside a segment holds.
struct archive_report {
    struct table {
        std::string name;
        std::vector<std::string> keys;
        std::uint64_t rows = 0;
    };

    std::filesystem::path folder;
    std::string store;   ///< its kind; tables are told of rocksdb only
    std::string refusal; ///< why it cannot be read now, empty if it could
    std::vector<table> tables;

    [[nodiscard]] std::uint64_t rows() const noexcept;
};

/// Opens `state`/archive for reading, also beside its writer. Throws what open_store throws.
[[nodiscard]] std::unique_ptr<archive::store> open_archive(const std::filesystem::path& state);

/// Looks at `state`/archive, also beside its writer, and changes nothing; nothing if there is none.
/// An archive that cannot be read is told in `refusal`: what is known of the segment still counts.
[[nodiscard]] std::optional<archive_report> read_archive(const std::filesystem::path& state);

} // namespace chainbase::inspect
