#pragma once

#include <functional>
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

} // namespace chainbase::driver
