#pragma once

#include <tools/http/http_server.hpp>
#include <tools/inspect/serve/request_guard.hpp>
#include <tools/inspect/serve/sample_history.hpp>

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

namespace chainbase::inspect {

/// What the web page asks about a state, each answer a JSON object with `schema_version`. README.md
/// lists the paths. Changes nothing; thread-safe.
class state_api {
public:
    /// Throws what the first look at the state throws. Later a state that cannot be read is an
    /// answer.
    explicit state_api(const std::filesystem::path& state);

    /// To a path that begins with /api/. 404 for one that there is not, 400 for a query that is
    /// wrong, 503 for a state that cannot be read, or what somebody else is waiting for; with
    /// `error` each.
    [[nodiscard]] http_answer answer(const http_request& request);

private:
    /// Counting every row of a large archive takes a while, so it is done once for all who ask:
    /// who asks meanwhile gets what is known, or nothing yet.
    class archive_cache {
    public:
        [[nodiscard]] std::optional<std::string> of(const std::filesystem::path& state);

    private:
        std::mutex reading_; ///< held while it is read
        std::mutex mutex_;   ///< for what follows
        std::string json_;
        std::chrono::steady_clock::time_point taken_;
    };

    [[nodiscard]] http_answer find(const http_request& request);
    [[nodiscard]] http_answer rows(const query_string& asked);

    std::filesystem::path state_;
    sample_history history_;
    archive_cache archive_;
    std::mutex rows_; ///< one request at a time: it may have to wait for a writer
};

struct page_options {
    listen_address listen;             ///< others than the loopback's need a token
    std::optional<access_token> token; ///< made here where one is needed
    http_limits limits;
};

/// A state as a local web page, served until the end of this object.
class state_page {
public:
    /// Throws what the first look at the state throws, and io_error when it cannot be listened at
    /// the address.
    state_page(const std::filesystem::path& state, page_options options);

    /// Where to look, with the token if it was made here: "http://127.0.0.1:4711/".
    [[nodiscard]] std::string url() const;
    [[nodiscard]] listen_address address() const { return server_.address(); }

private:
    [[nodiscard]] http_answer answer(const http_request& request);

    std::optional<access_token> token_;
    bool is_token_told_ = false; ///< by the URL
    state_api api_;
    std::optional<request_guard> guard_; ///< once the port is known
    http_server server_;                 ///< ends before what it uses
};

} // namespace chainbase::inspect
