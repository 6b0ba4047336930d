#pragma once

#include <filesystem>

namespace chainbase {

class catalogue;
struct open_options;

/// Brings a state to the types that a program has, before the program works on it
/// (open_options::migrate). chainbase/offline/migration.hpp is one.
class state_migration {
public:
    virtual ~state_migration() = default;

    /// Whether a state of these types is to be migrated.
    [[nodiscard]] virtual bool is_needed(const catalogue& types) const = 0;
    /// Migrates a state that is closed properly. Throws; then the state is what it was.
    virtual void run(const std::filesystem::path& state, const open_options& how) = 0;
};

} // namespace chainbase
