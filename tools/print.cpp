#include <pool_allocator/base/error.hpp>
#include <tools/print.hpp>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace chainbase {

void print_or_throw(std::string_view report, std::string_view then) {
    errno = 0;
    const std::size_t put = std::fwrite(report.data(), 1, report.size(), stdout);
    if (put == report.size() && std::fflush(stdout) == 0) return;
    throw io_error("stdout: " + std::to_string(report.size()) + " bytes could not be written: " +
                   std::generic_category().message(errno) + "; " + std::string(then));
}

} // namespace chainbase
