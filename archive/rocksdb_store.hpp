#pragma once

#include <archive/store.hpp>

#include <filesystem>

namespace chainbase::archive {

/// A store on disk, kept by RocksDB; rocksdb_store.cpp draws what lies where.
///
/// One writer per folder, and any number of read-only stores beside it: those see what was written
/// before they were opened. Closing a written store flushes it, so that the next open reads no log;
/// a process that dies without leaves the log, and the next open applies it.
class rocksdb_store final : public store {
public:
    /// Opens or makes the store at `folder`; throws what open_store() says.
    rocksdb_store(const std::filesystem::path& folder, const store_options& options);
    ~rocksdb_store() override;

    [[nodiscard]] std::string name() const override;
    [[nodiscard]] store_kind kind() const noexcept override { return store_kind::rocksdb; }
    [[nodiscard]] bool outlives_process() const noexcept override { return true; }

protected:
    void create_table(const table_description& table) override;
    write_totals apply(const write_batch& batch) override;
    std::optional<pinned_row> read(table_id table, std::uint32_t id) const override;
    std::optional<pinned_row> read(table_id table, std::uint32_t index,
                                   bytes_view key) const override;
    std::uint64_t row_count(table_id table) const override;
    std::unique_ptr<row_cursor_source> scan(table_id table, std::uint32_t from) const override;
    std::unique_ptr<key_cursor_source> scan(table_id table, std::uint32_t index,
                                            bytes_view from) const override;
    void make_durable(bool empty_buffers) override;

private:
    struct parts; // everything of RocksDB's, so that its headers stay out of this one
    class state;
    class entries;
    class row_entries;
    class key_entries;

    std::unique_ptr<parts> parts_;
};

} // namespace chainbase::archive
