#include <chainbase/trace/prometheus_text.hpp>
#include <chainbase/trace/quiet_thread.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/metrics_server.hpp>
#include <tools/endpoint_name.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <spdlog/spdlog.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace chainbase::driver {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

namespace {

struct page_source {
    std::function<std::string()> page;
    metrics_server_limits limits;
    std::atomic<std::size_t> connections{0};
};

using response = http::response<http::string_body>;

response refusal(http::status status, std::string text) {
    response answer(status, 11, std::move(text) + "\n");
    answer.set(http::field::content_type, "text/plain");
    answer.keep_alive(false);
    return answer;
}

response answer_to(const http::request<http::empty_body>& request, const page_source& source) {
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
        response refused = refusal(http::status::method_not_allowed, "only GET");
        refused.set(http::field::allow, "GET, HEAD");
        return refused;
    }
    response answer(http::status::ok, request.version());
    const std::string_view target(request.target().data(), request.target().size());
    const std::string_view path = target.substr(0, target.find('?'));
    if (path == "/metrics") {
        answer.set(http::field::content_type,
                   {trace::prometheus_content_type.data(), trace::prometheus_content_type.size()});
        answer.body() = source.page();
    } else if (path == "/") {
        answer.set(http::field::content_type, "text/html; charset=utf-8");
        answer.body() = "<!doctype html><title>chainbase</title><a href=\"/metrics\">metrics</a>\n";
    } else {
        return refusal(http::status::not_found, "there is /metrics");
    }
    answer.keep_alive(request.keep_alive());
    return answer;
}

/// One connection: a request, an answer, and so on. It keeps itself alive while something is to
/// come.
class connection : public std::enable_shared_from_this<connection> {
public:
    connection(tcp::socket socket, page_source& source)
        : stream_(std::move(socket)), source_(source), buffer_(2 * source.limits.header_bytes) {
        ++source_.connections;
    }
    ~connection() { --source_.connections; }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    void read() {
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(source_.limits.header_bytes));
        parser_->body_limit(0);
        stream_.expires_after(source_.limits.patience);
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](beast::error_code failed, std::size_t) {
                             self->answer(failed);
                         });
    }

private:
    void answer(beast::error_code failed) {
        if (failed == http::error::end_of_stream) return end();
        if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
            return write(refusal(http::status::request_header_fields_too_large, "too large"), true);
        if (failed &&
            failed.category() == http::make_error_code(http::error::bad_method).category())
            return write(refusal(http::status::bad_request, failed.message()), true);
        if (failed) return; // it went away, or was too slow
        try {
            response told = answer_to(parser_->get(), source_);
            write(std::move(told), parser_->get().method() != http::verb::head);
        } catch (const std::exception& problem) {
            write(refusal(http::status::internal_server_error, problem.what()), true);
        }
    }

    void write(response answer, bool with_body) {
        answer_ = std::move(answer);
        answer_.prepare_payload();
        if (!with_body) answer_.body().clear(); // the length stays
        stream_.expires_after(source_.limits.patience);
        http::async_write(stream_, answer_,
                          [self = shared_from_this()](beast::error_code failed, std::size_t) {
                              if (failed) return;
                              if (!self->answer_.keep_alive()) return self->end();
                              self->read();
                          });
    }

    void end() {
        beast::error_code ignored; // nothing is to come
        stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    }

    beast::tcp_stream stream_;
    page_source& source_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::empty_body>> parser_;
    response answer_;
};

} // namespace

listen_address listen_address::parse(const std::string& text) {
    const endpoint_name named = parse_endpoint(text);
    boost::system::error_code failed;
    static_cast<void>(asio::ip::make_address(named.host, failed));
    if (failed)
        throw usage_error("\"" + text +
                          "\" is no address to listen at: the host is to be a "
                          "number, such as 127.0.0.1 or [::1]");
    return {named.host, static_cast<std::uint16_t>(std::stoul(named.port))};
}

class metrics_server::listener {
public:
    listener(const listen_address& at, std::function<std::string()> page,
             const metrics_server_limits& limits)
        : source_{std::move(page), limits}, acceptor_(context_) {
        try {
            const tcp::endpoint place(asio::ip::make_address(at.host), at.port);
            acceptor_.open(place.protocol());
            acceptor_.set_option(asio::socket_base::reuse_address(true));
            acceptor_.bind(place);
            acceptor_.listen();
        } catch (const boost::system::system_error& failed) {
            throw io_error(in_words(endpoint_name{at.host, std::to_string(at.port)}) +
                           ": cannot listen there: " + failed.code().message() +
                           "; name an address of this machine and a port that is free");
        }
        place_ = acceptor_.local_endpoint();
        accept();
        thread_ = trace::quiet_thread("metrics", [this] { work(); });
    }
    ~listener() {
        context_.stop();
        thread_.join();
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    [[nodiscard]] tcp::endpoint place() const { return place_; }

private:
    /// Whatever goes wrong costs no more than what was under way: the process has better to do.
    void work() {
        while (!context_.stopped()) {
            try {
                if (!is_accepting_) accept_later();
                context_.run();
            } catch (const std::exception& problem) {
                spdlog::error("metrics: {}", problem.what());
            }
        }
    }
    void accept() {
        is_accepting_ = true;
        acceptor_.async_accept([this](beast::error_code failed, tcp::socket socket) {
            is_accepting_ = false;
            if (failed == asio::error::operation_aborted) return;
            if (failed) return accept_later(); // out of descriptors, most likely
            if (source_.connections < source_.limits.connections)
                std::make_shared<connection>(std::move(socket), source_)->read();
            accept();
        });
    }
    void accept_later() {
        retry_.expires_after(std::chrono::milliseconds(100));
        retry_.async_wait([this](beast::error_code failed) {
            if (!failed) accept();
        });
    }

    page_source source_;
    asio::io_context context_{1}; ///< with the connections, which use the source
    tcp::acceptor acceptor_;
    asio::steady_timer retry_{context_};
    tcp::endpoint place_;
    bool is_accepting_ = false; ///< the thread's, once it runs
    std::thread thread_;
};

metrics_server::metrics_server(const listen_address& at, std::function<std::string()> page,
                               const metrics_server_limits& limits)
    : listener_(std::make_unique<listener>(at, std::move(page), limits)) {}

metrics_server::~metrics_server() = default;

std::uint16_t metrics_server::port() const {
    return listener_->place().port();
}

std::string metrics_server::address() const {
    const tcp::endpoint place = listener_->place();
    return in_words(endpoint_name{place.address().to_string(), std::to_string(place.port())});
}

} // namespace chainbase::driver
