#include <pool_allocator/error.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_scan.hpp>
#include <tools/inspect/serve/row_browser.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

/// More than this on one page nobody reads.
constexpr std::size_t most_bytes = std::size_t{1} << 20;

std::string text_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// A page that is filled row by row.
class page {
public:
    page(const row_request& wanted, const type_schema& schema) : wanted_(wanted), format_(schema) {}

    /// Returns whether it takes another one.
    bool add(const rows::type_rows& of, slot_number slot) {
        is_more_ = rows_ == wanted_.limit || text_.size() > most_bytes;
        if (is_more_) return false;
        if (rows_++ > 0) text_ += ',';
        const std::byte* const object = of.slots().value(slot);
        if (wanted_.is_text)
            text_ += text_of(format_.cells(object, of.buffers()));
        else
            format_.append_json(text_, object, of.buffers());
        last_ = of.slots().id(slot);
        return true;
    }

    [[nodiscard]] std::string text(const row_source& from, std::int64_t revision) const {
        const json head = {{"schema_version", 1},     {"state", from.state().string()},
                           {"type", wanted_.type},    {"index", wanted_.index},
                           {"revision", revision},    {"rolled_back", from.is_rolled_back()},
                           {"names", format_.names()}};
        std::string all = text_of(head);
        all.pop_back();
        return all + fmt::format(",\"{}\":[{}],\"more\":{},\"after\":{}}}\n",
                                 wanted_.is_text ? "cells" : "rows", text_, is_more_,
                                 is_more_ ? std::to_string(last_) : "null");
    }

private:
    const row_request& wanted_;
    row_format format_;
    std::string text_;
    std::uint64_t rows_ = 0;
    std::uint32_t last_ = 0;
    bool is_more_ = false;
};

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
void look_up(const rows::type_rows& of, const row_request& wanted, page& onto) {
    const type_schema::key& key = of.key_called(wanted.index);
    const rows::probe sought(of.schema(), key, wanted.parts, of.buffers());
    if (!sought.is_whole())
        throw usage_error(fmt::format("{}.{} has {} parts, and is found by all of them only",
                                      wanted.type, key.name, key.parts.size()));
    for (const slot_number slot : of.find(key, sought))
        if (!onto.add(of, slot)) return;
}

} // namespace

std::string rows_page(const std::filesystem::path& state, const row_request& wanted) {
    row_source from(state);
    walk through = walk_through(from, wanted);
    std::optional<page> onto;
    std::int64_t revision = 0;
    from.take_turn([&] {
        const rows::type_rows of = from.of(wanted.type);
        onto.emplace(wanted, of.schema());
        revision = from.revision();
        if (!through.cursor) look_up(of, wanted, *onto);
    });
    if (through.cursor)
        scan(from, wanted.type, *through.cursor, [&](const rows::type_rows& of, slot_number slot) {
            revision = from.revision();
            if (through.begin && !through.begin->lets_pass(of, slot)) return true;
            return onto->add(of, slot);
        });
    return onto->text(from, revision);
}

} // namespace chainbase::inspect
