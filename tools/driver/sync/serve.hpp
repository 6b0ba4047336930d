#pragma once

#include <tools/driver/sync/block_server.hpp>
#include <tools/interruption.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

namespace chainbase::driver {

struct serve_options {
    std::filesystem::path block_log;
    /// Blocks that appear each second, as on a chain that lives.
    std::optional<double> blocks_per_second;
    /// The number of the last block that is there from the begin; with blocks_per_second.
    std::uint64_t from_head = 0;
    std::filesystem::path forks;         ///< a file of branches beside the log; empty: none
    std::vector<losing_branch> branches; ///< more of them
    /// End when a client has had everything and has hung up.
    bool once = false;
    block_server::options network;
};

struct serve_report {
    std::string chain;
    std::string address;
    block_place head;
    block_server::counters served;
    bool interrupted = false;
};

/// Serves the blocks of a log, and branches that lose against it, until a signal. Calls
/// ready(report) as soon as it listens. Throws what reading the log and the branches throws,
/// interrupted_error when the signal comes before that is done, io_error when it cannot listen.
[[nodiscard]] serve_report serve(const serve_options& options, const catch_interruption& signals,
                                 const std::function<void(const serve_report&)>& ready);

} // namespace chainbase::driver
