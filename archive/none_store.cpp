#include <archive/none_store.hpp>
#include <pool_allocator/error.hpp>

#include <string>

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

store::write_totals none_store::apply(const write_batch& batch) {
    throw usage_error(name() + ": keeps no rows, and got " + std::to_string(batch.size()) +
                      "; leave the objects in memory");
}

std::unique_ptr<row_cursor_source> none_store::scan(table_id, std::uint32_t) const {
    return std::make_unique<no_rows>();
}

std::unique_ptr<key_cursor_source> none_store::scan(table_id, std::uint32_t, bytes_view) const {
    return std::make_unique<no_keys>();
}

} // namespace chainbase::archive
