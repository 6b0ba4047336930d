#include <archive/backup.hpp>
#include <archive/backup/file_copy.hpp>
#include <archive/backup/unfinished_folder.hpp>
#include <archive/detail/fault_steps.hpp>
#include <archive/open_archive.hpp>
#include <archive/rocksdb_store.hpp>
#include <chainbase/checkpoint/restore.hpp>
#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/private_folder.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::archive {

namespace {

namespace fs = std::filesystem;
using detail::copy_progress;
using detail::unfinished_folder;

/// Who removes the state would remove its backup.
void require_outside(const fs::path& to, const fs::path& state) {
    const fs::path inner = fs::weakly_canonical(to);
    const fs::path outer = fs::weakly_canonical(state);
    const auto [differs, end] = std::ranges::mismatch(outer, inner);
    if (differs != outer.end()) return;
    throw usage_error(to.string() + ": lies in the state " + state.string() +
                      "; give a folder outside of it, best on another disk");
}

store_kind require_archive(const fs::path& state) {
    if (!fs::is_directory(state))
        throw usage_error(state.string() + ": no folder is there; check the path");
    if (const auto kind = kind_of(state / "archive")) return *kind;
    throw format_error((state / "archive").string() +
                       ": no archive is there; put the archive back that belongs to this state");
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

/// Opens the copy as a store of its own, which goes over its log, and looks through its files: what
/// cannot be read is found now, not on the day on which the backup is needed.
void settle(const fs::path& copy, const fs::path& original, backup_manifest& into) {
    try {
        rocksdb_store rows(copy, {});
        for (std::uint32_t i = 0; i < rows.tables().size(); ++i)
            into.rows[rows.tables()[i].name] = rows.count({i});
        rows.flush();
        rows.verify_files();
    } catch (const damaged_error& e) {
        throw damaged_error(
            "the copy of " + original.string() + " is damaged, as is " +
            "perhaps what it was made of (chainbase-inspect check says more): " + e.what());
    }
    fault::reach(fault::backup_step::archive_settled);
}

void copy_archive(const fs::path& from, const fs::path& to, backup_manifest& into,
                  const backup_options& options) {
    if (into.archive == store_kind::rocksdb) {
        detail::copy_rocksdb(from, to, options.tell);
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
        one.sum = detail::sum_of(*disk::of_system().open(folder / one.name, disk::mode::read),
                                 folder / one.name, one.bytes, told);
}

/// Throws damaged_error when it is not there or has another length.
std::unique_ptr<disk_file> open_listed(const fs::path& folder, const backup_manifest::file& one) {
    const fs::path path = folder / one.name;
    const auto damaged = [&](const std::string& what) {
        return damaged_error(path.string() + ": " + what + "; use another backup");
    };
    if (!fs::exists(path)) throw damaged("missing, the manifest names it");
    auto file = disk::of_system().open(path, disk::mode::read);
    if (file->bytes() < one.bytes)
        throw damaged("truncated to " + std::to_string(file->bytes()) + " of " +
                      std::to_string(one.bytes) + " bytes");
    if (file->bytes() > one.bytes)
        throw damaged("has " + std::to_string(file->bytes()) + " bytes, the manifest says " +
                      std::to_string(one.bytes));
    return file;
}

void require_sum(const fs::path& folder, const backup_manifest::file& one, std::uint64_t sum) {
    if (sum == one.sum) return;
    throw damaged_error((folder / one.name).string() +
                        ": its content is not what was backed up, the checksum does not match; "
                        "use another backup");
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
    unfinished_folder folder(to, {});
    copy_state(state, folder.path(), made, options);
    copy_archive(state / "archive", folder.path() / "archive", made, options);
    enter_files(folder.path(), made, options);
    detail::sync_tree(folder.path());
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
    unfinished_folder folder(state, options.readers_group);
    copy_progress told(found.bytes(), options.tell);
    for (const backup_manifest::file& one : found.files) {
        const auto file = open_listed(from, one);
        make_folders_of(folder.path() / one.name, folder.path());
        require_sum(
            from, one,
            detail::copy_file(*file, from / one.name, one.bytes, folder.path() / one.name, told));
        fault::reach(fault::backup_step::file_copied);
    }
    detail::sync_tree(folder.path());
    fault::reach(fault::backup_step::files_synced);
    folder.finish();
    return found;
}

backup_manifest check_backup(const fs::path& from, const checkpoint::progress& tell) {
    backup_manifest found = backup_manifest::read(from);
    copy_progress told(found.bytes(), tell);
    for (const backup_manifest::file& one : found.files)
        require_sum(from, one,
                    detail::sum_of(*open_listed(from, one), from / one.name, one.bytes, told));
    return found;
}

} // namespace chainbase::archive
