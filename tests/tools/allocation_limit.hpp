#pragma once

#include <cstddef>

namespace chainbase::test {

/// While it exists, no single allocation of the process gets more than so many bytes: larger ones
/// throw std::bad_alloc, in any thread.
class allocation_limit {
public:
    explicit allocation_limit(std::size_t most);
    allocation_limit(const allocation_limit&) = delete;
    allocation_limit& operator=(const allocation_limit&) = delete;
    ~allocation_limit();
};

} // namespace chainbase::test
