#include <pool_allocator/error.hpp>
#include <tools/inspect/dump/dump_file.hpp>
#include <tools/inspect/dump/dump_keys.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace chainbase::inspect {

namespace fs = std::filesystem;
using sorted_json = nlohmann::json;

namespace {

[[noreturn]] void throw_failure(const std::string& name, const char* what) {
    const std::string why = std::generic_category().message(errno);
    if (errno == ENOSPC || errno == EDQUOT)
        throw out_of_space_error(name + ": " + what + ": " + why +
                                 "; free space and call again with --resume");
    throw io_error(name + ": " + what + ": " + why);
}

/// What a line says; discarded for what is no JSON.
sorted_json parsed(const std::string& line) {
    return sorted_json::parse(line, nullptr, /*allow_exceptions=*/false);
}

/// {"TYPE": {"id": ..., ...}}, of the archive with "archived": true. Its end where it is no row.
sorted_json::const_iterator row_in(const sorted_json& line) {
    if (!line.is_object()) return line.end();
    const auto row = std::find_if(line.begin(), line.end(),
                                  [](const sorted_json& value) { return value.is_object(); });
    const bool is_archived =
        line.size() == 2 && line.value("archived", sorted_json()) == sorted_json(true);
    if (row == line.end() || (line.size() != 1 && !is_archived)) return line.end();
    const sorted_json id = row->value("id", sorted_json());
    return id.is_number_unsigned() && id < UINT32_MAX ? row : line.end();
}

/// Of lines that are whole: how far they got, and where the last of them ends. What follows the
/// last row of a type, its keys, is written again.
dump_file::standing standing_of(const fs::path& file, std::uint64_t& end) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw_failure(file.string(), "cannot be read; without --resume it is made");
    dump_file::standing found;
    std::string line;
    std::string last;
    std::getline(in, found.head);
    if (in.eof() || !parsed(found.head).contains("dump"))
        throw damaged_error(file.string() +
                            ": offset 0: no dump begins there; choose another file");
    end = found.head.size() + 1;
    std::uint64_t at = end;
    while (std::getline(in, line) && !in.eof()) {
        at += line.size() + 1;
        if (is_key_line(line)) continue;
        end = at;
        ++found.rows;
        last.swap(line);
    }
    if (found.rows == 0) return found;
    const sorted_json row = parsed(last);
    found.is_complete = row.is_object() && row.value("complete", sorted_json()).is_boolean();
    if (found.is_complete) return found;
    const auto last_row = row_in(row);
    if (last_row == row.end())
        throw damaged_error(fmt::format("{}: offset {}: no row of a dump; choose another file",
                                        file.string(), end - last.size() - 1));
    found.type = last_row.key();
    found.id = last_row->at("id").get<std::uint32_t>();
    return found;
}

} // namespace

void dump_file::close::operator()(std::FILE* file) const noexcept {
    if (file != stdout) std::fclose(file);
}

dump_file::dump_file() noexcept : name_("stdout"), file_(stdout) {}

dump_file::dump_file(const fs::path& file) : name_(file.string()) {
    file_.reset(std::fopen(file.c_str(), "wbxe"));
    if (!file_ && errno == EEXIST)
        throw usage_error(name_ + " is there already; go on with it (--resume), or choose another "
                                  "file");
    if (!file_) throw_failure(name_, "cannot be made");
}

dump_file::dump_file(const fs::path& file, standing& found) : name_(file.string()) {
    std::uint64_t end = 0;
    found = standing_of(file, end);
    file_.reset(std::fopen(file.c_str(), "r+be"));
    if (!file_) throw_failure(name_, "cannot be written to");
    const bool is_cut = ::ftruncate(fileno(file_.get()), static_cast<off_t>(end)) == 0;
    if (!is_cut || std::fseek(file_.get(), 0, SEEK_END) != 0) throw_failure(name_, "cannot be cut");
}

void dump_file::write(std::string_view lines) {
    if (std::fwrite(lines.data(), 1, lines.size(), file_.get()) != lines.size())
        throw_failure(name_, "cannot be written to");
}

void dump_file::finish() {
    if (std::fflush(file_.get()) != 0) throw_failure(name_, "cannot be written to");
    if (file_.get() != stdout && ::fsync(fileno(file_.get())) != 0)
        throw_failure(name_, "cannot be brought to storage");
}

} // namespace chainbase::inspect
