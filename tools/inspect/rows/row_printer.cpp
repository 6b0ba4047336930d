#include <tools/inspect/rows/row_printer.hpp>
#include <tools/print.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace chainbase::inspect {

namespace {

constexpr std::size_t bytes_at_once = std::size_t{64} << 10;
constexpr std::size_t rows_at_once = 1000; ///< of a table, whose columns are as wide as these need

} // namespace

row_printer::row_printer(row_source& from, const std::string& type, const std::string& key,
                         form how)
    : how_(how) {
    nlohmann::ordered_json head;
    from.take_turn([&] {
        format_ = std::make_unique<row_format>(from.of(type).schema());
        head = {{"schema_version", 1},
                {"state", from.state().string()},
                {"type", type},
                {"key", key},
                {"revision", from.revision()},
                {"rolled_back", from.is_rolled_back()}};
    });
    if (how_ == form::json_lines)
        text_ = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void row_printer::add(const std::byte* object, const rows::buffer_source& buffers) {
    ++rows_;
    if (how_ == form::table) {
        cells_.push_back(format_->cells(object, buffers));
        return;
    }
    format_->append_json(text_, object, buffers);
    text_ += '\n';
}

void row_printer::add(const merged_rows::row& one) {
    ++rows_;
    if (how_ == form::table) {
        cells_.push_back(one.cells);
        cells_.back().push_back(one.is_archived ? "archive" : "memory");
        return;
    }
    text_ += fmt::format("{{\"row\":{},\"archived\":{}}}\n", one.json, one.is_archived);
}

void row_printer::print_some() {
    if (text_.size() >= bytes_at_once || cells_.size() >= rows_at_once) print();
}

void row_printer::print() {
    if (!cells_.empty()) {
        std::vector<std::string> titles = format_->names();
        const std::size_t fields = titles.size();
        if (says_where_) titles.push_back("where");
        text_table table(std::move(titles));
        for (std::size_t field = 0; field < fields; ++field)
            if (format_->is_text(field)) table.is_text(field);
        if (says_where_) table.is_text(fields);
        for (auto& row : cells_)
            table.add(std::move(row));
        text_ += table.text();
        cells_.clear();
    }
    print_or_throw(text_, "call again for the rest");
    text_.clear();
}

void row_printer::finish(bool more) {
    if (how_ == form::json_lines)
        text_ += fmt::format("{{\"schema_version\":1,\"rows\":{},\"more\":{}}}\n", rows_, more);
    print();
}

} // namespace chainbase::inspect
