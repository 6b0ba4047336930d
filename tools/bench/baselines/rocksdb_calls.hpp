#pragma once

#include <pool_allocator/error.hpp>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <cstring>
#include <string>

/// Calls of RocksDB: an error is an exception, a value is bytes.
namespace chainbase::bench {

inline void check(const rocksdb::Status& status, const char* what) {
    if (!status.ok()) throw error(std::string("rocksdb: ") + what + ": " + status.ToString());
}

template <typename T>
rocksdb::Slice slice_of(const T& value) noexcept {
    return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

template <typename T>
T value_of(const rocksdb::Slice& bytes) noexcept {
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
}

} // namespace chainbase::bench
