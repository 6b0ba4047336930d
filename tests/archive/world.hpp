#pragma once

#include <tests/archive/heap_store.hpp>
#include <tests/archive/note.hpp>
#include <tests/tools/temporary_folder.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

/// Where tests of the life cycle play.
namespace chainbase::test {

/// A store whose disk is gone, at once or later.
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
    std::uint64_t row_count(archive::table_id) const override { return 0; } // by heart
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

/// A store whose writes wait until it is opened.
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

/// A state of notes, and its archive.
struct world {
    temporary_folder folder;
    database state{folder / "state", small_state()};
    std::unique_ptr<archive::store> rows;
    notes all;

    explicit world(std::unique_ptr<archive::store> store = std::make_unique<heap_store>())
        : rows(std::move(store)), all((state.add_type<note>("note"), state), *rows, "note") {}

    template <typename Work>
    void block(Work work) {
        session one = state.start_session();
        work();
        one.push();
    }
    /// So many, each retired, every block irreversible.
    void retired_notes(int count) {
        block([&] {
            for (; count > 0; --count) {
                ++written_;
                all.retire(write(state, "alice", std::to_string(written_), written_));
            }
        });
        state.commit(state.revision());
    }
    /// What left memory.
    std::size_t hand_over_behind(std::size_t limit) {
        std::size_t left = 0;
        block([&] { left = all.hand_over_behind(state.committed_revision(), limit); });
        return left;
    }
    /// Three notes, the middle one retired, every block irreversible.
    void three_notes() {
        block([&] {
            write(state, "alice", "one", 10);
            write(state, "alice", "two", 20);
            write(state, "bob", "one", 30);
        });
        block([&] { all.retire(state.get<note>(id<note>(1))); });
        state.commit(state.revision());
    }
    std::size_t hand_over() {
        std::size_t moved = 0;
        block([&] { moved = all.hand_over(state.committed_revision()); });
        return moved;
    }
    [[nodiscard]] bool in_store(std::uint32_t number) const {
        return rows->contains(archive::table_id{0}, number);
    }

private:
    int written_ = 0;
};

} // namespace chainbase::test
