#pragma once

#include <pool_allocator/error.hpp>

#include <lmdb.h>

#include <cstring>
#include <string>

/// Calls of LMDB: an error is an exception, a value is bytes.
namespace chainbase::bench {

inline void check(int code, const char* what) {
    if (code != MDB_SUCCESS) throw error(std::string("lmdb: ") + what + ": " + mdb_strerror(code));
}

/// The data may stand at any even address, so it is copied out; the compiler keeps of the copy only
/// what is read.
template <typename T>
T value_of(const MDB_val& bytes) noexcept {
    T value;
    std::memcpy(&value, bytes.mv_data, sizeof(T));
    return value;
}

} // namespace chainbase::bench
