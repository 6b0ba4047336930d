#pragma once

#include <archive/store.hpp>

namespace chainbase::archive {

/// A store that drops every row: nothing is ever found, every table is empty. What was archived is
/// gone, which is what a node wants that serves only the live state.
class none_store final : public store {
public:
    [[nodiscard]] std::string name() const override { return "archive store none"; }
    [[nodiscard]] bool outlives_process() const noexcept override { return false; }

protected:
    void create_table(const table_description&) override {}
    write_totals apply(const write_batch&) override { return {}; }
    std::optional<pinned_row> read(table_id, std::uint32_t) const override { return std::nullopt; }
    std::optional<pinned_row> read(table_id, std::uint32_t, bytes_view) const override {
        return std::nullopt;
    }
    std::uint64_t row_count(table_id) const override { return 0; }
    std::unique_ptr<row_cursor_source> scan(table_id, std::uint32_t) const override;
    std::unique_ptr<key_cursor_source> scan(table_id, std::uint32_t, bytes_view) const override;
    void make_durable(bool) override {}
};

} // namespace chainbase::archive
