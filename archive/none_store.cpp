#include <archive/none_store.hpp>

namespace chainbase::archive {

namespace {

struct no_rows final : row_cursor_source {
    bool valid() const override { return false; }
    std::uint32_t id() const override { return 0; }
    bytes_view record() const override { return {}; }
    void next() override {}
};

struct no_keys final : key_cursor_source {
    bool valid() const override { return false; }
    bytes_view key() const override { return {}; }
    std::uint32_t id() const override { return 0; }
    void next() override {}
};

} // namespace

std::unique_ptr<row_cursor_source> none_store::scan(table_id, std::uint32_t) const {
    return std::make_unique<no_rows>();
}

std::unique_ptr<key_cursor_source> none_store::scan(table_id, std::uint32_t, bytes_view) const {
    return std::make_unique<no_keys>();
}

} // namespace chainbase::archive
