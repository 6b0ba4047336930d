#pragma once

#include <pool_allocator/base/process_of_origin.hpp>
#include <pool_allocator/pool.hpp>
#include <pool_allocator/size_classes.hpp>
#include <pool_allocator/write_barrier.hpp>
#include <undo/fwd.hpp>
#include <undo/logged_objects.hpp>
#include <undo/ring.hpp>
#include <undo/snapshot_words.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace chainbase {

/// The body of a mark record, which marks the begin of a session in the log.
///
///      0  previous   8
///      8  revision   8
///     16  state      4   0 open, 1 completed
///     20  serial     4   tells apart the sessions of one revision
struct session_mark {
    log_position previous; ///< the mark of the session below; meaningful unless this is the oldest
    revision_number revision;
    std::uint32_t state; ///< session_mark::open or session_mark::completed
    std::uint32_t serial;

    static constexpr std::uint32_t open = 0;
    static constexpr std::uint32_t completed = 1;
};
static_assert(sizeof(session_mark) == 24 && offsetof(session_mark, revision) == 8 &&
              offsetof(session_mark, state) == 16);

/// The words of the log, in the root block of its window: everything that must survive a kill. They
/// fill one cache line, so that starting and ending a session touches only this line and its
/// mark's.
///
///      0  tail        8
///      8  completed   8
///     16  newest      8
///     24  oldest      8
///     32  base        8
///     40  sequence    8
///     48  chunks     12   a pool_state whose free_head is a chunk's number + 1: chunk 0 is
///                         an ordinary chunk, and 0 still means none
///     60  base_serial  4   tells apart the states of revision `base`: the serial of the session
///                         that was committed or squashed last, another one after any other change
struct log_words {
    log_position tail;      ///< where the next record goes
    log_position completed; ///< records at or after it belong to an operation under way
    log_position newest;    ///< mark of the newest session; meaningful if there is one
    log_position oldest;    ///< mark of the oldest session, 0 if there is none: commit is this word
    revision_number base;   ///< the revision when there is no session
    std::uint64_t sequence; ///< +1 when a change begins and when it ends: odd while one runs
    pool_state chunks;      ///< free_head and the links of its list are chunk number + 1
    std::uint32_t base_serial;
};
static_assert(sizeof(log_words) == 64 && offsetof(log_words, completed) == 8 &&
              offsetof(log_words, newest) == 16 && offsetof(log_words, oldest) == 24 &&
              offsetof(log_words, base) == 32 && offsetof(log_words, sequence) == 40 &&
              offsetof(log_words, chunks) == 48 && offsetof(log_words, base_serial) == 60);
static_assert(sizeof(window_header) % 64 == 0, "the words begin a cache line");

/// The first bytes of a chunk of the log.
///
///      0  next           4   the chunk that follows, + 1; 0 in the last one
///      4  reserved       4   zero
///      8  previous_end   8   the log's end when it moved on to this chunk
///     16  sequence       8   one more than that of the chunk before
struct log_chunk {
    slot_number next; ///< also links the free list, so a chain is freed by one splice
    std::uint32_t reserved;
    log_position previous_end;
    std::uint64_t sequence;
};
static_assert(sizeof(log_chunk) == 24 && offsetof(log_chunk, previous_end) == 8 &&
              offsetof(log_chunk, sequence) == 16);

/// A note of a log's progress, kept outside of the log.
struct sequence_note {
    std::atomic<std::uint64_t> owner;    ///< the log that it is about
    std::atomic<std::uint64_t> sequence; ///< log_words::sequence when a session started last
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it may be in shared memory");

/// The state of a log as read from its window, by its writer or by another process.
///
/// Positions are offsets in the window. A position belongs to the chunk it lies in, or, at a
/// chunk's end, to the chunk that ends there.
class undo_log_view {
public:
    static constexpr std::uint32_t chunk_bytes = std::uint32_t{1} << 20;

    explicit undo_log_view(const window& file) noexcept
        : file_(file), words_(reinterpret_cast<log_words*>(file.root())) {}

    [[nodiscard]] bool has_session() const noexcept { return words_->oldest != 0; }
    [[nodiscard]] std::uint64_t sessions() const noexcept;
    [[nodiscard]] revision_number revision() const noexcept;
    /// The newest revision that cannot be undone.
    [[nodiscard]] revision_number committed_revision() const noexcept;
    /// Log bytes between the oldest session and the tail.
    [[nodiscard]] std::uint64_t bytes_in_use() const noexcept;

    /// Calls visit(trailer, body) for every record from the tail down to `until`, newest first.
    /// Throws damaged_error when records or chunks do not lead there, and what `visit` throws.
    template <typename Visitor>
    void each_record_down_to(log_position until, Visitor&& visit) const;

protected:
    using chunk_header = log_chunk;

    [[nodiscard]] static slot_number chunk_of(log_position position) noexcept {
        return static_cast<slot_number>((position - window_header::page_bytes - 1) / chunk_bytes);
    }
    [[nodiscard]] static log_position chunk_begin(slot_number chunk) noexcept {
        return window_header::page_bytes + std::uint64_t{chunk} * chunk_bytes;
    }
    [[nodiscard]] static log_position first_record(slot_number chunk) noexcept {
        return chunk_begin(chunk) + sizeof(chunk_header);
    }
    [[nodiscard]] chunk_header& header_of(slot_number chunk) const noexcept {
        return *reinterpret_cast<chunk_header*>(file_.base() + chunk_begin(chunk));
    }
    [[nodiscard]] session_mark mark_at(log_position position) const noexcept;
    /// The log's end when it moved on to `chunk`. Throws damaged_error unless it lies in an earlier
    /// chunk, so that a walk from chunk to chunk ends.
    [[nodiscard]] log_position end_before(slot_number chunk) const;
    [[noreturn]] void throw_damaged(log_position at, const std::string& what) const;
    /// Where the current operation begins. Emptying the log moves the tail before `completed`: a
    /// tail below it in the same chunk has no records.
    [[nodiscard]] log_position completed() const noexcept {
        const log_words& w = *words_;
        const bool emptied = chunk_of(w.tail) == chunk_of(w.completed) && w.tail < w.completed;
        return emptied ? w.tail : w.completed;
    }
    [[nodiscard]] log_words& words() const noexcept { return *words_; }

private:
    const window& file_;
    log_words* words_;
};

/// Identifies a session: revisions are reused after an undo, epochs never are.
struct session_id {
    revision_number revision;
    std::uint64_t epoch; ///< the first one in it
};

/// Notified when a block ends.
class block_boundary {
public:
    /// Called when a session was pushed and none is open any more; by the writer, between
    /// operations.
    virtual void reached() noexcept = 0;

protected:
    ~block_boundary() = default;
};

/// Asked before sessions can no longer be undone.
class commit_gate {
public:
    /// Called before sessions are committed up to this one, whose mark has that serial, by the
    /// writer, between operations. It may wait.
    virtual void before_commit(revision_number newest, std::uint32_t serial) noexcept = 0;

protected:
    ~commit_gate() = default;
};

/// The unfinished work that attaching rolled back.
struct recovery {
    bool operation = false;     ///< an operation was under way
    std::uint64_t sessions = 0; ///< sessions that were not pushed
};

/// The before-image log: one backward-readable sequence of records, in chunks of a pool that all
/// sessions and types share. It is the undo stack, the rollback of a single operation and the
/// recovery after a kill.
///
/// Sessions are marks in the log. Undoing copies the old bytes back, newest first; squashing
/// forgets a mark; committing forgets the log below a mark. Starting and squashing cost the same
/// whatever the number of types and of changes; committing adds a step per session and per chunk (1
/// MiB of log) that it frees.
///
/// Invariants:
///  1. completed <= tail; they are equal except while an operation runs.
///  2. The chunks from that of the oldest mark (or of the tail) to that of the tail are linked in
///     both directions, and so are those before that snapshots need; every other chunk is in the
///     pool's free list. Sequence numbers of linked chunks rise by one.
///  3. Without a session the tail stands at `completed` between operations, and no record below is
///     ever read again.
///  4. Copying back is idempotent, so a rollback interrupted by a kill is simply repeated. A
///     session being undone is marked open first.
///
/// One writer thread, of the process that created it: in another process every call that changes
/// the log throws usage_error, and noexcept calls are not allowed. Process memory mirrors the
/// sessions and the chain of chunks, so that ending a session reads nothing that has left the
/// cache; recovery does not need the mirror.
class undo_log final : public write_barrier, public undo_log_view {
public:
    static constexpr std::uint32_t window_index = 0;
    static constexpr window::geometry geometry{window_kind::undo_log, chunk_bytes,
                                               window_header::page_bytes};

    /// Attaches to the window `file`, which must outlive it: initialises it if `create`, else rolls
    /// back unfinished work. Throws damaged_error, before changing anything, when it cannot be
    /// rolled back.
    undo_log(const address_space& addresses, window& file, bool create);

    /// @name Operations (used through class operation)
    /// @{
    /// Throws usage_error within an operation of the calling thread.
    static void require_no_operation();
    /// Throws usage_error in another process than the one that created this object.
    void require_here() const { origin_.require_here(window_.file()); }
    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }
    /// Throws out_of_space_error, limit_error when the log cannot hold `bytes`, usage_error within
    /// another operation or in another process; then no operation begins.
    [[gnu::hot]] void begin_operation(std::size_t bytes);
    [[gnu::hot]] void complete_operation() noexcept;
    void roll_back_operation() noexcept;
    /// Whether the log has an image of `object` in this epoch; from now on it counts as logged.
    bool has_image(const void* object) { return logged_objects_.test_and_add(object, epoch()); }
    /// @}

    /// @name Sessions
    /// @{
    /// Starts a session on top. Throws usage_error within an operation or in another process,
    /// out_of_space_error, limit_error.
    [[gnu::hot]] session_id start_session();
    /// Marks a session completed: it survives its guard and, once the sessions below it are
    /// completed, a kill. Does nothing if the session has ended. Requires that no operation runs.
    [[gnu::hot]] void push_session(session_id id) noexcept;
    /// Undoes the newest session. Requires one, and that no operation runs.
    [[gnu::hot]] void undo() noexcept;
    /// Merges the newest session into the one below; a single session is committed. The revision
    /// goes down by one. Requires one, and that no operation runs.
    [[gnu::hot]] void squash() noexcept;
    /// Makes all sessions up to `revision` permanent. Throws usage_error when one of them is open,
    /// within an operation, and in another process.
    [[gnu::hot]] void commit(revision_number revision);
    /// The greatest revision that can be set, so that later ones never overflow.
    static constexpr revision_number max_revision = revision_number{1} << 62;
    /// Throws usage_error while there is a session, within an operation, in another process, and
    /// when `revision` is smaller than revision() or larger than max_revision.
    void set_revision(revision_number revision);

    /// Throws the usage_error of a session that is assigned to the guard of one below it.
    [[noreturn]] static void throw_assigned_to_outer();

    [[nodiscard]] bool has_session() const noexcept { return !stack_.empty(); }
    /// Whether exactly this session can still be undone; not another one of the same revision.
    [[nodiscard]] bool has_session(session_id id) const noexcept {
        return has_session() && id.revision >= stack_.front().revision &&
               id.revision <= stack_.back().revision && stack_[place_of(id)].epoch == id.epoch;
    }
    /// Where the session of `revision` begins; empty if there is none.
    [[nodiscard]] std::optional<log_position>
    find_session(revision_number revision) const noexcept {
        if (!has_session() || revision < stack_.front().revision ||
            revision > stack_.back().revision)
            return std::nullopt;
        return stack_[static_cast<std::size_t>(revision - stack_.front().revision)].mark;
    }
    [[nodiscard]] std::size_t sessions() const noexcept { return stack_.size(); }
    [[nodiscard]] revision_number revision() const noexcept {
        return stack_.empty() ? words().base : stack_.back().revision;
    }
    [[nodiscard]] revision_number committed_revision() const noexcept {
        return stack_.empty() ? words().base : stack_.front().revision - 1;
    }
    /// Sessions with a guard that is neither pushed, squashed nor undone.
    [[nodiscard]] std::size_t open_sessions() const noexcept { return open_; }
    /// Leaves the sessions to the next opening of the window: their guards become inactive, and no
    /// other call is allowed.
    void leave_sessions() noexcept {
        stack_.clear();
        open_ = 0;
    }
    /// @}

    [[nodiscard]] const recovery& recovered() const noexcept { return recovered_; }
    /// From now on stores log_words::sequence in `to` whenever a session starts, while `to.owner`
    /// equals `owner`. `to` must outlive this object.
    void set_sequence_note(sequence_note& to, std::uint64_t owner) noexcept {
        told_ = &to;
        note_owner_ = owner;
    }
    /// Restarts the log in the first chunk and gives all other chunks back. Requires no session and
    /// no operation. Throws io_error; the log stays sound.
    void trim();

    /// @name Snapshots
    /// @{
    /// From now on keeps the log that `readers` need, in at most `chunks` chunks beyond what can be
    /// undone; null: of nobody. They must outlive this object.
    void keep_for(snapshot_readers* readers, std::size_t chunks) noexcept {
        readers_ = readers;
        most_kept_chunks_ = chunks;
    }
    /// Tells apart the states of this revision, also after an opening: of the newest session, or of
    /// what is below. For the writer, between operations.
    [[nodiscard]] std::uint32_t serial() const noexcept {
        return stack_.empty() ? words().base_serial : stack_.back().serial;
    }
    /// Log bytes that are kept for snapshots alone.
    [[nodiscard]] std::uint64_t kept_bytes() const noexcept { return kept_chunks_ * chunk_bytes; }
    /// @}

    /// @name Captures (used by checkpoints)
    /// @{
    /// Calls visit(offset, bytes) for the pages of the window that recovery and undo need: the
    /// header page, and the used parts of the chunks.
    template <typename Visitor>
    void each_live_range(Visitor&& visit) const;
    /// Calls `who` at the end of each block; null: none.
    void call_at_boundaries(block_boundary* who) noexcept { boundary_ = who; }
    /// Asks `who` before each commit; null: nobody.
    void ask_before_commits(commit_gate* who) noexcept { gate_ = who; }
    /// From here on every changing byte is logged again, and so announced to the page tracker.
    /// Requires that no operation runs.
    void forget_what_was_logged() noexcept { new_epoch(); }
    /// Calls visit(offset, bytes) for the ranges of the window that changed since
    /// note_changes_from_here() and that recovery and undo need: the words, and the records with
    /// their chunks' headers. Call it between operations.
    template <typename Visitor>
    void each_changed_range(Visitor&& visit) const;
    void note_changes_from_here() noexcept;
    /// @}

    using undo_log_view::words;
    [[nodiscard]] window& file() noexcept { return window_; }
    [[nodiscard]] const address_space& addresses() const noexcept { return addresses_; }

private:
    static constexpr std::size_t mark_bytes = write_barrier::record_bytes(sizeof(session_mark));

    /// The mirror of a session's mark.
    struct live_session {
        log_position mark;
        log_time began; ///< of the mark
        revision_number revision;
        std::uint64_t epoch; ///< the first one in it; undoing reverts all changes from it on
        std::uint32_t serial;
        bool open;
    };

    /// The index of this session in the stack. Requires that it is there.
    [[nodiscard]] std::size_t place_of(session_id id) const noexcept {
        return static_cast<std::size_t>(id.revision - stack_.front().revision);
    }

    void extend(std::size_t bytes) override;
    slot_number take_chunk() noexcept;
    void free_chunks(std::size_t first, std::size_t count) noexcept;
    void free_chunks_after(slot_number kept) noexcept;
    [[gnu::hot]] void free_chunks_before(slot_number kept) noexcept;
    [[nodiscard]] std::size_t first_chunk_kept(std::size_t needed) const noexcept;
    [[nodiscard]] bool has_snapshots() const noexcept { return readers_ && readers_->any(); }
    [[nodiscard]] snapshot_readers* snapshots() const noexcept {
        return has_snapshots() ? readers_ : nullptr;
    }
    [[nodiscard]] log_time time_in(std::size_t chunk, log_position at) const noexcept {
        return (first_sequence_ + chunk) * chunk_bytes + (at - chunk_begin(chain_[chunk]));
    }
    [[nodiscard]] log_time time_of(log_position at) const noexcept;
    void publish_block_end() noexcept;
    void rebuild_free_chunks();

    void initialise();
    void recover();
    void mirror_chunks();
    void mirror_sessions();
    void undo_open_sessions() noexcept;

    void store_mark_state(log_position mark, std::uint32_t state) noexcept;
    /// Takes the newest session off the stack; `base` is the revision if it was the only one.
    [[gnu::always_inline]] inline void pop_session() noexcept;
    /// Copies every record at or after `until` back, newest first. Changes no word of the log. A
    /// log that was damaged while the writer runs cannot be rolled back: the process ends with the
    /// message of each_record_down_to, and the next opening refuses the log as well.
    void copy_back(log_position until) noexcept;
    void move_tail(log_position to) noexcept;
    void note_lower(log_position to) noexcept;
    [[gnu::hot]] void empty_log() noexcept;
    void restart_in_last_chunk() noexcept;
    void empty_last_chunk() noexcept;
    void restart_in_first_chunk() noexcept;
    void release_kept() noexcept;

    process_of_origin origin_;
    const address_space& addresses_;
    window& window_;
    pool chunks_;
    ring<slot_number> chain_;          ///< the linked chunks, oldest first
    std::uint64_t first_sequence_ = 0; ///< of the first chunk of the chain
    std::size_t kept_chunks_ = 0;      ///< at the chain's begin, for snapshots alone
    ring<live_session> stack_;         ///< oldest first
    sequence_note own_note_{};         ///< the target without an outside note
    sequence_note* told_ = &own_note_;
    std::uint64_t note_owner_ = 0;
    std::size_t open_ = 0;
    block_boundary* boundary_ = nullptr;
    commit_gate* gate_ = nullptr;
    snapshot_board board_;
    std::uint32_t serial_; ///< drawn last
    snapshot_readers* readers_ = nullptr;
    std::size_t most_kept_chunks_ = 0;
    /// The lowest position of the log that changed since note_changes_from_here().
    struct {
        slot_number chunk = 0;
        std::uint64_t sequence = 0; ///< of the chunk
        log_position at = 0;
    } lowest_;
    logged_objects logged_objects_;
    recovery recovered_;
};

template <typename Visitor>
void undo_log_view::each_record_down_to(log_position until, Visitor&& visit) const {
    for (log_position at = words().tail; at != until;) {
        const slot_number chunk = chunk_of(at);
        const bool ends_here = until >= first_record(chunk) && until < at;
        const log_position stop = ends_here ? until : first_record(chunk);
        while (at != stop) {
            record_trailer trailer;
            std::memcpy(&trailer, file_.base() + at - sizeof trailer, sizeof trailer);
            if (at - stop < sizeof trailer + trailer.bytes()) [[unlikely]]
                throw_damaged(at - sizeof trailer, "not the end of a record");
            at -= sizeof trailer + trailer.bytes();
            visit(trailer, static_cast<const std::byte*>(file_.base() + at));
        }
        if (at != until) at = end_before(chunk);
    }
}

template <typename Visitor>
void undo_log::each_live_range(Visitor&& visit) const {
    constexpr std::uint64_t page = window_header::page_bytes;
    visit(std::uint64_t{0}, page);
    for (std::size_t i = kept_chunks_; i < chain_.size(); ++i) {
        const log_position begin = chunk_begin(chain_[i]);
        const bool is_last = i + 1 == chain_.size();
        const log_position end = is_last ? words().tail : end_before(chain_[i + 1]);
        visit(begin, (end - begin + page - 1) / page * page);
    }
}

template <typename Visitor>
void undo_log::each_changed_range(Visitor&& visit) const {
    visit(std::uint64_t{sizeof(window_header)}, std::uint64_t{sizeof(log_words)});
    log_position end = words().tail;
    for (std::size_t i = chain_.size(); i-- > kept_chunks_;) {
        const slot_number chunk = chain_[i];
        const chunk_header& header = header_of(chunk);
        if (header.sequence < lowest_.sequence) return;
        const bool is_lowest = header.sequence == lowest_.sequence;
        const log_position begin = is_lowest ? lowest_.at : first_record(chunk);
        visit(chunk_begin(chunk), std::uint64_t{sizeof(chunk_header)});
        if (begin < end) visit(begin, end - begin);
        if (i != kept_chunks_) end = end_before(chunk);
    }
}

/// One all-or-nothing change: all stores since its begin are rolled back unless complete() is
/// called. After an exception in between the state is unchanged.
///
/// During its lifetime the calling thread stores through the log's barrier. Operations do not nest.
class operation {
public:
    /// Begins an operation with room for `log_bytes` of records. Throws usage_error within another
    /// operation, out_of_space_error, limit_error; then no operation begins.
    operation(undo_log& log, std::size_t log_bytes) : log_(log) { log_.begin_operation(log_bytes); }
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    ~operation() {
        if (!completed_) roll_back();
    }

    /// Frees the buffers that the operation released and completes the change (within its session).
    /// Throws out_of_space_error when the log cannot grow for that; then the change is rolled back.
    void complete() {
        log_.finish_deferred();
        log_.complete_operation();
        completed_ = true;
    }

private:
    void roll_back() noexcept {
        log_.drop_deferred();
        log_.roll_back_operation();
    }

    undo_log& log_;
    bool completed_ = false;
};

} // namespace chainbase
