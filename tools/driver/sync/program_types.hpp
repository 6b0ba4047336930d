#pragma once

#include <archive/store.hpp>
#include <chainbase/object/schema.hpp>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::snapshot_file {
struct manifest;
}

namespace chainbase::driver {

/// The types that this program declares for a chain. Thread-safe.
class program_types {
public:
    /// Throws schema_error, naming the snapshot `of`, type and difference, when a state of these
    /// types would not be opened by this program: one is declared otherwise (also a key of it), is
    /// of no such chain, or says no chain. Makes an empty state in the temporary folder to know its
    /// own types, and throws what that throws.
    void require(const snapshot_file::manifest& all, const std::string& of);

private:
    using types = std::vector<type_schema>;

    [[nodiscard]] const types& of_chain(const std::string& chain, const std::string& archive);

    std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, types> known_; ///< by chain and kind of archive
};

} // namespace chainbase::driver
