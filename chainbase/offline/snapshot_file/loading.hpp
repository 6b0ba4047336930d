#pragma once

#include <chainbase/offline/bulk_load/new_state.hpp>
#include <chainbase/offline/snapshot_file/folder.hpp>
#include <chainbase/offline/snapshot_file/object_of_record.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace chainbase::snapshot_file {

/// How a state is made of a snapshot.
struct loading_options {
    bulk_load::new_state::limits limits;
    /// The types of the new state, if they are not those of the snapshot: schemas by name. A type
    /// of the snapshot that is missing here must be in `dropped_types`.
    std::optional<std::vector<type_schema>> types;
    std::map<std::string, migration_rules> rules;     ///< by type, new names
    std::map<std::string, std::string> renamed_types; ///< new name -> old name
    std::set<std::string> dropped_types;
    unsigned threads = 2;
    std::string archive; ///< kind of the new archive; empty: as in the snapshot
    /// Called with bytes done of all, now and then; what it throws ends the work.
    std::function<void(std::uint64_t done, std::uint64_t all)> tell;
    /// For load_as: how much work a kill may cost at most, beside the type that is being loaded.
    std::chrono::milliseconds keep_interval = std::chrono::seconds(1);
    /// Called when types were kept: from now on the same call goes on with them.
    std::function<void()> on_kept;
};

struct loading_result {
    revision_number revision = 0;
    std::uint64_t objects = 0;  ///< in memory
    std::uint64_t archived = 0; ///< rows of the archive
};

/// Makes a state in `folder`, which is not there, or empty, and its archive in `folder/archive`.
/// Each chunk is verified before it is used; then the number of objects. The state is complete and
/// on storage when it returns; after an exception the caller must remove `folder`. Throws, before
/// it writes, usage_error for types or rules that do not fit and for a key that only a program can
/// compute, out_of_space_error when there is no room for objects and ids; later what
/// folder_reader::content and object_of_record throw, duplicate_key_error, out_of_space_error,
/// io_error.
loading_result load(const folder_reader& from, const std::filesystem::path& folder,
                    const loading_options& how);

/// As load(), into `state`, which does not exist: it has that name when it is whole. The state
/// survives a crash of the machine, and is expected to be twice as large as the snapshot's
/// contents.
///
/// After a kill, a crash of the machine or an exception, the same call goes on with the types whose
/// objects, or rows of the archive, were whole on storage (unfinished_load): they are compared with
/// the manifest by their schemas, counts and the sums of the checkpoint's pages, and not read
/// again. Throws also what unfinished_state throws.
loading_result load_as(const folder_reader& from, const std::filesystem::path& state,
                       loading_options how);

/// What loading would do to a type.
struct type_change {
    std::string type; ///< new name; of a dropped one the old
    std::string was;  ///< old name; empty: the type is new
    bool is_dropped = false;
    std::vector<field_change> fields;
    std::vector<std::string> keys_added;
    std::vector<std::string> keys_dropped;
    std::uint64_t failing = 0;   ///< rows that cannot be converted
    std::string first_failure{}; ///< its message
};
/// Reads all rows, and writes nothing. Throws as load, but not for what it counts.
[[nodiscard]] std::vector<type_change> dry_run(const folder_reader& from,
                                               const loading_options& how);

} // namespace chainbase::snapshot_file
