#pragma once

#include <chainbase/sha256.hpp>
#include <chainbase/state_root/node_source.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace chainbase::state_root {

/// What a proof shows of one object, to who trusts a root and nothing else.
enum class shown {
    nothing,  ///< it is none: damaged, made up, or of another root or object
    included, ///< the state of this root has the object, with this content
    excluded, ///< the root commits to no such object: see verify() for types
};

/// The digest of the record of an object.
using content_of = std::function<sha256_digest(std::string_view type, std::uint32_t id)>;

/// A proof that a state has the object `id` of the type called `type`, or that it has none. At most
/// once, and only for the latter, `content` is asked for another object of the state.
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
/// Integers are little-endian. Of a million objects that is a kilobyte. Thread-safe under the read
/// lock. Throws what `content` throws, and damaged_error. Whether the digests hold is not looked
/// at: where `content` is wrong, or the tree, the proof shows nothing.
[[nodiscard]] std::vector<std::byte> prove(const node_source& tree, std::string_view type,
                                           std::uint32_t id, const content_of& content);

/// What `proof` shows of the object `id` of the type called `type` in the state of this root.
/// `content` is the digest of its record as the caller has it; without one only that there is no
/// such object can be shown. Needs no database. Takes any bytes for a proof. Thread-safe. Throws
/// what class sha256 throws.
///
/// To which types a root commits is not part of it: of a type that it does not commit to, or whose
/// name is misspelt, each object is excluded. So who takes `excluded` for an answer has to know the
/// types from where the root comes from, as it knows the root.
[[nodiscard]] shown verify(const sha256_digest& root, std::string_view type, std::uint32_t id,
                           const std::optional<sha256_digest>& content,
                           std::span<const std::byte> proof);

} // namespace chainbase::state_root
