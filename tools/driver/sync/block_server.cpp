#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/block_log/branch_file.hpp>
#include <tools/driver/open_log.hpp>
#include <tools/driver/sync/serve.hpp>
#include <tools/message_limit.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::driver {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using wire::message;
using wire::refusal_reason;

namespace {

/// Interval at which a connection checks for new blocks.
constexpr std::chrono::milliseconds look_again{20};
/// And for more of the feed: a standby is behind by no more.
constexpr std::chrono::milliseconds look_at_feed{1};

} // namespace

/// One client of a block_server, starting with its hello:
///
///     read hello -> write hello -> read request -> write frames ... caught up -> keepalives
///                               ^-> read snapshot_request -> look through the file -> write it
///                               '-----------------------------------------------------'
///                               -> read feed_request -> write parts and states ...
///                                                       read feed_keep, beside that
///
/// One read or write is under way at a time, each limited by a timer. After its request the client
/// sends nothing: a read waits for it to disconnect. Only a client of the feed says, at any time,
/// what it does not need any more: that is looked at between two writes, and the next one read
/// then.
class server_connection : public std::enable_shared_from_this<server_connection> {
public:
    enum class end { refused, finished, gone };

    /// The server's interface to its connections.
    class host {
    public:
        virtual ~host() = default;
        /// Blocks of the chain available now.
        [[nodiscard]] virtual std::size_t available() const = 0;
        virtual void sent(std::uint64_t blocks, std::uint64_t bytes) = 0;
        virtual void sent_file() = 0; ///< of the snapshot, the last part of it
        /// `one` serves the feed to the client of this name: hangs up on an earlier connection.
        virtual void begins_feed(const server_connection& one, const std::string& client) = 0;
        /// Logs within the server's message limit.
        virtual void say(message_limit::level how, const std::string& text) = 0;
        /// Called once for each started connection.
        virtual void ended(const std::shared_ptr<server_connection>& one, end how) = 0;
    };

    server_connection(tcp::socket socket, std::string name, const block_server::offers& what,
                      const block_server::options& how, host& server)
        : socket_(std::move(socket)), limit_(socket_.get_executor()),
          pause_(socket_.get_executor()), name_(std::move(name)), what_(what), how_(how),
          server_(server) {
        code ignored;
        socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    }

    void start() {
        is_counted_ = true;
        read_frame(message::hello, {}, how_.hello_limit,
                   [this](message, byte_view payload) { take_hello(payload); });
    }
    /// Refuses it because of the connection limit, and disconnects.
    void reject_connection() {
        refuse(refusal_reason::busy, "this server accepts no more connections, or no more from "
                                     "one address; try later");
    }
    void hang_up() { finish(end::refused); }
    /// The client to which it serves the feed; empty: none.
    [[nodiscard]] std::string client_of_feed() const { return feed_ ? feed_->client() : ""; }
    /// Whether it has not sent its hello yet.
    [[nodiscard]] bool is_silent() const noexcept { return is_counted_ && !has_said_hello_; }
    void close() {
        is_over_ = true;
        code ignored;
        socket_.close(ignored);
        limit_.cancel();
        pause_.cancel();
    }

private:
    using socket = boost::asio::ip::tcp::socket;
    using code = boost::system::error_code;

    /// `others`: may come in place of `expected`.
    template <typename Then>
    void read_frame(message expected, std::vector<message> others, std::chrono::milliseconds within,
                    Then then) {
        limit(within, "to say what it wants");
        asio::async_read(socket_, asio::buffer(header_),
                         [self = shared_from_this(), expected, others = std::move(others),
                          then](code failure, std::size_t) {
                             if (failure) return self->finish(end::gone);
                             self->guarded([&] {
                                 const frame_start start = read_frame_start(self->header_);
                                 const bool is_other =
                                     std::ranges::find(others, start.type) != others.end();
                                 self->read_payload(start, is_other ? start.type : expected, then);
                             });
                         });
    }
    template <typename Then>
    void read_payload(frame_start start, message expected, Then then) {
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
                                 then(start.type, self->in_);
                             });
                         });
    }
    template <typename Then>
    void write(bytes frame, Then then) {
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
    /// An exception in a step ends this connection only.
    template <typename Work>
    void guarded(Work work) {
        if (is_over_) return;
        try {
            work();
        } catch (const peer_error& problem) {
            refuse(problem.how() == peer_error::severity::lasting ? refusal_reason::wrong_version
                                                                  : refusal_reason::malformed,
                   problem.what());
        } catch (const refusal_error& problem) {
            refuse(problem.why(), problem.what());
        } catch (const std::exception& problem) {
            say(level::error, problem.what());
            refuse(refusal_reason::ending, "the server cannot read what it serves");
        }
    }
    void limit(std::chrono::milliseconds time, const char* what) {
        limit_.expires_after(time);
        limit_.async_wait([self = shared_from_this(), what, time](code ended) {
            if (ended || self->is_over_ ||
                self->limit_.expiry() > asio::steady_timer::clock_type::now())
                return;
            self->say(level::warning,
                      fmt::format("took more than {} ms {}; hung up", time.count(), what));
            self->finish(end::refused);
        });
    }

    void take_hello(byte_view payload) {
        const hello_message said = read_hello(payload);
        has_said_hello_ = true;
        if (!said.chain.empty() && said.chain != what_.chain())
            return refuse(refusal_reason::wrong_chain,
                          "this server has blocks of " + what_.chain() + ", not of " + said.chain);
        hello_message own{what_.chain(), {}, {}};
        if (what_.blocks) own = what_.blocks->hello(server_.available());
        own.has_snapshot = what_.snapshot != nullptr;
        own.has_feed = what_.feed != nullptr;
        own.may_take_over = what_.feed && what_.feed->may_take_over();
        write(framed(own), [this] { read_question(); });
    }
    void read_question() {
        std::vector<message> others;
        if (what_.snapshot) others.push_back(message::snapshot_request);
        if (what_.feed) others.push_back(message::feed_request);
        read_frame(message::request, std::move(others), how_.request_limit,
                   [this](message type, byte_view payload) {
                       if (type == message::request)
                           take_request(payload);
                       else if (type == message::snapshot_request)
                           take_snapshot_request(payload);
                       else
                           take_feed_request(payload);
                   });
    }
    void take_feed_request(byte_view payload) {
        const feed_request_message asked = read_feed_request(payload);
        server_.begins_feed(*this, asked.name);
        feed_ = std::make_unique<outgoing_feed>(*what_.feed, asked);
        say(level::info, "follows the feed as " + asked.name);
        read_keep();
        send_feed();
    }
    void read_keep() {
        asio::async_read(socket_, asio::buffer(keep_),
                         [self = shared_from_this()](code failure, std::size_t) {
                             if (failure) return self->finish(end::gone);
                             self->has_kept_ = true;
                         });
    }
    void send_feed() {
        if (std::exchange(has_kept_, false)) {
            const frame_start start = read_frame_start(keep_);
            const byte_view payload = byte_view(keep_).subspan(sizeof(wire::frame_header));
            if (start.type != message::feed_keep || start.payload_bytes != payload.size())
                throw peer_error(peer_error::severity::fault,
                                 "sends something else than what it needs of the feed");
            require_checksum(start, payload);
            feed_->take(read_feed_keep(payload));
            read_keep();
        }
        std::optional<bytes> frame = feed_->next_frame(how_.keepalive);
        if (frame) {
            server_.sent(0, frame->size());
            return write(std::move(*frame), [this] { send_feed(); });
        }
        pause_.expires_after(look_at_feed);
        pause_.async_wait([self = shared_from_this()](code ended) {
            if (!ended) self->guarded([&] { self->send_feed(); });
        });
    }
    void take_snapshot_request(byte_view payload) {
        const sha256_digest digest = read_snapshot_request(payload).digest;
        file_ = what_.snapshot->open(digest);
        if (!file_) return send_no_file("has no sound chunk " + hex(digest));
        asked_ = digest;
        look_at_file();
    }
    /// Between two looks others are served.
    void look_at_file() {
        using look = outgoing_file::look;
        const look found = file_->look_on();
        if (found == look::sound) return send_file();
        if (found == look::damaged)
            return send_no_file(hex(asked_) + " is damaged; get this file of the snapshot again");
        asio::post(socket_.get_executor(),
                   [self = shared_from_this()] { self->guarded([&] { self->look_at_file(); }); });
    }
    void send_file() {
        bytes frame = file_->next_frame();
        server_.sent(0, frame.size());
        write(std::move(frame), [this] {
            if (!file_->is_sent()) return send_file();
            file_.reset();
            server_.sent_file();
            read_question();
        });
    }
    void send_no_file(const std::string& why) {
        file_.reset();
        say(level::warning, "asked for a file of the snapshot: " + why);
        write(framed(snapshot_part_message{}), [this] { read_question(); });
    }
    void take_request(byte_view payload) {
        const request_message asked = read_request(payload);
        if (!what_.blocks)
            return refuse(refusal_reason::no_common_block,
                          "this server has no blocks (serve --block-log)");
        const served_chain& chain = *what_.blocks;
        const auto common = chain.common(asked);
        if (!common)
            return refuse(refusal_reason::no_common_block,
                          "of the blocks that you can go back to (" + in_words(asked.known.back()) +
                              " to " + in_words(asked.known.front()) +
                              ") this server has none; it has " +
                              in_words(chain.head(std::min<std::size_t>(1, chain.ids().count()))) +
                              " to " + in_words(chain.head(chain.ids().count())));
        cursor_.emplace(chain, *common);
        say(level::info, fmt::format("goes on after block {}", chain.head(*common).number));
        watch_for_end();
        send_next();
    }
    void send_next() {
        const std::size_t available = server_.available();
        const std::uint64_t before = cursor_->sent();
        std::optional<bytes> frame = cursor_->next_frame(how_.frame_bytes, available);
        if (!frame) return send_state(available);
        server_.sent(cursor_->sent() - before, frame->size());
        write(std::move(*frame), [this] { send_next(); });
    }
    /// Everything available was sent: sends caught_up once, then keepalives.
    void send_state(std::size_t available) {
        const bool is_end = available == what_.blocks->ids().count();
        const auto now = std::chrono::steady_clock::now();
        if (told_ != available) {
            told_ = available;
            write(framed(caught_up_message{what_.blocks->head(available), is_end}), [this, is_end] {
                has_all_ = is_end;
                wait_for_more();
            });
        } else if (now - last_write_ >= how_.keepalive) {
            write(framed_keepalive(), [this] { wait_for_more(); });
        } else {
            wait_for_more();
        }
    }
    void wait_for_more() {
        pause_.expires_after(has_all_ ? how_.keepalive : std::min(look_again, how_.keepalive));
        pause_.async_wait([self = shared_from_this()](code ended) {
            if (!ended) self->guarded([&] { self->send_next(); });
        });
    }
    void watch_for_end() {
        socket_.async_read_some(
            asio::buffer(beyond_), [self = shared_from_this()](code failure, std::size_t) {
                if (self->is_over_) return;
                if (!failure) self->say(level::warning, "sends more after its request; hung up");
                self->finish(failure ? end::gone : end::refused);
            });
    }
    /// Best effort: disconnects even if the client does not read the message.
    void refuse(refusal_reason reason, const std::string& text) {
        if (is_over_ || std::exchange(is_refusing_, true)) return;
        say(level::warning, "refused: " + text);
        out_ = framed(refusal_message{reason, text});
        limit(std::min(how_.write_limit, how_.hello_limit), "to take a refusal");
        asio::async_write(socket_, asio::buffer(out_),
                          [self = shared_from_this()](code, std::size_t) {
                              code ignored;
                              self->socket_.shutdown(socket::shutdown_send, ignored);
                              self->finish(end::refused);
                          });
    }
    void finish(end how) {
        if (is_over_) return;
        close();
        const bool was_counted = std::exchange(is_counted_, false);
        if (how == end::gone && has_all_) how = end::finished; // a write noticed it before the read
        if (was_counted) server_.ended(shared_from_this(), is_refusing_ ? end::refused : how);
    }

    using level = message_limit::level;
    void say(level how, const std::string& text) {
        server_.say(how, "client " + name_ + ": " + text);
    }

    socket socket_;
    boost::asio::steady_timer limit_;
    boost::asio::steady_timer pause_;
    std::string name_;
    const block_server::offers& what_;
    const block_server::options& how_;
    host& server_;
    std::optional<served_chain::cursor> cursor_;
    std::unique_ptr<outgoing_file> file_; ///< what it was asked for, until it is sent
    sha256_digest asked_{};
    std::unique_ptr<outgoing_feed> feed_; ///< of a client that follows the feed
    std::array<std::byte, sizeof(wire::frame_header) + sizeof(wire::feed_keep)> keep_{};
    bool has_kept_ = false; ///< keep_ is to be looked at
    std::array<std::byte, sizeof(wire::frame_header)> header_{};
    bytes in_;
    bytes out_;
    std::array<std::byte, 1> beyond_{};
    std::uint64_t told_ = UINT64_MAX; ///< the number of blocks in the last caught_up
    std::chrono::steady_clock::time_point last_write_{};
    bool is_counted_ = false; ///< counts towards the server's limit
    bool has_said_hello_ = false;
    bool is_over_ = false;
    bool is_refusing_ = false;
    bool has_all_ = false;
};

namespace {

tcp::endpoint resolved(asio::io_context& context, const endpoint_name& name) {
    error_code failure;
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(name.host, name.port, tcp::resolver::passive, failure);
    if (failure || found.empty())
        throw io_error(in_words(name) + ": cannot listen there (" + failure.message() +
                       "); name an address of this machine");
    return found.begin()->endpoint();
}

std::string in_words(const tcp::endpoint& at) {
    return in_words(endpoint_name{at.address().to_string(), std::to_string(at.port())});
}

} // namespace

struct block_server::parts : server_connection::host {
    offers what;
    options how;
    counters so_far;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    asio::io_context context{1};
    tcp::acceptor acceptor{context};
    asio::steady_timer pause{context};
    /// A connection and its address.
    struct client {
        std::shared_ptr<server_connection> connection;
        asio::ip::address from;
    };
    std::vector<client> connections; ///< the oldest first
    message_limit greetings{"clients that go on"};
    message_limit warnings{"clients that are refused or hung up on"};

    parts(const offers& what_, const options& how_) : what(what_), how(how_) {
        const tcp::endpoint at = resolved(context, how.listen);
        try {
            acceptor.open(at.protocol());
            acceptor.set_option(tcp::acceptor::reuse_address(true));
            acceptor.bind(at);
            acceptor.listen();
        } catch (const boost::system::system_error& problem) {
            throw io_error(in_words(at) + ": cannot listen there (" + problem.code().message() +
                           "); name another port, or 0 for any");
        }
        accept();
    }

    void accept() {
        acceptor.async_accept([this](error_code failure, tcp::socket socket) {
            if (failure == asio::error::operation_aborted) return;
            if (failure) return accept_later(failure);
            welcome(std::move(socket));
            accept();
        });
    }

    /// Most likely out of file descriptors: tries again when connections may have ended.
    void accept_later(error_code failure) {
        say(message_limit::level::warning,
            "cannot accept another connection (" + failure.message() + "); trying again");
        pause.expires_after(std::chrono::milliseconds(200));
        pause.async_wait([this](error_code ended) {
            if (!ended) accept();
        });
    }

    void welcome(tcp::socket socket) {
        ++so_far.connections;
        error_code failure;
        const tcp::endpoint from = socket.remote_endpoint(failure);
        if (failure) return; // disconnected already
        const bool has_room = make_room(from.address());
        const auto made = std::make_shared<server_connection>(std::move(socket), in_words(from),
                                                              what, how, *this);
        if (!has_room) return made->reject_connection();
        connections.push_back({made, from.address()});
        made->start();
    }
    /// Makes room for one more: at the limit, closes the oldest connection that sent no hello.
    [[nodiscard]] bool make_room(const asio::ip::address& address) {
        const auto is_near = [&](const client& one) { return one.from == address; };
        const auto near = std::ranges::count_if(connections, is_near);
        if (std::cmp_greater_equal(near, how.connections_per_address) && !close_silent(is_near))
            return false;
        return connections.size() < how.connections ||
               close_silent([](const client&) { return true; });
    }
    template <typename MayGo>
    [[nodiscard]] bool close_silent(MayGo may_go) {
        const auto oldest = std::ranges::find_if(connections, [&](const client& one) {
            return one.connection->is_silent() && may_go(one);
        });
        if (oldest == connections.end()) return false;
        const auto closed = oldest->connection;
        say(message_limit::level::warning,
            "a client that has sent no hello makes room for another; hung up");
        closed->hang_up(); // its callback takes it off the list
        return true;
    }

    [[nodiscard]] std::size_t available() const override {
        const std::size_t all = what.blocks->ids().count();
        if (!how.blocks_per_second) return all;
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        const double more = passed.count() * *how.blocks_per_second;
        const std::size_t left = all - std::min(how.there, all);
        return more >= static_cast<double>(left) ? all
                                                 : all - left + static_cast<std::size_t>(more);
    }
    void say(message_limit::level level, const std::string& text) override {
        (level == message_limit::level::info ? greetings : warnings).say(level, text);
    }
    void sent(std::uint64_t blocks, std::uint64_t bytes) override {
        so_far.blocks += blocks;
        so_far.bytes += bytes;
    }
    void sent_file() override { ++so_far.snapshot_files; }
    void begins_feed(const server_connection& one, const std::string& name) override {
        const auto former = std::ranges::find_if(connections, [&](const client& each) {
            return each.connection.get() != &one && each.connection->client_of_feed() == name;
        });
        if (former == connections.end()) return;
        const auto closed = former->connection;
        say(message_limit::level::warning,
            "a client that follows the feed as " + name + " came again; hung up on the former one");
        closed->hang_up();
    }
    void ended(const std::shared_ptr<server_connection>& one, server_connection::end how) override {
        so_far.refused += how == server_connection::end::refused ? 1 : 0;
        so_far.finished += how == server_connection::end::finished ? 1 : 0;
        std::erase_if(connections, [&](const client& each) { return each.connection == one; });
    }
};

std::string block_server::offers::chain() const {
    return blocks ? blocks->log().chain() : snapshot ? snapshot->manifest().chain : "";
}

block_server::block_server(const offers& what, const options& how)
    : parts_(std::make_unique<parts>(what, how)) {}

block_server::~block_server() {
    for (const parts::client& one : parts_->connections)
        one.connection->close();
    parts_->acceptor.close();
    parts_->pause.cancel();
    parts_->context.restart();
    parts_->context.poll(); // completes pending operations, and with them the connections
}

std::uint16_t block_server::port() const {
    return parts_->acceptor.local_endpoint().port();
}

std::string block_server::address() const {
    return in_words(parts_->acceptor.local_endpoint());
}

void block_server::run_for(std::chrono::milliseconds time) {
    parts_->context.restart();
    parts_->context.run_for(time);
}

const block_server::counters& block_server::so_far() const noexcept {
    return parts_->so_far;
}

namespace {

std::vector<losing_branch> branches_of(const serve_options& options, const std::string& chain) {
    std::vector<losing_branch> all = options.branches;
    if (options.forks.empty()) return all;
    branch_file_reader file(options.forks, chain);
    while (const auto next = file.next()) {
        losing_branch one{next->forks_after, {}};
        for (const block& each : next->blocks)
            one.blocks.push_back(encode_block(each));
        all.push_back(std::move(one));
    }
    return all;
}

const trace::gauge connections("serve.connections");
const trace::gauge refused("serve.refused");
const trace::gauge finished("serve.finished");
const trace::gauge blocks("serve.blocks");
const trace::gauge sent_bytes("serve.bytes");

void show(const block_server::counters& all) {
    connections.set(static_cast<double>(all.connections));
    refused.set(static_cast<double>(all.refused));
    finished.set(static_cast<double>(all.finished));
    blocks.set(static_cast<double>(all.blocks));
    sent_bytes.set(static_cast<double>(all.bytes));
}

/// The index behind the last block that is there from the start.
std::size_t there_from_start(const served_chain& chain, std::uint64_t head) {
    const auto index = chain.ids().index_of(head);
    if (!index)
        throw usage_error(chain.log().path().string() + " has no block " + std::to_string(head) +
                          " to begin with as the head; name one that it has");
    return *index + 1;
}

} // namespace

serve_report serve(const serve_options& options, const catch_interruption& signals,
                   const std::function<void(const serve_report&)>& ready) {
    if (options.block_log.empty() && !options.feed)
        throw usage_error("there is nothing to serve: name a block log with --block-log, or a "
                          "state whose feed is followed with --feed");
    block_server::options network = options.network;
    network.blocks_per_second = options.blocks_per_second;
    std::optional<served_chain> chain;
    if (!options.block_log.empty()) {
        const block_log_reader log = open_log(options.block_log);
        chain.emplace(log, branches_of(options, log.chain()));
        if (options.from_head != 0) network.there = there_from_start(*chain, options.from_head);
    }
    std::optional<served_snapshot> snapshot;
    if (options.snapshot)
        snapshot.emplace(*options.snapshot,
                         chain ? std::optional(chain->log().chain()) : std::nullopt,
                         options.snapshot_bases);
    std::optional<served_feed> feed;
    if (options.feed) feed.emplace(*options.feed, options.may_take_over);
    const block_server::offers what{chain ? &*chain : nullptr, snapshot ? &*snapshot : nullptr,
                                    feed ? &*feed : nullptr};
    block_server server(what, network);
    serve_report report;
    report.chain = what.chain();
    report.address = server.address();
    if (chain) report.head = chain->head(chain->ids().count());
    if (snapshot) report.snapshot = hex(snapshot->manifest().name());
    if (options.feed) report.feed = options.feed->string();
    ready(report);
    while (!signals.caught() && !(options.once && server.so_far().finished > 0)) {
        show(server.so_far());
        server.run_for(std::chrono::milliseconds(50));
    }
    show(server.so_far());
    report.served = server.so_far();
    report.interrupted = signals.caught();
    return report;
}

} // namespace chainbase::driver
