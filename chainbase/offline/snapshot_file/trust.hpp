#pragma once

#include <chainbase/offline/snapshot_file/manifest.hpp>

#include <optional>
#include <string>
#include <vector>

namespace chainbase::snapshot_file {

/// What a caller trusts of a snapshot that came from elsewhere.
struct trusted_root {
    std::optional<sha256_digest> root; ///< of the state
    std::optional<sha256_digest> name; ///< of the snapshot

    /// Throws damaged_error, naming `snapshot`, when it is another one.
    void require(const manifest& all, const std::string& snapshot) const;
    /// The types whose objects are not proven by what is trusted.
    [[nodiscard]] std::vector<std::string> not_covered(const manifest& all) const;
};

/// 64 hexadecimal digits. Throws usage_error.
[[nodiscard]] sha256_digest digest_of(const std::string& word);

} // namespace chainbase::snapshot_file
