#pragma once

#include <archive/store.hpp>
#include <chainbase/fwd.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::archive {

/// The kind that the archive in `folder` was made as; nothing when none was made there. Throws
/// format_error when the folder holds something else, io_error.
[[nodiscard]] std::optional<store_kind> kind_of(const std::filesystem::path& folder);

/// The content of the file `format` of an archive of the kind memory or none, which has no
/// versioned files.
[[nodiscard]] std::string format_of(store_kind kind);

/// Opens the archive of `state` in `folder`, as the kind it was made as; a new one as `kind`, or
/// rocksdb. The folder says the kind also where nothing else is in it. A state of rows in
/// memory outlives it; else either may go first (store::sync_before_checkpoints_of, which this
/// calls). After a kill of the writer an archive on another file system than the state's is to be
/// opened before the first checkpoint: until then the state syncs what is on its own.
///
/// Throws usage_error when it was made as another kind than `kind`, format_error when the folder is
/// something else or of another version (nothing in it is touched), and what opening the store
/// throws.
[[nodiscard]] std::unique_ptr<store> open_archive(database& state,
                                                  const std::filesystem::path& folder,
                                                  std::optional<store_kind> kind = {},
                                                  const store_options& options = {});

/// Opens a RocksDB store by itself; the folder is made when it is missing or empty. Use
/// open_archive() for the archive of a state.
///
/// Throws format_error when the folder is something else or of another version (nothing in it is
/// touched), locked_error when another process writes it, damaged_error when files are missing or
/// altered or when rows that had been synced are gone, io_error and out_of_space_error for the
/// disk.
[[nodiscard]] std::unique_ptr<store> open_store(const std::filesystem::path& folder,
                                                const store_options& options = {});

/// A store that keeps no rows: finished objects stay in memory, and lookups find nothing. For
/// chains on which few objects finish, and to measure the cost of an archive.
class none_store final : public store {
public:
    [[nodiscard]] std::string name() const override { return "archive store none"; }
    [[nodiscard]] store_kind kind() const noexcept override { return store_kind::none; }
    [[nodiscard]] bool outlives_process() const noexcept override { return true; }
    [[nodiscard]] bool keeps_rows() const noexcept override { return false; }

protected:
    void create_table(const table_description&) override {}
    /// Throws usage_error.
    write_totals apply(const write_batch& batch) override;
    std::optional<pinned_row> read(table_id, std::uint32_t) const override { return std::nullopt; }
    std::optional<pinned_row> read(table_id, std::uint32_t, bytes_view,
                                   const row_predicate&) const override {
        return std::nullopt;
    }
    std::uint64_t row_count(table_id) const override { return 0; }
    std::unique_ptr<row_cursor_source> scan(table_id, std::uint32_t) const override;
    std::unique_ptr<key_cursor_source> scan(table_id, std::uint32_t, bytes_view) const override;
    void make_durable(bool) override {}
};

} // namespace chainbase::archive
