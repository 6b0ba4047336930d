#pragma once

#include <archive/store.hpp>

#include <map>
#include <shared_mutex>

namespace chainbase::archive {

/// A store in ordered maps of this process, gone with it: the naive engine that tests compare
/// others with, and enough for a chain that archives little. sync() has nothing to do.
class memory_store final : public store {
public:
    [[nodiscard]] std::string name() const override { return "archive store memory"; }
    [[nodiscard]] bool outlives_process() const noexcept override { return false; }

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
    void make_durable(bool) override {}

private:
    // Stored rows are immutable and shared, so that a handle outlives the row's replacement.
    using row = std::shared_ptr<const byte_buffer>;
    using key_map = std::map<byte_buffer, std::uint32_t, bytes_less>;
    struct table {
        std::map<std::uint32_t, row> rows;
        std::vector<key_map> keys;
    };
    class state;
    class row_source;
    class key_source;

    mutable std::shared_mutex mutex_; // of everything below
    std::vector<table> content_;
};

} // namespace chainbase::archive
