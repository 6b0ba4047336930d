#include <pool_allocator/error.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/serve/merged_page.hpp>
#include <tools/inspect/serve/row_browser.hpp>
#include <tools/inspect/serve/row_page.hpp>

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

namespace chainbase::inspect {

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
