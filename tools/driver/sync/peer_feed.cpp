#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/driver/sync/peer_connection.hpp>
#include <tools/driver/sync/peer_feed.hpp>
#include <tools/message_limit.hpp>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace chainbase::driver {

using clock = std::chrono::steady_clock;
using severity = peer_error::severity;

namespace {

const trace::site frame_decode("driver.frame.decode");
const trace::site wait_for_peer("driver.wait.peer");
const trace::site wait_for_apply("driver.wait.apply");

/// The blocks of peers, one peer at a time; a separate thread reads, checks and decodes them.
///
///     peer -> socket -> network thread (checksum, decode, id) -> queue, bounded -> next()
///
/// Invariants: (1) runs of one connection come in their order, and none after the connection was
/// refused; (2) the queue holds at most `waiting_bytes` and `waiting_blocks` plus the one run that
/// exceeded them; a full queue stops reading and so, eventually, the peer; (3) before a connection
/// is asked for blocks, the queue holds no blocks of earlier connections, so that they are not
/// requested again; (4) when a peer fails, the next peer is tried, after a pause that doubles with
/// each consecutive failure.
class peer_feed final : public block_source {
public:
    using options = peer_options;

    explicit peer_feed(options how) : how_(std::move(how)) {
        if (how_.peers.empty())
            throw usage_error(
                "there is no source of blocks; name a peer with --peer HOST:PORT, or a log with "
                "--block-log");
        if (!how_.chain.empty()) decode_ = decoder_of(how_.chain);
        chain_ = how_.chain;
        for (const endpoint_name& one : how_.peers)
            peers_.emplace_back(one, how_.say_again);
        thread_ = std::thread([this] { work(); });
    }
    ~peer_feed() override {
        {
            const std::lock_guard held(mutex_);
            stopping_ = true;
        }
        room_.notify_all();
        boost::asio::post(context_, [this] {
            if (connection_) connection_->cancel();
        });
        thread_.join();
    }

    [[nodiscard]] block_source::event next(std::chrono::milliseconds patience) override {
        lock held(mutex_);
        if (queue_.empty() && !over_) {
            const trace::span timed(wait_for_peer);
            const auto begin = clock::now();
            came_.wait_for(held, patience, [&] { return !queue_.empty() || over_; });
            counters_.waited.for_blocks += clock::now() - begin;
        }
        if (queue_.empty() && over_) std::rethrow_exception(over_);
        if (queue_.empty()) return {};
        event first = std::move(queue_.front());
        queue_.pop_front();
        queued_bytes_ -= first.blocks.memory;
        queued_blocks_ -= first.blocks.blocks.size();
        held.unlock();
        room_.notify_one();
        return first;
    }
    void resume(const std::vector<block_place>& last_blocks) override {
        {
            const std::lock_guard held(mutex_);
            answer_ = last_blocks;
        }
        room_.notify_one();
    }
    void refuse(std::uint64_t sender, severity how, const std::string& reason) override {
        {
            const std::lock_guard held(mutex_);
            const auto found = std::ranges::find(last_connections_, sender, &connection_of::sender);
            if (found == last_connections_.end() || std::exchange(found->is_refused, true)) return;
            const bool is_late = sender != sender_ || is_noted_;
            if (is_late)
                late_refusals_.push_back({sender, how, reason});
            else
                refusal_ = {sender, how, reason};
            if (sender != sender_) return;
            std::erase_if(queue_, [&](const event& one) { return one.sender == sender; });
            queued_bytes_ = queued_blocks_ = 0;
        }
        room_.notify_one();
        boost::asio::post(context_, [this, sender] { // the connection may be gone by then
            if (connection_ && connected_ == sender) connection_->cancel();
        });
    }
    void mark_useful(std::uint64_t sender) override {
        const std::lock_guard held(mutex_);
        if (sender == sender_) is_praised_ = true;
    }
    void give_back(std::vector<std::shared_ptr<const decoded_block>> used) override {
        const std::lock_guard held(mutex_);
        std::ranges::move(used, std::back_inserter(used_));
    }
    [[nodiscard]] block_source::counters so_far() const override {
        const std::lock_guard held(mutex_);
        counters all = counters_;
        all.bytes = received_;
        return all;
    }

private:
    struct peer {
        peer(endpoint_name of, std::chrono::milliseconds say_again)
            : name(std::move(of)), warnings("failures of peer " + in_words(name), 10, say_again),
              greetings("connections to peer " + in_words(name), 10, say_again) {}

        endpoint_name name;
        unsigned failures = 0; ///< consecutive
        unsigned faults = 0;
        bool is_given_up = false;
        std::string last_failure;
        message_limit warnings;
        message_limit greetings;
    };
    struct refusal {
        std::uint64_t sender;
        peer_error::severity how;
        std::string reason;
    };
    /// Maps a connection to its peer.
    struct connection_of {
        std::uint64_t sender;
        peer* whose;
        bool is_refused = false;
    };
    using lock = std::unique_lock<std::mutex>;

    void work() {
        ::pthread_setname_np(::pthread_self(), "network");
        std::exception_ptr failure;
        try {
            try_peers();
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard held(mutex_);
        over_ = failure;
        came_.notify_one();
    }
    /// Runs until stopped. Throws when the last peer is given up.
    void try_peers() {
        for (std::size_t turn = 0; !must_end(); turn = (turn + 1) % peers_.size()) {
            note_late_refusals();
            if (std::ranges::all_of(peers_, &peer::is_given_up)) {
                std::string all;
                for (const peer& one : peers_)
                    all += (all.empty() ? "" : "; ") + one.last_failure;
                throw peer_error(severity::lasting,
                                 all +
                                     ". No peer is left; name another one, and the same call goes "
                                     "on where the state is");
            }
            peer& one = peers_[turn];
            if (one.is_given_up) continue;
            try {
                run_connection(one);
            } catch (const peer_error& problem) {
                if (must_end()) return;
                note_failure(one, problem);
                pause_after(one);
            }
        }
    }
    /// Returns only when stopped; otherwise throws.
    void run_connection(peer& one) {
        peer_connection with(context_, one.name, how_.limits, received_);
        struct registration {
            peer_connection*& slot;
            ~registration() { slot = nullptr; }
        } const registered{connection_ = &with};
        begin_connection(one);
        with.connect();
        shake_hands(with, one);
        is_caught_up_ = false;
        for (auto last_progress = clock::now(); !must_end();) {
            require_not_refused();
            const peer_connection::frame next = with.next();
            if (next.type == wire::message::blocks) take_blocks(with, next.payload);
            if (next.type == wire::message::caught_up) take_caught_up(with, next.payload);
            if (next.type == wire::message::refusal) with.fail_refused(next.payload);
            if (next.type != wire::message::blocks && next.type != wire::message::caught_up &&
                next.type != wire::message::keepalive)
                with.fail(severity::fault, "a message of a type that is not expected here");
            if (next.type != wire::message::keepalive || is_caught_up_)
                last_progress = clock::now();
            if (clock::now() - last_progress > how_.progress)
                with.fail(severity::transient, "no blocks for " +
                                                   std::to_string(how_.progress.count()) +
                                                   " ms, though it answers");
        }
    }
    /// Records faults in blocks of connections that had ended when they were applied.
    void note_late_refusals() {
        std::vector<std::pair<peer*, refusal>> late;
        {
            const std::lock_guard held(mutex_);
            for (refusal& one : std::exchange(late_refusals_, {}))
                for (const connection_of& past : last_connections_)
                    if (past.sender == one.sender) late.emplace_back(past.whose, std::move(one));
        }
        for (const auto& [whose, what] : late) {
            if (whose->is_given_up) continue;
            whose->last_failure = what.reason;
            judge(*whose, what.how);
        }
    }
    void begin_connection(peer& one) {
        constexpr std::size_t remembered = 8;
        const std::lock_guard held(mutex_);
        connected_ = ++sender_;
        last_connections_.push_back({sender_, &one});
        if (last_connections_.size() > remembered) last_connections_.pop_front();
        refusal_.reset();
        answer_.reset();
        is_noted_ = is_praised_ = false;
    }
    void shake_hands(peer_connection& with, peer& whose) {
        const hello_message said = with.greet(chain_);
        take_chain(with, said.chain);
        event asked;
        asked.what = event::kind::asks;
        asked.chain = said.chain;
        asked.head = said.last;
        push(std::move(asked), with);
        request_message request;
        {
            lock held(mutex_);
            room_.wait(held, [&] { return stopping_ || refusal_ || answer_; });
            if (stopping_ || refusal_) return;
            const std::vector<block_place>& known = *answer_;
            const std::size_t newest = std::min(known.size() - 1, wire::max_known_blocks - 1);
            request.known.assign(known.rbegin(),
                                 known.rbegin() + static_cast<std::ptrdiff_t>(newest));
            request.known.push_back(known.front());
        }
        whose.greetings.say(message_limit::level::info,
                            fmt::format("peer {}: {}, blocks {} to {}; going on after block {}",
                                        with.name(), said.chain, said.first.number,
                                        said.last.number, request.known.front().number));
        {
            const std::lock_guard held(mutex_);
            ++counters_.connections;
        }
        with.send(framed(request));
    }
    void take_chain(const peer_connection& from, const std::string& chain) {
        if (chain_.empty()) {
            try {
                decode_ = decoder_of(chain);
            } catch (const usage_error& problem) {
                from.fail(severity::lasting, problem.what());
            }
            chain_ = chain;
        }
        if (chain != chain_)
            from.fail(severity::lasting, "has blocks of the chain " + chain + ", not of " + chain_ +
                                             "; name a peer of that chain");
    }
    void take_blocks(peer_connection& from, byte_view payload) {
        free_used();
        is_caught_up_ = false;
        std::optional<block_place> before_beyond;
        event next;
        next.came = clock::now();
        next.what = event::kind::blocks;
        next.blocks = from.named([&] { return decode(payload, before_beyond); });
        if (!next.blocks.blocks.empty()) push(std::move(next), from);
        if (!before_beyond) return;
        event beyond;
        beyond.came = clock::now();
        beyond.what = event::kind::beyond;
        beyond.head = *before_beyond;
        push(std::move(beyond), from);
    }
    void take_caught_up(peer_connection& from, byte_view payload) {
        const caught_up_message said = from.named([&] { return read_caught_up(payload); });
        if (is_caught_up_)
            from.fail(severity::fault,
                      "says twice that it has nothing more, without a block between");
        if (said.is_end && said.head == block_place{})
            from.fail(severity::transient, "has no blocks, and says that it never will");
        is_caught_up_ = true;
        event next;
        next.what = said.is_end ? event::kind::end : event::kind::caught_up;
        next.head = said.head;
        push(std::move(next), from);
    }
    /// `before_beyond`: the block before the first one beyond the block to stop at, if any.
    [[nodiscard]] block_source::run decode(byte_view payload,
                                           std::optional<block_place>& before_beyond) const {
        const trace::span timed(frame_decode);
        blocks_reader blocks(payload);
        run made;
        made.parent = blocks.parent();
        block_place last = made.parent;
        const auto refuse = [&](const std::string& why) {
            throw peer_error(severity::fault,
                             "what follows block " + std::to_string(last.number) + " " + why);
        };
        try {
            while (const auto encoded = blocks.next()) {
                auto one = decode_(*encoded);
                if (one->number() <= last.number)
                    refuse("is block " + std::to_string(one->number()) +
                           "; numbers rise along a chain");
                if (how_.stop_at && one->number() > *how_.stop_at) {
                    before_beyond = last;
                    break;
                }
                last = {one->number(), next_id(last.id, one->checksum())};
                made.memory += one->memory();
                made.ids.push_back(last.id);
                made.blocks.push_back(std::move(one));
            }
        } catch (const damaged_error& problem) {
            refuse("is not a block of the chain " + chain_ + " (" + problem.what() + ")");
        } catch (const std::bad_alloc&) {
            refuse("takes more memory than there is");
        }
        return made;
    }
    /// Appends the event to the queue when there is space; drops it when stopped, or when the
    /// connection was refused.
    void push(event next, const peer_connection& from) {
        lock held(mutex_);
        const auto is_ready = [&] {
            return stopping_ || refusal_ ||
                   (queued_bytes_ < how_.waiting_bytes && queued_blocks_ < how_.waiting_blocks);
        };
        if (!is_ready()) {
            const trace::span timed(wait_for_apply);
            const auto begin = clock::now();
            room_.wait(held, is_ready);
            counters_.waited.for_room += clock::now() - begin;
        }
        if (stopping_ || refusal_) return;
        next.peer = from.name();
        next.sender = sender_;
        queued_bytes_ += next.blocks.memory;
        queued_blocks_ += next.blocks.blocks.size();
        queue_.push_back(std::move(next));
        held.unlock();
        came_.notify_one();
    }
    void note_failure(peer& one, const peer_error& problem) {
        severity how = problem.how();
        one.last_failure = problem.what();
        {
            const std::lock_guard held(mutex_);
            if (refusal_) {
                how = refusal_->how;
                one.last_failure = refusal_->reason;
            }
            if (is_praised_) one.failures = one.faults = 0;
            is_noted_ = true;
            ++counters_.failures;
        }
        ++one.failures;
        judge(one, how);
    }
    void judge(peer& one, severity how) const {
        if (how == severity::fault) ++one.faults;
        const bool is_tried_enough = how_.attempts != 0 && one.failures >= how_.attempts;
        one.is_given_up =
            how == severity::lasting || is_tried_enough || one.faults >= how_.faulty_attempts;
        if (is_tried_enough)
            one.last_failure += ", attempt " + std::to_string(one.failures) + " of " +
                                std::to_string(how_.attempts);
        say(one);
    }
    static void say(peer& one) {
        using level = message_limit::level;
        if (one.is_given_up)
            one.warnings.say_always(level::warning, one.last_failure + "; this peer is given up");
        else
            one.warnings.say(level::warning, one.last_failure + "; it is tried again");
    }
    void pause_after(const peer& one) {
        const auto doubled = how_.pause * (1 << std::min(one.failures - 1, 20U));
        lock held(mutex_);
        room_.wait_for(held, std::min(doubled, how_.longest_pause), [&] { return stopping_; });
    }
    void require_not_refused() const {
        const std::lock_guard held(mutex_);
        if (refusal_) throw peer_error(refusal_->how, refusal_->reason);
    }
    [[nodiscard]] bool must_end() const {
        const std::lock_guard held(mutex_);
        return stopping_;
    }
    void free_used() {
        std::vector<std::shared_ptr<const decoded_block>> used;
        const std::lock_guard held(mutex_);
        used.swap(used_);
    }

    options how_;
    std::deque<peer> peers_;         // owned by the thread; read by others after its end
    std::string chain_;              // owned by the thread; empty: not known yet
    block_decoder decode_ = nullptr; // likewise
    bool is_caught_up_ = false;      // likewise

    boost::asio::io_context context_{1};
    peer_connection* connection_ = nullptr; // used only by handlers in the thread
    std::uint64_t connected_ = 0;           // its number, likewise
    std::atomic<std::uint64_t> received_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable came_; ///< for next()
    std::condition_variable room_; ///< for the thread
    std::deque<event> queue_;
    std::uint64_t queued_bytes_ = 0;
    std::size_t queued_blocks_ = 0;
    std::uint64_t sender_ = 0; ///< the current or last connection
    std::optional<std::vector<block_place>> answer_;
    std::optional<refusal> refusal_;
    std::vector<refusal> late_refusals_;
    std::deque<connection_of> last_connections_; ///< the newest last
    bool is_noted_ = false;                      ///< the connection's failure was recorded
    bool is_praised_ = false;
    std::vector<std::shared_ptr<const decoded_block>> used_;
    counters counters_;
    std::exception_ptr over_; ///< set when no peer is left
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace

std::unique_ptr<block_source> make_peer_feed(peer_options how) {
    return std::make_unique<peer_feed>(std::move(how));
}

} // namespace chainbase::driver
