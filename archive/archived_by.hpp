#pragma once

#include <type_traits>

namespace chainbase::archive {

/// The keys, by their tags, that lead to objects of a type in the archive as well; a type's
/// `archived_by` member makes it one whose objects can be archived:
///
///     struct comment {
///         ...
///         using keys = chainbase::keys<hashed_unique<by_permlink, &comment::author, ...>,
///                                      ordered_non_unique<by_author, &comment::author>, ...>;
///         using archived_by = archive::tags<by_permlink, by_author>;
///     };
///
/// An ordered key need not be unique: the archive keeps equal ones in the order of ids.
template <typename... Tags>
struct tags {};

namespace detail {

template <typename List>
inline constexpr bool is_tags = false;
template <typename... Tags>
inline constexpr bool is_tags<tags<Tags...>> = true;

} // namespace detail

/// A type that names the keys by which its objects are found in the archive.
template <typename T>
concept archivable = detail::is_tags<typename T::archived_by>;

} // namespace chainbase::archive
