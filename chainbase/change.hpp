#pragma once

#include <chainbase/id.hpp>
#include <pool_allocator/shared_buffer.hpp>

#include <optional>

namespace chainbase {

enum class change_kind { created, modified, removed };

/// What a session did to one object.
template <typename T>
struct change {
    change_kind kind;
    chainbase::id<T> id;
    /// The object when the session began (modified and removed), with its strings; a copy outside
    /// the segment.
    std::optional<T> before;
    /// The object as it is (created and modified); valid until the next change.
    const T* now = nullptr;
};

} // namespace chainbase
