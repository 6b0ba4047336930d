#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/archive.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/serve/json_answer.hpp>
#include <tools/inspect/serve/query_string.hpp>
#include <tools/inspect/serve/row_browser.hpp>
#include <tools/inspect/serve/state_api.hpp>
#include <tools/inspect/state/locks.hpp>
#include <tools/inspect/state/schema.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <utility>

namespace chainbase::inspect {

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

} // namespace chainbase::inspect
