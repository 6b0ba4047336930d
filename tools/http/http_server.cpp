#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/endpoint_name.hpp>
#include <tools/http/http_server.hpp>
#include <tools/message_limit.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase {

namespace ip = boost::asio::ip;

listen_address listen_address::parse(const std::string& text) {
    const endpoint_name named = parse_endpoint(text);
    boost::system::error_code failed;
    static_cast<void>(ip::make_address(named.host, failed));
    if (failed)
        throw usage_error("\"" + text +
                          "\" is not an address to listen at: the host must be a number, such as "
                          "127.0.0.1 or [::1]");
    return {named.host, static_cast<std::uint16_t>(std::stoul(named.port))};
}

bool listen_address::is_loopback() const {
    return ip::make_address(host).is_loopback();
}

bool listen_address::is_any() const {
    return ip::make_address(host).is_unspecified();
}

std::string listen_address::text() const {
    return in_words(endpoint_name{host, std::to_string(port)});
}

namespace {

/// ASCII only, whatever the locale.
char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_same_name(std::string_view one, std::string_view other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

} // namespace

std::string_view http_request::path() const noexcept {
    const std::string_view all = target;
    return all.substr(0, all.find('?'));
}

std::string_view http_request::query() const noexcept {
    const std::size_t mark = target.find('?');
    return mark == std::string::npos ? std::string_view()
                                     : std::string_view(target).substr(mark + 1);
}

std::vector<std::string_view> http_request::values(std::string_view name) const {
    std::vector<std::string_view> found;
    for (const auto& [field, value] : fields)
        if (is_same_name(field, name)) found.push_back(value);
    return found;
}

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

/// The server's interface to its connections.
struct answer_source {
    class connections;

    http_server::handler answer;
    http_options options;
    std::shared_ptr<connections> all;
};

namespace {

using received = http::request<http::empty_body>;
using response = http::response<http::string_body>;

std::string text_of(beast::string_view view) {
    return {view.data(), view.size()};
}

http_request request_of(const received& from) {
    http_request request{text_of(from.method_string()), text_of(from.target()), {}};
    for (const auto& field : from)
        request.fields.emplace_back(text_of(field.name_string()), text_of(field.value()));
    return request;
}

response response_of(http_answer answer) {
    response made(http::int_to_status(answer.status), 11, std::move(answer.body));
    made.set(http::field::content_type, answer.type);
    for (const auto& [name, value] : answer.fields)
        made.set(name, value);
    return made;
}

response refusal(http::status status, std::string text) {
    response answer = response_of({static_cast<unsigned>(status), "text/plain", text + "\n", {}});
    answer.keep_alive(false);
    return answer;
}

response answer_to(const received& request, const answer_source& source) {
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
        response refused = refusal(http::status::method_not_allowed, "only GET and HEAD");
        refused.set(http::field::allow, "GET, HEAD");
        return refused;
    }
    response answer = response_of(source.answer(request_of(request)));
    answer.version(request.version());
    answer.keep_alive(request.keep_alive());
    return answer;
}

} // namespace

class http_connection;

/// The counted connections of a server. Thread-safe.
class answer_source::connections {
public:
    /// What a connection waits for; those waiting for a request are closed first.
    enum class waits_for { request, client_to_read, handler };

    /// Adds a connection. Returns false when the limit is reached and no other connection can be
    /// closed.
    [[nodiscard]] bool add(http_connection& one, const ip::address& from,
                           const http_limits& limits);
    void note(const http_connection& one, waits_for what) {
        const std::lock_guard held(mutex_);
        for (listed& each : listed_)
            if (each.one == &one) each = {each.one, each.from, what, clock::now()};
    }
    void remove(const http_connection& one) {
        const std::lock_guard held(mutex_);
        std::erase_if(listed_, [&](const listed& each) { return each.one == &one; });
    }

private:
    using clock = std::chrono::steady_clock;

    struct listed {
        http_connection* one;
        ip::address from;
        waits_for what = waits_for::request;
        clock::time_point since = clock::now();
    };

    /// Removes the longest-waiting connection for which may_go is true; null when there is none.
    template <typename MayGo>
    [[nodiscard]] http_connection* take_oldest(MayGo may_go);

    std::mutex mutex_;
    std::vector<listed> listed_;
};

/// One connection: request, answer, and so on. Keeps itself alive while an operation is pending.
/// Its socket is on a strand.
class http_connection : public std::enable_shared_from_this<http_connection> {
public:
    http_connection(tcp::socket socket, answer_source& source)
        : stream_(std::move(socket)), source_(source), all_(source.all),
          buffer_(2 * source.options.limits.header_bytes) {}
    ~http_connection() { all_->remove(*this); }
    http_connection(const http_connection&) = delete;
    http_connection& operator=(const http_connection&) = delete;

    void start() {
        asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->read(); });
    }
    /// Closes it; callable from any thread.
    void close() {
        asio::post(stream_.get_executor(), [self = shared_from_this()] { self->stream_.close(); });
    }

private:
    using waits_for = answer_source::connections::waits_for;

    void read() {
        const http_limits& limits = source_.options.limits;
        all_->note(*this, waits_for::request);
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(limits.header_bytes));
        parser_->body_limit(0);
        stream_.expires_after(limits.patience);
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](beast::error_code failed, std::size_t) {
                             self->answer(failed);
                         });
    }

    void answer(beast::error_code failed) {
        if (failed == http::error::end_of_stream) return end();
        if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
            return write(refusal(http::status::request_header_fields_too_large, "too large"), true);
        if (failed == http::error::body_limit || failed == http::error::unexpected_body)
            return write(refusal(http::status::payload_too_large, "a request body is not accepted"),
                         true);
        if (failed &&
            failed.category() == http::make_error_code(http::error::bad_method).category())
            return write(refusal(http::status::bad_request, failed.message()), true);
        if (failed) return;      // disconnected, or too slow
        stream_.expires_never(); // no limit while the handler runs
        all_->note(*this, waits_for::handler);
        try {
            response told = answer_to(parser_->get(), source_);
            write(std::move(told), parser_->get().method() != http::verb::head);
        } catch (const std::exception& problem) {
            write(refusal(http::status::internal_server_error, problem.what()), true);
        }
    }

    void write(response answer, bool with_body) {
        answer_ = std::move(answer);
        for (const auto& [name, value] : source_.options.always)
            answer_.set(name, value);
        answer_.prepare_payload();
        if (!with_body) answer_.body().clear(); // the length header stays
        all_->note(*this, waits_for::client_to_read);
        stream_.expires_after(source_.options.limits.patience);
        http::async_write(stream_, answer_,
                          [self = shared_from_this()](beast::error_code failed, std::size_t) {
                              if (failed) return;
                              if (!self->answer_.keep_alive()) return self->end();
                              self->read();
                          });
    }

    void end() {
        beast::error_code ignored; // nothing follows
        stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    }

    beast::tcp_stream stream_;
    answer_source& source_;
    std::shared_ptr<answer_source::connections> all_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::empty_body>> parser_;
    response answer_;
};

template <typename MayGo>
http_connection* answer_source::connections::take_oldest(MayGo may_go) {
    auto oldest = listed_.end();
    for (auto at = listed_.begin(); at != listed_.end(); ++at)
        if (at->what != waits_for::handler && may_go(*at) &&
            (oldest == listed_.end() ||
             std::pair(at->what, at->since) < std::pair(oldest->what, oldest->since)))
            oldest = at;
    if (oldest == listed_.end()) return nullptr;
    http_connection* const taken = oldest->one;
    listed_.erase(oldest);
    return taken;
}

bool answer_source::connections::add(http_connection& one, const ip::address& from,
                                     const http_limits& limits) {
    // Released after the lock: the last owner's destructor takes it off the list.
    std::vector<std::shared_ptr<http_connection>> to_close;
    const std::lock_guard held(mutex_);
    const auto make_room = [&](auto may_go) {
        http_connection* const oldest = take_oldest(may_go);
        if (oldest == nullptr) return false;
        if (auto alive = oldest->weak_from_this().lock()) {
            alive->close();
            to_close.push_back(std::move(alive));
        }
        return true;
    };
    const auto is_near = [&](const listed& other) { return other.from == from; };
    const auto near = std::ranges::count_if(listed_, is_near);
    if (std::cmp_greater_equal(near, limits.connections_per_address) && !make_room(is_near))
        return false;
    if (listed_.size() >= limits.connections && !make_room([](const listed&) { return true; }))
        return false;
    listed_.push_back({&one, from});
    return true;
}

class http_server::listener {
public:
    listener(const listen_address& at, const http_options& options)
        : source_{{}, options, std::make_shared<answer_source::connections>()},
          problems_(options.name + ": errors"), context_(static_cast<int>(options.threads)),
          acceptor_(asio::make_strand(context_)) {
        try {
            const tcp::endpoint place(asio::ip::make_address(at.host), at.port);
            acceptor_.open(place.protocol());
            acceptor_.set_option(asio::socket_base::reuse_address(true));
            acceptor_.bind(place);
            acceptor_.listen();
        } catch (const boost::system::system_error& failed) {
            throw io_error(at.text() + ": cannot listen there: " + failed.code().message() +
                           "; name an address of this machine and a port that is free");
        }
        place_ = acceptor_.local_endpoint();
    }
    ~listener() { stop(); }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    void serve(handler answer) {
        source_.answer = std::move(answer);
        accept();
        try {
            for (std::size_t t = 0; t < source_.options.threads; ++t)
                threads_.push_back(
                    background_thread(source_.options.name.c_str(), [this] { work(); }));
        } catch (...) {
            stop();
            throw;
        }
    }
    [[nodiscard]] tcp::endpoint place() const { return place_; }

private:
    void stop() {
        context_.stop();
        for (std::thread& one : threads_)
            one.join();
        threads_.clear();
    }

    /// An error ends only the connection at hand, never the process.
    void work() {
        while (!context_.stopped()) {
            try {
                if (!is_accepting_) accept_later();
                context_.run();
            } catch (const std::exception& problem) {
                problems_.say(message_limit::level::error,
                              source_.options.name + ": " + problem.what());
            }
        }
    }
    void accept() {
        is_accepting_ = true;
        acceptor_.async_accept(asio::make_strand(context_),
                               [this](beast::error_code failed, tcp::socket socket) {
                                   is_accepting_ = false;
                                   if (failed == asio::error::operation_aborted) return;
                                   if (failed)
                                       return accept_later(); // most likely out of file descriptors
                                   welcome(std::move(socket));
                                   accept();
                               });
    }
    void welcome(tcp::socket socket) {
        beast::error_code gone;
        const tcp::endpoint from = socket.remote_endpoint(gone);
        if (gone) return;
        const auto made = std::make_shared<http_connection>(std::move(socket), source_);
        if (source_.all->add(*made, from.address(), source_.options.limits)) made->start();
    }
    void accept_later() {
        is_accepting_ = true; // set early, so that no other thread accepts too
        retry_.expires_after(std::chrono::milliseconds(100));
        retry_.async_wait([this](beast::error_code failed) {
            if (!failed) accept();
        });
    }

    answer_source source_;
    message_limit problems_;
    asio::io_context context_; ///< destroyed with its connections, which use the source
    tcp::acceptor acceptor_;
    asio::steady_timer retry_{acceptor_.get_executor()};
    tcp::endpoint place_;
    /// Whether an accept is pending; false after its handler threw.
    std::atomic<bool> is_accepting_{false};
    std::vector<std::thread> threads_;
};

http_server::http_server(const listen_address& at, const http_options& options)
    : listener_(std::make_unique<listener>(at, options)) {}

http_server::~http_server() = default;

void http_server::serve(handler answer) {
    listener_->serve(std::move(answer));
}

listen_address http_server::address() const {
    const tcp::endpoint place = listener_->place();
    return {place.address().to_string(), place.port()};
}

} // namespace chainbase
