#pragma once

#include <chainbase/object.hpp>

#include <cstdint>

namespace chainbase::archive::detail {

struct by_revision;
struct by_object;

/// An entry of the queue of those T that are finished and still in memory. One is created for each
/// object that is retired and removed when it is handed over; since ids are given in order, the ids
/// given less the entries left are the objects that were handed over, or removed before that
/// (removed_objects.hpp).
template <typename T>
struct retired {
    chainbase::id<retired> id;
    chainbase::id<T> object;
    std::int64_t revision = 0; ///< the one in which it was retired
    std::uint64_t content = 0; ///< a hash of its record then: it must not change any more

    using keys = chainbase::keys<ordered_unique<by_revision, &retired::revision, &retired::id>,
                                 hashed_unique<by_object, &retired::object>>;
    BOOST_DESCRIBE_CLASS(retired, (), (id, object, revision, content), (), ())
};

} // namespace chainbase::archive::detail
