#include <tools/inspect/top/view_tables.hpp>

namespace chainbase::inspect {

namespace {

text_style style_of_growth(double figure) {
    return figure == 0 ? text_style::dim : text_style::plain;
}

std::uint64_t in_use(const measured& part) {
    return part.bytes.header + part.bytes.links + part.bytes.values;
}

/// The columns from `in use` on.
void add_bytes(std::vector<cell>& row, const measured& part, const state_growth::part* gained,
               const view_content& content) {
    const double all = static_cast<double>(content.sample.now.state.total().file_bytes);
    const double share = all == 0 ? 0 : static_cast<double>(part.file_bytes) / all;
    row.push_back(bytes(in_use(part)));
    row.push_back(gained ? cell{gained_bytes(gained->used_bytes), gained->used_bytes,
                                style_of_growth(gained->used_bytes)}
                         : nothing());
    row.push_back(bytes(part.bytes.slack));
    row.push_back(bytes(part.bytes.punched));
    row.push_back(bytes(part.file_bytes));
    row.push_back({percent(share, 1) + " " + bar_of(share, 8, content.is_unicode), share});
}

void add_type(sortable_table& to, const type_report& type, const state_growth::part* gained,
              const view_content& content) {
    std::vector<cell> row{text(printable(type.name)), whole(type.objects)};
    row.push_back(gained ? cell{gained_number(gained->objects), gained->objects,
                                style_of_growth(gained->objects)}
                         : nothing());
    add_bytes(row, type.total(), gained, content);
    to.add(std::move(row));
}

void add_part(sortable_table& to, const char* name, const measured& part,
              const view_content& content) {
    std::vector<cell> row{{name, std::nullopt, text_style::dim}, nothing(), nothing()};
    add_bytes(row, part, nullptr, content);
    to.add(std::move(row));
}

} // namespace

sortable_table memory_table(const view_content& content) {
    sortable_table table({{"type"},
                          {"objects"},
                          {"a minute"},
                          {"in use"},
                          {"a minute"},
                          {"slack"},
                          {"punched"},
                          {"files"},
                          {"share"}});
    const state_report& state = content.sample.now.state;
    const std::vector<state_growth::part>& gained = content.sample.growth.types;
    for (std::size_t each = 0; each < state.types.size(); ++each)
        add_type(table, state.types[each], each < gained.size() ? &gained[each] : nullptr, content);
    add_part(table, "(buffers)", state.buffers_total(), content);
    add_part(table, "(undo log)", state.log, content);
    add_part(table, "(header)", state.header, content);
    return table;
}

} // namespace chainbase::inspect
