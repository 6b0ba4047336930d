#include <archive/batch_plan.hpp>
#include <archive/memory_store.hpp>
#include <archive/write_batch.hpp>
#include <chainbase/database.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/error.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace chainbase::archive {

namespace {

using detail::by_bytes;
using detail::by_number;
using detail::kept_key;
using detail::kept_row;
using detail::kept_table;

bytes_view content_of(const kept_row& row) {
    return {row.content.data(), row.content.size()};
}

/// A copy: the object may be removed while it is read.
pinned_row stored(const kept_row& row) {
    const bytes_view content = content_of(row);
    const auto copy = std::make_shared<const byte_buffer>(content.begin(), content.end());
    return {row.number, *copy, copy};
}

[[noreturn]] void fail_damaged(const std::string& what) {
    throw damaged_error("the archive in memory: " + what +
                        "; check the state with chainbase-inspect check, restore it from a copy, "
                        "or replay into a new folder");
}

pinned_row pin(const kept_row& row) {
    pinned_row whole = stored(row);
    const auto record = detail::record_of(whole.record());
    if (!record) fail_damaged("row " + std::to_string(row.number) + " is malformed");
    whole.narrow(*record);
    return whole;
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
        lines.emplace_back(text.substr(0, end));
    return lines;
}

void put_row(database& state, std::uint32_t table, std::uint32_t id, bytes_view content) {
    if (const auto* row = state.find<kept_row, by_number>(table, id)) {
        state.modify(*row, [&](kept_row& one) { one.content = content; });
        return;
    }
    state.create<kept_row>([&](kept_row& one) {
        one.table = table;
        one.number = id;
        one.content = content;
    });
}

void put_key(database& state, const detail::batch_plan::key_change& change, std::uint32_t row) {
    const std::string_view bytes = as_text(change.key);
    if (state.find<kept_key, by_bytes>(change.table, change.index, bytes, row)) return;
    state.create<kept_key>([&](kept_key& one) {
        one.table = change.table;
        one.index = change.index;
        one.row = row;
        one.bytes = bytes;
    });
}

} // namespace

memory_store::memory_store(database& state) : state_(state) {
    state_.add_type<kept_table>("archive.table");
    state_.add_type<kept_row>("archive.row");
    state_.add_type<kept_key>("archive.key");
    for (const kept_table& table : state_.objects<kept_table>())
        add_existing_table({std::string(table.name), lines_of(table.key_names)});
}

std::string memory_store::name() const {
    return "the archive in the memory of " + state_.state();
}

void memory_store::create_table(const table_description& table) {
    std::string keys;
    for (const std::string& key : table.key_names)
        keys += key + "\n";
    state_.create<kept_table>([&](kept_table& made) {
        made.name = table.name;
        made.key_names = keys;
    });
}

// --- reading -------------------------------------------------------------------------------------

class memory_store::current final : public detail::current_state {
public:
    explicit current(const database& state) : state_(state) {}

    std::optional<pinned_row> stored(table_id table, std::uint32_t id) const override {
        const auto* row = state_.find<kept_row, by_number>(table.value, id);
        if (!row) return std::nullopt;
        return chainbase::archive::stored(*row);
    }
    row_ids owners(table_id table, std::uint32_t index, bytes_view key) const override {
        row_ids found;
        const auto all = state_.view<kept_key, by_bytes>();
        const auto [first, last] = all.equal_range(table.value, index, as_text(key));
        for (auto at = first; at != last; ++at)
            found.push_back(at->row);
        return found;
    }

private:
    const database& state_;
};

std::optional<pinned_row> memory_store::read(table_id table, std::uint32_t id) const {
    const auto* row = state_.find<kept_row, by_number>(table.value, id);
    if (!row) return std::nullopt;
    return pin(*row);
}

std::optional<pinned_row> memory_store::read(table_id table, std::uint32_t index, bytes_view key,
                                             const row_predicate& counts) const {
    for (const std::uint32_t id : current(state_).owners(table, index, key)) {
        if (!counts(id)) continue;
        const auto* row = state_.find<kept_row, by_number>(table.value, id);
        if (row) return pin(*row);
        fail_damaged("key " + detail::printable(key) + " leads to row " + std::to_string(id) +
                     ", which is missing");
    }
    return std::nullopt;
}

std::uint64_t memory_store::row_count(table_id table) const {
    return state_.get(id<kept_table>(table.value)).rows;
}

/// Holds the current row, and finds the next one on demand.
class memory_store::row_source final : public row_cursor_source {
public:
    row_source(const database& state, table_id table, std::uint32_t from)
        : state_(state), table_(table) {
        seek(from);
    }
    bool valid() const override { return row_.has_value(); }
    std::uint32_t id() const override { return row_->id(); }
    bytes_view record() const override { return row_->record(); }
    bytes_view stored() const override { return row_->stored(); }
    void next() override {
        if (row_->id() == UINT32_MAX)
            row_.reset();
        else
            seek(row_->id() + 1);
    }

private:
    void seek(std::uint32_t from) {
        const auto all = state_.view<kept_row, by_number>();
        const auto at = all.lower_bound(table_.value, from);
        row_.reset();
        if (at != all.end() && at->table == table_.value) row_.emplace(pin(*at));
    }

    const database& state_;
    table_id table_;
    std::optional<pinned_row> row_;
};

class memory_store::key_source final : public key_cursor_source {
public:
    key_source(const database& state, table_id table, std::uint32_t index, bytes_view from)
        : state_(state), table_(table), index_(index) {
        stand_on(state_.view<kept_key, by_bytes>().lower_bound(table.value, index, as_text(from)));
    }
    bool valid() const override { return is_valid_; }
    bytes_view key() const override { return as_bytes(key_); }
    std::uint32_t id() const override { return row_; }
    void next() override {
        stand_on(state_.view<kept_key, by_bytes>().upper_bound(table_.value, index_, key_, row_));
    }

private:
    template <typename Iterator>
    void stand_on(Iterator at) {
        is_valid_ = at != state_.view<kept_key, by_bytes>().end() && at->table == table_.value &&
                    at->index == index_;
        if (!is_valid_) return;
        key_ = at->bytes.view();
        row_ = at->row;
    }

    const database& state_;
    table_id table_;
    std::uint32_t index_;
    bool is_valid_ = false;
    std::string key_;
    std::uint32_t row_ = 0;
};

std::unique_ptr<row_cursor_source> memory_store::scan(table_id table, std::uint32_t from) const {
    return std::make_unique<row_source>(state_, table, from);
}

std::unique_ptr<key_cursor_source> memory_store::scan(table_id table, std::uint32_t index,
                                                      bytes_view from) const {
    return std::make_unique<key_source>(state_, table, index, from);
}

// --- writing -------------------------------------------------------------------------------------

store::write_totals memory_store::apply(const write_batch& batch) {
    const current now(state_);
    const detail::batch_plan plan(*this, now, batch);
    auto all = state_.start_session(); // all or nothing
    for (const auto& [table, id, content] : plan.rows()) {
        if (content)
            put_row(state_, table, id, *content);
        else if (const auto* row = state_.find<kept_row, by_number>(table, id))
            state_.remove(*row);
    }
    for (const auto& change : plan.keys()) {
        const row_ids before = now.owners({change.table}, change.index, change.key);
        for (const std::uint32_t row : before)
            if (std::ranges::find(change.rows, row) == change.rows.end())
                state_.remove(*state_.find<kept_key, by_bytes>(change.table, change.index,
                                                               as_text(change.key), row));
        for (const std::uint32_t row : change.rows)
            put_key(state_, change, row);
    }
    for (const auto& [table, growth] : plan.growth())
        state_.modify(state_.get(id<kept_table>(table)),
                      [&](kept_table& one) { one.rows += static_cast<std::uint64_t>(growth); });
    all.squash();
    return {plan.put, plan.unchanged, plan.erased, plan.bytes, plan.record_bytes};
}

} // namespace chainbase::archive
