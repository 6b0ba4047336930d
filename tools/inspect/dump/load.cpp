#include <chainbase/offline/bulk_load/key_loaders.hpp>
#include <chainbase/offline/bulk_load/new_state.hpp>
#include <chainbase/offline/unfinished_state.hpp>
#include <chainbase/segment/doctor.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/dump/dump_file.hpp>
#include <tools/inspect/rows/row_reader.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/memory_folder.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace chainbase::inspect {

/// Reads a dump line by line: the head, then for each type its rows and the order of its keys, then
/// the end. One thread at a time.
class dump_reader {
public:
    /// Reads the first line of `file`, or of stdin for "-". Throws io_error, damaged_error when it
    /// is no dump, format_error for another version.
    explicit dump_reader(const std::string& file);

    [[nodiscard]] const dump_head& head() const noexcept { return head_; }

    /// The next row of a type, as JSON; null when there is none. Throws damaged_error, with the
    /// line number, for an invalid line.
    [[nodiscard]] const nlohmann::json* next_row(const std::string& type);
    /// The key orders after the rows of a type. Throws as next_row.
    [[nodiscard]] bulk_load::key_orders orders(const std::string& type);

    /// The last line.
    struct tail {
        std::int64_t revision;
        bool moved; ///< the objects belong to different blocks
    };
    /// Throws damaged_error when the dump is incomplete: the last line is missing, or its counts
    /// differ from the rows read.
    [[nodiscard]] tail end();

    /// "FILE: line 17", the line read last.
    [[nodiscard]] std::string place() const;
    /// Number of lines consumed.
    [[nodiscard]] std::uint64_t taken() const noexcept { return number_ - (is_taken_ ? 0 : 1); }
    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
    /// Throws damaged_error with the position, which covers the lines consumed from number `first`
    /// on.
    [[noreturn]] void refuse(const std::string& why) const;
    [[noreturn]] void refuse(const std::string& why, std::uint64_t first) const;

private:
    void read_line();

    std::string name_;
    std::ifstream file_;
    std::istream& in_;
    dump_head head_;
    std::string text_;    ///< the line read last
    nlohmann::json line_; ///< parsed; null at the end
    bool is_taken_ = true;
    std::uint64_t number_ = 0;
    std::uint64_t rows_ = 0;
};

namespace {

using bulk_load::key_orders;
using sorted_json = nlohmann::json;

void append(key_orders::table& to, const sorted_json& line) {
    line.at("seed").get_to(to.seed.words);
    const auto ids = line.at("ids").get<std::vector<std::uint32_t>>();
    const auto hashes = line.at("hashes").get<std::vector<std::uint32_t>>();
    const auto follows = line.at("follows").get<std::vector<bool>>();
    for (std::size_t n = 0; n < ids.size(); ++n)
        to.entries.push_back({ids[n], hashes.at(n), follows.at(n)});
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
    throw damaged_error(place() + ": " + why + "; make the dump again, or correct the line");
}

void dump_reader::refuse(const std::string& why, std::uint64_t first) const {
    throw damaged_error(
        fmt::format("{}: lines {} to {}: {}; make the dump again, or correct the lines", name_,
                    first, std::max(first, taken()), why));
}

/// Reads the next line, unless the one before was not consumed.
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
    if (text_.find('\0') != text_.npos) refuse("a byte 0, which JSON cannot have");
    line_ = exact_json(text_);
    if (!line_.is_object()) refuse("not a JSON object");
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
            if (line_.contains("hashes") && !line_.contains("seed"))
                throw format_error(place() + ": hashes of " + name +
                                   " that were not keyed, as this program's are, and that only the "
                                   "program of the state can compute; replay into a new folder");
            if (line_.contains("hashes"))
                append(all.tables[key], line_);
            else
                append(all.trees[key], line_);
        } catch (const format_error&) {
            throw;
        } catch (const std::exception& problem) { // invalid JSON, or an array that is too short
            refuse(problem.what());
        }
    }
    return all;
}

dump_reader::tail dump_reader::end() {
    read_line();
    if (line_.is_null())
        throw damaged_error(place() + ": the dump ends here, without its last line, so it is "
                                      "incomplete; go on with it (dump --output --resume), or "
                                      "make it again");
    if (line_.value("complete", sorted_json()) != sorted_json(true))
        refuse("neither a row of the current type nor the last line");
    const sorted_json rows = line_.value("rows", sorted_json());
    const sorted_json revision = line_.value("revision", sorted_json());
    if (!rows.is_number_unsigned() || !revision.is_number_integer())
        refuse("the last line has no number of rows, or no revision");
    if (rows != rows_)
        refuse(fmt::format("{} rows are counted, but there were {}", rows.dump(), rows_));
    const tail found{revision.get<std::int64_t>(),
                     line_.value("moved", sorted_json()) != sorted_json(false)};
    if (std::string more; std::getline(in_, more)) refuse("something follows the last line");
    return found;
}

namespace fs = std::filesystem;

namespace {

struct load_call : state_call {
    std::string dump = "-";
    std::string readers_group;
    fs::path memory_folder;
    bool takes_moved = false;
};

/// About as many as the loaded segment will have, without texts.
std::uint64_t bytes_of(const dump_head& head) {
    std::uint64_t all = 0;
    for (const dump_head::type& one : head.types)
        all += std::uint64_t{one.next_id} * one.schema.node_bytes;
    return all;
}

/// A segment that may be put in memory needs a checkpoint.
bulk_load::new_state::limits limits_for(const load_call& asked, const fs::path& state,
                                        const dump_head& head) {
    bulk_load::new_state::limits limits;
    limits.readers_group = asked.readers_group;
    limits.memory_folder = asked.memory_folder;
    limits.expected_bytes = bytes_of(head);
    const bool is_on_disk = asked.memory_folder.empty()
                                ? !doctor::preferred_place(state).why_not.empty()
                                : asked.memory_folder == "none";
    if (!is_on_disk) limits.durability = durability::checkpoint;
    return limits;
}

/// At least as many as there are rows.
std::uint64_t ids_in(const dump_head& head) {
    std::uint64_t all = 0;
    for (const dump_head::type& one : head.types)
        all += one.next_id;
    return all;
}

void load_rows(dump_reader& from, row_reader& reader, bulk_load::object_loader& to,
               progress& shown) {
    const std::uint64_t all = ids_in(from.head());
    while (const nlohmann::json* row = from.next_row(to.schema().name)) {
        shown.advance(from.rows(), all);
        try {
            to.add(reader.read(*row), reader);
        } catch (const usage_error& problem) {
            from.refuse(problem.what());
        }
    }
}

bulk_load::object_loader loader_of(dump_reader& from, const type_schema& schema,
                                   bulk_load::new_state& to) {
    try {
        return to.add_type(schema);
    } catch (const usage_error& problem) { // a duplicate
        from.refuse(problem.what(), 1);
    }
}

/// Returns its number of objects.
std::uint64_t load_type(dump_reader& from, const dump_head::type& type, bulk_load::new_state& to,
                        progress& shown) {
    row_reader reader(type.schema);
    const std::uint64_t first = from.taken() + 1;
    bulk_load::object_loader loader = loader_of(from, type.schema, to);
    load_rows(from, reader, loader, shown);
    const bulk_load::key_orders orders = from.orders(type.schema.name);
    try {
        loader.finish(type.next_id, orders);
    } catch (const usage_error& problem) {
        throw damaged_error(from.place() + ": " + problem.what() +
                            "; dump the state while no process has it open for writing");
    } catch (const duplicate_key_error& problem) {
        from.refuse(problem.what(), first);
    } catch (const damaged_error& problem) { // the key lines do not fit these rows
        from.refuse(problem.what(), first);
    }
    return loader.objects();
}

/// Whether a life cycle handed objects over: its bookkeeping has the type's name plus a suffix.
bool needs_archive(const dump_head& head) {
    return std::ranges::any_of(head.types, [](const dump_head::type& one) {
        return one.schema.name.ends_with(".retired") && one.next_id != 0;
    });
}

exit_code run_load(const load_call& asked) {
    dump_reader from(asked.dump);
    if (from.head().has_archive)
        throw damaged_error(from.place() + ": a dump with rows of the archive, which do not "
                                           "belong in memory; dump without --archive, and copy "
                                           "the folder archive of the state");
    unfinished_state made(asked.state, asked.readers_group);
    const catch_interruption interruption;
    json types = json::array();
    std::uint64_t objects = 0;
    bulk_load::new_state state(made.path(), limits_for(asked, made.path(), from.head()));
    std::optional<progress> shown(std::in_place, "loading", "rows");
    for (const dump_head::type& type : from.head().types) {
        const std::uint64_t rows = load_type(from, type, state, *shown);
        types.push_back({{"name", type.schema.name}, {"rows", rows}});
        objects += rows;
    }
    shown.reset();
    const dump_reader::tail tail = from.end();
    if (tail.moved && !asked.takes_moved)
        throw damaged_error(from.place() + ": the state went on while it was dumped, so the rows "
                                           "are of different blocks; dump it while no process has "
                                           "it open for writing, or take them as they are "
                                           "(--moved)");
    state.close(tail.revision);
    made.finish();
    if (needs_archive(from.head()))
        spdlog::info(
            "the rows of the archive are not part of a dump: copy the folder archive of the "
            "state that was dumped into {}",
            asked.state);
    const json report{{"schema_version", 1},
                      {"state", asked.state},
                      {"revision", tail.revision},
                      {"rows", objects},
                      {"types", types}};
    print_or_throw(asked.json ? line_of(report) + "\n"
                              : fmt::format("{}: {} objects of {} types, revision {}\n",
                                            asked.state, objects, types.size(), tail.revision));
    return exit_code::done;
}

} // namespace

void declare_load(command& verb) {
    const auto asked =
        declare_look<load_call>(verb, run_load, "The folder to make; it must not exist");
    verb.add_option("FILE", asked->dump, "The output of dump; default, or -: stdin");
    verb.add_option("--readers-group", asked->readers_group,
                    "The group whose members may read the state");
    add_memory_folder(verb, asked->memory_folder);
    verb.add_flag("--moved", asked->takes_moved,
                  "Also load a dump whose state changed while it was made");
    verb.add_flag("--json", asked->json, "Print one JSON object");
}

} // namespace chainbase::inspect
