#pragma once

#include <pool_allocator/error.hpp>

namespace chainbase::driver {

/// The user ended the work. Thrown, so that what is unfinished goes on the way out.
class interrupted_error : public error {
public:
    using error::error;
};

} // namespace chainbase::driver
