#pragma once

#include <chainbase/state_root/node_source.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace chainbase::state_root {

/// What a proof shows about one object, to a verifier that trusts only the root.
enum class proof_result {
    invalid,  ///< no valid proof: damaged, forged, or for another root or object
    included, ///< the state of this root has the object, with this content
    excluded, ///< the root commits to no such object: see verify() for types
};

/// The digest of the record of an object.
using content_of = std::function<sha256_digest(std::string_view type, std::uint32_t id)>;

/// Makes a proof that a state has the object `id` of the type called `type`, or that it does not.
/// `content` is called at most once, for another object of the state, and only to prove absence.
///
///     proof := 01  levels:u8  step*  end           a step for each node from the root on
///     step  := branches:u16  digest*               what is missing to make the node's digest
///              not grouped (tree_hash.hpp): the other children, in order;
///              grouped: the others of the own group, then the groups without it;
///              of the last node, if the digit has no child: all children, or all groups
///     end   := 00                                  the object is the child of the last node
///            | 01                                  nothing is
///            | 02 key content                      another object's leaf is
///
/// Integers are little-endian. With a million objects a proof takes a kilobyte. Thread-safe under
/// the read lock. Throws what `content` throws, and damaged_error. The digests are not verified: if
/// `content` or the tree is wrong, the proof is invalid.
[[nodiscard]] std::vector<std::byte> prove(const node_source& tree, std::string_view type,
                                           std::uint32_t id, const content_of& content);

/// Verifies what `proof` shows about the object `id` of the type called `type` in the state of this
/// root. `content` is the digest of its record as the caller has it; without it only absence can be
/// verified. Needs no database. Accepts any bytes as a proof. Thread-safe. Throws what class sha256
/// throws.
///
/// A proof does not cover the set of types that a root commits to: every object of another type, or
/// of a misspelt one, is excluded. So a caller that relies on `excluded` must learn the types from
/// the source that it trusts for the root.
[[nodiscard]] proof_result verify(const sha256_digest& root, std::string_view type,
                                  std::uint32_t id, const std::optional<sha256_digest>& content,
                                  std::span<const std::byte> proof);

} // namespace chainbase::state_root
