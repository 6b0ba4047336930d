#pragma once

#include <pool_allocator/error.hpp>

namespace chainbase {

/// A block or an operation that breaks a rule of its chain. The message says which rule; who
/// applies the block adds where it was.
class rejected_error : public error {
public:
    using error::error;
};

} // namespace chainbase
