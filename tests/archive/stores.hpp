#pragma once

#include <archive/memory_store.hpp>
#include <archive/open_archive.hpp>
#include <archive/store.hpp>
#include <chainbase/database.hpp>

#include <tests/archive/note.hpp>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>

namespace chainbase::test {

/// A store in ordered maps of this process: the naive engine that tests compare others with. Not
/// persistent; sync() does nothing.
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
    struct key_order { // equal keys by falling row
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

    mutable std::shared_mutex mutex_; // protects everything below
    std::vector<table> content_;
};

enum class engine {
    rocksdb,
    memory,
    heap ///< the naive one
};

/// A store of any engine in a folder, and what it needs.
class any_store {
public:
    any_store(engine which, std::filesystem::path folder,
              const archive::store_options& options = {})
        : which_(which), folder_(std::move(folder)), options_(options) {
        open();
    }

    [[nodiscard]] archive::store& operator*() noexcept { return *rows_; }
    [[nodiscard]] archive::store* operator->() noexcept { return rows_.get(); }

    /// Closes and reopens it, unless it exists only in this process.
    void reopen() {
        if (which_ == engine::heap) return;
        close();
        open();
    }
    void close() {
        rows_.reset();
        if (state_) state_->close();
        state_.reset();
    }

private:
    void open() {
        if (which_ == engine::rocksdb) {
            rows_ = archive::open_store(folder_, options_);
        } else if (which_ == engine::memory) {
            state_.emplace(folder_, small_state());
            rows_ = std::make_unique<archive::memory_store>(*state_);
        } else {
            rows_ = std::make_unique<heap_store>();
        }
    }

    engine which_;
    std::filesystem::path folder_;
    archive::store_options options_;
    std::optional<database> state_;
    std::unique_ptr<archive::store> rows_;
};

/// A store whose disk fails, at once or later.
class fragile_store final : public archive::store {
public:
    void plug_in() { plugged_in_ = true; }
    void unplug() { plugged_in_ = false; }
    [[nodiscard]] std::string name() const override { return "fragile store"; }
    [[nodiscard]] archive::store_kind kind() const noexcept override {
        return archive::store_kind::rocksdb;
    }
    [[nodiscard]] bool outlives_process() const noexcept override { return false; }

protected:
    void create_table(const archive::table_description&) override {}
    write_totals apply(const archive::write_batch&) override {
        if (!plugged_in_) fail();
        return {};
    }
    std::optional<archive::pinned_row> read(archive::table_id, std::uint32_t) const override {
        fail();
    }
    std::optional<archive::pinned_row> read(archive::table_id, std::uint32_t, archive::bytes_view,
                                            const archive::row_predicate&) const override {
        fail();
    }
    // known without the disk
    std::uint64_t row_count(archive::table_id) const override { return 0; }
    std::unique_ptr<archive::row_cursor_source> scan(archive::table_id,
                                                     std::uint32_t) const override {
        fail();
    }
    std::unique_ptr<archive::key_cursor_source> scan(archive::table_id, std::uint32_t,
                                                     archive::bytes_view) const override {
        fail();
    }
    void make_durable(bool) override {}

private:
    [[noreturn]] static void fail() { throw io_error("fragile store: unplugged"); }

    bool plugged_in_ = false;
};

/// A store whose writes block until it is unlatched.
class latched_store final : public archive::store {
public:
    [[nodiscard]] std::string name() const override { return "latched store"; }
    [[nodiscard]] archive::store_kind kind() const noexcept override {
        return archive::store_kind::rocksdb;
    }
    [[nodiscard]] bool outlives_process() const noexcept override { return false; }
    void open() {
        open_ = true;
        open_.notify_all();
    }

protected:
    void create_table(const archive::table_description& table) override {
        rows_->open_table(table.name, table.key_names);
    }
    write_totals apply(const archive::write_batch& batch) override {
        open_.wait(false);
        rows_->write(batch);
        return {};
    }
    std::optional<archive::pinned_row> read(archive::table_id table,
                                            std::uint32_t id) const override {
        return rows_->find(table, id);
    }
    std::optional<archive::pinned_row> read(archive::table_id table, std::uint32_t index,
                                            archive::bytes_view key,
                                            const archive::row_predicate& counts) const override {
        return rows_->find(table, index, key, counts);
    }
    std::uint64_t row_count(archive::table_id table) const override { return rows_->count(table); }
    std::unique_ptr<archive::row_cursor_source> scan(archive::table_id,
                                                     std::uint32_t) const override {
        throw usage_error("latched store: cannot be walked");
    }
    std::unique_ptr<archive::key_cursor_source> scan(archive::table_id, std::uint32_t,
                                                     archive::bytes_view) const override {
        throw usage_error("latched store: cannot be walked");
    }
    void make_durable(bool) override {}

private:
    std::unique_ptr<archive::store> rows_ = std::make_unique<heap_store>();
    std::atomic<bool> open_{false};
};

} // namespace chainbase::test
