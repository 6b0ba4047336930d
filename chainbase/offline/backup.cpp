#include <archive/fault_steps.hpp>
#include <archive/open_archive.hpp>
#include <archive/rocksdb/store.hpp>
#include <archive/rocksdb/store_folder.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/offline/backup.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/json.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/base/unfinished_name.hpp>

#define XXH_INLINE_ALL
#include <boost/algorithm/hex.hpp>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace chainbase::archive {

// --- the folder that a backup or a restored state is made in ---

namespace {

namespace fs = std::filesystem;

constexpr const char* backup_mark = "chainbase: made by backup or restore\n";

/// Whether a folder is marked as made by backup or restore, complete or not.
bool is_marked(const fs::path& folder) {
    const fs::path lock = folder / "lock";
    return fs::exists(lock) && fs::file_size(lock) == std::string_view(backup_mark).size() &&
           read_file(lock) == backup_mark;
}
/// Whether a file may be what a loss of power left of the mark.
bool is_of_mark(const fs::path& lock) {
    const std::string_view mark = backup_mark;
    if (fs::file_size(lock) > mark.size()) return false;
    const std::string text = read_file(lock);
    return text.size() <= mark.size() &&
           std::ranges::equal(text, mark.substr(0, text.size()),
                              [](char found, char own) { return found == own || found == 0; });
}

/// The top-level entries of a backup or a restored state.
bool is_of_backup(const fs::path& name) {
    return name == "lock" || name == "checkpoint" || name == "archive" || name == "manifest" ||
           name == "manifest.new";
}

/// A folder under its unfinished name. Its file `lock` marks what the folder is, so that the next
/// call recognises and removes the remains of a killed one, and nothing else. The process that
/// fills it holds the lock. Not thread-safe.
class backup_folder {
public:
    /// Throws usage_error when something has the name `target`, when the folder that it is to lie
    /// in is not there, and when what has the unfinished name is not what a call like this one left
    /// (nothing in it is touched); locked_error while another process fills it; io_error,
    /// out_of_space_error.
    backup_folder(const fs::path& target, const std::string& readers_group);

    /// Under its unfinished name.
    [[nodiscard]] const fs::path& path() const noexcept { return name_.path(); }

    /// Gives it its own name, as unfinished_name does.
    void finish();

private:
    void require_ours() const;
    void take_lock();
    void remove_content() const;

    std::optional<file_lock> lock_;
    unfinished_name name_;
};

backup_folder::backup_folder(const fs::path& target, const std::string& readers_group)
    : name_(fs::absolute(target).lexically_normal()) {
    const fs::path outer = name_.target().parent_path();
    if (!fs::is_directory(outer))
        throw usage_error(name_.target().string() + ": there is no folder " + outer.string() +
                          " to make it in; check the path");
    if (fs::exists(fs::symlink_status(path()))) require_ours();
    private_folder::make(
        path(), readers_group.empty() ? std::nullopt : std::optional(group_called(readers_group)));
    fault::reach(fault::backup_step::folder_made);
    take_lock();
    if (!is_marked(path())) overwrite_file(path() / "lock", backup_mark);
    sync_folder(path());
    sync_folder(outer);
    fault::reach(fault::backup_step::folder_marked);
    remove_content();
    name_.own();
    fault::reach(fault::backup_step::folder_emptied);
}

/// A part of the mark, or zeros in its place, are from a call that died before it was on storage.
void backup_folder::require_ours() const {
    const auto foreign = [&](const std::string& what) {
        return usage_error(path().string() + ": " + what +
                           ", so it was not left by an earlier call. Nothing in it was changed; "
                           "move it away, or give another name");
    };
    if (!fs::is_directory(fs::symlink_status(path()))) throw foreign("is not a folder");
    const bool is_marked_ours = is_marked(path());
    for (const auto& entry : fs::directory_iterator(path())) {
        const fs::path name = entry.path().filename();
        const bool is_lock_alone = name == "lock" && is_of_mark(entry.path());
        if (!is_of_backup(name) || (!is_marked_ours && !is_lock_alone))
            throw foreign("holds " + name.string());
    }
}

void backup_folder::take_lock() {
    try {
        lock_.emplace(path() / "lock", /*create=*/true);
    } catch (const locked_error&) {
        throw locked_error(path().string() + ": another process is making it; wait for that one");
    }
}

void backup_folder::remove_content() const {
    for (const auto& entry : fs::directory_iterator(path()))
        if (entry.path().filename() != "lock") fs::remove_all(entry.path());
}

void backup_folder::finish() {
    sync_folder(path());
    name_.finish();
    fault::reach(fault::backup_step::in_place);
}

} // namespace

// --- the manifest ---

namespace {

constexpr std::string_view manifest_beginning = "chainbase backup, format ";
constexpr std::string_view backup_format = "1";

std::string first_line(std::string_view text) {
    return fmt::format("{}{}, XXH3-64 {:016x}\n", manifest_beginning, backup_format,
                       hash_of(as_bytes(text)));
}

std::string text_of(const backup_manifest& one) {
    const auto described = [](const backup_manifest::file& file) {
        return json_object(/*for_people=*/true)
            .add("name", file.name)
            .add("bytes", file.bytes)
            .add("xxh3_64", fmt::format("{:016x}", file.sum))
            .text();
    };
    const auto object_of = [](const auto& map) {
        json_object object;
        for (const auto& [name, value] : map)
            object.add(name, value);
        return object.text();
    };
    return json_object(/*for_people=*/true)
        .add("state", one.identity())
        .add("generation", one.generation)
        .add("revision", one.revision)
        .add("irreversible_revision", one.committed)
        .add("time", one.time)
        .add("archive", to_string(one.archive))
        .add_json("rows", object_of(one.rows))
        .add_json("remarks", object_of(one.remarks))
        .add_json("files", json_array(one.files, described, "\n "))
        .text();
}

/// A file of a backup is in one of the two folders that a state has of it, or below.
bool is_plain(const std::string& name) {
    const fs::path path(name);
    if (path.is_absolute() || path.lexically_normal() != path || !path.has_filename()) return false;
    const std::string first = path.begin()->string();
    return (first == "checkpoint" || first == "archive") && std::next(path.begin()) != path.end();
}

backup_manifest from_text(const json_value& text) {
    backup_manifest one;
    const std::string state = boost::algorithm::unhex(text.at("state").text());
    if (state.size() != one.state.size()) throw std::invalid_argument("an identity has 16 bytes");
    std::memcpy(one.state.data(), state.data(), state.size());
    one.generation = text.at("generation").number<decltype(one.generation)>();
    one.revision = text.at("revision").number<decltype(one.revision)>();
    one.committed = text.at("irreversible_revision").number<decltype(one.committed)>();
    one.time = text.at("time").number<decltype(one.time)>();
    one.archive = store_kind_of(text.at("archive").text());
    for (const auto& [table, count] : text.at("rows").members())
        one.rows[table] = count.number<std::uint64_t>();
    for (const auto& [name, remark] : text.at("remarks").members())
        one.remarks[name] = remark.text();
    for (const json_value& file : text.at("files").elements()) {
        one.files.push_back({file.at("name").text(), file.at("bytes").number<std::uint64_t>(),
                             std::stoull(file.at("xxh3_64").text(), nullptr, 16)});
        if (!is_plain(one.files.back().name))
            throw std::invalid_argument("\"" + one.files.back().name +
                                        "\" is not a file of a backup");
    }
    return one;
}

std::string manifest_in(const fs::path& folder) {
    const fs::path file = folder / "manifest";
    if (fs::exists(file)) return read_file(file);
    if (!fs::is_directory(folder))
        throw format_error(folder.string() + ": there is no such folder; check the path");
    if (is_marked(folder))
        throw format_error(folder.string() +
                           ": has no file \"manifest\", so it is an unfinished backup or restore "
                           "and cannot be used; make it again, which starts over, or remove the "
                           "folder");
    throw format_error(folder.string() +
                       ": not a backup, because it has no file \"manifest\"; check the path");
}

} // namespace

std::uint64_t backup_manifest::bytes() const noexcept {
    return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const file& one) { return sum + one.bytes; });
}

std::string backup_manifest::identity() const {
    std::string text;
    boost::algorithm::hex_lower(
        std::string(reinterpret_cast<const char*>(state.data()), state.size()),
        std::back_inserter(text));
    return text;
}

std::string backup_manifest::encode() const {
    const std::string text = text_of(*this) + "\n";
    return first_line(text) + text;
}

backup_manifest backup_manifest::read(const fs::path& folder) {
    const fs::path file = folder / "manifest";
    const std::string content = manifest_in(folder);
    const auto damaged = [&](const std::string& what) {
        return damaged_error(file.string() + ": " + what + "; use another backup");
    };
    const std::size_t end = content.find('\n');
    const std::string_view line = std::string_view(content).substr(0, end + 1);
    if (end == content.npos || !line.starts_with(manifest_beginning))
        throw damaged("it does not begin like the manifest of a backup");
    const std::string_view text = std::string_view(content).substr(end + 1);
    const std::size_t comma = line.find(',', manifest_beginning.size());
    const std::string made_as(
        line.substr(manifest_beginning.size(), comma - manifest_beginning.size()));
    if (comma != line.npos && made_as != backup_format)
        throw format_error(file.string() + ": a backup of format " + made_as +
                           ", this program reads " + std::string(backup_format) +
                           "; restore it with the program that made it");
    if (line != first_line(text)) throw damaged("the checksum does not match");
    try {
        return from_text(json_value::parse(text));
    } catch (const json_error& e) {
        throw damaged(e.what());
    } catch (const std::logic_error& e) { // of a number or an identity
        throw damaged(e.what());
    } catch (const boost::algorithm::hex_decode_error&) {
        throw damaged("an identity is 32 hexadecimal digits");
    } catch (const usage_error& e) { // a kind of archive
        throw damaged(e.what());
    }
}

// --- files: their sums, and copies ---

namespace {

/// Reports the progress while several files are read.
class copy_progress {
public:
    copy_progress(std::uint64_t all, const checkpoint::progress& tell) : all_(all), tell_(tell) {}
    void advance(std::uint64_t bytes) {
        done_ += bytes;
        if (tell_) tell_(done_, all_);
    }

private:
    std::uint64_t all_;
    std::uint64_t done_ = 0;
    const checkpoint::progress& tell_;
};

constexpr std::size_t backup_part_bytes = std::size_t{1} << 20;
constexpr std::size_t backup_block_bytes = 4096;

struct free_state {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

/// Reads a file part by part, calls visit(offset, part), and returns the sum of all.
template <typename Visitor>
std::uint64_t read_through(const disk_file& file, const fs::path& name, std::uint64_t bytes,
                           copy_progress& told, Visitor&& visit) {
    const std::unique_ptr<XXH3_state_t, free_state> sum(XXH3_createState());
    XXH3_64bits_reset(sum.get());
    std::vector<std::byte> buffer(std::min<std::uint64_t>(backup_part_bytes, bytes));
    for (std::uint64_t at = 0; at < bytes;) {
        const std::span part =
            std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), bytes - at));
        if (const std::size_t found = file.read(at, part); found < part.size())
            throw damaged_error(name.string() + ": truncated to " + std::to_string(at + found) +
                                " of " + std::to_string(bytes) + " bytes");
        XXH3_64bits_update(sum.get(), part.data(), part.size());
        visit(at, part);
        at += part.size();
        told.advance(part.size());
    }
    return XXH3_64bits_digest(sum.get());
}

bool is_zeros(std::span<const std::byte> block) {
    return block.front() == std::byte{0} &&
           std::memcmp(block.data(), block.data() + 1, block.size() - 1) == 0;
}

/// Skips blocks of zeros, which become holes.
void write_blocks(disk_file& to, std::uint64_t at, std::span<const std::byte> part) {
    for (std::size_t begin = 0; begin < part.size();) {
        std::size_t end = begin;
        const auto block = [&](std::size_t from) {
            return part.subspan(from, std::min(backup_block_bytes, part.size() - from));
        };
        while (end < part.size() && !is_zeros(block(end)))
            end += block(end).size();
        if (end > begin) to.write(at + begin, part.subspan(begin, end - begin));
        begin = end < part.size() ? end + block(end).size() : end;
    }
}

/// XXH3-64 of the first `bytes` of a file. Throws damaged_error when it is shorter, io_error.
std::uint64_t sum_of(const disk_file& file, const fs::path& name, std::uint64_t bytes,
                     copy_progress& told) {
    return read_through(file, name, bytes, told, [](std::uint64_t, auto) {});
}

/// Copies the first `bytes` of a file to the new file `to` of a private folder, and waits until
/// they are on storage. Blocks of zeros become holes. Returns the sum of what was copied. Throws
/// damaged_error when the file is shorter, io_error, out_of_space_error.
std::uint64_t copy_file(const disk_file& from, const fs::path& name, std::uint64_t bytes,
                        const fs::path& to, copy_progress& told) {
    const auto copy = disk::of_system().open(to, disk::mode::create);
    const std::uint64_t sum = read_through(
        from, name, bytes, told,
        [&](std::uint64_t at, std::span<const std::byte> part) { write_blocks(*copy, at, part); });
    copy->resize(bytes);
    copy->sync();
    return sum;
}

/// Waits until the names of all that is in `folder`, and below, are on storage, and the content of
/// each file. Throws io_error.
void sync_tree(const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_directory())
            sync_folder(entry.path());
        else
            disk::of_system().open(entry.path(), disk::mode::read)->sync();
    }
    sync_folder(folder);
}

// --- the archive's files ---

constexpr int most_attempts = 100;

struct open_file {
    std::string name;
    std::unique_ptr<disk_file> file;
    std::uint64_t bytes;
};

/// The files that RocksDB needs to open: not its lock, messages and temporary files.
std::set<std::string> files_to_copy(const fs::path& folder) {
    std::set<std::string> files;
    for (const std::string& name : disk::of_system().names_in(folder))
        if (name.ends_with(".log") || name.ends_with(".sst") || name.starts_with("MANIFEST") ||
            name.starts_with("OPTIONS") || name == "CURRENT" || name == "IDENTITY")
            if (!name.ends_with(".dbtmp")) files.insert(name);
    return files;
}

std::vector<open_file> open_all(const fs::path& folder, const std::set<std::string>& names) {
    std::vector<open_file> files;
    for (const std::string& name : names) {
        auto file = disk::of_system().open(folder / name, disk::mode::read);
        const std::uint64_t bytes = file->bytes();
        files.push_back({name, std::move(file), bytes});
    }
    return files;
}

bool is_manifest_unchanged(const std::vector<open_file>& files) {
    for (const open_file& one : files)
        if (one.name.starts_with("MANIFEST") && one.file->bytes() != one.bytes) return false;
    return true;
}

/// Nothing when files came or went in between; a failed open then is not a disk error.
std::optional<std::vector<open_file>> files_of_one_moment(const fs::path& folder) {
    const std::set<std::string> before = files_to_copy(folder);
    try {
        std::vector<open_file> files = open_all(folder, before);
        if (files_to_copy(folder) != before || !is_manifest_unchanged(files)) return std::nullopt;
        return files;
    } catch (const io_error&) {
        if (files_to_copy(folder) != before) return std::nullopt;
        throw;
    }
}

std::vector<open_file> files_of(const fs::path& folder) {
    for (int attempt = 1; attempt <= most_attempts; ++attempt) {
        if (auto files = files_of_one_moment(folder)) return std::move(*files);
        std::this_thread::sleep_for(std::chrono::milliseconds(attempt));
    }
    throw io_error(folder.string() + ": its writer replaced files during each of " +
                   std::to_string(most_attempts) + " attempts to open them; try again");
}

/// Copies the rocksdb store in the folder `archive` to the new folder `into`, file by file, as a
/// kill of its writer would leave it at one moment after this was called. Takes no lock and
/// changes nothing there; a writer may be at work, in this process or in another one. Every row
/// that was written before is in the copy.
///
/// How: RocksDB only appends to its log and its manifest, and never changes another file. So all
/// files are opened, and if none came or went meanwhile and the manifest did not grow, they belong
/// to one moment, each up to the length that it had then; else that is repeated. They stay readable
/// whatever the writer deletes while they are copied.
///
/// Throws format_error when there is no such store, io_error (also when the writer replaces files
/// again and again), out_of_space_error, and what `tell` throws.
void copy_rocksdb(const fs::path& archive, const fs::path& into, const checkpoint::progress& tell) {
    const detail::store_folder from = detail::store_folder::open_for_reading(archive);
    const auto mark = from.mark(); // read before the log, which then has everything it names
    if (!mark)
        throw format_error(archive.string() +
                           ": was never completely made; open the state for writing once");
    const std::vector<open_file> files = files_of(from.rocksdb());
    std::uint64_t all = 0;
    for (const open_file& one : files)
        all += one.bytes;
    copy_progress told(all, tell);
    private_folder::make_within(into);
    private_folder::make_within(into / "rocksdb");
    replace_file(into / "format", read_file(archive / "format"));
    replace_file(into / "synced", std::to_string(mark->sequence) + " open\n");
    for (const open_file& one : files) {
        copy_file(*one.file, from.rocksdb() / one.name, one.bytes, into / "rocksdb" / one.name,
                  told);
        fault::reach(fault::backup_step::file_copied);
    }
}

} // namespace

// --- backing up, restoring, checking ---

void require_outside(const fs::path& to, const fs::path& state, const char* what) {
    const fs::path inner = fs::weakly_canonical(to);
    const fs::path outer = fs::weakly_canonical(state);
    const auto [differs, end] = std::ranges::mismatch(outer, inner);
    if (differs != outer.end()) return;
    throw usage_error(to.string() + ": lies within the " + what + " " + state.string() +
                      "; name a folder outside of it, preferably on another disk");
}

namespace {

store_kind require_archive(const fs::path& state) {
    if (!fs::is_directory(state))
        throw usage_error(state.string() + ": there is no such folder; check the path");
    if (const auto kind = kind_of(state / "archive")) return *kind;
    throw format_error((state / "archive").string() +
                       ": there is no archive; put the archive of this state back in place");
}

void copy_state(const fs::path& state, const fs::path& to, backup_manifest& into,
                const backup_options& options) {
    disk& on = disk::of_system();
    private_folder::make_within(to / "checkpoint");
    const checkpoint::copied done =
        checkpoint::copy_newest(on, state / "checkpoint", to / "checkpoint", options.tell);
    into.state = done.of.state;
    into.generation = done.of.generation;
    into.revision = done.of.revision;
    into.committed = done.of.committed;
    into.time = done.of.time;
    if (options.remarks) into.remarks = options.remarks(into);
    fault::reach(fault::backup_step::state_copied);
}

/// Opens the copy as a store, which replays its log, and verifies its files: damage is found now,
/// not when the backup is needed.
void settle(const fs::path& copy, const fs::path& original, backup_manifest& into) {
    try {
        rocksdb_store rows(copy, {});
        for (std::uint32_t i = 0; i < rows.tables().size(); ++i)
            into.rows[rows.tables()[i].name] = rows.count({i});
        rows.flush();
        rows.verify_files();
    } catch (const damaged_error& e) {
        throw damaged_error(
            "the copy of " + original.string() + " is damaged, " +
            "and perhaps the original is, too (chainbase-inspect check says more): " + e.what());
    }
    fault::reach(fault::backup_step::archive_settled);
}

void copy_archive(const fs::path& from, const fs::path& to, backup_manifest& into,
                  const backup_options& options) {
    if (into.archive == store_kind::rocksdb) {
        copy_rocksdb(from, to, options.tell);
        fault::reach(fault::backup_step::archive_copied);
        return settle(to, from, into);
    }
    private_folder::make_within(to);
    replace_file(to / "format", read_file(from / "format"));
    fault::reach(fault::backup_step::archive_copied);
}

/// Of the files of a backup that was copied; RocksDB makes its lock anew.
void enter_files(const fs::path& folder, backup_manifest& into, const backup_options& options) {
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (const std::string name = entry.path().lexically_relative(folder);
            entry.is_regular_file() && name != "lock" && !name.ends_with("/LOCK"))
            into.files.push_back({name, entry.file_size(), 0});
    std::ranges::sort(into.files, {}, &backup_manifest::file::name);
    copy_progress told(into.bytes(), options.tell);
    for (backup_manifest::file& one : into.files)
        one.sum = sum_of(*disk::of_system().open(folder / one.name, disk::mode::read),
                         folder / one.name, one.bytes, told);
}

/// Throws damaged_error when it is missing or has another length.
std::unique_ptr<disk_file> open_listed(const fs::path& folder, const backup_manifest::file& one) {
    const fs::path path = folder / one.name;
    const auto damaged = [&](const std::string& what) {
        return damaged_error(path.string() + ": " + what + "; use another backup");
    };
    if (!fs::exists(path)) throw damaged("missing, but the manifest names it");
    auto file = disk::of_system().open(path, disk::mode::read);
    if (file->bytes() < one.bytes)
        throw damaged("truncated to " + std::to_string(file->bytes()) + " of " +
                      std::to_string(one.bytes) + " bytes");
    if (file->bytes() > one.bytes)
        throw damaged("has " + std::to_string(file->bytes()) + " bytes, but the manifest says " +
                      std::to_string(one.bytes));
    return file;
}

void require_sum(const fs::path& folder, const backup_manifest::file& one, std::uint64_t sum) {
    if (sum == one.sum) return;
    throw damaged_error((folder / one.name).string() +
                        ": the checksum does not match, so its content is not what was backed "
                        "up; use another backup");
}

void make_folders_of(const fs::path& file, const fs::path& top) {
    if (file.parent_path() == top || fs::exists(file.parent_path())) return;
    make_folders_of(file.parent_path(), top);
    private_folder::make_within(file.parent_path());
}

} // namespace

backup_manifest back_up(const fs::path& state, const fs::path& to, const backup_options& options) {
    backup_manifest made;
    made.archive = require_archive(state);
    require_outside(to, state);
    backup_folder folder(to, {});
    copy_state(state, folder.path(), made, options);
    copy_archive(state / "archive", folder.path() / "archive", made, options);
    enter_files(folder.path(), made, options);
    sync_tree(folder.path());
    fault::reach(fault::backup_step::files_synced);
    replace_file(folder.path() / "manifest", made.encode());
    fault::reach(fault::backup_step::manifest_written);
    folder.finish();
    return made;
}

backup_manifest restore_backup(const fs::path& from, const fs::path& state,
                               const restore_options& options) {
    const backup_manifest found = backup_manifest::read(from);
    require_outside(state, from);
    backup_folder folder(state, options.readers_group);
    copy_progress told(found.bytes(), options.tell);
    for (const backup_manifest::file& one : found.files) {
        const auto file = open_listed(from, one);
        make_folders_of(folder.path() / one.name, folder.path());
        require_sum(from, one,
                    copy_file(*file, from / one.name, one.bytes, folder.path() / one.name, told));
        fault::reach(fault::backup_step::file_copied);
    }
    sync_tree(folder.path());
    fault::reach(fault::backup_step::files_synced);
    folder.finish();
    return found;
}

backup_manifest check_backup(const fs::path& from, const checkpoint::progress& tell) {
    backup_manifest found = backup_manifest::read(from);
    copy_progress told(found.bytes(), tell);
    for (const backup_manifest::file& one : found.files)
        require_sum(from, one, sum_of(*open_listed(from, one), from / one.name, one.bytes, told));
    return found;
}

} // namespace chainbase::archive
