#pragma once

#include <archive/conversion.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace chainbase::driver {

struct conversion_report {
    std::filesystem::path state;
    std::string chain;
    std::uint64_t block = 0;  ///< the head
    std::uint64_t popped = 0; ///< blocks that were taken back before
    archive::conversion done;
    double seconds = 0;
};

/// Makes the archive of the state in the folder `state`, which nobody else has open, one of the
/// kind `to`, as archive::convert_archive() says, and opens the state with it once. Blocks that can
/// be undone are taken back if `pop`, and else refused with usage_error. Throws also what opening a
/// state throws, and interrupted_error after a signal; the same call goes on.
[[nodiscard]] conversion_report convert_archive(const std::filesystem::path& state,
                                                archive::store_kind to, bool pop);

/// One line of JSON, without its end; and for people.
[[nodiscard]] std::string to_json(const conversion_report& report);
[[nodiscard]] std::string to_text(const conversion_report& report);

} // namespace chainbase::driver
