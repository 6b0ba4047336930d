#pragma once

#include <chainbase/state_root/node_source.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace chainbase::state_root {

/// An object that two states do not have in common.
struct difference {
    std::string_view type; ///< valid during the call
    std::uint32_t id;
    bool in_first;
    bool in_second; ///< with in_first: in both, with other content
};

/// Calls visit for every object that is not the same in two trees, in the order of their keys.
/// Looks only at what lies below nodes that differ: in a tree of N objects of which k differ,
/// about k log16(N) of them. Keeps nothing but the way to where it is. Throws what `visit` throws,
/// and damaged_error: then what it was called for says nothing. Both under their read lock.
void diff(const node_source& first, const node_source& second,
          const std::function<void(const difference&)>& visit);

} // namespace chainbase::state_root
