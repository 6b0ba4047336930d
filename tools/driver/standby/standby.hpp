#pragma once

#include <tools/driver/sync/sync.hpp>
#include <tools/interruption.hpp>

#include <boost/describe/class.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace chainbase::driver {

/// What a standby follows, and when it takes over.
struct standby_options : sync_options {
    std::filesystem::path of;          ///< the folder of the followed state
    std::optional<endpoint_name> from; ///< or who serves its feed
    std::string cursor;                ///< its name in that feed; stand_by() sets it
    enum class when { killed, ended, never };
    when takes_over = when::killed;
    std::chrono::milliseconds after{0}; ///< how long the writer has to be gone
};

/// Where a standby is.
struct standby_figures {
    std::string of;
    std::string state;
    std::uint64_t block = 0;
    std::int64_t revision = 0;
    std::uint64_t blocks = 0; ///< applied in this call, blocks of the feed
    std::uint64_t pops = 0;
    std::uint64_t objects = 0; ///< created, modified and removed ones
    bool checks_roots = false; ///< whether the followed state has a root
    bool took_over = false;
    double milliseconds = 0; ///< from where the writer was found gone until it took over
};
BOOST_DESCRIBE_STRUCT(standby_figures, (),
                      (of, state, block, revision, blocks, pops, objects, checks_roots, took_over,
                       milliseconds))

struct standby_report {
    standby_figures standby;
    std::optional<sync_report> after; ///< what sync() did after it took over
};
/// Called with "following" when it follows, and "took_over" when it can write.
using standby_listener = std::function<void(const char* event, const standby_figures& now)>;

/// Keeps a state that is what another one is, and takes its place when that one's writer is gone
/// (README.md). Returns after a signal, or when it took over; with peers it goes on as sync() does
/// then.
///
/// Throws damaged_error when the two states differ, too_far_behind_error when the feed lost what
/// follows, locked_error when another standby took over, and what opening both throws.
[[nodiscard]] standby_report stand_by(const standby_options& options,
                                      const catch_interruption& signals,
                                      const standby_listener& tell);

} // namespace chainbase::driver
