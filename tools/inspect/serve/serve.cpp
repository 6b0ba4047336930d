#include <chainbase/offline/rows/type_rows.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/http/http_server.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/assets.hpp>
#include <tools/inspect/feed/feed_cursors.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/serve/request_guard.hpp>
#include <tools/inspect/serve/sample_history.hpp>
#include <tools/inspect/state/locks.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/report_json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace {

using clock = std::chrono::steady_clock;

// --- rows, a page at a time ----------------------------------------------------------------------

/// The rows of a type on one page.
struct row_request {
    static constexpr std::uint64_t max_rows = 1'000;

    std::string type;
    std::string index = "id";           ///< the name of a key, or "id"
    std::vector<std::string> parts;     ///< required parts of the key; all of them for a hashed key
    std::optional<std::uint32_t> after; ///< continues after the object with this id
    bool is_reverse = false;
    bool is_text = false;      ///< `cells` as text in place of `rows`
    bool with_archive = false; ///< include archived rows; each row says where it is
    std::uint64_t limit = 50;
};

/// A page filled row by row, up to the requested number, or about 1 MiB:
///
///     {schema_version, state, type, index, revision, rolled_back, names[], rows[], more, after}
///
/// `after` requests the next page. With the archive each of `rows` is `{row, archived}`, `cells`
/// have one more named `where`, which is "memory" or "archive", and there are
///
///     archive_searched   false: there is no archive, it has no rows of the type, or it does not
///                        index the hashed key, so only memory was searched
///     moved              rows were handed over during the read: some may be missing
class row_page {
public:
    /// `wanted` and `format` must outlive it.
    row_page(const row_request& wanted, const row_format& format)
        : wanted_(wanted), format_(format) {}

    /// Call it for each available row: whether to add it. If not, there are more.
    [[nodiscard]] bool takes_another() {
        constexpr std::size_t most_bytes = std::size_t{1} << 20; // enough for any reader
        is_more_ = rows_ == wanted_.limit || text_.size() > most_bytes;
        return !is_more_;
    }

    void add(const found_row& one) {
        if (rows_++ > 0) text_ += ',';
        text_ += row_text(one);
        last_ = one.id;
    }

    /// Takes no turn.
    [[nodiscard]] std::string text(const row_source& from, std::int64_t revision,
                                   bool is_archive_searched, bool has_moved) const {
        std::vector<std::string> names = format_.names();
        if (wanted_.with_archive && wanted_.is_text) names.emplace_back("where");
        json head = {{"schema_version", 1},      {"state", from.state().string()},
                     {"type", wanted_.type},     {"index", wanted_.index},
                     {"revision", revision},     {"rolled_back", from.is_rolled_back()},
                     {"names", std::move(names)}};
        if (wanted_.with_archive) {
            head["archive_searched"] = is_archive_searched;
            head["moved"] = has_moved;
        }
        return line_with(head, {{wanted_.is_text ? "cells" : "rows", "[" + text_ + "]"},
                                {"more", is_more_ ? "true" : "false"},
                                {"after", is_more_ ? std::to_string(last_) : "null"}}) +
               "\n";
    }

private:
    [[nodiscard]] std::string row_text(const found_row& one) const {
        if (wanted_.is_text) {
            std::vector<std::string> cells = format_.cells_of(one.text);
            if (wanted_.with_archive) cells.emplace_back(one.is_archived ? "archive" : "memory");
            return line_of(std::move(cells));
        }
        if (!wanted_.with_archive) return one.text.json;
        return fmt::format("{{\"row\":{},\"archived\":{}}}", one.text.json, one.is_archived);
    }

    const row_request& wanted_;
    const row_format& format_;
    std::string text_;
    std::uint64_t rows_ = 0;
    std::uint32_t last_ = 0;
    bool is_more_ = false;
};

/// In the order of a key or of the id, as `range`.
std::string page_in_order(row_source& from, const row_request& wanted) {
    const auto archive = wanted.with_archive ? open_whole_archive(from) : nullptr;
    const row_query query{wanted.type, wanted.index, wanted.parts, {}, {}, wanted.is_reverse};
    merged_rows all(from, query, archive.get(), wanted.after);
    row_page page(wanted, all.format());
    for (const found_row* one = all.next(); one && page.takes_another(); one = all.next()) {
        page.add(*one);
        all.pop();
    }
    return page.text(from, from.revision(), all.searches_archive(), all.has_moved());
}

/// Objects with a hashed key, as `get` finds them: a few, or none.
std::string page_of_key(row_source& from, const row_request& wanted) {
    found_rows found = find_rows(from, wanted.type, wanted.index, wanted.parts);
    bool is_archive_searched = false;
    if (wanted.with_archive)
        if (auto more = find_archived(from, wanted.type, wanted.index, wanted.parts)) {
            is_archive_searched = true;
            std::ranges::move(*more, std::back_inserter(found.rows));
        }
    row_page page(wanted, *found.format);
    for (const found_row& row : found.rows) {
        if (!page.takes_another()) break;
        page.add(row);
    }
    return page.text(from, found.revision, is_archive_searched, false);
}

/// The requested page.
///
/// Reads as of one block beside a writer, as `range` does. Throws usage_error for unknown
/// names, invalid values, an incomplete hashed key, an `after` that is gone, and with the archive
/// as merged_rows does; damaged_error when the archive lacks rows; and what row_source throws.
std::string rows_page(const std::filesystem::path& state, const row_request& wanted) {
    row_source from(state);
    bool has_order = true;
    from.take_turn([&] {
        const rows::type_rows of = from.of(wanted.type);
        has_order = wanted.index == "id" || of.tree(of.key_called(wanted.index)) != nullptr;
    });
    // An unordered key without a value is refused by the ordered page.
    const bool is_lookup = !has_order && (wanted.with_archive || !wanted.parts.empty());
    return is_lookup ? page_of_key(from, wanted) : page_in_order(from, wanted);
}

// --- the API -------------------------------------------------------------------------------------

/// As `stat`, but with a short wait for a pause of the writer.
std::string stat_of(const std::filesystem::path& state, cached_files& cached) {
    return as_json(read_state(state, live_sampler::patience, cached), read_archive(state));
}

/// No archive is an answer, not an error: most states have none.
std::string archive_of(const std::filesystem::path& state) {
    try {
        return as_json(read_archive_contents(state));
    } catch (const format_error& problem) {
        return line_of({{"schema_version", 1},
                        {"state", state.string()},
                        {"store", nullptr},
                        {"readable", false},
                        {"refusal", problem.what()}}) +
               "\n";
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
    wanted.limit = asked.number("limit", wanted.limit, row_request::max_rows, 1);
    return wanted;
}

/// The web page's API, each answer a JSON object with `schema_version`. README.md lists the paths.
/// Changes nothing; thread-safe.
class state_api {
public:
    /// Throws the error of the first read of the state. Later errors are answers.
    explicit state_api(const std::filesystem::path& state);

    /// Answers a path that begins with /api/. 404 for an unknown one, 400 for an invalid query, 503
    /// for an unreadable state, or while another request does the same work; each with `error`.
    [[nodiscard]] http_answer answer(const http_request& request);

private:
    /// Counting every row of a large archive is slow, so one request does it for all: others get
    /// the last result meanwhile, or none yet.
    class archive_cache {
    public:
        [[nodiscard]] std::optional<std::string> of(const std::filesystem::path& state);

    private:
        std::mutex reading_; ///< held during the read
        std::mutex mutex_;   ///< protects the members below
        std::string json_;
        std::chrono::steady_clock::time_point taken_;
    };

    [[nodiscard]] http_answer find(const http_request& request);
    [[nodiscard]] http_answer rows(const query_string& asked);

    std::filesystem::path state_;
    sample_history history_;
    archive_cache archive_;
    cached_files cached_;
    std::mutex rows_; ///< one request at a time: each may take a snapshot
};

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
    if (path == "/api/stat") return json_answer(stat_of(state_, cached_));
    if (path == "/api/locks") return json_answer(as_json(state_locks::read(state_)));
    if (path == "/api/feed") return json_answer(as_json(feed_cursors::read(state_)));
    if (path == "/api/schema") return json_answer(as_json(read_schema(state_, {}, state_)));
    if (path == "/api/rows") return rows(asked);
    if (path == "/api/archive") {
        const auto found = archive_.of(state_);
        return found ? json_answer(*found) : json_error(503, "the archive is being counted");
    }
    return json_error(404, "there is no such path; there are /api/sample, /api/history, /api/stat, "
                           "/api/schema, /api/rows, /api/locks, /api/feed and /api/archive");
}

http_answer state_api::rows(const query_string& asked) {
    const std::unique_lock turn(rows_, std::try_to_lock);
    if (!turn.owns_lock()) return json_error(503, "another request is reading rows; ask again");
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

// --- the page ------------------------------------------------------------------------------------

/// An embedded file of the web page; nothing if this path has none.
std::optional<http_answer> asset_at(std::string_view path) {
    constexpr std::pair<std::string_view, const char*> types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"}};
    for (const web_asset& one : web_assets)
        for (const auto& [ending, type] : types)
            if (one.path == path && one.file.ends_with(ending))
                return http_answer{200, type, std::string(one.content), {}};
    return std::nullopt;
}

http_options options_with(const http_limits& limits) {
    http_options options;
    options.name = "serve";
    options.limits = limits;
    options.threads = 3; // counting an archive's rows must not block the charts
    options.always = request_guard::protections();
    return options;
}

/// A wildcard address cannot be opened; use the loopback.
listen_address to_open(listen_address at) {
    if (at.is_any()) at.host = at.host == "::" ? "::1" : "127.0.0.1";
    return at;
}

struct page_options {
    listen_address listen;             ///< beyond the loopback a token is required
    std::optional<access_token> token; ///< generated if required
    http_limits limits;
};

/// Serves a state as a web page until the end of this object.
class state_page {
public:
    /// Throws the error of the first read of the state, and io_error when listening at the address
    /// fails.
    state_page(const std::filesystem::path& state, page_options options);

    /// The page's URL, with a generated token: "http://127.0.0.1:4711/".
    [[nodiscard]] std::string url() const;
    [[nodiscard]] listen_address address() const { return server_.address(); }

private:
    [[nodiscard]] http_answer answer(const http_request& request);

    std::optional<access_token> token_;
    bool is_token_told_ = false; ///< in the URL
    state_api api_;
    std::optional<request_guard> guard_; ///< set once the port is known
    http_server server_;                 ///< destroyed before what it uses
};

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
    if (auto asset = asset_at(request.path())) return std::move(*asset);
    return json_error(404, "there is no such path; the page is /");
}

struct serve_call : state_call {
    std::string listen = "127.0.0.1:0";
    std::string token_file;
};

/// A signal is the normal end.
void run_serve(const serve_call& asked) {
    // A second signal ends a wait for a hanging writer.
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    page_options options;
    options.listen = listen_address::parse(asked.listen);
    if (!asked.token_file.empty()) options.token = access_token::read(asked.token_file);
    const state_page page(asked.state, options);
    const std::string told =
        asked.json ? line_of({{"schema_version", 1}, {"url", page.url()}}) : page.url();
    print_or_throw(told + "\n", "direct stdout elsewhere and call again");
    while (!catch_interruption::caught())
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

} // namespace

void declare_serve(command& verb) {
    const auto asked = declare_look<serve_call>(verb, run_serve);
    verb.add_option("--listen", asked->listen,
                    "HOST:PORT, or :PORT for the loopback; port 0: any, printed on stdout. An "
                    "address other than the loopback needs a token, which the printed address has")
        .value_name("HOST:PORT")
        .shows_default();
    verb.add_option("--token-file", asked->token_file,
                    "Require the token in this file, which only its owner may read")
        .value_name("FILE");
    verb.add_flag("--json", asked->json, "Print the address as a JSON object");
}

} // namespace chainbase::inspect
