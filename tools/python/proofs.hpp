#pragma once

#include <archive/record/bytes.hpp>
#include <chainbase/state_root/state_tree.hpp>
#include <tools/inspect/root/root_record.hpp>
#include <tools/python/opened.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::python {

/// The root that a state keeps, as of its newest block or of a block; nothing: it keeps none.
/// Throws what root_record::of throws.
struct kept_root {
    inspect::root_record record;
    std::int64_t revision; ///< of the state

    [[nodiscard]] static std::optional<kept_root> of(opened& in);
};

/// Proves objects of a block against its root. Thread-safe.
class prover {
public:
    /// Hashes all objects that the root commits to, in threads. Throws usage_error when the state
    /// keeps no root, or not of this block; damaged_error when the objects have another one;
    /// state_changed.
    explicit prover(std::shared_ptr<opened> block);

    struct proof {
        std::optional<archive::byte_buffer> record; ///< nothing: there is no such object
        std::vector<std::byte> path;
    };
    /// Throws usage_error when the root does not commit to the type, state_changed.
    [[nodiscard]] proof prove(const std::string& type, std::uint32_t id) const;
    [[nodiscard]] const sha256_digest& root() const noexcept { return root_; }

private:
    std::shared_ptr<opened::reading> in_;
    sha256_digest root_{};
    std::optional<state_root::state_tree> tree_;
};

} // namespace chainbase::python
