#include <chainbase/state_root/background_tree.hpp>
#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/process_of_origin.hpp>
#include <pool_allocator/base/thread_pool.hpp>
#include <pool_allocator/trace/trace.hpp>

#include <boost/endian/arithmetic.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace chainbase::state_root {

namespace {

using boost::endian::little_uint32_t;

const trace::site tree_update("state_root.update");
const trace::site tree_wait("state_root.wait");

/// The changes that may wait, of which those of one block are always taken.
constexpr std::size_t most_bytes_waiting = std::size_t{32} << 20;
constexpr std::size_t most_waiting = 64;
/// With more than that waiting, who brings changes hashes their records itself.
constexpr std::size_t most_ahead = 4;
/// The changes whose memory is kept for later ones.
constexpr std::size_t most_kept = 4;
/// The number of records that a thread hashes per task.
constexpr std::size_t records_at_once = 64;

} // namespace

struct background_tree::parts {
    /// What the digest of a block's writes is made of for each object.
    struct written_object {
        little_uint32_t type;
        little_uint32_t id;
        sha256_digest leaf;
    };
    static_assert(sizeof(written_object) == 40);
    struct job {
        explicit job(object_changes of) : changes(std::move(of)) {}

        object_changes changes;
        std::vector<leaf_update> leaves; ///< of the changes, once they are hashed
        sha256_digest writes{};          ///< likewise
        bool is_hashed = false;
        std::promise<block_digests> done;
    };
    /// Hashes records.
    struct hasher {
        void hash(job& one, thread_pool* pool);

        sha256 digests;
        std::vector<written_object> written;
    };

    parts(std::vector<std::string> types, unsigned threads) : tree(std::move(types)) {
        done.reserve(most_kept); // the thread cannot tell anybody that there is no memory for it
        if (threads > 1) pool.emplace(threads - 1);
        if (threads > 0) thread = background_thread("root", [this] { follow(); });
    }
    ~parts() {
        if (!thread.joinable()) return;
        {
            const std::lock_guard lock(mutex);
            is_ending = true;
        }
        changed.notify_all();
        thread.join();
    }
    parts(const parts&) = delete;
    parts& operator=(const parts&) = delete;

    void follow();
    void take(job& one) noexcept;
    [[nodiscard]] block_digests update(job& one);
    [[nodiscard]] bool is_full() const {
        return bytes_waiting > most_bytes_waiting || waiting.size() >= most_waiting;
    }

    process_of_origin origin;
    state_tree tree;
    std::optional<thread_pool> pool;
    std::vector<state_tree::type_changes> by_type; ///< of the changes that are being followed
    hasher own;
    hasher of_caller;
    std::exception_ptr failure; ///< from then on nothing is done
    std::atomic<bool> has_failed{false};

    mutable std::mutex mutex;
    mutable std::condition_variable changed; ///< what is below
    std::deque<job> waiting;                 ///< the first is being worked on
    std::size_t bytes_waiting = 0;           ///< of their records
    std::vector<object_changes> done;        ///< whose memory can be used again
    bool is_ending = false;
    std::thread thread;
};

void background_tree::parts::follow() {
    std::unique_lock lock(mutex);
    for (;;) {
        changed.wait(lock, [&] { return !waiting.empty() || is_ending; });
        if (waiting.empty()) return;
        job& first = waiting.front();
        lock.unlock();
        take(first);
        lock.lock();
        bytes_waiting -= first.changes.records.size();
        if (done.size() < most_kept) done.push_back(std::move(first.changes));
        waiting.pop_front();
        changed.notify_all();
    }
}

void background_tree::parts::take(job& one) noexcept {
    try {
        if (failure) std::rethrow_exception(failure);
        one.done.set_value(update(one));
    } catch (...) {
        failure = std::current_exception();
        has_failed = true;
        one.done.set_exception(failure);
    }
}

block_digests background_tree::parts::update(job& one) {
    const trace::span timed(tree_update);
    if (!one.is_hashed) own.hash(one, pool ? &*pool : nullptr);
    const std::span<const leaf_update> all(one.leaves);
    by_type.clear();
    for (std::size_t begin = 0; begin < all.size();) {
        const std::uint32_t type = one.changes.changes[begin].type;
        std::size_t end = begin;
        while (end < all.size() && one.changes.changes[end].type == type)
            ++end;
        by_type.push_back({type, all.subspan(begin, end - begin)});
        begin = end;
    }
    tree.update(by_type, pool ? &*pool : nullptr);
    return {tree.root(), one.writes};
}

void background_tree::parts::hasher::hash(job& one, thread_pool* pool) {
    const std::vector<object_changes::change>& changes = one.changes.changes;
    const std::span<const std::byte> records(one.changes.records);
    one.leaves.resize(changes.size());
    written.resize(changes.size());
    const auto hash_some = [&](std::size_t number, sha256& with) {
        const std::size_t begin = number * records_at_once;
        const std::size_t end = std::min(changes.size(), begin + records_at_once);
        for (std::size_t i = begin; i < end; ++i) {
            const object_changes::change& of = changes[i];
            const std::size_t from = i == 0 ? 0 : changes[i - 1].end;
            const sha256_digest leaf =
                of.exists ? with.of(records.subspan(from, of.end - from)) : no_digest;
            one.leaves[i] = {of.id, leaf};
            written[i] = {little_uint32_t(of.type), little_uint32_t(of.id), leaf};
        }
    };
    const std::size_t parts = (changes.size() + records_at_once - 1) / records_at_once;
    if (pool && parts > 1)
        pool->run(parts, [&](std::size_t number) {
            sha256 of_thread;
            hash_some(number, of_thread);
        });
    else
        for (std::size_t number = 0; number < parts; ++number)
            hash_some(number, digests);
    one.writes = digests.of(std::as_bytes(std::span(written)));
    one.is_hashed = true;
}

background_tree::background_tree(std::vector<std::string> types, unsigned threads)
    : parts_(std::make_unique<parts>(std::move(types), threads)) {}

background_tree::background_tree(state_tree tree, unsigned threads)
    : background_tree(std::vector<std::string>(), threads) {
    parts_->tree = std::move(tree);
}

background_tree::~background_tree() {
    if (!parts_->origin.is_here()) leak(std::move(parts_));
}

std::shared_future<block_digests> background_tree::update(object_changes changes) {
    parts& all = *parts_;
    parts::job next(std::move(changes));
    auto done = next.done.get_future().share();
    std::unique_lock lock(all.mutex);
    if (!all.thread.joinable()) {
        all.take(next);
        if (all.done.size() < most_kept) all.done.push_back(std::move(next.changes));
        return done;
    }
    if (all.waiting.size() > most_ahead) {
        lock.unlock();
        all.of_caller.hash(next, nullptr);
        lock.lock();
    }
    if (all.is_full()) {
        const trace::span timed(tree_wait);
        all.changed.wait(lock, [&] { return !all.is_full(); });
    }
    const std::size_t bytes = next.changes.records.size();
    all.waiting.push_back(std::move(next)); // where memory runs out, nothing has changed
    all.bytes_waiting += bytes;
    lock.unlock();
    all.changed.notify_all();
    return done;
}

object_changes background_tree::empty_changes() {
    const std::lock_guard lock(parts_->mutex);
    if (parts_->done.empty()) return {};
    object_changes found = std::move(parts_->done.back());
    parts_->done.pop_back();
    found.changes.clear();
    found.records.clear();
    return found;
}

bool background_tree::has_failed() const noexcept {
    return parts_->has_failed;
}

const state_tree& background_tree::settled() const {
    const parts& all = *parts_;
    std::unique_lock lock(all.mutex);
    all.changed.wait(lock, [&] { return all.waiting.empty(); });
    if (all.failure) std::rethrow_exception(all.failure);
    return all.tree;
}

} // namespace chainbase::state_root
