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

/// A part of the page that /metrics answers with, beside the trace, while it lives. For what has
/// figures of its own; of several the one made last is shown, since a metric may stand on a page
/// only once.
///
/// Any thread.
class metrics_source {
public:
    /// `text`, in Prometheus' text format, is called by the server's thread.
    explicit metrics_source(std::function<std::string()> text);
    /// Waits until a call that is under way returns.
    ~metrics_source();
    metrics_source(const metrics_source&) = delete;
    metrics_source& operator=(const metrics_source&) = delete;

    /// What the one that is shown says; empty without any.
    [[nodiscard]] static std::string page();

private:
    std::function<std::string()> text_;
};

/// A server of plain HTTP for a scraper, with a thread of its own: `GET /metrics` answers with what
/// a function returns, `GET /` says so, anything else is refused. It shows numbers only, but to
/// everybody who can connect: to others than the loopback only on request.
///
/// A request that is malformed, too large or too slow costs its connection and nothing else.
class metrics_server {
public:
    /// Listens. `page` is called by the server's thread; what it throws is answered with 500.
    /// Throws io_error naming the address when that cannot be listened at.
    metrics_server(const listen_address& at, std::function<std::string()> page,
                   const http_limits& limits = {});

    /// Where it listens, with the port it got: "127.0.0.1:9464".
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
