#pragma once

#include <archive/store.hpp>
#include <chainbase/checkpoint/outcome.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace chainbase::archive {

/// The description of a backup: its file `manifest`, which is written last. A folder without it is
/// no backup.
///
///     chainbase backup, format 1, XXH3-64 <16 hexadecimal digits of all that follows>
///     JSON: what is below
struct backup_manifest {
    struct file {
        std::string name; ///< from the backup's folder on: "checkpoint/pages"
        std::uint64_t bytes = 0;
        std::uint64_t sum = 0; ///< XXH3-64 of its content
    };

    std::array<std::byte, 16> state{}; ///< the identity of the state
    std::uint64_t generation = 0;      ///< of the checkpoint
    std::int64_t revision = 0;         ///< the newest that was pushed
    std::int64_t committed = 0;        ///< the newest that cannot be undone
    std::int64_t time = 0;             ///< when the checkpoint was made, Unix seconds
    store_kind archive = store_kind::rocksdb;
    std::map<std::string, std::uint64_t> rows;  ///< by table; none where rows are in the state
    std::map<std::string, std::string> remarks; ///< of the program that made it: chain, head...
    std::vector<file> files;

    [[nodiscard]] std::uint64_t bytes() const noexcept; ///< of all files
    [[nodiscard]] std::string identity() const;         ///< 32 hexadecimal digits

    [[nodiscard]] std::string encode() const;
    /// Of the backup in `folder`. Throws format_error when that is no backup, a backup that was cut
    /// off, or one of another format, and damaged_error when the file was altered; io_error.
    [[nodiscard]] static backup_manifest read(const std::filesystem::path& folder);
};

/// How a backup is made.
struct backup_options {
    /// Returns the remarks of the manifest; called when the checkpoint was copied and the rest of
    /// the manifest is filled in.
    std::function<std::map<std::string, std::string>(const backup_manifest&)> remarks;
    /// Called while files are copied, and read; what it throws ends the work. Each part of the work
    /// counts its own bytes.
    checkpoint::progress tell;
};

/// Throws usage_error when `to` lies in the folder `state`: who removes the state would remove its
/// copy.
void require_outside(const std::filesystem::path& to, const std::filesystem::path& state,
                     const char* what = "state");

/// Copies the state in the folder `state`, and its archive in `state`/archive, to the new folder
/// `to`: a pair that belongs together.
///
///     database state("S", ...);  archive::open_archive(state, "S/archive");
///     state.make_checkpoint();             // by the writer, to have what is there now
///     archive::back_up("S", "backup-1");   // in any thread, while the writer goes on
///
/// It contains the newest published checkpoint, and all archive rows written by the time the
/// checkpoint had been copied. So the archive may be ahead of the state, never behind it. Nothing
/// of the redo log: blocks after the checkpoint are not in it.
///
/// The caller holds nothing: no lock is taken, nothing in `state` is changed, and a writer may be
/// at work in this process or in another one, except that it must not convert the archive. Who
/// wants the present block makes a checkpoint first; with durability::process nobody makes any.
///
/// `to` appears when it is whole and on storage. Until then it is called `to`.unfinished, which the
/// next call with the same `to` empties if a kill left it. Every page of the checkpoint, and every
/// block of the archive's files, is compared with its checksum on the way.
///
/// Throws usage_error when `to` is there already or lies in `state`, format_error when there is no
/// checkpoint or no archive, damaged_error naming what is; locked_error while another process makes
/// the same backup; io_error, out_of_space_error, access_error. Then `to` is not there.
backup_manifest back_up(const std::filesystem::path& state, const std::filesystem::path& to,
                        const backup_options& options = {});

/// How a backup is restored.
struct restore_options {
    std::string readers_group; ///< as open_options::readers_group; empty: nobody but the owner
    checkpoint::progress tell;
};

/// Makes the state of the backup in `from` in the new folder `state`: what is opened there is what
/// the checkpoint had, with its archive. Everything is compared with the manifest before `state`
/// appears; until then it is called `state`.unfinished, as above. Changes nothing in `from`.
///
/// Throws format_error when `from` is no backup, one that was cut off, or of another format;
/// damaged_error naming the first file that is missing, truncated or altered; and as back_up does.
/// Then `state` is not there.
backup_manifest restore_backup(const std::filesystem::path& from,
                               const std::filesystem::path& state,
                               const restore_options& options = {});

/// Compares all files of the backup in `from` with its manifest. Throws as restore_backup does.
backup_manifest check_backup(const std::filesystem::path& from,
                             const checkpoint::progress& tell = {});

} // namespace chainbase::archive
