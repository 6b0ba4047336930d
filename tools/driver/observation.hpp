#pragma once

#include <chainbase/trace/interval_log.hpp>
#include <chainbase/trace/perfetto_file.hpp>
#include <tools/driver/metrics_server.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace chainbase {
class command;
}

namespace chainbase::driver {

/// How a run is watched; nothing by default, and then tracing stays off.
struct observation_options {
    std::filesystem::path trace_file; ///< for ui.perfetto.dev; empty: none
    std::filesystem::path trace_log;  ///< a JSON line a second; empty: none
    std::string metrics;              ///< ADDR:PORT for Prometheus; empty: none

    [[nodiscard]] bool wanted() const noexcept {
        return !trace_file.empty() || !trace_log.empty() || !metrics.empty();
    }
};

/// Adds `--trace FILE`, `--trace-log FILE` and `--metrics ADDR:PORT` to a verb.
void add_observation_options(command& verb, observation_options& options);

/// While it lives the process is watched as the options say: tracing is on if any of them is given.
/// To be made before the work begins and kept until it is done.
class observation {
public:
    /// Throws usage_error (an address that is none, a trace file that exists), io_error,
    /// out_of_space_error; then nothing is watched.
    explicit observation(const observation_options& options);
    ~observation();
    observation(const observation&) = delete;
    observation& operator=(const observation&) = delete;

    /// Where the metrics are: "127.0.0.1:9464"; empty without a server.
    [[nodiscard]] std::string metrics_address() const;

private:
    /// Tracing is on while it lives.
    struct switched_on {
        switched_on();
        ~switched_on();
    };

    std::optional<switched_on> on_;
    std::optional<trace::interval_log> log_;
    std::optional<trace::perfetto_file> file_;
    std::optional<metrics_server> server_;
    std::optional<trace::ticker> ticker_;
};

} // namespace chainbase::driver
