#pragma once

#include <chainbase/trace/interval_log.hpp>
#include <chainbase/trace/perfetto_file.hpp>
#include <tools/http/http_server.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace chainbase::driver {

/// A section of the /metrics page, beside the trace, while the object lives. For components with
/// their own figures; of several objects only the latest is used, since a metric may appear on a
/// page only once.
///
/// Any thread.
class metrics_source {
public:
    /// The server's thread calls `text`, which returns Prometheus' text format.
    explicit metrics_source(std::function<std::string()> text);
    /// Waits for a running call.
    ~metrics_source();
    metrics_source(const metrics_source&) = delete;
    metrics_source& operator=(const metrics_source&) = delete;

    /// The text of the latest object; empty without one.
    [[nodiscard]] static std::string page();

private:
    std::function<std::string()> text_;
};

/// A plain HTTP server for a scraper, with its own thread: `GET /metrics` answers with what a
/// function returns, `GET /` points there, anything else is refused. It exposes only numbers, but
/// to everyone who can connect, so it listens beyond the loopback only on request.
///
/// A malformed, too large or too slow request costs only its own connection.
class metrics_server {
public:
    /// Listens. The server's thread calls `page`; an exception is answered with 500. Throws
    /// io_error naming the address when listening there fails.
    metrics_server(const listen_address& at, std::function<std::string()> page,
                   const http_limits& limits = {});

    /// The listening address, with the actual port: "127.0.0.1:9464".
    [[nodiscard]] std::string address() const { return server_.address().text(); }
    [[nodiscard]] std::uint16_t port() const { return server_.address().port; }

private:
    http_server server_;
};

} // namespace chainbase::driver

namespace chainbase {
class command;
}

namespace chainbase::driver {

/// Outputs of a run's trace; by default none, and tracing stays off.
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

/// Observes the process as the options say while it lives: tracing is on if any of them is given.
/// Make it before the work begins and keep it until the work is done.
class observation {
public:
    /// Throws usage_error (a malformed address, an existing trace file), io_error,
    /// out_of_space_error; then nothing is observed.
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
