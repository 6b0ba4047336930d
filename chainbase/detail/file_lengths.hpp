#pragma once

#include <chainbase/index_base.hpp>
#include <pool_allocator/window.hpp>

/// Of a state that was not closed: what its root blocks count as used must be in its files, since a
/// store beyond a file's end kills. Those that require throw damaged_error.
namespace chainbase::detail {

void require_log(const window& file);
/// Of objects and buffers; page runs count their pages in the same word.
void require_slots(const window& file);
void require_type(const type_windows& type);

} // namespace chainbase::detail
