#pragma once

#include <archive/store.hpp>

namespace chainbase::archive {

/// A store without a place for rows: objects that are finished stay in memory, and nothing is ever
/// found here. For chains of which little is ever finished, and to measure what an archive costs.
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
