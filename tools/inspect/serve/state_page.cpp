#include <tools/inspect/serve/json_answer.hpp>
#include <tools/inspect/serve/state_page.hpp>
#include <tools/inspect/serve/web_assets.hpp>

#include <utility>

namespace chainbase::inspect {

namespace {

http_options options_with(const http_limits& limits) {
    http_options options;
    options.name = "serve";
    options.limits = limits;
    options.threads = 3; // so that counting the rows of an archive does not stop the charts
    options.always = request_guard::protections();
    return options;
}

/// An address of every network of this machine is none to open.
listen_address to_open(listen_address at) {
    if (at.is_any()) at.host = at.host == "::" ? "::1" : "127.0.0.1";
    return at;
}

} // namespace

state_page::state_page(const std::filesystem::path& state, page_options options)
    : token_(std::move(options.token)), api_(state),
      server_(options.listen, options_with(options.limits)) {
    is_token_told_ = !token_ && !options.listen.is_loopback();
    if (is_token_told_) token_ = access_token::random();
    guard_.emplace(server_.address(), token_);
    server_.serve([this](const http_request& request) { return answer(request); });
}

std::string state_page::url() const {
    const std::string page = "http://" + to_open(address()).text() + "/";
    return is_token_told_ ? page + "?token=" + token_->text() : page;
}

http_answer state_page::answer(const http_request& request) {
    if (auto stopped = guard_->stop(request)) return std::move(*stopped);
    if (request.path().starts_with("/api/")) return api_.answer(request);
    if (auto asset = web_asset(request.path())) return std::move(*asset);
    return json_error(404, "there is no such path; the page is /");
}

} // namespace chainbase::inspect
