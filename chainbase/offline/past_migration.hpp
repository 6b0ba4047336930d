#pragma once

#include <chainbase/offline/snapshot_file/object_of_record.hpp>
#include <chainbase/segment/catalogue.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase {

/// What a migration did to a type, as `STATE/migrations.json` tells it.
///
/// The file only informs: no opening reads it, and programs that do not know it leave it alone. It
/// stays when the segment is lost and restored; a backup does not have it. It is written before the
/// migrated segment takes its place, so after a kill in between it may have a step that was not
/// made: such steps lead to a hash that the catalogue does not have, and are not returned.
struct past_migration {
    struct field {
        std::string what; ///< to_string() of a field_change::kind, not "same"
        std::string name; ///< path, as the type calls it now; of a dropped field its former path
        std::string was;  ///< former type, behind the former name of a renamed one
        std::string now;  ///< type

        friend bool operator==(const field&, const field&) = default;
    };

    std::string type;                      ///< its name afterwards
    std::string was;                       ///< and before
    std::uint64_t from = 0;                ///< hash of the schema before
    std::uint64_t to = 0;                  ///< and afterwards
    bool is_computed = false;              ///< a function of the program computed fields
    std::vector<field> fields;             ///< that did not stay the same
    std::vector<std::string> keys_added{}; ///< or declared otherwise
    std::vector<std::string> keys_dropped{};

    [[nodiscard]] static past_migration of(const type_schema& from, const type_schema& to,
                                           const snapshot_file::migration_rules& rules);
    friend bool operator==(const past_migration&, const past_migration&) = default;
};

/// Those that led to `types`, the oldest first; none without the file. Throws damaged_error,
/// format_error, io_error.
[[nodiscard]] std::vector<past_migration> past_migrations(const std::filesystem::path& state,
                                                          const catalogue& types);

/// Puts `next` behind those that led to `types`, on storage. Throws as past_migrations(), and
/// out_of_space_error.
void add_past_migrations(const std::filesystem::path& state, const catalogue& types,
                         std::vector<past_migration> next);

} // namespace chainbase
