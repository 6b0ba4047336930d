#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/rows/object_row.hpp>

namespace chainbase::inspect {

std::optional<object_row> object_row::find(row_source& state, const archive::store* archive,
                                           const std::string& type, std::uint32_t id) {
    const std::string word = std::to_string(id);
    merged_rows rows(state, row_query{type, "id", {}, {word}, {word}, false}, archive);
    const merged_rows::row* const one = rows.next();
    if (!one) return std::nullopt;
    return object_row{one->json, rows.names(), one->cells};
}

} // namespace chainbase::inspect
