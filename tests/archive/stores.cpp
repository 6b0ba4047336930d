#include <archive/batch_plan.hpp>
#include <archive/write_batch.hpp>

#include <tests/archive/stores.hpp>

#include <mutex>

namespace chainbase::test {

using namespace archive;

namespace {

pinned_row pin(std::uint32_t id, const std::shared_ptr<const byte_buffer>& row) {
    return pinned_row(id, *archive::detail::record_of(*row), row);
}

} // namespace

class heap_store::state final : public archive::detail::current_state {
public:
    explicit state(const heap_store& of) : store_(of) {}

    std::optional<pinned_row> stored(table_id table, std::uint32_t id) const override {
        const auto& rows = store_.content_[table.value].rows;
        const auto found = rows.find(id);
        if (found == rows.end()) return std::nullopt;
        return pinned_row(id, *found->second, found->second);
    }
    row_ids owners(table_id table, std::uint32_t index, bytes_view key) const override {
        const key_set& keys = store_.content_[table.value].keys[index];
        row_ids found;
        for (auto at = keys.lower_bound({{key.begin(), key.end()}, UINT32_MAX});
             at != keys.end() && same(at->bytes, key); ++at)
            found.push_back(at->row);
        return found;
    }

private:
    const heap_store& store_;
};

// Holds its current row and looks up the next one when asked: no lock between calls.
class heap_store::row_source final : public row_cursor_source {
public:
    row_source(const heap_store& of, table_id table, std::uint32_t from)
        : store_(of), table_(table) {
        seek(from);
    }
    bool valid() const override { return row_ != nullptr; }
    std::uint32_t id() const override { return id_; }
    bytes_view record() const override { return *archive::detail::record_of(*row_); }
    bytes_view stored() const override { return *row_; }
    void next() override {
        if (id_ == UINT32_MAX)
            row_.reset();
        else
            seek(id_ + 1);
    }

private:
    void seek(std::uint32_t from) {
        std::shared_lock lock(store_.mutex_);
        const auto& rows = store_.content_[table_.value].rows;
        const auto found = rows.lower_bound(from);
        row_ = found == rows.end() ? nullptr : found->second;
        if (row_) id_ = found->first;
    }

    const heap_store& store_;
    table_id table_;
    std::uint32_t id_ = 0;
    row row_;
};

class heap_store::key_source final : public key_cursor_source {
public:
    key_source(const heap_store& of, table_id table, std::uint32_t index, bytes_view from)
        : store_(of), table_(table), index_(index) {
        std::shared_lock lock(store_.mutex_);
        stand_on(entries().lower_bound({{from.begin(), from.end()}, UINT32_MAX}));
    }
    bool valid() const override { return valid_; }
    bytes_view key() const override { return key_.bytes; }
    std::uint32_t id() const override { return key_.row; }
    void next() override {
        std::shared_lock lock(store_.mutex_);
        stand_on(entries().upper_bound(key_));
    }

private:
    const key_set& entries() const { return store_.content_[table_.value].keys[index_]; }
    void stand_on(key_set::const_iterator entry) {
        valid_ = entry != entries().end();
        if (valid_) key_ = *entry;
    }

    const heap_store& store_;
    table_id table_;
    std::uint32_t index_;
    bool valid_ = false;
    key_set::key_type key_{};
};

void heap_store::create_table(const table_description& table) {
    std::unique_lock lock(mutex_);
    content_.push_back({{}, std::vector<key_set>(table.key_names.size())});
}

store::write_totals heap_store::apply(const write_batch& batch) {
    std::unique_lock lock(mutex_);
    const state current(*this);
    const archive::detail::batch_plan plan(*this, current, batch);
    for (const auto& [table, id, row] : plan.rows()) {
        auto& rows = content_[table].rows;
        if (row)
            rows[id] = std::make_shared<const byte_buffer>(row->begin(), row->end());
        else
            rows.erase(id);
    }
    for (const auto& change : plan.keys()) {
        key_set& keys = content_[change.table].keys[change.index];
        const byte_buffer bytes(change.key.begin(), change.key.end());
        for (const std::uint32_t row : current.owners({change.table}, change.index, change.key))
            keys.erase({bytes, row});
        for (const std::uint32_t row : change.rows)
            keys.insert({bytes, row});
    }
    return {plan.put, plan.unchanged, plan.erased, plan.bytes, plan.record_bytes};
}

std::optional<pinned_row> heap_store::read(table_id table, std::uint32_t id) const {
    std::shared_lock lock(mutex_);
    const auto& rows = content_[table.value].rows;
    const auto found = rows.find(id);
    if (found == rows.end()) return std::nullopt;
    return pin(id, found->second);
}

std::optional<pinned_row> heap_store::read(table_id table, std::uint32_t index, bytes_view key,
                                           const row_predicate& counts) const {
    std::shared_lock lock(mutex_);
    for (const std::uint32_t id : state(*this).owners(table, index, key))
        if (counts(id)) return pin(id, content_[table.value].rows.at(id));
    return std::nullopt;
}

std::uint64_t heap_store::row_count(table_id table) const {
    std::shared_lock lock(mutex_);
    return content_[table.value].rows.size();
}

std::unique_ptr<row_cursor_source> heap_store::scan(table_id table, std::uint32_t from) const {
    return std::make_unique<row_source>(*this, table, from);
}

std::unique_ptr<key_cursor_source> heap_store::scan(table_id table, std::uint32_t index,
                                                    bytes_view from) const {
    return std::make_unique<key_source>(*this, table, index, from);
}

} // namespace chainbase::test
