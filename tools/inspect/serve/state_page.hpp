#pragma once

#include <tools/http/http_server.hpp>
#include <tools/inspect/serve/access_token.hpp>
#include <tools/inspect/serve/request_guard.hpp>
#include <tools/inspect/serve/state_api.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace chainbase::inspect {

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
