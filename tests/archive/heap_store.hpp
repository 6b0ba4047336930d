#pragma once

#include <archive/store.hpp>

#include <map>
#include <set>
#include <shared_mutex>

namespace chainbase::test {

/// A store in ordered maps of this process, gone with it: the naive engine that tests compare
/// others with. sync() has nothing to do.
class heap_store final : public archive::store {
public:
    [[nodiscard]] std::string name() const override { return "heap store"; }
    [[nodiscard]] archive::store_kind kind() const noexcept override {
        return archive::store_kind::memory;
    }
    [[nodiscard]] bool outlives_process() const noexcept override { return false; }

protected:
    void create_table(const archive::table_description& table) override;
    write_totals apply(const archive::write_batch& batch) override;
    std::optional<archive::pinned_row> read(archive::table_id table,
                                            std::uint32_t id) const override;
    std::optional<archive::pinned_row> read(archive::table_id table, std::uint32_t index,
                                            archive::bytes_view key,
                                            const archive::row_predicate& counts) const override;
    std::uint64_t row_count(archive::table_id table) const override;
    std::unique_ptr<archive::row_cursor_source> scan(archive::table_id table,
                                                     std::uint32_t from) const override;
    std::unique_ptr<archive::key_cursor_source> scan(archive::table_id table, std::uint32_t index,
                                                     archive::bytes_view from) const override;
    void make_durable(bool) override {}

private:
    // Stored rows are immutable and shared, so that a handle outlives the row's replacement.
    using row = std::shared_ptr<const archive::byte_buffer>;
    struct key {
        archive::byte_buffer bytes;
        std::uint32_t row;
    };
    struct key_order { // those of equal bytes by falling row
        bool operator()(const key& a, const key& b) const {
            if (a.bytes != b.bytes) return archive::bytes_less()(a.bytes, b.bytes);
            return a.row > b.row;
        }
    };
    using key_set = std::set<key, key_order>;
    struct table {
        std::map<std::uint32_t, row> rows;
        std::vector<key_set> keys;
    };
    class state;
    class row_source;
    class key_source;

    mutable std::shared_mutex mutex_; // of everything below
    std::vector<table> content_;
};

} // namespace chainbase::test
