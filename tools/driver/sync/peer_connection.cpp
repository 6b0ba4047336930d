#include <tools/driver/sync/peer_connection.hpp>

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace chainbase::driver {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using clock = std::chrono::steady_clock;
using severity = peer_error::severity;

namespace {

constexpr std::size_t min_room = std::size_t{256} << 10;

} // namespace

/// State shared with a thread that resolves a name. Nobody waits for that thread: the system may
/// take minutes, and cannot be interrupted.
struct peer_connection::name_lookup {
    std::mutex mutex;
    asio::io_context* asked_by = nullptr; ///< null: the result is no longer wanted
    std::function<void(error_code)> done; ///< runs in the asking thread; called at most once
    tcp::resolver::results_type found;

    static void begin(const std::shared_ptr<name_lookup>& self, const endpoint_name& name) {
        std::thread([self, name] {
            asio::io_context own;
            tcp::resolver resolver(own);
            error_code failure;
            auto found = resolver.resolve(name.host, name.port, failure);
            const std::lock_guard held(self->mutex);
            if (self->asked_by == nullptr) return;
            self->found = std::move(found);
            asio::post(*self->asked_by, [self, failure] { self->end(failure); });
        }).detach();
    }
    void end(error_code how) {
        if (done) std::exchange(done, nullptr)(how);
    }
    void abandon() {
        const std::lock_guard held(mutex);
        asked_by = nullptr;
    }
};

peer_connection::peer_connection(asio::io_context& context, endpoint_name to, const limits& bounds,
                                 std::atomic<std::uint64_t>& received)
    : context_(context), socket_(context), to_(std::move(to)), name_(in_words(to_)),
      bounds_(bounds), received_(received) {}

/// Starts one operation, begin(done), and waits for done(error) or the timeout.
template <typename Begin>
void peer_connection::run(Begin begin, clock::time_point until, const char* what,
                          const std::string& failed) {
    bool is_done = false;
    error_code result;
    begin([&](error_code failure) {
        is_done = true;
        result = failure;
    });
    context_.restart();
    while (!is_done && clock::now() < until && context_.run_one_until(until) != 0)
        ;
    const bool was_slow = !is_done;
    if (was_slow) {
        cancel();
        context_.restart();
        while (!is_done && context_.run_one() != 0)
            ;
    }
    if (was_slow) fail(severity::transient, std::string("too slow ") + what);
    if (result == asio::error::eof) fail(severity::transient, "hung up");
    if (result) fail(severity::transient, failed + " (" + result.message() + ")");
}
/// Reads until that many bytes of the next frame are there, each piece within the silence
/// limit.
void peer_connection::have(std::size_t size, clock::time_point until) {
    while (end_ - begin_ < size) {
        make_room(size);
        std::size_t got = 0;
        run(
            [&](auto done) {
                socket_.async_read_some(asio::buffer(buffer_.data() + end_, buffer_.size() - end_),
                                        [&got, done](error_code failure, std::size_t n) mutable {
                                            got = n;
                                            done(failure);
                                        });
            },
            std::min(until, clock::now() + bounds_.silence), "to send");
        end_ += got;
        received_ += got;
    }
}
/// Makes room for the next piece. At most doubles the buffer: a claimed length alone takes no
/// memory.
void peer_connection::make_room(std::size_t size) {
    if (begin_ == end_) begin_ = end_ = 0;
    if (buffer_.size() - end_ >= min_room / 4) return;
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    }
    if (buffer_.size() - end_ >= min_room / 4) return;
    const std::size_t wanted = std::max(size, end_ + min_room);
    buffer_.resize(std::min(wanted, std::max(2 * buffer_.size(), min_room)));
}

tcp::resolver::results_type peer_connection::look_up(clock::time_point until) {
    const auto lookup = std::make_shared<name_lookup>();
    struct registration {
        peer_connection& of;
        ~registration() { std::exchange(of.lookup_, nullptr)->abandon(); }
    } const registered{*this};
    lookup_ = lookup;
    lookup->asked_by = &context_;
    // keeps the context running without other work
    const auto stay = asio::make_work_guard(context_);
    run(
        [&](auto done) {
            lookup->done = done;
            name_lookup::begin(lookup, to_);
        },
        until, "while its name was looked up");
    return lookup->found;
}

void peer_connection::connect() {
    const auto until = clock::now() + bounds_.connect;
    const tcp::resolver::results_type found = look_up(until);
    run(
        [&](auto done) {
            asio::async_connect(
                socket_, found,
                [done](error_code failure, const tcp::endpoint&) mutable { done(failure); });
        },
        until, "to connect", "cannot connect");
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
}
void peer_connection::send(const bytes& frame) {
    run(
        [&](auto done) {
            asio::async_write(socket_, asio::buffer(frame),
                              [done](error_code failure, std::size_t) mutable { done(failure); });
        },
        clock::now() + bounds_.connect, "to take what was sent");
}

void peer_connection::send_beside(bytes frame) {
    next_beside_ = std::move(frame);
    if (beside_.empty()) write_beside();
}
void peer_connection::write_beside() {
    beside_ = std::exchange(next_beside_, {});
    asio::async_write(socket_, asio::buffer(beside_), [this](error_code failure, std::size_t) {
        beside_.clear();
        if (failure)
            cancel();
        else if (!next_beside_.empty())
            write_beside();
    });
}

hello_message peer_connection::greet(const std::string& chain) {
    send(framed(hello_message{chain, {}, {}}));
    const frame first = next();
    if (first.type == wire::message::refusal) fail_refused(first.payload);
    if (first.type != wire::message::hello) fail(severity::fault, "begins without a hello");
    return named([&] { return read_hello(first.payload); });
}

peer_connection::frame peer_connection::next() {
    begin_ += frame_;
    taken_ += std::exchange(frame_, 0);
    constexpr std::size_t header = sizeof(wire::frame_header);
    const auto at = [&] { return byte_view(buffer_).subspan(begin_); };
    have(header, clock::now() + bounds_.silence);
    const frame_start start = named([&] { return read_frame_start(at().first(header)); });
    have(header + start.payload_bytes, clock::now() + bounds_.frame);
    const byte_view payload = at().subspan(header, start.payload_bytes);
    named([&] { require_checksum(start, payload); });
    frame_ = header + start.payload_bytes;
    return {start.type, payload};
}

void peer_connection::cancel() {
    error_code ignored;
    if (lookup_) lookup_->end(asio::error::operation_aborted);
    socket_.close(ignored);
}

void peer_connection::fail(severity how, const std::string& what) const {
    const bool sent_nothing = taken_ == 0 && end_ == 0;
    const std::string where =
        sent_nothing ? "" : ", byte " + std::to_string(taken_) + " of what it sent";
    throw peer_error(how, "peer " + name_ + where + ": " + what);
}

void peer_connection::fail_refused(byte_view payload) const {
    using wire::refusal_reason;
    const refusal_message said = named([&] { return read_refusal(payload); });
    const bool may_change = said.reason == refusal_reason::busy ||
                            said.reason == refusal_reason::too_slow ||
                            said.reason == refusal_reason::ending;
    fail(may_change ? severity::transient : severity::lasting,
         "it refuses: \"" + said.text + "\"" +
             (said.reason == refusal_reason::no_common_block
                  ? "; name a peer of the chain that the state is of, or sync into another "
                    "folder"
                  : ""));
}

} // namespace chainbase::driver
