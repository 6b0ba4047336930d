#include <pool_allocator/error.hpp>
#include <tools/inspect/dump/dump_keys.hpp>
#include <tools/inspect/dump/dump_reader.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <iostream>
#include <system_error>
#include <vector>

namespace chainbase::inspect {

namespace {

using bulk_load::key_orders;
using sorted_json = nlohmann::json;

void append(std::vector<key_orders::entry>& to, const sorted_json& line) {
    const auto ids = line.at("ids").get<std::vector<std::uint32_t>>();
    const auto hashes = line.at("hashes").get<std::vector<std::uint32_t>>();
    const auto follows = line.at("follows").get<std::vector<bool>>();
    for (std::size_t n = 0; n < ids.size(); ++n)
        to.push_back({ids[n], hashes.at(n), follows.at(n)});
}

void append(std::vector<std::uint32_t>& to, const sorted_json& line) {
    const auto ids = line.at("ids").get<std::vector<std::uint32_t>>();
    to.insert(to.end(), ids.begin(), ids.end());
}

} // namespace

dump_reader::dump_reader(const std::string& file)
    : name_(file == "-" ? "stdin" : file), in_(file == "-" ? std::cin : file_) {
    if (file != "-") file_.open(file, std::ios::binary);
    if (!in_) throw io_error(name_ + ": cannot be read: " + std::generic_category().message(errno));
    std::string line;
    std::getline(in_, line);
    number_ = 1;
    head_ = dump_head::of(line, name_);
}

std::string dump_reader::place() const {
    return name_ + ": line " + std::to_string(number_);
}

void dump_reader::refuse(const std::string& why) const {
    throw damaged_error(place() + ": " + why + "; make the dump again, or mend the line");
}

/// Looks at the next line, unless the one before was not taken.
void dump_reader::read_line() {
    if (!is_taken_) return;
    is_taken_ = false;
    line_ = nullptr;
    text_.clear();
    if (!std::getline(in_, text_)) {
        if (in_.bad())
            throw io_error(name_ + ": cannot be read: " + std::generic_category().message(errno));
        return;
    }
    ++number_;
    line_ = sorted_json::parse(text_, nullptr, /*allow_exceptions=*/false);
    if (!line_.is_object()) refuse("no JSON object");
}

const sorted_json* dump_reader::next_row(const std::string& type) {
    read_line();
    if (!line_.is_object() || line_.size() != 1 || line_.begin().key() != type) return nullptr;
    if (is_key_line(text_)) return nullptr;
    is_taken_ = true;
    ++rows_;
    return &line_.begin().value();
}

key_orders dump_reader::orders(const std::string& type) {
    key_orders all;
    for (read_line(); is_key_line(text_); is_taken_ = true, read_line()) {
        const auto name = line_.value("key", std::string());
        if (!name.starts_with(type + ".")) break;
        const std::string key = name.substr(type.size() + 1);
        try {
            if (line_.contains("hashes"))
                append(all.tables[key], line_);
            else
                append(all.trees[key], line_);
        } catch (const std::exception& problem) { // of the JSON, or an array that is too short
            refuse(problem.what());
        }
    }
    return all;
}

dump_reader::tail dump_reader::end() {
    read_line();
    if (line_.is_null())
        throw damaged_error(place() + ": the dump ends here, without its last line, so it is not "
                                      "whole; go on with it (dump --output --resume), or make it "
                                      "again");
    if (line_.value("complete", sorted_json()) != sorted_json(true))
        refuse("neither a row of the type whose turn it is nor the last line");
    const sorted_json rows = line_.value("rows", sorted_json());
    const sorted_json revision = line_.value("revision", sorted_json());
    if (!rows.is_number_unsigned() || !revision.is_number_integer())
        refuse("the last line has no number of rows, or no revision");
    if (rows != rows_)
        refuse(fmt::format("{} rows are counted, {} were there", rows.dump(), rows_));
    const tail found{revision.get<std::int64_t>(),
                     line_.value("moved", sorted_json()) != sorted_json(false)};
    if (std::string more; std::getline(in_, more)) refuse("something follows the last line");
    return found;
}

} // namespace chainbase::inspect
