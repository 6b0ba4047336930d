#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/in_order.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/sync/fetch_plan.hpp>
#include <tools/driver/sync/peer_connection.hpp>
#include <tools/driver/sync/snapshot_peers.hpp>
#include <tools/message_limit.hpp>
#include <tools/progress.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

namespace chainbase::driver {

using clock = std::chrono::steady_clock;
using severity = peer_error::severity;
using snapshot_file::chunk_entry;
using snapshot_file::folder_writer;
using snapshot_file::manifest;
using snapshot_file::type_entry;

std::vector<listed_chunk> chunks_of(const manifest& all) {
    std::vector<listed_chunk> found;
    std::set<sha256_digest> seen;
    for (const type_entry& type : all.types)
        for (const auto* chunks : {&type.chunks, &type.removed})
            for (const chunk_entry& one : *chunks)
                if (seen.insert(one.digest).second) found.push_back({&type, &one});
    return found;
}

class snapshot_peers::work {
    /// A chunk that was asked of a peer came from another one.
    struct outpaced {};

    /// The chunks of a chosen manifest, and who is asked for them.
    struct collection {
        const manifest* of;
        std::vector<listed_chunk> chunks;
        fetch_plan plan;
        bool is_lost = false; ///< no peer is left for a chunk
    };

public:
    work(const snapshot_options& how, const following_options& options, program_types& types,
         std::set<sha256_digest> unusable)
        : how_(how), network_(options.network), chain_(options.chain), types_(types),
          unusable_(std::move(unusable)) {
        if (options.once && network_.attempts == 0) network_.attempts = 10;
        for (const endpoint_name& one : options.peers)
            peers_.emplace_back(one, network_.say_again);
        for (std::size_t i = 0; i < peers_.size(); ++i)
            peers_[i].thread = std::thread([this, i] { run(i); });
    }
    ~work() { stop(); }
    work(const work&) = delete;
    work& operator=(const work&) = delete;

    [[nodiscard]] const manifest& choose() {
        lock held(mutex_);
        for (;;) {
            require_going_on();
            if (const auto name = chosen_of_offers()) {
                chosen_ = *name;
                changed_.notify_all();
                return manifests_.at(*name);
            }
            changed_.wait_for(held, std::chrono::milliseconds(100));
        }
    }
    [[nodiscard]] std::size_t votes() const {
        const std::lock_guard held(mutex_);
        return votes_of(*chosen_);
    }

    [[nodiscard]] bool fetch(folder_writer& to, const manifest& all) {
        auto made = std::make_shared<collection>(collection{&all, chunks_of(all), {0, 0, {}}});
        progress shown("fetching");
        shown.keeps_what_is_done();
        const std::vector<bool> kept = kept_of(*made, to, shown);
        lock held(mutex_);
        to_ = &to;
        done_bytes_ = 0;
        made->plan = fetch_plan(made->chunks.size(), peers_.size(), how_.patience);
        for (std::size_t i = 0; i < kept.size(); ++i)
            if (kept[i] && made->plan.take(i)) done_bytes_ += made->chunks[i].entry->bytes;
        for (std::size_t i = 0; i < peers_.size(); ++i)
            if (peers_[i].is_given_up || (peers_[i].offer && peers_[i].offer != chosen_))
                made->plan.drop(i);
        now_ = made;
        require_hope();
        changed_.notify_all();
        while (!made->plan.is_done() && !made->is_lost) {
            changed_.wait_for(held, std::chrono::milliseconds(100));
            require_going_on();
            const std::uint64_t done = done_bytes_;
            held.unlock();
            shown.advance(done, bytes_of(*made));
            held.lock();
        }
        if (made->is_lost) {
            unusable_.insert(*chosen_);
            chosen_.reset();
            now_.reset();
            return false;
        }
        held.unlock();
        stop();
        return true;
    }

    [[nodiscard]] std::uint64_t fetched_bytes() const noexcept { return fetched_bytes_; }
    [[nodiscard]] std::vector<std::string> given_up() const {
        const std::lock_guard held(mutex_);
        std::vector<std::string> all;
        for (const peer& one : peers_)
            if (one.is_given_up || one.is_set_aside) all.push_back(one.last_failure);
        return all;
    }

private:
    struct peer {
        peer(endpoint_name of, std::chrono::milliseconds say_again)
            : name(std::move(of)), warnings("failures of peer " + in_words(name), 10, say_again) {}

        endpoint_name name;
        message_limit warnings;
        boost::asio::io_context context{1};
        peer_connection* connection = nullptr; ///< for its thread
        std::optional<sha256_digest> offer;
        bool is_given_up = false;
        bool is_set_aside = false; ///< it was said that it offers another one
        std::string last_failure;
        std::thread thread;
    };
    using lock = std::unique_lock<std::mutex>;

    void stop() {
        {
            const std::lock_guard held(mutex_);
            is_stopping_ = true;
        }
        changed_.notify_all();
        for (peer& one : peers_)
            boost::asio::post(one.context, [&one] {
                if (one.connection != nullptr) one.connection->cancel();
            });
        for (peer& one : peers_)
            if (one.thread.joinable()) one.thread.join();
    }

    // --- the choice; the mutex is held ---

    void require_going_on() const {
        if (failure_) std::rethrow_exception(failure_);
        if (catch_interruption::caught())
            throw interrupted_error("interrupted; what came is kept, and the same call goes on");
    }
    [[nodiscard]] std::size_t votes_of(const sha256_digest& name) const {
        return static_cast<std::size_t>(
            std::ranges::count(peers_, std::optional(name), &peer::offer));
    }
    [[nodiscard]] std::optional<sha256_digest> chosen_of_offers() const {
        std::optional<sha256_digest> best;
        std::size_t most = 0;
        bool is_tie = false;
        for (const auto& [name, unused] : manifests_) {
            const std::size_t votes = votes_of(name);
            if (votes == 0 || unusable_.contains(name)) continue;
            if (how_.trusted.name) return name; // others were not let in
            if (votes == most) is_tie = true;
            if (votes <= most) continue;
            is_tie = false;
            best = name;
            most = votes;
        }
        if (2 * most > peers_.size()) return best;
        const bool is_waited_for = std::ranges::any_of(
            peers_, [](const peer& one) { return !one.offer && !one.is_given_up; });
        const bool has_time = !best || clock::now() < *first_offer_ + how_.for_offers;
        if (is_waited_for && has_time) return std::nullopt;
        if (!best)
            throw peer_error(severity::lasting,
                             lost_chunk_.empty() ? nobody_offers() : lost_chunk_);
        if (is_tie) throw peer_error(severity::lasting, is_undecided());
        return best;
    }
    [[nodiscard]] std::string reasons() const {
        std::string all;
        for (const peer& one : peers_)
            all += (all.empty() ? "" : "; ") + one.last_failure;
        return all;
    }
    [[nodiscard]] std::string nobody_offers() const {
        return reasons() + ". No peer offers a snapshot that can be trusted, and nothing was made; "
                           "name other peers, or sync without --from-snapshot";
    }
    [[nodiscard]] std::string is_undecided() const {
        std::string all;
        for (const peer& one : peers_)
            if (one.offer)
                all +=
                    (all.empty() ? "" : ", ") + in_words(one.name) + " offers " + hex(*one.offer);
        return all + ": they have the trusted root, differ in what it does not prove, and none is "
                     "offered by most; nothing was made. Name the right one with --trusted-name";
    }

    // --- chunks ---

    [[nodiscard]] static std::uint64_t bytes_of(const collection& all) {
        return std::transform_reduce(all.chunks.begin(), all.chunks.end(), std::uint64_t{0},
                                     std::plus(), [](const auto& one) { return one.entry->bytes; });
    }
    /// Which are there already.
    [[nodiscard]] static std::vector<bool> kept_of(const collection& all, folder_writer& to,
                                                   progress& shown) {
        std::vector<bool> kept;
        std::uint64_t looked_at = 0;
        made_in_order(
            all.chunks.size(), std::max(1U, std::thread::hardware_concurrency()),
            [&](std::size_t i) { return to.keeps(*all.chunks[i].entry); },
            [&](bool is_kept) {
                looked_at += all.chunks[kept.size()].entry->bytes;
                kept.push_back(is_kept);
                if (is_kept) shown.advance(looked_at, bytes_of(all));
            });
        return kept;
    }
    void require_hope() {
        const auto lost = now_ ? now_->plan.hopeless() : std::nullopt;
        if (!lost || now_->is_lost) return;
        const listed_chunk& one = now_->chunks[*lost];
        lost_chunk_ = reasons() + ". No peer is left that has " +
                      snapshot_file::name_of(*one.type, *one.entry) +
                      "; name another one, and the same call goes on";
        now_->is_lost = true;
        changed_.notify_all();
    }

    // --- the thread of a peer ---

    void run(std::size_t number) {
        ::pthread_setname_np(::pthread_self(), "snapshot peer");
        try {
            try_connections(number);
        } catch (...) {
            const std::lock_guard held(mutex_);
            if (!failure_) failure_ = std::current_exception();
            changed_.notify_all();
        }
    }
    void try_connections(std::size_t number) {
        unsigned failures = 0;
        while (wait_for_turn(number)) {
            try {
                run_connection(number, failures);
            } catch (const outpaced&) { // what is on its way is not wanted any more
                release(number);
            } catch (const peer_error& problem) {
                if (must_end() || note_failure(number, problem, ++failures)) return;
                pause_after(failures);
            }
        }
    }
    /// Peers that offer another snapshot than the chosen one are asked only when that is given up.
    /// Whether it is not over.
    [[nodiscard]] bool wait_for_turn(std::size_t number) {
        peer& one = peers_[number];
        lock held(mutex_);
        const auto is_its_turn = [&] {
            return is_over() || !one.offer ||
                   (one.offer == chosen_ ? now_ && !now_->is_lost : !chosen_.has_value());
        };
        const bool is_of_another = chosen_ && one.offer && one.offer != chosen_;
        if (is_of_another && !std::exchange(one.is_set_aside, true)) {
            one.last_failure = fmt::format("peer {}: offers another snapshot than most peers, {}",
                                           in_words(one.name), hex(*one.offer));
            one.warnings.say_always(message_limit::level::warning,
                                    one.last_failure +
                                        "; it is asked if theirs cannot be completed");
            if (now_) now_->plan.drop(number);
            require_hope();
        }
        changed_.wait(held, is_its_turn);
        return !is_over();
    }
    /// Returns when there is nothing more to do with it.
    void run_connection(std::size_t number, unsigned& failures) {
        peer& one = peers_[number];
        peer_connection with(one.context, one.name, network_.limits, received_);
        struct registration {
            peer_connection*& slot;
            ~registration() { slot = nullptr; }
        } const registered{one.connection = &with};
        with.connect();
        const hello_message said = with.greet(chain_);
        if (!said.has_snapshot)
            with.fail(severity::lasting, "offers no snapshot (its `serve` was called without "
                                         "--snapshot, or is of a version before there were any)");
        if (!one.offer) take_offer(with, one, said.chain);
        const std::shared_ptr<collection> all = chosen_collection(one);
        while (const auto chunk = all ? next_chunk(*all, number) : std::nullopt) {
            fetch_chunk(with, number, *all, *chunk);
            failures = 0;
        }
    }
    void take_offer(peer_connection& with, peer& one, const std::string& chain) {
        const auto text = file_of(with, {}, "the manifest", snapshot_file::most_manifest_bytes,
                                  [] { return true; });
        if (!text) with.fail(severity::transient, "does not have the manifest of its snapshot now");
        const sha256_digest name = sha256().of(*text);
        {
            const std::lock_guard held(mutex_);
            if (manifests_.contains(name)) return note_offer(one, name);
        }
        manifest read = read_manifest(with, *text);
        if (read.chain != chain)
            with.fail(severity::fault, "has blocks of the chain " + chain +
                                           ", and offers a snapshot of \"" + read.chain + "\"");
        const std::lock_guard held(mutex_);
        manifests_.emplace(name, std::move(read));
        note_offer(one, name);
    }
    [[nodiscard]] manifest read_manifest(const peer_connection& with, const bytes& text) {
        const std::string of = "its snapshot";
        try {
            manifest read = manifest::of(text_of(text), of);
            how_.trusted.require(read, of);
            require_known_chain(read.chain);
            types_.require(read, of);
            if (!chain_.empty() && read.chain != chain_)
                with.fail(severity::lasting, of + " is of the chain " + read.chain + ", not of " +
                                                 chain_ + "; name a peer of that chain");
            return read;
        } catch (const peer_error&) {
            throw;
        } catch (const error& problem) {
            with.fail(severity::lasting, problem.what());
        } catch (const std::bad_alloc&) {
            with.fail(severity::lasting,
                      of + " has a manifest that takes more memory than there is");
        }
    }
    void note_offer(peer& one, const sha256_digest& name) {
        if (!first_offer_) first_offer_ = clock::now();
        one.offer = name;
        changed_.notify_all();
    }
    /// What is collected, if that is what the peer offers; else nothing, or it is over.
    [[nodiscard]] std::shared_ptr<collection> chosen_collection(const peer& one) {
        lock held(mutex_);
        changed_.wait(held, [&] { return is_over() || (chosen_ && now_); });
        return !is_over() && one.offer == chosen_ ? now_ : nullptr;
    }
    [[nodiscard]] std::optional<std::size_t> next_chunk(collection& of, std::size_t number) {
        lock held(mutex_);
        while (!is_over() && !of.is_lost) {
            if (const auto chunk = of.plan.ask(number, clock::now())) return chunk;
            changed_.wait_for(held, std::chrono::milliseconds(100));
        }
        return std::nullopt;
    }
    void fetch_chunk(peer_connection& with, std::size_t number, collection& of, std::size_t chunk) {
        const auto& [type, entry] = of.chunks[chunk];
        const std::string name = snapshot_file::name_of(*type, *entry);
        const auto file =
            file_of(with, entry->digest, name, snapshot_file::most_file_bytes(entry->bytes), [&] {
                const std::lock_guard held(mutex_);
                return of.plan.is_wanted(chunk) && !of.is_lost;
            });
        if (!file) return note_lack(number, of, chunk, name);
        try {
            static_cast<void>(snapshot_file::verified(*file, *entry, name));
        } catch (const damaged_error& problem) {
            with.fail(severity::fault, std::string("sent a wrong chunk: ") + problem.what());
        }
        to_->put_file(*entry, *file);
        const std::lock_guard held(mutex_);
        if (!of.plan.take(chunk)) return;
        done_bytes_ += entry->bytes;
        fetched_bytes_ += file->size();
        if (of.plan.is_done()) changed_.notify_all();
    }
    /// A file that the peer sends, of at most `most` bytes; nothing: it does not have it. Memory
    /// grows with what comes. Throws outpaced when `is_wanted` says so.
    template <typename IsWanted>
    [[nodiscard]] static std::optional<bytes>
    file_of(peer_connection& with, const sha256_digest& digest, const std::string& name,
            std::uint64_t most, IsWanted is_wanted) {
        with.send(framed(snapshot_request_message{digest}));
        bytes all;
        for (std::uint64_t whole = 0; whole == 0 || all.size() < whole;) {
            const peer_connection::frame next = with.next();
            if (next.type == wire::message::refusal) with.fail_refused(next.payload);
            if (next.type != wire::message::snapshot_part)
                with.fail(severity::fault, "a message of a type that is not expected here");
            const auto part = with.named([&] { return read_snapshot_part(next.payload); });
            if (part.file_bytes == 0 && whole == 0) return std::nullopt;
            if (part.file_bytes > most)
                with.fail(severity::fault,
                          fmt::format("says that {} has {} bytes, which is at most {}", name,
                                      part.file_bytes, most));
            if (part.offset != all.size() || (whole != 0 && part.file_bytes != whole))
                with.fail(severity::fault, "sends the parts of " + name + " out of order");
            whole = part.file_bytes;
            all.insert(all.end(), part.content.begin(), part.content.end());
            if (!is_wanted()) throw outpaced{};
        }
        return all;
    }

    void note_lack(std::size_t number, collection& of, std::size_t chunk, const std::string& name) {
        peer& one = peers_[number];
        one.warnings.say(message_limit::level::warning, "peer " + in_words(one.name) +
                                                            ": does not have " + name +
                                                            "; it is taken from another");
        const std::lock_guard held(mutex_);
        if (one.last_failure.empty())
            one.last_failure = "peer " + in_words(one.name) + ": does not have " + name;
        of.plan.lack(number, chunk);
        require_hope();
    }
    void release(std::size_t number) {
        const std::lock_guard held(mutex_);
        if (now_) now_->plan.release(number);
    }
    /// Whether the peer is given up.
    [[nodiscard]] bool note_failure(std::size_t number, const peer_error& problem,
                                    unsigned failures) {
        peer& one = peers_[number];
        const bool is_tried_enough = network_.attempts != 0 && failures >= network_.attempts;
        const bool is_given_up = problem.how() != severity::transient || is_tried_enough;
        using level = message_limit::level;
        if (is_given_up)
            one.warnings.say_always(level::warning, std::string(problem.what()) +
                                                        "; this peer is not asked for a snapshot");
        else
            one.warnings.say(level::warning, std::string(problem.what()) + "; it is tried again");
        const std::lock_guard held(mutex_);
        one.last_failure = problem.what();
        one.is_given_up = is_given_up;
        if (now_ && is_given_up)
            now_->plan.drop(number);
        else if (now_)
            now_->plan.release(number);
        require_hope();
        changed_.notify_all();
        return is_given_up;
    }
    void pause_after(unsigned failures) {
        const auto doubled = network_.pause * (1 << std::min(failures - 1, 20U));
        lock held(mutex_);
        changed_.wait_for(held, std::min(doubled, network_.longest_pause),
                          [&] { return is_stopping_; });
    }
    [[nodiscard]] bool must_end() const {
        const std::lock_guard held(mutex_);
        return is_over();
    }
    /// The mutex is held.
    [[nodiscard]] bool is_over() const {
        return is_stopping_ || failure_ || (now_ && now_->plan.is_done());
    }

    const snapshot_options& how_;
    peer_options network_;
    std::string chain_; ///< empty: any
    program_types& types_;
    folder_writer* to_ = nullptr;
    std::atomic<std::uint64_t> received_ = 0;
    std::atomic<std::uint64_t> fetched_bytes_ = 0;

    mutable std::mutex mutex_; ///< for what follows, and the offers and failures of peers
    std::condition_variable changed_;
    std::map<sha256_digest, manifest> manifests_; ///< that lead to what is trusted; by name
    std::optional<clock::time_point> first_offer_;
    std::optional<sha256_digest> chosen_;
    std::set<sha256_digest> unusable_;
    std::shared_ptr<collection> now_; ///< of the chosen one, when its chunks are known
    std::string lost_chunk_;          ///< why the last one was given up
    std::uint64_t done_bytes_ = 0;
    std::exception_ptr failure_;
    bool is_stopping_ = false;
    std::deque<peer> peers_;
};

snapshot_peers::snapshot_peers(const snapshot_options& how, const following_options& options,
                               program_types& types, std::set<sha256_digest> unusable)
    : work_(std::make_unique<work>(how, options, types, std::move(unusable))) {}

snapshot_peers::~snapshot_peers() = default;

const manifest& snapshot_peers::choose() {
    return work_->choose();
}

std::size_t snapshot_peers::votes() const {
    return work_->votes();
}

bool snapshot_peers::fetch(folder_writer& to, const manifest& all) {
    return work_->fetch(to, all);
}

std::uint64_t snapshot_peers::fetched_bytes() const noexcept {
    return work_->fetched_bytes();
}

std::vector<std::string> snapshot_peers::given_up() const {
    return work_->given_up();
}

} // namespace chainbase::driver
