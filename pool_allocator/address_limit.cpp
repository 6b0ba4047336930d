#include <pool_allocator/address_limit.hpp>
#include <pool_allocator/error.hpp>

#include <cerrno>
#include <cstring>
#include <string>

namespace chainbase {

void throw_no_addresses(std::uint64_t bytes) {
    throw limit_error("cannot reserve " + std::to_string(bytes) + " bytes of addresses (" +
                      std::strerror(errno) +
                      "): raise `ulimit -v`; a program that makes a new state may also ask for "
                      "smaller or fewer windows (open_options)");
}

} // namespace chainbase
