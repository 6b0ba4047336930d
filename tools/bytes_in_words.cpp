#include <tools/bytes_in_words.hpp>

#include <fmt/format.h>

namespace chainbase {

std::string bytes_in_words(std::uint64_t bytes) {
    const double mebi = static_cast<double>(bytes) / (1 << 20);
    return mebi < 1024 ? fmt::format("{:.1f} MiB", mebi) : fmt::format("{:.2f} GiB", mebi / 1024);
}

} // namespace chainbase
