#include <archive/open_archive.hpp>
#include <archive/write_batch.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_reader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>

namespace chainbase::inspect {

namespace {

struct id_counts {
    std::uint64_t given;
    std::uint64_t live;
};

/// `counts_of` returns the id counters of a type, or nothing without such a type.
template <typename CountsOf>
std::optional<std::uint64_t> count(const std::string& type, const CountsOf& counts_of) {
    const std::optional<id_counts> queue = counts_of(type + std::string(queue_suffix));
    if (!queue) return std::nullopt;
    const std::optional<id_counts> withdrawn = counts_of(type + ".withdrawn");
    const std::uint64_t others = queue->live + (withdrawn ? withdrawn->live : 0);
    return queue->given - std::min(queue->given, others);
}

} // namespace

std::optional<std::uint64_t> objects_handed_over(row_source& state, const std::string& type) {
    return count(type, [&](const std::string& name) -> std::optional<id_counts> {
        if (!state.has(name)) return std::nullopt;
        const rows::type_rows of = state.of(name);
        return id_counts{of.slots().next_id(), of.slots().live()};
    });
}

std::map<std::string, std::uint64_t> objects_handed_over(row_source& state) {
    std::map<std::string, std::uint64_t> all;
    state.take_turn([&] {
        all.clear();
        for (const type_schema* one : state.types()) {
            if (!one->name.ends_with(queue_suffix)) continue;
            const std::string type = one->name.substr(0, one->name.size() - queue_suffix.size());
            all[type] = objects_handed_over(state, type).value_or(0);
        }
    });
    return all;
}

std::optional<std::uint64_t> objects_handed_over(const state_report& state,
                                                 const std::string& type) {
    return count(type, [&](const std::string& name) -> std::optional<id_counts> {
        const auto found = std::ranges::find(state.types, name, &type_report::name);
        if (found == state.types.end()) return std::nullopt;
        return id_counts{found->next_id, found->objects};
    });
}

namespace {

using archive::bytes_view;
using archive::pinned_row;
using archive::table_id;
using words = std::vector<std::string>;

constexpr const char* table_type = "archive.table";
constexpr const char* row_type = "archive.row";
constexpr const char* key_type = "archive.key";
constexpr std::size_t at_once = 256;

[[noreturn]] void fail(const row_source& state, const std::string& what) {
    throw damaged_error(state.state().string() + ": the archive in its memory: " + what +
                        "; run chainbase-inspect check");
}

bytes_view bytes_of(const rows::type_rows& of, slot_number slot, const char* field) {
    const auto found = of.buffers().content({number_of<std::uint64_t>(of, slot, field)});
    if (!found) throw damaged_error(of.schema().name + ": field " + field + " refers to nothing");
    return *found;
}

pinned_row pin(const row_source& state, const rows::type_rows& of, slot_number slot) {
    const auto number = number_of<std::uint32_t>(of, slot, "number");
    const bytes_view content = bytes_of(of, slot, "content");
    const auto copy = std::make_shared<const archive::byte_buffer>(content.begin(), content.end());
    const auto record = archive::detail::record_of(*copy);
    if (!record) fail(state, "row " + std::to_string(number) + " is malformed");
    pinned_row row(number, *copy, copy);
    row.narrow(*record);
    return row;
}

words lines_of(std::string_view text) {
    words lines;
    for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;
         text.remove_prefix(end + 1))
        lines.emplace_back(text.substr(0, end));
    return lines;
}

} // namespace

/// Walks objects in the order of one of their keys, reading ahead.
template <typename Found>
class segment_archive_walk {
public:
    using reader = std::function<Found(const rows::type_rows&, slot_number)>;

    /// Objects whose key begins with `all`, starting at `from`.
    segment_archive_walk(row_source& state, const char* type, const char* key, const words& from,
                         const words& all, reader read)
        : state_(state), type_(type), read_(std::move(read)) {
        state_.take_turn([&] {
            const rows::type_rows of = state_.of(type_);
            const type_schema::key& by = of.key_called(key);
            cursor_ = std::make_unique<rows::key_cursor>(
                by, rows::key_cursor::bounds{probe_of(of.schema(), by, from, of.buffers()),
                                             probe_of(of.schema(), by, all, of.buffers())});
        });
        read_ahead();
    }

    [[nodiscard]] bool valid() const noexcept { return !ahead_.empty(); }
    [[nodiscard]] const Found& front() const noexcept { return ahead_.front(); }
    void next() {
        ahead_.pop_front();
        if (ahead_.empty()) read_ahead();
    }

private:
    void read_ahead() {
        if (is_at_end_) return;
        scan<std::deque<Found>>(
            state_, type_, cursor_,
            [&](std::deque<Found>& found, const rows::type_rows& of, slot_number slot) {
                found.push_back(read_(of, slot));
                return ahead_.size() + found.size() < at_once;
            },
            [&](std::deque<Found>&& found) {
                std::ranges::move(found, std::back_inserter(ahead_));
            });
        is_at_end_ = ahead_.size() < at_once;
    }

    row_source& state_;
    const char* type_;
    reader read_;
    std::unique_ptr<rows::row_cursor> cursor_;
    std::deque<Found> ahead_;
    bool is_at_end_ = false;
};

namespace {

std::string text_of(std::uint64_t number) {
    return std::to_string(number);
}

} // namespace

class segment_archive::row_source_of final : public archive::row_cursor_source {
public:
    row_source_of(row_source& state, table_id table, std::uint32_t from)
        : rows_(state, row_type, "by_number", {text_of(table.value), text_of(from)},
                {text_of(table.value)}, [&state](const rows::type_rows& of, slot_number slot) {
                    return pin(state, of, slot);
                }) {}
    bool valid() const override { return rows_.valid(); }
    std::uint32_t id() const override { return rows_.front().id(); }
    bytes_view record() const override { return rows_.front().record(); }
    bytes_view stored() const override { return rows_.front().stored(); }
    void next() override { rows_.next(); }

private:
    segment_archive_walk<pinned_row> rows_;
};

class segment_archive::key_source_of final : public archive::key_cursor_source {
public:
    key_source_of(row_source& state, table_id table, std::uint32_t index, bytes_view from)
        : keys_(state, key_type, "by_bytes",
                {text_of(table.value), text_of(index), std::string(archive::as_text(from))},
                {text_of(table.value), text_of(index)},
                [](const rows::type_rows& of, slot_number slot) {
                    return entry{std::string(archive::as_text(bytes_of(of, slot, "bytes"))),
                                 number_of<std::uint32_t>(of, slot, "row")};
                }) {}
    bool valid() const override { return keys_.valid(); }
    bytes_view key() const override { return archive::as_bytes(keys_.front().bytes); }
    std::uint32_t id() const override { return keys_.front().row; }
    void next() override { keys_.next(); }

private:
    struct entry {
        std::string bytes;
        std::uint32_t row;
    };
    segment_archive_walk<entry> keys_;
};

segment_archive::segment_archive(row_source& state) : state_(state) {
    std::vector<archive::table_description> found;
    state_.take_turn([&] {
        found.clear();
        if (!state_.has(table_type)) return; // nothing archived yet
        const rows::type_rows of = state_.of(table_type);
        for (std::uint32_t id = 0; id < of.slots().next_id(); ++id) {
            const slot_number slot = of.slots().slot_of(id);
            if (slot == 0) fail(state_, "table " + std::to_string(id) + " is missing");
            found.push_back({std::string(archive::as_text(bytes_of(of, slot, "name"))),
                             lines_of(archive::as_text(bytes_of(of, slot, "key_names")))});
        }
    });
    for (archive::table_description& one : found)
        add_existing_table(std::move(one));
}

std::string segment_archive::name() const {
    return "the archive in the memory of " + state_.state().string();
}

void segment_archive::create_table(const archive::table_description&) {
    throw usage_error(name() + ": is only read");
}

archive::store::write_totals segment_archive::apply(const archive::write_batch&) {
    throw usage_error(name() + ": is only read");
}

std::optional<pinned_row> segment_archive::read(table_id table, std::uint32_t id) const {
    std::optional<pinned_row> found;
    state_.take_turn([&] {
        found.reset();
        const rows::type_rows of = state_.of(row_type);
        const type_schema::key& key = of.key_called("by_number");
        const rows::probe sought =
            probe_of(of.schema(), key, {text_of(table.value), text_of(id)}, of.buffers());
        for (const slot_number slot : of.find(key, sought))
            found.emplace(pin(state_, of, slot));
    });
    return found;
}

std::optional<pinned_row> segment_archive::read(table_id table, std::uint32_t index, bytes_view key,
                                                const archive::row_predicate& counts) const {
    for (key_source_of at(state_, table, index, key); at.valid() && archive::same(at.key(), key);
         at.next()) {
        if (!counts(at.id())) continue;
        if (auto row = read(table, at.id())) return row;
        fail(state_, "key " + archive::detail::printable(key) + " leads to row " +
                         std::to_string(at.id()) + ", which is missing");
    }
    return std::nullopt;
}

std::uint64_t segment_archive::row_count(table_id table) const {
    std::uint64_t rows = 0;
    state_.take_turn([&] {
        rows = 0;
        const rows::type_rows of = state_.of(table_type);
        if (const slot_number slot = of.slots().slot_of(table.value); slot != 0)
            rows = number_of<std::uint64_t>(of, slot, "rows");
    });
    return rows;
}

std::unique_ptr<archive::row_cursor_source> segment_archive::scan(table_id table,
                                                                  std::uint32_t from) const {
    return std::make_unique<row_source_of>(state_, table, from);
}

std::unique_ptr<archive::key_cursor_source>
segment_archive::scan(table_id table, std::uint32_t index, bytes_view from) const {
    return std::make_unique<key_source_of>(state_, table, index, from);
}

std::optional<table_id> table_called(const archive::store& store, const std::string& name) {
    const auto& tables = store.tables();
    const auto found = std::ranges::find(tables, name, &archive::table_description::name);
    if (found == tables.end()) return std::nullopt;
    return table_id{static_cast<std::uint32_t>(found - tables.begin())};
}

std::unique_ptr<archive::store> open_archive(row_source& state) {
    const auto folder = state.origin() / "archive";
    if (!std::filesystem::exists(folder)) return nullptr;
    switch (archive::kind_of(folder).value_or(archive::store_kind::rocksdb)) {
    case archive::store_kind::rocksdb:
        return open_archive(state.origin());
    case archive::store_kind::memory:
        return std::make_unique<segment_archive>(state);
    case archive::store_kind::none:
        break;
    }
    return nullptr;
}

void require_rows(const row_source& state, const archive::store* archive, const std::string& type,
                  std::uint64_t expected) {
    const auto table = archive ? table_called(*archive, type) : std::nullopt;
    const std::uint64_t there = table ? archive->count(*table) : 0;
    if (there < expected)
        throw damaged_error(fmt::format(
            "{}: the state handed over {} rows of {}, and its archive{} has {}; put the archive "
            "of this state back in place, or ask only for what is in memory",
            state.state().string(), expected, type, archive ? "" : ", which is missing,", there));
}

std::unique_ptr<archive::store> open_whole_archive(row_source& state) {
    const auto expected = objects_handed_over(state);
    auto archive = open_archive(state);
    for (const auto& [type, rows] : expected)
        require_rows(state, archive.get(), type, rows);
    return archive;
}

} // namespace chainbase::inspect
