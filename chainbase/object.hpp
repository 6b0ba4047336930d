#pragma once

#include <chainbase/fixed_bytes.hpp>
#include <chainbase/fixed_string.hpp>
#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <pool_allocator/shared_buffer.hpp>

#include <boost/describe.hpp>

#include <concepts>
#include <type_traits>

/// Everything needed to declare an object type: id, keys, fixed_string, the shared buffers, and
/// Boost.Describe's macros. Headers that declare types include this one: database.hpp, which stores
/// objects, takes ten times as long to compile.
namespace chainbase {

/// The requirements on an object type: a first member `id` of type id<T>, described members that
/// lie in shared memory (detail::is_shareable), a default constructor, and a member type `keys`.
template <typename T>
concept object_type = requires(T object) {
    requires std::is_same_v<decltype(object.id), id<T>>;
    typename T::keys;
    requires std::is_default_constructible_v<T>;
    requires boost::describe::has_describe_members<T>::value;
};

} // namespace chainbase
