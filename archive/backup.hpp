#pragma once

#include <archive/backup_manifest.hpp>
#include <chainbase/checkpoint/outcome.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace chainbase::archive {

/// How a backup is made.
struct backup_options {
    /// What the manifest is to remark, asked for when the checkpoint is copied and the rest of the
    /// manifest says which one it is.
    std::function<std::map<std::string, std::string>(const backup_manifest&)> remarks;
    /// Called while files are copied, and read; what it throws ends the work. Each part of the work
    /// counts its own bytes.
    checkpoint::progress tell;
};

/// Copies the state in the folder `state`, and its archive in `state`/archive, to the new folder
/// `to`: a pair that belongs together.
///
///     database state("S", ...);  archive::open_archive(state, "S/archive");
///     state.make_checkpoint();             // by the writer, to have what is there now
///     archive::back_up("S", "backup-1");   // in any thread, while the writer goes on
///
/// What is in it: the newest published checkpoint, and of the archive all rows that were written
/// by the time the checkpoint had been copied. So the archive may be ahead of the state, never
/// behind it. Nothing of the redo log: blocks after the checkpoint are not in it.
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
