#include <chainbase/segment/catalogue.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/dump/dump_file.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <system_error>

namespace chainbase::inspect {

namespace {

constexpr int version = 2;
constexpr int version_without_seeds = 1; ///< the same except for hashes

/// Lists types like the catalogue of a state.
json listed(const std::vector<dump_head::type>& types) {
    catalogue all;
    for (const dump_head::type& one : types)
        all.add({one.schema, 0});
    return json::parse(all.text());
}

} // namespace

std::string dump_head::line() const {
    json head{{"schema_version", 1}, {"dump", version}, {"revision", revision}};
    if (has_archive) head["archive"] = true;
    head["types"] = listed(types)["types"];
    for (std::size_t number = 0; number < types.size(); ++number) {
        head["types"][number].erase("first_window");
        head["types"][number]["next_id"] = types[number].next_id;
    }
    return line_of(head) + "\n";
}

dump_head dump_head::of(const std::string& line, const std::string& file) {
    const json found = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!found.is_object() || !found.contains("dump"))
        throw damaged_error(file + ": line 1: not the beginning of a dump; choose another file");
    if (found["dump"] != version && found["dump"] != version_without_seeds)
        throw format_error(file + ": line 1: a dump of version " + found["dump"].dump() +
                           ", this program reads " + std::to_string(version) +
                           "; use the program that wrote it");
    dump_head head;
    json all = listed({});
    try {
        found.at("revision").get_to(head.revision);
        head.has_archive = found.value("archive", false);
        all["types"] = found.at("types");
        for (json& type : all["types"]) {
            type["first_window"] = 0;
            if (!type.at("next_id").is_number_unsigned() || type["next_id"] > UINT32_MAX)
                throw damaged_error(file + ": line 1: " + type["next_id"].dump() + " is not an id");
        }
        const catalogue types = catalogue_of(all.dump(), file);
        for (std::size_t number = 0; number < types.entries().size(); ++number)
            head.types.push_back({types.entries()[number].schema,
                                  found["types"][number].at("next_id").get<std::uint32_t>()});
    } catch (const json::exception& problem) {
        throw damaged_error(file + ": line 1: " + problem.what());
    }
    return head;
}

bool dump_head::has_types_of(const dump_head& other) const {
    return std::ranges::equal(types, other.types,
                              [](const type& a, const type& b) { return a.schema == b.schema; });
}

namespace {

using bulk_load::key_orders;

constexpr std::size_t ids_in_line = 10'000;

using write_line = std::function<void(std::string_view)>;

void write(const std::string& name, const std::vector<std::uint32_t>& ids, const write_line& to) {
    std::size_t at = 0;
    do {
        const std::size_t end = std::min(ids.size(), at + ids_in_line);
        const auto part = [&](std::size_t n) {
            return ids.begin() + static_cast<std::ptrdiff_t>(n);
        };
        to(json{{"key", name}, {"ids", std::vector<std::uint32_t>(part(at), part(end))}}.dump());
        at = end;
    } while (at < ids.size());
}

void write(const std::string& name, const key_orders::table& table, const write_line& to) {
    const auto& entries = table.entries;
    std::size_t at = 0;
    do {
        json line{{"key", name},
                  {"seed", table.seed.words},
                  {"ids", json::array()},
                  {"hashes", json::array()},
                  {"follows", json::array()}};
        for (std::size_t n = 0; n < ids_in_line && at < entries.size(); ++n, ++at) {
            line["ids"].push_back(entries[at].id);
            line["hashes"].push_back(entries[at].hash);
            line["follows"].push_back(entries[at].has_key_of_previous);
        }
        to(line.dump());
    } while (at < entries.size());
}

} // namespace

std::string computed_keys(const type_schema& schema) {
    std::string names;
    for (const type_schema::key& key : schema.keys)
        if (bulk_load::is_computed(schema, key)) names += (names.empty() ? "" : ", ") + key.name;
    return names;
}

void write_orders(const std::string& type, const key_orders& orders, const write_line& to) {
    for (const auto& [key, ids] : orders.trees)
        write(type + "." + key, ids, to);
    for (const auto& [key, table] : orders.tables)
        write(type + "." + key, table, to);
}

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

/// A parsed line; discarded if it is no JSON.
sorted_json parsed(const std::string& line) {
    return sorted_json::parse(line, nullptr, /*allow_exceptions=*/false);
}

/// {"TYPE": {"id": ..., ...}}, with "archived": true for archived rows. end() if it is no row.
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

} // namespace

dump_file::standing dump_file::progress_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw_failure(file.string(), "cannot be read; leave out --resume to make it");
    standing found;
    std::string line;
    std::string last;
    std::getline(in, found.head);
    if (in.eof() || !parsed(found.head).contains("dump"))
        throw damaged_error(file.string() +
                            ": offset 0: not the beginning of a dump; choose another file");
    found.end = found.head.size() + 1;
    std::uint64_t at = found.end;
    while (std::getline(in, line) && !in.eof()) {
        at += line.size() + 1;
        if (is_key_line(line)) continue;
        found.end = at;
        ++found.rows;
        last.swap(line);
    }
    if (found.rows == 0) return found;
    const sorted_json row = parsed(last);
    found.is_complete = row.is_object() && row.value("complete", sorted_json()).is_boolean();
    if (found.is_complete) return found;
    const auto last_row = row_in(row);
    if (last_row == row.end())
        throw damaged_error(fmt::format("{}: offset {}: not a row of a dump; choose another file",
                                        file.string(), found.end - last.size() - 1));
    found.type = last_row.key();
    found.id = last_row->at("id").get<std::uint32_t>();
    return found;
}

void dump_file::close::operator()(std::FILE* file) const noexcept {
    if (file != stdout) std::fclose(file);
}

dump_file::dump_file() noexcept : name_("stdout"), file_(stdout) {}

dump_file::dump_file(const fs::path& file) : name_(file.string()) {
    file_.reset(std::fopen(file.c_str(), "wbxe"));
    if (!file_ && errno == EEXIST)
        throw usage_error(name_ + " exists already; go on with it (--resume), or choose another "
                                  "file");
    if (!file_) throw_failure(name_, "cannot be made");
}

dump_file::dump_file(const fs::path& file, const standing& found) : name_(file.string()) {
    file_.reset(std::fopen(file.c_str(), "r+be"));
    if (!file_) throw_failure(name_, "cannot be written to");
    const bool is_cut = ::ftruncate(fileno(file_.get()), static_cast<off_t>(found.end)) == 0;
    if (!is_cut || std::fseek(file_.get(), 0, SEEK_END) != 0) throw_failure(name_, "cannot be cut");
}

void dump_file::write(std::string_view lines) {
    if (std::fwrite(lines.data(), 1, lines.size(), file_.get()) != lines.size())
        throw_failure(name_, "cannot be written to");
}

void dump_file::finish() {
    if (std::fflush(file_.get()) != 0) throw_failure(name_, "cannot be written to");
    if (file_.get() != stdout && ::fsync(fileno(file_.get())) != 0)
        throw_failure(name_, "cannot be synced");
}

} // namespace chainbase::inspect
