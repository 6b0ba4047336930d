#include <archive/detail/rocksdb_log.hpp>

#include <spdlog/spdlog.h>

#include <array>
#include <cstdio>
#include <string_view>

namespace chainbase::archive::detail {

void rocksdb_log::Logv(rocksdb::InfoLogLevel level, const char* format, va_list values) {
    const bool is_header = level == rocksdb::InfoLogLevel::HEADER_LEVEL; // all options
    if (is_header || level < GetInfoLogLevel() || !spdlog::should_log(spdlog::level::debug)) return;
    std::array<char, 1024> line{}; // what is longer is cut
    std::vsnprintf(line.data(), line.size(), format, values);
    std::string_view text(line.data());
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    spdlog::debug("archive: RocksDB: {}", text);
}

} // namespace chainbase::archive::detail
