#include <pool_allocator/error.hpp>
#include <tools/driver/sync/server_connection.hpp>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace chainbase::driver {

namespace asio = boost::asio;
using wire::message;
using wire::refusal_reason;

namespace {

/// How often a connection looks whether blocks have appeared.
constexpr std::chrono::milliseconds look_again{20};

} // namespace

server_connection::server_connection(socket socket, std::string name, const served_chain& chain,
                                     const block_server::options& how, host& server)
    : socket_(std::move(socket)), limit_(socket_.get_executor()), pause_(socket_.get_executor()),
      name_(std::move(name)), chain_(chain), how_(how), server_(server) {
    code ignored;
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void server_connection::start() {
    is_counted_ = true;
    read_frame(message::hello, how_.hello_limit,
               [this](byte_view payload) { take_hello(payload); });
}

void server_connection::turn_away() {
    refuse(
        refusal_reason::busy,
        "this server has all the connections that it takes, or that it takes from one address; try "
        "later");
}

void server_connection::close() {
    is_over_ = true;
    code ignored;
    socket_.close(ignored);
    limit_.cancel();
    pause_.cancel();
}

// --- steps ---

/// Whatever goes wrong in a step costs this connection, and only it.
template <typename Work>
void server_connection::guarded(Work work) {
    if (is_over_) return;
    try {
        work();
    } catch (const peer_error& problem) {
        refuse(problem.how() == peer_error::severity::lasting ? refusal_reason::wrong_version
                                                              : refusal_reason::malformed,
               problem.what());
    } catch (const std::exception& problem) {
        spdlog::error("client {}: {}", name_, problem.what());
        refuse(refusal_reason::ending, "the server cannot read its block log");
    }
}

void server_connection::limit(std::chrono::milliseconds time, const char* what) {
    limit_.expires_after(time);
    limit_.async_wait([self = shared_from_this(), what, time](code ended) {
        if (ended || self->is_over_ ||
            self->limit_.expiry() > asio::steady_timer::clock_type::now())
            return;
        spdlog::warn("client {}: took more than {} ms {}; hung up", self->name_, time.count(),
                     what);
        self->finish(end::refused);
    });
}

template <typename Then>
void server_connection::read_frame(message expected, std::chrono::milliseconds within, Then then) {
    limit(within, "to say what it wants");
    asio::async_read(socket_, asio::buffer(header_),
                     [self = shared_from_this(), expected, then](code failure, std::size_t) {
                         if (failure) return self->finish(end::gone);
                         self->guarded([&] {
                             self->read_payload(read_frame_start(self->header_), expected, then);
                         });
                     });
}

template <typename Then>
void server_connection::read_payload(frame_start start, message expected, Then then) {
    if (start.type != expected || start.payload_bytes > wire::max_small_payload)
        throw peer_error(peer_error::severity::fault,
                         "a message of type " + std::to_string(std::uint32_t(start.type)) +
                             " where one of type " + std::to_string(std::uint32_t(expected)) +
                             " is due");
    in_.resize(start.payload_bytes);
    asio::async_read(socket_, asio::buffer(in_),
                     [self = shared_from_this(), start, then](code failure, std::size_t) {
                         if (failure) return self->finish(end::gone);
                         self->limit_.cancel();
                         self->guarded([&] {
                             require_checksum(start, self->in_);
                             then(self->in_);
                         });
                     });
}

template <typename Then>
void server_connection::write(bytes frame, Then then) {
    out_ = std::move(frame);
    limit(how_.write_limit, "to take what it asked for");
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this(), then](code failure, std::size_t) {
                          self->limit_.cancel();
                          if (failure) return self->finish(end::gone);
                          self->last_write_ = std::chrono::steady_clock::now();
                          self->guarded(then);
                      });
}

void server_connection::take_hello(byte_view payload) {
    const hello_message said = read_hello(payload);
    if (!said.chain.empty() && said.chain != chain_.log().chain())
        return refuse(refusal_reason::wrong_chain, "this server has blocks of " +
                                                       chain_.log().chain() + ", not of " +
                                                       said.chain);
    write(framed(chain_.hello(server_.available())), [this] {
        read_frame(message::request, how_.request_limit,
                   [this](byte_view request) { take_request(request); });
    });
}

void server_connection::take_request(byte_view payload) {
    const request_message asked = read_request(payload);
    const auto common = chain_.common(asked);
    if (!common)
        return refuse(refusal_reason::no_common_block,
                      "of the blocks that you can go back to (" + in_words(asked.known.back()) +
                          " to " + in_words(asked.known.front()) +
                          ") this server has none; it has " +
                          in_words(chain_.head(std::min<std::size_t>(1, chain_.ids().count()))) +
                          " to " + in_words(chain_.head(chain_.ids().count())));
    cursor_.emplace(chain_, *common);
    spdlog::info("client {}: goes on behind block {}", name_, chain_.head(*common).number);
    watch_for_end();
    send_next();
}

void server_connection::send_next() {
    const std::size_t available = server_.available();
    const std::uint64_t before = cursor_->sent();
    std::optional<bytes> frame = cursor_->next_frame(how_.frame_bytes, available);
    if (!frame) return send_state(available);
    server_.sent(cursor_->sent() - before, frame->size());
    write(std::move(*frame), [this] { send_next(); });
}

/// What there is was sent: says so once, and from then on that the server is still there.
void server_connection::send_state(std::size_t available) {
    const bool is_end = available == chain_.ids().count();
    const auto now = std::chrono::steady_clock::now();
    if (told_ != available) {
        told_ = available;
        write(framed(caught_up_message{chain_.head(available), is_end}), [this, is_end] {
            has_all_ = is_end;
            wait_for_more();
        });
    } else if (now - last_write_ >= how_.keepalive) {
        write(framed_keepalive(), [this] { wait_for_more(); });
    } else {
        wait_for_more();
    }
}

void server_connection::wait_for_more() {
    pause_.expires_after(has_all_ ? how_.keepalive : std::min(look_again, how_.keepalive));
    pause_.async_wait([self = shared_from_this()](code ended) {
        if (!ended) self->guarded([&] { self->send_next(); });
    });
}

void server_connection::watch_for_end() {
    socket_.async_read_some(
        asio::buffer(beyond_), [self = shared_from_this()](code failure, std::size_t) {
            if (self->is_over_) return;
            if (!failure)
                spdlog::warn("client {}: talks on after its request; hung up", self->name_);
            self->finish(failure ? end::gone : end::refused);
        });
}

// --- the end ---

/// Best effort: a client that does not read it is hung up on all the same.
void server_connection::refuse(refusal_reason reason, const std::string& text) {
    if (is_over_ || std::exchange(is_refusing_, true)) return;
    spdlog::warn("client {}: refused: {}", name_, text);
    out_ = framed(refusal_message{reason, text});
    limit(std::min(how_.write_limit, how_.hello_limit), "to take a refusal");
    asio::async_write(socket_, asio::buffer(out_), [self = shared_from_this()](code, std::size_t) {
        code ignored;
        self->socket_.shutdown(socket::shutdown_send, ignored);
        self->finish(end::refused);
    });
}

void server_connection::finish(end how) {
    if (is_over_) return;
    close();
    const bool was_counted = std::exchange(is_counted_, false);
    if (how == end::gone && has_all_) how = end::finished; // seen by a write before the read
    if (was_counted) server_.ended(shared_from_this(), is_refusing_ ? end::refused : how);
}

} // namespace chainbase::driver
