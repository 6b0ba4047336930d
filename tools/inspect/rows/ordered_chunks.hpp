#pragma once

#include <archive/bytes.hpp>

#include <cstddef>
#include <functional>

namespace chainbase::inspect {

/// Makes pieces 0 to `count` - 1 in `threads` threads, and gives them to `take` in this thread, in
/// their order. Not more than a few pieces for each thread wait to be taken. Throws what `make` and
/// `take` throw first; all threads have ended then. `make` is called by several threads at once.
void in_order(std::size_t count, unsigned threads,
              const std::function<archive::byte_buffer(std::size_t)>& make,
              const std::function<void(archive::bytes_view)>& take);

} // namespace chainbase::inspect
