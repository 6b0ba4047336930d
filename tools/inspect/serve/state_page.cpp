#include <pool_allocator/error.hpp>
#include <tools/http/http_server.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/assets.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/serve/request_guard.hpp>
#include <tools/inspect/serve/row_browser.hpp>
#include <tools/inspect/serve/state_page.hpp>
#include <tools/inspect/state/locks.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace chainbase::inspect {

/// A file of the web page, which is part of the program; nothing if there is none at this path.
[[nodiscard]] std::optional<http_answer> web_asset(std::string_view path);

namespace {

struct asset {
    std::string_view path;
    const char* type;
    const std::string_view& content;
};

constexpr const char* script = "text/javascript; charset=utf-8";
constexpr const char* style = "text/css; charset=utf-8";

const std::array assets{
    asset{"/", "text/html; charset=utf-8", web_index_html},
    asset{"/app.js", script, web_app_js},
    asset{"/archive_view.js", script, web_archive_view_js},
    asset{"/charts.js", script, web_charts_js},
    asset{"/connection.js", script, web_connection_js},
    asset{"/dom.js", script, web_dom_js},
    asset{"/figures.js", script, web_figures_js},
    asset{"/icon.svg", "image/svg+xml", web_icon_svg},
    asset{"/locks_view.js", script, web_locks_view_js},
    asset{"/memory_view.js", script, web_memory_view_js},
    asset{"/overview.js", script, web_overview_js},
    asset{"/palette.js", script, web_palette_js},
    asset{"/rows_view.js", script, web_rows_view_js},
    asset{"/style.css", style, web_style_css},
    asset{"/tabs.js", script, web_tabs_js},
    asset{"/treemap.js", script, web_treemap_js},
    asset{"/types_view.js", script, web_types_view_js},
    asset{"/uplot.css", style, web_uplot_css},
    asset{"/uplot.js", script, web_uplot_js},
};

} // namespace

std::optional<http_answer> web_asset(std::string_view path) {
    for (const asset& one : assets)
        if (one.path == path) return http_answer{200, one.type, std::string(one.content), {}};
    return std::nullopt;
}

namespace {

using json = nlohmann::ordered_json;
using clock = std::chrono::steady_clock;

/// As stat says it, but without waiting long for a quiet moment of the writer.
std::string stat_of(const std::filesystem::path& state) {
    return as_json(read_state(state, live_sampler::patience), read_archive(state));
}

/// No archive is an answer, not a failure: most states have none.
std::string archive_of(const std::filesystem::path& state) {
    try {
        return as_json(read_archive_contents(state));
    } catch (const format_error& problem) {
        const json none = {{"schema_version", 1},
                           {"state", state.string()},
                           {"store", nullptr},
                           {"readable", false},
                           {"refusal", problem.what()}};
        return none.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    }
}

row_request request_in(const query_string& asked) {
    row_request wanted;
    wanted.type = asked.value("type").value_or("");
    wanted.index = asked.value("index").value_or(wanted.index);
    wanted.parts = asked.values("key");
    if (asked.value("after"))
        wanted.after = static_cast<std::uint32_t>(asked.number("after", 0, UINT32_MAX));
    wanted.is_reverse = asked.number("reverse", 0, 1) == 1;
    wanted.with_archive = asked.number("archive", 0, 1) == 1;
    wanted.is_text = asked.number("text", 0, 1) == 1;
    wanted.limit = asked.number("limit", wanted.limit, row_request::most_rows);
    return wanted;
}

} // namespace

std::optional<std::string> state_api::archive_cache::of(const std::filesystem::path& state) {
    constexpr auto fresh = std::chrono::seconds(2);
    const std::unique_lock turn(reading_, std::try_to_lock);
    std::unique_lock hold(mutex_);
    const bool is_fresh = !json_.empty() && clock::now() < taken_ + fresh;
    if (turn.owns_lock() && !is_fresh) {
        hold.unlock();
        std::string read = archive_of(state);
        hold.lock();
        json_ = std::move(read);
        taken_ = clock::now();
    }
    if (json_.empty()) return std::nullopt;
    return json_;
}

state_api::state_api(const std::filesystem::path& state) : state_(state), history_(state) {}

http_answer state_api::find(const http_request& request) {
    const query_string asked(request.query());
    const std::string_view path = request.path();
    if (path == "/api/sample") return json_answer(history_.latest());
    if (path == "/api/history")
        return json_answer(history_.after(asked.number("after", 0, UINT64_MAX)));
    if (path == "/api/stat") return json_answer(stat_of(state_));
    if (path == "/api/locks") return json_answer(as_json(state_locks::read(state_)));
    if (path == "/api/schema") return json_answer(as_json(read_schema(state_, {})));
    if (path == "/api/rows") return rows(asked);
    if (path == "/api/archive") {
        const auto found = archive_.of(state_);
        return found ? json_answer(*found) : json_error(503, "the archive is being counted");
    }
    return json_error(404, "there is no such path; there are /api/sample, /api/history, /api/stat, "
                           "/api/schema, /api/rows, /api/locks and /api/archive");
}

http_answer state_api::rows(const query_string& asked) {
    const std::unique_lock turn(rows_, std::try_to_lock);
    if (!turn.owns_lock()) return json_error(503, "somebody else is looking for rows; ask again");
    return json_answer(rows_page(state_, request_in(asked)));
}

http_answer state_api::answer(const http_request& request) {
    try {
        return look_at(state_.string(), [&] { return find(request); });
    } catch (const usage_error& problem) {
        return json_error(400, problem.what());
    } catch (const error& problem) {
        return json_error(503, problem.what());
    }
}

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

namespace {

struct call {
    std::string state;
    std::string listen = "127.0.0.1:0";
    std::string token_file;
    bool json = false;
};

std::string told(const std::string& url, bool is_json) {
    using json = nlohmann::ordered_json;
    return (is_json ? json{{"schema_version", 1}, {"url", url}}.dump() : url) + "\n";
}

void run(const call& asked) {
    // Whoever waits for a writer that hangs is ended by the second signal.
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    page_options options;
    options.listen = listen_address::parse(asked.listen);
    if (!asked.token_file.empty()) options.token = access_token::read(asked.token_file);
    const state_page page(asked.state, options);
    print_or_throw(told(page.url(), asked.json), "direct stdout elsewhere and call again");
    while (!catch_interruption::noted())
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

} // namespace

void declare_serve(command& verb) {
    const auto asked = std::make_shared<call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_option("--listen", asked->listen,
                    "HOST:PORT, or :PORT for the loopback; port 0: any, told on stdout. Another "
                    "address than the loopback's needs a token, which the printed address has")
        .value_name("HOST:PORT")
        .shows_default();
    verb.add_option("--token-file", asked->token_file,
                    "Ask for the token in this file, which only its owner may read")
        .value_name("FILE");
    verb.add_flag("--json", asked->json, "Print the address as a JSON object");
    verb.runs([asked] {
        look_at(asked->state, [&] { run(*asked); });
        return exit_code::done; // a signal is how it is meant to end
    });
}

} // namespace chainbase::inspect
