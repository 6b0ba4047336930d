#include <pool_allocator/base/error.hpp>
#include <undo/undo_log.hpp>

#include <cstdint>
#include <cstring>
#include <string>

namespace chainbase {

session_mark undo_log_view::mark_at(log_position position) const noexcept {
    session_mark mark;
    std::memcpy(&mark, file_.base() + position, sizeof mark);
    return mark;
}

std::uint64_t undo_log_view::sessions() const noexcept {
    if (!has_session()) return 0;
    // Unsigned: the marks of a damaged log may hold anything.
    return static_cast<std::uint64_t>(mark_at(words().newest).revision) -
           static_cast<std::uint64_t>(mark_at(words().oldest).revision) + 1;
}

revision_number undo_log_view::revision() const noexcept {
    return has_session() ? mark_at(words().newest).revision : words().base;
}

revision_number undo_log_view::committed_revision() const noexcept {
    if (!has_session()) return words().base;
    return static_cast<revision_number>(
        static_cast<std::uint64_t>(mark_at(words().oldest).revision) - 1);
}

log_position undo_log_view::end_before(slot_number chunk) const {
    const chunk_header& header = header_of(chunk);
    const log_position at = header.previous_end;
    if (at > window_header::page_bytes && at <= file_.bytes()) {
        const slot_number before = chunk_of(at);
        if (at >= first_record(before) && header_of(before).sequence + 1 == header.sequence)
            return at;
    }
    throw_damaged(chunk_begin(chunk),
                  "chunk " + std::to_string(chunk) + " does not follow another one");
}

void undo_log_view::throw_damaged(log_position at, const std::string& what) const {
    throw damaged_error(file_.file() + ": offset " + std::to_string(at) + ": " + what +
                        "; restore the folder from a copy, or replay into a new one");
}

std::uint64_t undo_log_view::bytes_in_use() const noexcept {
    if (!has_session()) return 0;
    const log_words& w = words();
    const std::uint64_t chunks =
        header_of(chunk_of(w.tail)).sequence - header_of(chunk_of(w.oldest)).sequence;
    return chunks * chunk_bytes + (w.tail - chunk_begin(chunk_of(w.tail))) -
           (w.oldest - chunk_begin(chunk_of(w.oldest)));
}

} // namespace chainbase
