#include <pool_allocator/base/error.hpp>
#include <undo/log_check.hpp>

#include <cstddef>
#include <cstring>

namespace chainbase {

namespace {

/// The file offset of a word of the log.
constexpr log_position word_at(std::size_t offset) noexcept {
    return sizeof(window_header) + offset;
}

} // namespace

void log_check::damaged(log_position at, const std::string& what) const {
    throw damaged_error(file_.file() + ": offset " + std::to_string(at) + ": " + what +
                        "; restore the folder from a copy, or replay into a new one");
}

void log_check::require_sound() {
    check_words();
    check_chunks();
    const log_position first_open = check_marks();
    check_records(words().tail, completed());
    if (first_open != 0) check_records(completed(), first_open);
}

/// Checks session by session: undoing one reads from its end down to its mark.
std::uint64_t log_check::require_all_records() const {
    std::uint64_t count = check_records(words().tail, completed());
    if (!has_session()) return count;
    log_position from = completed();
    for (log_position mark = words().newest;; mark = mark_at(mark).previous) {
        count += check_records(from, mark);
        if (mark == words().oldest) return count;
        from = mark;
    }
}

/// A position is in a chunk in use, behind its header, and on a word.
void log_check::check_position(log_position at, log_position word, const char* name) const {
    const bool in_chunk = at > window_header::page_bytes && at % 4 == 0 &&
                          at < chunk_begin(words().chunks.high_water) + 1 &&
                          at >= first_record(chunk_of(at));
    if (!in_chunk)
        damaged(word, std::string(name) + " is " + std::to_string(at) + ", not within the log");
}

void log_check::check_words() const {
    const log_words& w = words();
    const auto at = word_at(offsetof(log_words, chunks));
    if (w.chunks.high_water == 0 || chunk_begin(w.chunks.high_water) > file_.bytes())
        damaged(at, std::to_string(w.chunks.high_water) + " chunks are in use, in a file of " +
                        std::to_string(file_.bytes()) + " bytes");
    check_position(w.tail, word_at(offsetof(log_words, tail)), "the tail");
    check_position(w.completed, word_at(offsetof(log_words, completed)), "the end");
    if (!has_session()) return;
    check_position(w.oldest, word_at(offsetof(log_words, oldest)), "the oldest session");
    check_position(w.newest, word_at(offsetof(log_words, newest)), "the newest session");
}

/// Walks from the tail back. The sequence falls by one per step, so the walk ends and meets no
/// chunk twice.
void log_check::check_chunks() {
    linked_.assign(words().chunks.high_water, false);
    const slot_number first = chunk_of(has_session() ? words().oldest : completed());
    for (slot_number chunk = chunk_of(words().tail);;) {
        linked_[chunk] = true;
        if (chunk == first) return;
        const chunk_header& header = header_of(chunk);
        check_position(header.previous_end,
                       chunk_begin(chunk) + offsetof(chunk_header, previous_end),
                       "the end of the chunk before");
        const slot_number before = chunk_of(header.previous_end);
        if (header_of(before).sequence + 1 != header.sequence || linked_[before])
            damaged(chunk_begin(chunk) + offsetof(chunk_header, sequence),
                    "chunk " + std::to_string(chunk) + " does not follow chunk " +
                        std::to_string(before));
        chunk = before;
    }
}

void log_check::check_linked(log_position at) const {
    if (!linked_[chunk_of(at)])
        damaged(at, "chunk " + std::to_string(chunk_of(at)) + " is not a part of the log");
}

session_mark log_check::checked_mark(log_position at) const {
    check_linked(at);
    const log_position chunk_end = chunk_begin(chunk_of(at)) + chunk_bytes;
    if (at + sizeof(session_mark) + sizeof(record_trailer) > chunk_end)
        damaged(at, "a session's mark crosses the end of its chunk");
    record_trailer trailer{};
    std::memcpy(&trailer, file_.base() + at + sizeof(session_mark), sizeof trailer);
    const session_mark mark = mark_at(at);
    if (trailer.kind() != record_kind::mark || trailer.bytes() != sizeof(session_mark) ||
        mark.state > session_mark::completed)
        damaged(at, "not the mark of a session");
    return mark;
}

/// Walks from the newest session down; returns where the lowest open one begins, 0 if none is open.
/// The revision falls by one per step, so the walk ends.
log_position log_check::check_marks() const {
    if (!has_session()) return 0;
    log_position first_open = 0;
    session_mark mark = checked_mark(words().newest);
    for (log_position at = words().newest;;) {
        if (mark.state == session_mark::open) first_open = at;
        if (at == words().oldest) return first_open;
        const log_position below = mark.previous;
        check_position(below, at, "the session below");
        const session_mark next = checked_mark(below);
        if (next.revision == INT64_MAX || next.revision + 1 != mark.revision)
            damaged(below, "a session of revision " + std::to_string(next.revision) +
                               " below one of revision " + std::to_string(mark.revision));
        at = below;
        mark = next;
    }
}

/// Checks every record from `from` back to `until`, as each_record_down_to reads them. Returns how
/// many.
std::uint64_t log_check::check_records(log_position from, log_position until) const {
    std::uint64_t count = 0;
    for (log_position at = from; at != until;) {
        const slot_number chunk = chunk_of(at);
        check_linked(at);
        const bool ends_here = until >= first_record(chunk) && until < at;
        const log_position stop = ends_here ? until : first_record(chunk);
        for (; at != stop; ++count)
            at = check_record(at, stop);
        if (at == until) break;
        if (chunk == chunk_of(has_session() ? words().oldest : completed()))
            damaged(at, "the records do not reach back to " + std::to_string(until));
        at = header_of(chunk).previous_end;
    }
    return count;
}

/// Checks the record that ends at `at`. Returns where it begins.
log_position log_check::check_record(log_position at, log_position stop) const {
    record_trailer trailer{};
    if (at - stop >= sizeof trailer)
        std::memcpy(&trailer, file_.base() + at - sizeof trailer, sizeof trailer);
    if (at - stop < sizeof trailer + trailer.bytes() || trailer.kind() > record_kind::mark)
        damaged(at - sizeof trailer, "not the end of a record");
    if (trailer.restores()) check_target(at - sizeof trailer, trailer);
    return at - sizeof trailer - trailer.bytes();
}

/// Only a window's root block and the bytes behind it are ever logged, and never the log itself.
void log_check::check_target(log_position at, record_trailer trailer) const {
    const std::uint64_t index = trailer.offset() / addresses_.window_bytes();
    const std::uint64_t offset = trailer.offset() % addresses_.window_bytes();
    if (index != file_.index() && index < addresses_.windows() && offset >= sizeof(window_header) &&
        offset + trailer.bytes() <= addresses_.file_bytes(index))
        return;
    damaged(at, "a record of " + std::to_string(trailer.bytes()) + " bytes at offset " +
                    std::to_string(offset) + " of window " + std::to_string(index) +
                    ", outside of its file");
}

} // namespace chainbase
