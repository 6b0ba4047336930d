#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archived_rows.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/serve/row_browser.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::inspect {

/// A page that is filled row by row, up to as many as were asked for, or about 1 MiB. Where the
/// archive was asked for, too, each row says where it is. One thread at a time.
class row_page {
public:
    /// What it tells besides rows.
    struct facts {
        std::int64_t revision = 0;
        std::vector<std::string> names; ///< of the fields
        bool is_archive_searched = false;
        bool has_moved = false; ///< rows were handed over meanwhile
    };

    /// `wanted` outlives it.
    explicit row_page(const row_request& wanted) : wanted_(wanted) {}

    /// To be asked for each row that there is: whether it is to be added. If not, there are more.
    [[nodiscard]] bool takes_another();
    /// Adds the row of object `id`: JSON, for `rows`.
    void add(std::uint32_t id, std::string_view row, bool is_archived = false);
    /// The same for `cells`.
    void add(std::uint32_t id, std::vector<std::string> cells, bool is_archived = false);

    /// The answer, as rows_page() has it.
    [[nodiscard]] std::string text(const row_source& from, facts told) const;

private:
    void append(std::uint32_t id, std::string_view row);

    const row_request& wanted_;
    std::string text_;
    std::uint64_t rows_ = 0;
    std::uint32_t last_ = 0;
    bool is_more_ = false;
};

namespace {

using json = nlohmann::ordered_json;

/// More than this on one page nobody reads.
constexpr std::size_t most_bytes = std::size_t{1} << 20;

} // namespace

bool row_page::takes_another() {
    is_more_ = rows_ == wanted_.limit || text_.size() > most_bytes;
    return !is_more_;
}

void row_page::append(std::uint32_t id, std::string_view row) {
    if (rows_++ > 0) text_ += ',';
    text_ += row;
    last_ = id;
}

void row_page::add(std::uint32_t id, std::string_view row, bool is_archived) {
    if (!wanted_.with_archive) return append(id, row);
    append(id, fmt::format("{{\"row\":{},\"archived\":{}}}", row, is_archived));
}

void row_page::add(std::uint32_t id, std::vector<std::string> cells, bool is_archived) {
    if (wanted_.with_archive) cells.emplace_back(is_archived ? "archive" : "memory");
    append(id, line_of(std::move(cells)));
}

std::string row_page::text(const row_source& from, facts told) const {
    if (wanted_.with_archive && wanted_.is_text) told.names.emplace_back("where");
    json head = {{"schema_version", 1},           {"state", from.state().string()},
                 {"type", wanted_.type},          {"index", wanted_.index},
                 {"revision", told.revision},     {"rolled_back", from.is_rolled_back()},
                 {"names", std::move(told.names)}};
    if (wanted_.with_archive) {
        head["archive_searched"] = told.is_archive_searched;
        head["moved"] = told.has_moved;
    }
    std::string all = line_of(head);
    all.pop_back();
    return all + fmt::format(",\"{}\":[{}],\"more\":{},\"after\":{}}}\n",
                             wanted_.is_text ? "cells" : "rows", text_, is_more_,
                             is_more_ ? std::to_string(last_) : "null");
}

/// rows_page() of memory and archive: in the order of a key or of the id as `range --archive` has
/// them, those of a hashed key as `get`. Nothing when the archive is not searched: there is none,
/// it has no rows of the type, or it does not know the hashed key.
///
/// Takes turns. Throws what rows_page() does with the archive.
[[nodiscard]] std::optional<std::string> merged_page(row_source& from, const row_request& wanted);

namespace {

bool has_order(row_source& from, const row_request& wanted) {
    bool has = true;
    from.take_turn([&] {
        const rows::type_rows of = from.of(wanted.type);
        has = wanted.index == "id" || of.tree(of.key_called(wanted.index)).has_value();
    });
    return has;
}

bool has_table(const archive::store& archive, const std::string& type) {
    return std::ranges::any_of(archive.tables(),
                               [&](const auto& table) { return table.name == type; });
}

void add(row_page& onto, const row_request& wanted, const merged_rows::row& one) {
    if (wanted.is_text)
        onto.add(one.id, one.cells, one.is_archived);
    else
        onto.add(one.id, one.json, one.is_archived);
}

std::optional<std::string> page_in_order(row_source& from, const row_request& wanted) {
    const auto archive = open_whole_archive(from);
    if (!archive || !has_table(*archive, wanted.type)) return std::nullopt;
    const row_query query{wanted.type, wanted.index, wanted.parts, {}, {}, wanted.is_reverse};
    merged_rows all(from, query, archive.get(), wanted.after);
    row_page page(wanted);
    for (const merged_rows::row* one = all.next(); one && page.takes_another(); one = all.next()) {
        add(page, wanted, *one);
        all.pop();
    }
    const std::int64_t revision = from.current_revision();
    return page.text(from, {revision, all.names(), true, all.has_moved()});
}

/// A few rows, or none.
std::optional<std::string> page_of_key(row_source& from, const row_request& wanted) {
    const found_rows in_memory = find_rows(from, wanted.type, wanted.index, wanted.parts);
    const archived_rows archived =
        archived_rows::find(from, wanted.type, wanted.index, wanted.parts);
    if (!archived.is_asked) return std::nullopt;
    std::optional<row_format> format;
    from.take_turn([&] { format.emplace(from.of(wanted.type).schema()); });
    row_page page(wanted);
    for (std::size_t row = 0; row < in_memory.json.size() && page.takes_another(); ++row)
        add(page, wanted, {in_memory.ids[row], false, in_memory.json[row], in_memory.cells[row]});
    for (const archived_rows::row& row : archived.rows) {
        if (!page.takes_another()) break;
        add(page, wanted,
            {row.id, true, format->json_of(row.values), format->cells_of(row.values)});
    }
    return page.text(from, {in_memory.revision, in_memory.names, true, false});
}

} // namespace

std::optional<std::string> merged_page(row_source& from, const row_request& wanted) {
    return has_order(from, wanted) ? page_in_order(from, wanted) : page_of_key(from, wanted);
}

namespace {

/// Adds an object, if the page takes it, and returns whether that is so.
bool add(row_page& onto, const row_request& wanted, const row_format& format,
         const rows::type_rows& of, slot_number slot) {
    if (!onto.takes_another()) return false;
    const std::byte* const object = of.slots().value(slot);
    const std::uint32_t id = of.slots().id(slot);
    if (wanted.is_text) {
        onto.add(id, format.cells(object, of.buffers()));
        return true;
    }
    std::string row;
    format.append_json(row, object, of.buffers());
    onto.add(id, row);
    return true;
}

/// Lets rows pass after the object with which the last page ended: those before it may have the
/// same key.
class continuation {
public:
    continuation(const rows::type_rows& of, const type_schema::key* key, std::uint32_t after)
        : after_(after) {
        if (key == nullptr) return;
        const slot_number slot = of.slots().slot_of(after);
        if (slot == 0)
            throw usage_error(fmt::format("{} {}, after which the next rows come, was removed; "
                                          "begin anew",
                                          of.schema().name, after));
        place_.emplace(of.schema(), *key, of.slots().value(slot), of.buffers());
    }

    /// A bound of its own, since a cursor keeps it. Requires a key.
    [[nodiscard]] static std::optional<rows::probe>
    bound(const rows::type_rows& of, const type_schema::key& key, std::uint32_t after) {
        rows::probe at(of.schema(), key, of.slots().value(of.slots().slot_of(after)), of.buffers());
        if (at.parts() == 0) return std::nullopt;
        return at;
    }

    bool lets_pass(const rows::type_rows& of, slot_number slot) {
        if (has_passed_) return true;
        if (of.slots().id(slot) == after_) {
            has_passed_ = true;
            return false;
        }
        if (!place_) return true; // by id: the cursor begins behind it
        has_passed_ = place_->place_of(of.slots().value(slot)) != std::strong_ordering::equal;
        return has_passed_;
    }

private:
    std::uint32_t after_;
    std::optional<rows::probe> place_; ///< nothing: by id
    bool has_passed_ = false;
};

std::optional<rows::probe> bound_of(const rows::type_rows& of, const type_schema::key& key,
                                    const std::vector<std::string>& parts) {
    if (parts.empty()) return std::nullopt;
    return rows::probe(of.schema(), key, parts, of.buffers());
}

std::unique_ptr<rows::row_cursor>
cursor_after(const rows::type_rows& of, const type_schema::key& key, const row_request& wanted) {
    std::optional<rows::probe> given = bound_of(of, key, wanted.parts);
    std::optional<rows::probe> begin = continuation::bound(of, key, wanted.after.value());
    using bounds = rows::key_cursor::bounds;
    return std::make_unique<rows::key_cursor>(
        key, wanted.is_reverse ? bounds{std::move(given), std::move(begin), true}
                               : bounds{std::move(begin), std::move(given), false});
}

std::unique_ptr<rows::row_cursor> cursor_by_id_after(const row_request& wanted) {
    const std::uint32_t after = wanted.after.value();
    if (wanted.is_reverse) return std::make_unique<rows::id_cursor>(0, after, true);
    return std::make_unique<rows::id_cursor>(after);
}

/// What a page is filled from.
struct walk {
    std::unique_ptr<rows::row_cursor> cursor; ///< null: a hashed key
    std::optional<continuation> begin;
};

walk walk_through(row_source& from, const row_request& wanted) {
    walk through;
    bool has_order = true;
    from.take_turn([&] {
        const rows::type_rows of = from.of(wanted.type);
        const bool is_id = wanted.index == "id";
        const type_schema::key* const key = is_id ? nullptr : &of.key_called(wanted.index);
        has_order = is_id || of.tree(*key).has_value();
        if (!has_order || !wanted.after) return;
        through.begin.emplace(of, key, *wanted.after);
        through.cursor = is_id ? cursor_by_id_after(wanted) : cursor_after(of, *key, wanted);
    });
    const bool is_lookup = !has_order && !wanted.parts.empty();
    if (!through.cursor && !is_lookup)
        through.cursor =
            row_query{wanted.type, wanted.index, wanted.parts, {}, {}, wanted.is_reverse}.cursor(
                from);
    return through;
}

/// The objects of a hashed key: a few, or none.
std::vector<slot_number> look_up(const rows::type_rows& of, const row_request& wanted) {
    const type_schema::key& key = of.key_called(wanted.index);
    const rows::probe sought(of.schema(), key, wanted.parts, of.buffers());
    if (!sought.is_whole())
        throw usage_error(fmt::format("{}.{} has {} parts, and is found by all of them only",
                                      wanted.type, key.name, key.parts.size()));
    return of.find(key, sought);
}

std::string memory_page(row_source& from, const row_request& wanted) {
    walk through = walk_through(from, wanted);
    row_page page(wanted);
    row_page::facts told;
    std::optional<row_format> format;
    from.take_turn([&] {
        const rows::type_rows of = from.of(wanted.type);
        format.emplace(of.schema());
        told.names = format->names();
        told.revision = from.revision();
        if (through.cursor) return;
        for (const slot_number slot : look_up(of, wanted))
            if (!add(page, wanted, *format, of, slot)) break;
    });
    if (through.cursor)
        scan(from, wanted.type, *through.cursor, [&](const rows::type_rows& of, slot_number slot) {
            told.revision = from.revision();
            if (through.begin && !through.begin->lets_pass(of, slot)) return true;
            return add(page, wanted, *format, of, slot);
        });
    return page.text(from, std::move(told));
}

} // namespace

std::string rows_page(const std::filesystem::path& state, const row_request& wanted) {
    row_source from(state);
    std::optional<std::string> page;
    if (wanted.with_archive) page = merged_page(from, wanted);
    return page ? *std::move(page) : memory_page(from, wanted);
}

} // namespace chainbase::inspect
