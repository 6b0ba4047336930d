#include <chainbase/trace/prometheus_text.hpp>
#include <tools/driver/metrics_server.hpp>

#include <utility>

namespace chainbase::driver {

namespace {

http_answer answer_to(const http_request& request, const std::function<std::string()>& page) {
    if (request.path() == "/metrics")
        return {200, std::string(trace::prometheus_content_type), page(), {}};
    if (request.path() == "/")
        return {200,
                "text/html; charset=utf-8",
                "<!doctype html><title>chainbase</title><a href=\"/metrics\">metrics</a>\n",
                {}};
    return {404, "text/plain", "there is /metrics\n", {}};
}

http_options options_with(const http_limits& limits) {
    http_options options;
    options.name = "metrics";
    options.limits = limits;
    return options;
}

} // namespace

metrics_server::metrics_server(const listen_address& at, std::function<std::string()> page,
                               const http_limits& limits)
    : server_(at, options_with(limits)) {
    server_.serve(
        [page = std::move(page)](const http_request& request) { return answer_to(request, page); });
}

} // namespace chainbase::driver
