#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archived_rows.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/serve/merged_page.hpp>
#include <tools/inspect/serve/row_page.hpp>

#include <algorithm>

namespace chainbase::inspect {

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

} // namespace chainbase::inspect
