#include <tools/inspect/serve/row_page.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace chainbase::inspect {

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

} // namespace chainbase::inspect
