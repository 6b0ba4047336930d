#pragma once

#include <rocksdb/status.h>

#include <string>

namespace chainbase::archive::detail {

/// Throws the error a status that is not ok stands for: out_of_space_error, damaged_error or, for
/// everything else, io_error. `where` names the store and the table and key or operation.
[[noreturn]] void throw_status(const rocksdb::Status& status, const std::string& where);

/// Throws when `status` is not ok; `where()` makes the text only then.
template <typename Where>
void check_status(const rocksdb::Status& status, Where&& where) {
    if (!status.ok()) throw_status(status, where());
}

} // namespace chainbase::archive::detail
