#include <chainbase/offline/snapshot_file/loading.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/in_order.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/sync/fetch_plan.hpp>
#include <tools/driver/sync/peer_connection.hpp>
#include <tools/driver/sync/snapshot_start.hpp>
#include <tools/message_limit.hpp>
#include <tools/progress.hpp>
#include <tools/text_table.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>

namespace chainbase::driver {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;
using severity = peer_error::severity;
using snapshot_file::chunk_entry;
using snapshot_file::folder_reader;
using snapshot_file::folder_writer;
using snapshot_file::manifest;
using snapshot_file::type_entry;

namespace {

/// A chunk that was asked of a peer came from another one.
struct outpaced {};

/// A chunk of a snapshot; of chunks with the same content the first.
struct listed_chunk {
    const type_entry* type;
    const chunk_entry* entry;
};

std::vector<listed_chunk> chunks_of(const manifest& all) {
    std::vector<listed_chunk> found;
    std::set<sha256_digest> seen;
    for (const type_entry& type : all.types)
        for (const auto* chunks : {&type.chunks, &type.removed})
            for (const chunk_entry& one : *chunks)
                if (seen.insert(one.digest).second) found.push_back({&type, &one});
    return found;
}

/// Peers that are asked for a snapshot at once, each in a thread of its own.
///
/// choose() and fetch() are for one thread, in this order.
class snapshot_peers {
public:
    snapshot_peers(const snapshot_options& how, const following_options& options)
        : how_(how), network_(options.network), chain_(options.chain) {
        if (options.once && network_.attempts == 0) network_.attempts = 10;
        for (const endpoint_name& one : options.peers)
            peers_.emplace_back(one, network_.say_again);
        for (std::size_t i = 0; i < peers_.size(); ++i)
            peers_[i].thread = std::thread([this, i] { work(i); });
    }
    ~snapshot_peers() { stop(); }
    snapshot_peers(const snapshot_peers&) = delete;
    snapshot_peers& operator=(const snapshot_peers&) = delete;

    /// The snapshot that most peers offer, of those that lead to what is trusted. Throws peer_error
    /// when there is none, or not one.
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
    /// How many peers offer the chosen one.
    [[nodiscard]] std::size_t votes() const {
        const std::lock_guard held(mutex_);
        return votes_of(*chosen_);
    }

    /// Brings chunks that are missing into `to`, which nothing uses any more when it returns or
    /// throws. Throws peer_error when no peer is left for one.
    void fetch(folder_writer& to, const manifest& all) {
        struct stopping {
            snapshot_peers& those;
            ~stopping() { those.stop(); }
        } const at_the_end{*this};
        chunks_ = chunks_of(all);
        progress shown("fetching");
        std::uint64_t done = keep(to, shown, all);
        lock held(mutex_);
        to_ = &to;
        done_bytes_ = done;
        plan_.emplace(chunks_.size(), peers_.size(), how_.patience);
        for (std::size_t i = 0; i < chunks_.size(); ++i)
            if (kept_[i]) plan_->take(i);
        for (std::size_t i = 0; i < peers_.size(); ++i)
            if (peers_[i].is_given_up) plan_->drop(i);
        require_hope();
        changed_.notify_all();
        while (!plan_->is_done()) {
            changed_.wait_for(held, std::chrono::milliseconds(100));
            require_going_on();
            done = done_bytes_;
            held.unlock();
            shown.advance(done, all.bytes());
            held.lock();
        }
    }

    [[nodiscard]] std::uint64_t fetched_bytes() const noexcept { return fetched_bytes_; }
    [[nodiscard]] std::vector<std::string> given_up() const {
        const std::lock_guard held(mutex_);
        std::vector<std::string> all;
        for (const peer& one : peers_)
            if (one.is_given_up) all.push_back(one.last_failure);
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
            if (votes == 0) continue;
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
        if (!best) throw peer_error(severity::lasting, nobody_offers());
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

    /// Bytes of those that are there already.
    [[nodiscard]] std::uint64_t keep(folder_writer& to, progress& shown, const manifest& all) {
        std::uint64_t done = 0;
        made_in_order(
            chunks_.size(), std::max(1U, std::thread::hardware_concurrency()),
            [&](std::size_t i) { return to.keeps(*chunks_[i].entry); },
            [&](bool is_kept) {
                if (is_kept) shown.advance(done += chunks_[kept_.size()].entry->bytes, all.bytes());
                kept_.push_back(is_kept);
            });
        return done;
    }
    void require_hope() {
        const auto lost = plan_ ? plan_->hopeless() : std::nullopt;
        if (!lost || failure_) return;
        const std::string name =
            snapshot_file::name_of(*chunks_[*lost].type, *chunks_[*lost].entry);
        failure_ = std::make_exception_ptr(
            peer_error(severity::lasting, reasons() + ". No peer is left that has " + name +
                                              "; name another one, and the same call goes on"));
        changed_.notify_all();
    }

    // --- the thread of a peer ---

    void work(std::size_t number) {
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
        while (!must_end()) {
            try {
                return run_connection(number, failures);
            } catch (const outpaced&) { // what is on its way is not wanted any more
                release(number);
            } catch (const peer_error& problem) {
                if (must_end() || note_failure(number, problem, ++failures)) return;
                pause_after(failures);
            }
        }
    }
    /// Returns when there is nothing more to do.
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
        if (!wait_for_choice()) return;
        if (one.offer != chosen_)
            with.fail(severity::lasting,
                      "offers another snapshot than most peers, " + hex(*one.offer));
        while (const auto chunk = next_chunk(number)) {
            fetch_chunk(with, number, *chunk);
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
    [[nodiscard]] manifest read_manifest(const peer_connection& with, const bytes& text) const {
        const std::string of = "its snapshot";
        try {
            manifest read = manifest::of(text_of(text), of);
            how_.trusted.require(read, of);
            require_known_chain(read.chain);
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
    /// Whether there is one; else it is over.
    [[nodiscard]] bool wait_for_choice() {
        lock held(mutex_);
        changed_.wait(held, [&] { return is_stopping_ || failure_ || (chosen_ && plan_); });
        return !is_stopping_ && !failure_;
    }
    [[nodiscard]] std::optional<std::size_t> next_chunk(std::size_t number) {
        lock held(mutex_);
        while (!is_stopping_ && !failure_ && !plan_->is_done()) {
            if (const auto chunk = plan_->ask(number, clock::now())) return chunk;
            changed_.wait_for(held, std::chrono::milliseconds(100));
        }
        return std::nullopt;
    }
    void fetch_chunk(peer_connection& with, std::size_t number, std::size_t chunk) {
        const auto& [type, entry] = chunks_[chunk];
        const std::string name = snapshot_file::name_of(*type, *entry);
        const auto file =
            file_of(with, entry->digest, name, snapshot_file::most_file_bytes(entry->bytes), [&] {
                const std::lock_guard held(mutex_);
                return plan_->is_wanted(chunk);
            });
        if (!file) return note_lack(number, chunk, name);
        try {
            static_cast<void>(snapshot_file::verified(*file, *entry, name));
        } catch (const damaged_error& problem) {
            with.fail(severity::fault, std::string("sent a wrong chunk: ") + problem.what());
        }
        to_->put_file(*entry, *file);
        const std::lock_guard held(mutex_);
        if (!plan_->take(chunk)) return;
        done_bytes_ += entry->bytes;
        fetched_bytes_ += file->size();
        if (plan_->is_done()) changed_.notify_all();
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

    void note_lack(std::size_t number, std::size_t chunk, const std::string& name) {
        peer& one = peers_[number];
        one.warnings.say(message_limit::level::warning, "peer " + in_words(one.name) +
                                                            ": does not have " + name +
                                                            "; it is taken from another");
        const std::lock_guard held(mutex_);
        if (one.last_failure.empty())
            one.last_failure = "peer " + in_words(one.name) + ": does not have " + name;
        plan_->lack(number, chunk);
        require_hope();
    }
    void release(std::size_t number) {
        const std::lock_guard held(mutex_);
        if (plan_) plan_->release(number);
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
        if (plan_ && is_given_up)
            plan_->drop(number);
        else if (plan_)
            plan_->release(number);
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
        return is_stopping_ || failure_ || (plan_ && plan_->is_done());
    }

    const snapshot_options& how_;
    peer_options network_;
    std::string chain_; ///< empty: any
    std::vector<listed_chunk> chunks_;
    std::vector<bool> kept_; ///< by chunk
    folder_writer* to_ = nullptr;
    std::atomic<std::uint64_t> received_ = 0;
    std::atomic<std::uint64_t> fetched_bytes_ = 0;

    mutable std::mutex mutex_; ///< for what follows, and the offers and failures of peers
    std::condition_variable changed_;
    std::map<sha256_digest, manifest> manifests_; ///< that lead to what is trusted; by name
    std::optional<clock::time_point> first_offer_;
    std::optional<sha256_digest> chosen_;
    std::optional<fetch_plan> plan_; ///< when the chunks are known
    std::uint64_t done_bytes_ = 0;
    std::exception_ptr failure_;
    bool is_stopping_ = false;
    std::deque<peer> peers_;
};

void say_what_is_not_proven(const snapshot_options& how, const manifest& all, std::size_t votes,
                            std::size_t peers) {
    const std::vector<std::string> types = how.trusted.not_covered(all);
    if (types.empty()) return;
    spdlog::warn("the trusted root does not commit to {}: their objects are as {} of {} peers say "
                 "(--trusted-name proves them)",
                 fmt::join(types, ", "), votes, peers);
}

/// Fetches what is missing in the folder.
void collect(const snapshot_options& how, const following_options& options,
             snapshot_figures& figures) {
    if (options.peers.empty())
        throw usage_error(how.folder.string() + ": is no whole snapshot, and there is no peer to "
                                                "complete it; name one with --peer HOST:PORT");
    snapshot_peers peers(how, options);
    const manifest& all = peers.choose();
    spdlog::info("snapshot {}, block {}: {} objects in {} chunks, {}, offered by {} of {} peers",
                 hex(all.name()), all.block ? all.block->number : 0, all.objects(), all.chunks(),
                 bytes_in_words(all.bytes()), peers.votes(), options.peers.size());
    say_what_is_not_proven(how, all, peers.votes(), options.peers.size());
    folder_writer to(how.folder);
    peers.fetch(to, all);
    to.finish(all);
    figures.fetched_chunks = to.so_far().written;
    figures.fetched_bytes = peers.fetched_bytes();
    figures.kept_chunks = to.so_far().kept;
    figures.dropped_peers = peers.given_up();
}

void load_into_state(const folder_reader& from, const following_options& options,
                     snapshot_figures& figures) {
    const state_options& settings = options.state_settings;
    snapshot_file::loading_options how;
    how.threads = std::max(1U, std::thread::hardware_concurrency());
    how.limits.readers_group = settings.group;
    how.limits.memory_folder = settings.memory_folder;
    if (settings.archive) how.archive = archive::to_string(*settings.archive);
    progress shown("loading");
    how.tell = shown.as_callback();
    const auto loaded = load_as(from, options.state, std::move(how));
    figures.objects = loaded.objects + loaded.archived;
}

} // namespace

std::optional<snapshot_figures> start_from_snapshot(const snapshot_options& how,
                                                    const following_options& options) {
    if (!how.trusted.root && !how.trusted.name)
        throw usage_error("--from-snapshot: nothing says which snapshot is right; name the state "
                          "root of a block that you trust with --trusted-root");
    if (chain_state::is_in(options.state)) {
        spdlog::info("{}: the state is there, so no snapshot is needed", options.state.string());
        return std::nullopt;
    }
    if (fs::exists(fs::symlink_status(options.state)))
        throw usage_error(options.state.string() + ": exists, and holds no state; remove it, or "
                                                   "choose another name");
    const auto begin = clock::now();
    snapshot_figures figures;
    if (!fs::exists(how.folder / "manifest")) collect(how, options, figures);
    const folder_reader from(how.folder);
    const manifest& all = from.manifest();
    how.trusted.require(all, how.folder.string());
    require_known_chain(all.chain);
    load_into_state(from, options, figures);
    figures.name = hex(all.name());
    figures.block = all.block ? all.block->number : 0;
    figures.chunks = all.chunks();
    figures.not_proven = how.trusted.not_covered(all);
    figures.seconds = std::chrono::duration<double>(clock::now() - begin).count();
    spdlog::info("{}: made of snapshot {}, block {}, in {}", options.state.string(), figures.name,
                 figures.block, duration_in_words(figures.seconds));
    return figures;
}

} // namespace chainbase::driver
