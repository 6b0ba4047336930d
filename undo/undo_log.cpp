#include <pool_allocator/base/error.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <undo/log_check.hpp>
#include <undo/undo_log.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {

namespace {

const trace::site session_start("undo.session_start", trace::kind::sampled);
const trace::site session_push("undo.session_push", trace::kind::sampled);
const trace::site session_undo("undo.session_undo", trace::kind::sampled);
const trace::site session_squash("undo.session_squash", trace::kind::sampled);
const trace::site session_commit("undo.session_commit", trace::kind::sampled);
const trace::site chunk_extend("undo.chunk_extend");
const trace::gauge kept_for_snapshots("undo.kept_for_snapshots.bytes");

/// Keeps the order of stores that recovery depends on; against a kill, compiler order is enough,
/// which a release fence is on x86. Readers of snapshots depend on it, too.
void ordered() noexcept {
    std::atomic_thread_fence(std::memory_order_release);
    fault::reach(fault::point::log_word);
}

/// For work that must not fail: if it throws, the process ends with the exception's message.
template <typename Work>
void or_end(Work&& work) noexcept {
    try {
        work();
    } catch (...) {
        std::terminate(); // within the handler, so that the exception is reported
    }
}

/// The sequence is odd while words change, so that a reader in any process can detect that it read
/// during a change. It shares its cache line with the tail.
void begin_change(log_words& words) noexcept {
    std::atomic_ref(words.sequence).store(words.sequence + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release); // later stores stay after it
}

void end_change(log_words& words) noexcept {
    std::atomic_ref(words.sequence).store(words.sequence + 1, std::memory_order_release);
}

/// Marks a change of the log's words during its lifetime; nested ones do nothing.
class change_of_words {
public:
    explicit change_of_words(log_words& words) noexcept
        : words_(words), outermost_(words.sequence % 2 == 0) {
        if (outermost_) begin_change(words_);
    }
    change_of_words(const change_of_words&) = delete;
    change_of_words& operator=(const change_of_words&) = delete;
    ~change_of_words() {
        if (outermost_) end_change(words_);
    }

private:
    log_words& words_;
    bool outermost_;
};

} // namespace

undo_log::undo_log(const address_space& addresses, window& file, bool create)
    : write_barrier(addresses), undo_log_view(file), addresses_(addresses), window_(file),
      chunks_(window_, reinterpret_cast<log_words*>(window_.root())->chunks, 1),
      board_(*reinterpret_cast<snapshot_words*>(window_.root() + sizeof(log_words))),
      serial_(std::random_device{}()) { // what is lost in a crash does not come again
    log_base_ = window_.base();
    tail_ = &words().tail;
    chunks_.refresh();
    if (create)
        initialise();
    else
        recover();
    note_changes_from_here();
}

void undo_log::initialise() {
    words() = {};
    chunks_.reserve();
    const slot_number chunk = take_chunk();
    header_of(chunk) = {0, 0, 0, 1};
    chain_.make_room();
    chain_.push_back(chunk);
    first_sequence_ = 1;
    words().completed = first_record(chunk);
    move_tail(first_record(chunk));
    publish_block_end();
}

// --- chunks ---

slot_number undo_log::take_chunk() noexcept {
    pool_state& pool = words().chunks;
    ++pool.live;
    if (pool.free_head == 0) return pool.high_water++;
    const slot_number chunk = pool.free_head - 1;
    pool.free_head = header_of(chunk).next;
    return chunk;
}

void undo_log::extend(std::size_t bytes) {
    if (bytes > chunk_bytes - sizeof(chunk_header))
        throw limit_error(window_.file() + ": a step of " + std::to_string(bytes) +
                          " log bytes does not fit a chunk of " + std::to_string(chunk_bytes) +
                          "; make the type smaller");
    const slot_number from = chain_.back();
    const bool between_operations = words().completed == words().tail;
    if (between_operations && !has_session() && words().tail != first_record(from) &&
        !has_snapshots()) {
        const change_of_words change(words());
        restart_in_last_chunk();
        return reserve(bytes);
    }
    if (kept_chunks_ != 0) free_chunks_before(chain_[kept_chunks_]);
    const trace::span timed(chunk_extend);
    fault::reach(fault::point::chunk);
    const change_of_words change(words());
    chain_.make_room();
    try {
        chunks_.reserve();
    } catch (const error&) {
        if (kept_chunks_ == 0) throw;
        const std::size_t most = std::exchange(most_kept_chunks_, 0); // the writer comes first
        free_chunks_before(chain_[kept_chunks_]);
        most_kept_chunks_ = most;
        chunks_.reserve();
    }
    const slot_number to = take_chunk();
    header_of(to) = {0, 0, words().tail, header_of(from).sequence + 1};
    header_of(from).next = to + 1;
    chain_.push_back(to);
    ordered();
    move_tail(first_record(to));
    ordered();
    if (!between_operations) return;
    words().completed = words().tail;
    if (has_session()) return;
    publish_block_end(); // before what is below the former one may go
    free_chunks_before(to);
}

/// Prepends `count` chunks of the chain, from number `first` on, to the free list: they are linked
/// already, so only the last one's link is written.
void undo_log::free_chunks(std::size_t first, std::size_t count) noexcept {
    if (count == 0) return;
    pool_state& pool = words().chunks;
    header_of(chain_[first + count - 1]).next = pool.free_head;
    pool.free_head = chain_[first] + 1;
    pool.live -= static_cast<slot_number>(count);
}

void undo_log::free_chunks_after(slot_number kept) noexcept {
    if (chain_.size() == 1) return; // checked first: the chain itself may have left the cache
    std::size_t keep = chain_.size() - 1;
    while (chain_[keep] != kept && keep != 0)
        --keep;
    if (chain_[keep] != kept)
        or_end([&] { throw_damaged(chunk_begin(kept), "a chunk that is not a part of the log"); });
    free_chunks(keep + 1, chain_.size() - keep - 1);
    chain_.erase_end(chain_.size() - keep - 1);
}

/// Those that snapshots need stay.
void undo_log::free_chunks_before(slot_number kept) noexcept {
    if (chain_.size() == 1) return;
    std::size_t needed = 0;
    while (chain_[needed] != kept && needed + 1 < chain_.size())
        ++needed;
    if (chain_[needed] != kept)
        or_end([&] { throw_damaged(chunk_begin(kept), "a chunk that is not a part of the log"); });
    const std::size_t count = first_chunk_kept(needed);
    kept_chunks_ = needed - count;
    kept_for_snapshots.set(static_cast<double>(kept_bytes()));
    if (count == 0) return;
    board_.raise_floor((first_sequence_ + count) * chunk_bytes + sizeof(chunk_header));
    free_chunks(0, count);
    chain_.erase_begin(count);
    first_sequence_ += count;
}

/// Of the chunks before `needed`, the first one that snapshots need and may have.
std::size_t undo_log::first_chunk_kept(std::size_t needed) const noexcept {
    if (needed == 0 || !has_snapshots()) return needed;
    const std::uint64_t oldest = (readers_->oldest(board_.floor()).time - 1) / chunk_bytes;
    const std::size_t first =
        oldest <= first_sequence_
            ? 0
            : static_cast<std::size_t>(std::min<std::uint64_t>(oldest - first_sequence_, needed));
    return std::max(first, needed - std::min(needed, most_kept_chunks_));
}

void undo_log::rebuild_free_chunks() {
    pool_state& pool = words().chunks;
    std::vector<bool> linked(pool.high_water);
    for (std::size_t i = 0; i < chain_.size(); ++i)
        linked[chain_[i]] = true;
    pool.free_head = 0;
    pool.live = static_cast<slot_number>(chain_.size());
    for (slot_number c = pool.high_water; c-- > 0;) {
        if (linked[c]) continue;
        header_of(c).next = pool.free_head;
        pool.free_head = c + 1;
    }
}

void undo_log::move_tail(log_position to) noexcept {
    note_lower(to);
    forget_pages();
    cursor_ = log_base_ + to;
    end_ = log_base_ + chunk_begin(chunk_of(to)) + chunk_bytes;
    std::atomic_ref(words().tail).store(to, std::memory_order_relaxed);
}

/// Chunks are compared by their sequence: their numbers come in any order.
void undo_log::note_lower(log_position to) noexcept {
    const slot_number chunk = chunk_of(to);
    if (chunk == lowest_.chunk && header_of(chunk).sequence == lowest_.sequence) {
        lowest_.at = std::min(lowest_.at, to);
    } else if (header_of(chunk).sequence < lowest_.sequence) {
        lowest_ = {chunk, header_of(chunk).sequence, to};
    }
}

log_time undo_log::time_of(log_position at) const noexcept {
    std::size_t chunk = chain_.size() - 1;
    while (chain_[chunk] != chunk_of(at) && chunk != 0)
        --chunk;
    return time_in(chunk, at);
}

/// Snapshots can begin here. No session is open, so whatever changes next begins an epoch, in which
/// every changing byte is logged again.
void undo_log::publish_block_end() noexcept {
    const log_position tail = words().tail; // after a rollback not in the last chunk yet
    board_.publish({revision(), tail, time_of(tail), epoch() + 1});
    forget_pages();
}

void undo_log::note_changes_from_here() noexcept {
    const slot_number chunk = chunk_of(words().tail);
    lowest_ = {chunk, header_of(chunk).sequence, words().tail};
}

// --- rolling back ---

void undo_log::copy_back(log_position until) noexcept {
    struct step {
        std::byte* to;
        const std::byte* from;
        std::size_t bytes;
    };
    std::array<step, 16> batch; // decoded ahead, so that cache misses on the targets overlap
    std::size_t count = 0;
    const auto apply = [&] {
        for (std::size_t i = 0; i < count; ++i) {
            fault::reach(fault::point::rollback_copy);
            written(batch[i].to, batch[i].bytes);
            if (batch[i].bytes == 4)
                std::memcpy(batch[i].to, batch[i].from, 4);
            else
                std::memcpy(batch[i].to, batch[i].from, batch[i].bytes);
        }
        count = 0;
    };
    or_end([&] {
        each_record_down_to(until, [&](record_trailer trailer, const std::byte* body) {
            if (!trailer.restores()) return;
            std::byte* to = range_base_ + trailer.offset();
            __builtin_prefetch(to, 1);
            __builtin_prefetch(to + trailer.bytes() - 1, 1);
            batch[count++] = {to, body, trailer.bytes()};
            if (count == batch.size()) apply();
        });
    });
    apply();
}

void undo_log::require_no_operation() {
    if (in_operation()) [[unlikely]]
        throw usage_error("the function passed to create or modify called the database; operations "
                          "do not nest: make the other change before or after");
}

void undo_log::throw_assigned_to_outer() {
    throw usage_error("a session was started within the session whose guard it is assigned to, "
                      "which would undo both; push, squash or undo that one first");
}

void undo_log::begin_operation(std::size_t bytes) {
    require_no_operation();
    require_here();
    if (!has_session()) release_kept();
    reserve(bytes);
    if (open_ == 0) new_epoch();
    enter_operation();
    begin_change(words());
}

void undo_log::complete_operation() noexcept {
    ordered(); // the operation's stores come before
    leave_operation();
    if (has_session()) {
        words().completed = words().tail;
    } else {
        board_.begin_loss();
        words().base_serial = ++serial_;
        move_tail(words().completed);
        board_.end_loss();
        free_chunks_after(chunk_of(words().tail));
    }
    end_change(words());
}

void undo_log::roll_back_operation() noexcept {
    board_.begin_rollback(time_of(words().completed), snapshots());
    copy_back(words().completed);
    restore_roots();
    ordered();
    move_tail(words().completed);
    board_.end_rollback();
    free_chunks_after(chunk_of(words().tail));
    new_epoch();
    leave_operation();
    end_change(words());
}

// --- sessions ---

void undo_log::store_mark_state(log_position mark, std::uint32_t state) noexcept {
    note_lower(mark);
    std::memcpy(log_base_ + mark + offsetof(session_mark, state), &state, sizeof state);
    ordered();
}

session_id undo_log::start_session() {
    const trace::span timed(session_start);
    require_no_operation();
    require_here();
    stack_.make_room();
    log_words& w = words();
    const change_of_words change(w);
    reserve(mark_bytes);
    const bool first = !has_session();
    const session_mark mark{first ? 0 : w.newest, revision() + 1, session_mark::open, ++serial_};
    const log_position at = w.tail;
    std::memcpy(cursor_, &mark, sizeof mark);
    append(0, sizeof mark, record_kind::mark);
    w.completed = w.tail;
    ordered();
    w.newest = at;
    ordered();
    if (first) w.oldest = at;
    new_epoch();
    stack_.push_back(
        {at, time_in(chain_.size() - 1, at), mark.revision, epoch(), mark.serial, true});
    ++open_;
    if (told_->owner.load(std::memory_order_relaxed) == note_owner_)
        told_->sequence.store(w.sequence, std::memory_order_relaxed);
    return {mark.revision, epoch()};
}

void undo_log::push_session(session_id id) noexcept {
    const trace::span timed(session_push);
    std::atomic_signal_fence(std::memory_order_seq_cst); // the session's stores come before
    if (!has_session(id)) return;
    live_session& pushed = stack_[place_of(id)];
    store_mark_state(pushed.mark, session_mark::completed);
    if (std::exchange(pushed.open, false)) --open_;
    new_epoch();
    if (open_ != 0) return;
    publish_block_end();
    if (boundary_) boundary_->reached();
}

inline void undo_log::pop_session() noexcept {
    log_words& w = words();
    const live_session newest = stack_.back();
    stack_.pop_back();
    if (newest.open) --open_;
    if (stack_.empty()) {
        w.base = newest.revision - 1;
        ordered();
        w.oldest = 0;
    } else {
        w.newest = stack_.back().mark;
    }
    ordered();
}

void undo_log::undo() noexcept {
    const trace::span timed(session_undo);
    log_words& w = words();
    const change_of_words change(w);
    const log_position at = stack_.back().mark;
    const log_time began = stack_.back().began;
    // From here on recovery after a kill must finish the undo.
    if (!stack_.back().open) store_mark_state(at, session_mark::open);
    board_.begin_rollback(began, snapshots());
    if (w.tail != at + mark_bytes) copy_back(at);
    ordered();
    w.completed = at;
    ordered();
    move_tail(at);
    ordered();
    pop_session();
    if (open_ == 0 && board_.published().time != began) // else it was on top of the block
        publish_block_end();                            // before anyone can begin at the former one
    board_.end_rollback();
    free_chunks_after(chunk_of(at));
    new_epoch();
}

void undo_log::squash() noexcept {
    const trace::span timed(session_squash);
    const change_of_words change(words());
    const live_session squashed = stack_.back();
    if (stack_.size() == 1) {
        words().base_serial = squashed.serial;
        ordered();
    }
    pop_session();
    if (!has_session()) {
        empty_log();
        new_epoch();
    } else if (!stack_.back().open) { // a block that is another one now
        stack_.back().serial = squashed.serial;
        const log_position mark = stack_.back().mark;
        note_lower(mark);
        std::memcpy(log_base_ + mark + offsetof(session_mark, serial), &squashed.serial,
                    sizeof squashed.serial);
        ordered();
    }
    if (open_ == 0) publish_block_end();
}

void undo_log::commit(revision_number up_to) {
    const trace::span timed(session_commit);
    require_no_operation();
    require_here();
    std::size_t count = 0;
    for (; count < stack_.size() && stack_[count].revision <= up_to; ++count)
        if (stack_[count].open)
            throw usage_error("commit(" + std::to_string(up_to) + "): the session of revision " +
                              std::to_string(stack_[count].revision) +
                              " is still open; push it first");
    if (count == 0) return;
    if (gate_) gate_->before_commit(stack_[count - 1].revision, stack_[count - 1].serial);
    log_words& w = words();
    const change_of_words change(w);
    w.base_serial = stack_[count - 1].serial;
    ordered();
    if (count == stack_.size()) {
        w.base = stack_.back().revision;
        ordered();
        w.oldest = 0;
        stack_.clear();
        empty_log();
        new_epoch();
        publish_block_end();
    } else {
        w.oldest = stack_[count].mark;
        stack_.erase_begin(count);
        if (chain_[kept_chunks_] != chunk_of(w.oldest)) free_chunks_before(chunk_of(w.oldest));
    }
    release_kept();
}

/// Nothing can be undone.
void undo_log::empty_log() noexcept {
    if (!has_snapshots()) return restart_in_last_chunk();
    words().completed = words().tail;
    if (kept_chunks_ + 1 != chain_.size()) free_chunks_before(chain_.back());
}

void undo_log::restart_in_last_chunk() noexcept {
    board_.begin_loss();
    empty_last_chunk();
    publish_block_end();
    board_.end_loss();
}

/// The log restarts at the begin of its last chunk, which is still in the cache. The tail moves
/// first, so that a kill in between leaves nothing to roll back.
void undo_log::empty_last_chunk() noexcept {
    log_words& w = words();
    const std::size_t last = chain_.size() - 1;
    free_chunks(0, last);
    chain_.erase_begin(last);
    first_sequence_ += last;
    kept_chunks_ = 0;
    kept_for_snapshots.set(0);
    ordered();
    move_tail(first_record(chain_.front()));
    ordered();
    w.completed = w.tail;
}

void undo_log::release_kept() noexcept {
    if (!keeps_memory()) return;
    std::uint64_t before = has_session() ? stack_.front().epoch : UINT64_MAX;
    if (has_snapshots()) before = std::min(before, readers_->oldest(board_.floor()).epoch);
    board_.give_back(newest_kept(before));
    if (open_ == 0) publish_block_end(); // what begins now needs none of it
    write_barrier::release_kept(before);
}

void undo_log::set_revision(revision_number revision) {
    require_no_operation();
    require_here();
    if (has_session())
        throw usage_error("set_revision(" + std::to_string(revision) +
                          "): " + std::to_string(sessions()) +
                          " sessions can still be undone; commit or undo them first");
    if (revision < words().base || revision > max_revision)
        throw usage_error("set_revision(" + std::to_string(revision) +
                          "): the state is at revision " + std::to_string(words().base) +
                          ", so it can only be set from " + std::to_string(words().base) + " to " +
                          std::to_string(max_revision));
    const change_of_words change(words());
    words().base = revision;
    words().base_serial = ++serial_;
    publish_block_end();
}

// --- attaching ---

void undo_log::recover() {
    log_check(addresses_, window_).require_sound();
    log_words& w = words();
    if (w.sequence % 2 == 0) begin_change(w); // odd if an operation was under way
    board_.take_over();
    w.completed = completed();
    recovered_.operation = w.tail != w.completed;
    copy_back(w.completed);
    ordered();
    move_tail(w.completed);
    mirror_chunks();
    rebuild_free_chunks();
    mirror_sessions();
    undo_open_sessions();
    publish_block_end();
    board_.end_loss();
    end_change(w);
}

void undo_log::mirror_chunks() {
    const log_words& w = words();
    const slot_number first = chunk_of(w.oldest != 0 ? w.oldest : w.completed);
    for (slot_number chunk = chunk_of(w.tail);; chunk = chunk_of(header_of(chunk).previous_end)) {
        chain_.make_room();
        chain_.push_front(chunk);
        first_sequence_ = header_of(chunk).sequence;
        if (chunk == first) return;
        header_of(chunk_of(header_of(chunk).previous_end)).next = chunk + 1;
    }
}

void undo_log::mirror_sessions() {
    const log_words& w = words();
    if (w.oldest == 0) return;
    for (log_position at = w.newest;; at = mark_at(at).previous) {
        const session_mark mark = mark_at(at);
        stack_.make_room();
        const bool is_open = mark.state == session_mark::open;
        stack_.push_front({at, time_of(at), mark.revision, epoch(), mark.serial, is_open});
        if (stack_.front().open) ++open_;
        if (at == w.oldest) return;
    }
}

/// Undoes the oldest open session and everything above it.
void undo_log::undo_open_sessions() noexcept {
    for (; open_ != 0; ++recovered_.sessions)
        undo();
}

/// As in extend(), a chunk is linked before the tail moves there, and `completed` follows. So a
/// kill in between leaves an empty log at either position.
void undo_log::restart_in_first_chunk() noexcept {
    log_words& w = words();
    const slot_number from = chain_.front();
    if (from == 0) return;
    header_of(0) = {0, 0, w.tail, header_of(from).sequence + 1};
    chain_.front() = 0;
    ++first_sequence_;
    ordered();
    move_tail(first_record(0));
    ordered();
    w.completed = w.tail;
    ordered();
}

void undo_log::trim() {
    assert(!has_session() && !in_operation() && "what can be undone is in the log");
    const change_of_words change(words());
    board_.begin_loss();
    empty_last_chunk();
    restart_in_first_chunk();
    words().chunks = {0, 1, 1};
    publish_block_end();
    board_.end_loss();
    window_.shrink_to(chunk_begin(1));
    chunks_.refresh();
}

} // namespace chainbase
