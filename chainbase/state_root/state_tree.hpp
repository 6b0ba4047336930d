#pragma once

#include <chainbase/state_root/id_tree.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::state_root {

/// What a proof shows about one object, to a verifier that trusts only the root.
enum class proof_result : std::uint8_t {
    invalid,  ///< no valid proof: damaged, forged, or for another root or object
    included, ///< the state of this root has the object, with this content
    excluded, ///< the root commits to no such object
};

/// The trees of all objects of some types, and the root over them: FORMAT.md says of what every
/// byte of a root and of a proof is made.
///
/// Thread-safety: as a container.
class state_tree {
public:
    /// Of these types, in any order. Requires that none is named twice.
    explicit state_tree(std::vector<std::string> types);

    /// By name; a type's number is its place.
    [[nodiscard]] const std::vector<std::string>& types() const noexcept { return names_; }
    /// Nothing: the root does not commit to that type.
    [[nodiscard]] std::optional<std::size_t> number_of(std::string_view type) const noexcept;

    /// Changes objects of a type, as id_tree::update() does.
    void update(std::size_t type, std::span<const leaf_update> updates,
                thread_pool* pool = nullptr);
    /// The same for several types, each once.
    struct type_changes {
        std::size_t type;
        std::span<const leaf_update> updates;
    };
    void update(std::span<const type_changes> changes, thread_pool* pool = nullptr);
    [[nodiscard]] const id_tree& objects(std::size_t type) const { return trees_.at(type); }
    /// Of all types.
    [[nodiscard]] std::uint64_t leaves() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;

    /// Throws what class sha256 throws.
    [[nodiscard]] sha256_digest root() const;

    /// A proof that the object is there, or that it is not. Throws what class sha256 throws.
    [[nodiscard]] std::vector<std::byte> prove(std::size_t type, std::uint32_t id) const;

    /// What `proof` shows about the object `id` of the type called `type` in the state of this
    /// root. `leaf` is the digest of its record as the caller has it; without it only absence can
    /// be verified. Needs no state. Accepts any bytes as a proof. Thread-safe. Throws what class
    /// sha256 throws.
    [[nodiscard]] static proof_result verify(const sha256_digest& root, std::string_view type,
                                             std::uint32_t id,
                                             const std::optional<sha256_digest>& leaf,
                                             std::span<const std::byte> proof);

private:
    [[nodiscard]] leaf_update sealed_type(std::size_t type) const;
    [[nodiscard]] id_tree over_types() const;

    std::vector<std::string> names_;
    std::vector<id_tree> trees_;
    id_tree::work_space work_;
    id_tree over_types_;          ///< its leaves are the types, by their numbers
    bool has_over_types_ = false; ///< else it lacks a change
};

} // namespace chainbase::state_root
