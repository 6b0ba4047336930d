#include <chainbase/bulk_load/key_loaders.hpp>
#include <chainbase/bulk_load/new_state.hpp>
#include <chainbase/files.hpp>
#include <chainbase/unfinished_name.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/private_folder.hpp>
#include <tools/inspect/dump/dump_file.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/rows/row_reader.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
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

/// A dump, read line by line: the head, then of each type its rows and the orders of its keys, then
/// the end. One thread at a time.
class dump_reader {
public:
    /// Reads the first line of `file`, or of stdin if that is "-". Throws io_error, damaged_error
    /// when it is no dump, format_error when it is one of another version.
    explicit dump_reader(const std::string& file);

    [[nodiscard]] const dump_head& head() const noexcept { return head_; }

    /// The next row of a type, as JSON; null when there is none. Throws damaged_error, with the
    /// number of the line, for what is no line of a dump.
    [[nodiscard]] const nlohmann::json* next_row(const std::string& type);
    /// The orders that follow the rows of a type. Throws as next_row does.
    [[nodiscard]] bulk_load::key_orders orders(const std::string& type);

    /// The last line.
    struct tail {
        std::int64_t revision;
        bool moved; ///< the objects are of different blocks
    };
    /// Throws damaged_error when the dump is not whole: there is no such line yet, or it counts
    /// other rows than there were.
    [[nodiscard]] tail end();

    /// "FILE: line 17", which was read last.
    [[nodiscard]] std::string place() const;

private:
    void read_line();
    [[noreturn]] void refuse(const std::string& why) const;

    std::string name_;
    std::ifstream file_;
    std::istream& in_;
    dump_head head_;
    std::string text_;    ///< of the line that was read last
    nlohmann::json line_; ///< as JSON; null when there was none
    bool is_taken_ = true;
    std::uint64_t number_ = 0;
    std::uint64_t rows_ = 0;
};

/// A state that is being made in `NAME.unfinished/state`: it is renamed to NAME when it is whole,
/// so that NAME is there whole or not at all. A file beside it says what the folder is, so that the
/// next call removes what one that was killed has left, and nothing else.
class unfinished_state {
public:
    /// For its owner and the group `readers`, if that is not empty. Throws usage_error when
    /// something has the name `target`, or the other name and is not what a call like this one
    /// left; locked_error while another process is at it; io_error.
    explicit unfinished_state(const std::filesystem::path& target, const std::string& readers = "");

    /// Where to make it: a folder that is empty.
    [[nodiscard]] std::filesystem::path path() const { return name_.path() / "state"; }
    /// Gives it its name. Requires that all in it is on storage. Throws usage_error when something
    /// has it by now, io_error.
    void finish() { name_.finish_with(path()); }

private:
    void remove_remains() const;

    unfinished_name name_;
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

namespace fs = std::filesystem;

namespace {

constexpr const char* mark = "unfinished";

} // namespace

unfinished_state::unfinished_state(const fs::path& target, const std::string& readers)
    : name_(fs::absolute(target)) {
    const auto group = readers.empty() ? std::nullopt : std::optional(group_called(readers));
    remove_remains();
    private_folder::make(name_.path(), std::nullopt);
    name_.own();
    replace_file(name_.path() / mark, "");
    private_folder::make(path(), group);
}

void unfinished_state::remove_remains() const {
    const fs::path& around = name_.path();
    if (!fs::exists(fs::symlink_status(around))) return;
    if (!fs::is_regular_file(fs::symlink_status(around / mark)))
        throw usage_error(around.string() + " is there, and nothing says what it is; remove it, or "
                                            "choose another name");
    if (fs::exists(path() / "lock") && file_lock::is_held(path() / "lock"))
        throw locked_error(around.string() + ": another process is making a state there");
    fs::remove_all(around);
}

namespace {

struct load_call : state_call {
    std::string dump = "-";
    std::string readers_group;
    bool takes_moved = false;
};

void load_rows(dump_reader& from, row_reader& reader, bulk_load::object_loader& to) {
    while (const nlohmann::json* row = from.next_row(to.schema().name)) {
        if (catch_interruption::noted())
            throw interrupted_error("stopped; nothing was made, call again");
        try {
            to.add(reader.read(*row), reader);
        } catch (const usage_error& problem) {
            throw damaged_error(from.place() + ": " + problem.what() +
                                "; mend the line, or make the dump again");
        }
    }
}

/// Returns how many objects it has.
std::uint64_t load_type(dump_reader& from, const dump_head::type& type, bulk_load::new_state& to) {
    row_reader reader(type.schema);
    bulk_load::object_loader loader = to.add_type(type.schema);
    load_rows(from, reader, loader);
    const bulk_load::key_orders orders = from.orders(type.schema.name);
    try {
        loader.finish(type.next_id, orders);
    } catch (const usage_error& problem) {
        throw damaged_error(from.place() + ": " + problem.what() +
                            "; dump the state while no process has it open for writing");
    }
    return loader.objects();
}

/// Whether a life cycle handed objects over: what it keeps of a type is called after that.
bool needs_archive(const dump_head& head) {
    return std::ranges::any_of(head.types, [](const dump_head::type& one) {
        return one.schema.name.ends_with(".retired") && one.next_id != 0;
    });
}

exit_code run_load(const load_call& asked) {
    dump_reader from(asked.dump);
    if (from.head().has_archive)
        throw damaged_error(from.place() + ": a dump with rows of the archive, which are not to be "
                                           "in memory; dump without --archive, and copy the folder "
                                           "archive of the state");
    unfinished_state made(asked.state, asked.readers_group);
    const catch_interruption interruption;
    json types = json::array();
    std::uint64_t objects = 0;
    bulk_load::new_state::limits limits;
    limits.readers_group = asked.readers_group;
    bulk_load::new_state state(made.path(), limits);
    for (const dump_head::type& type : from.head().types) {
        const std::uint64_t rows = load_type(from, type, state);
        types.push_back({{"name", type.schema.name}, {"rows", rows}});
        objects += rows;
    }
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
        declare_look<load_call>(verb, run_load, "The folder to make; it must not be there");
    verb.add_option("FILE", asked->dump, "What dump wrote; without it, or as -, stdin");
    verb.add_option("--readers-group", asked->readers_group,
                    "The group whose members may look at the state");
    verb.add_flag("--moved", asked->takes_moved,
                  "Also of a dump whose state went on while it was made");
    verb.add_flag("--json", asked->json, "Print one JSON object");
}

} // namespace chainbase::inspect
