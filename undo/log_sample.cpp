#include <pool_allocator/base/error.hpp>
#include <undo/log_sample.hpp>

#include <cstring>

namespace chainbase {

log_sample::log_sample(const window& file) : undo_log_view(file), file_(file) {
    std::memcpy(&words_, file.root(), sizeof words_); // on the header page, which is always there
    is_readable_ = words_.tail > window_header::page_bytes && words_.tail <= file.bytes();
    if (words_.oldest == 0 || !is_readable_) return;
    oldest_ = read<session_mark>(words_.oldest);
    newest_ = read<session_mark>(words_.newest);
    if (!is_readable_) return;
    first_chunk_ = read<chunk_header>(chunk_begin(chunk_of(words_.oldest))).sequence;
    last_chunk_ = read<chunk_header>(chunk_begin(chunk_of(words_.tail))).sequence;
}

template <typename T>
T log_sample::read(log_position at) {
    T found{};
    is_readable_ = is_readable_ && at >= window_header::page_bytes && at <= file_.bytes() &&
                   sizeof found <= file_.bytes() - at;
    if (!is_readable_) return found;
    try {
        file_.read(at, std::as_writable_bytes(std::span(&found, 1)));
    } catch (const io_error&) { // the file's end has moved
        is_readable_ = false;
    }
    return found;
}

std::uint64_t log_sample::sessions() const noexcept {
    if (words_.oldest == 0) return 0;
    // Unsigned: the marks of a damaged log may hold anything.
    return static_cast<std::uint64_t>(newest_.revision) -
           static_cast<std::uint64_t>(oldest_.revision) + 1;
}

revision_number log_sample::revision() const noexcept {
    return words_.oldest == 0 ? words_.base : newest_.revision;
}

revision_number log_sample::committed_revision() const noexcept {
    if (words_.oldest == 0) return words_.base;
    return static_cast<revision_number>(static_cast<std::uint64_t>(oldest_.revision) - 1);
}

std::uint64_t log_sample::bytes_in_use() const noexcept {
    if (words_.oldest == 0) return 0;
    return (last_chunk_ - first_chunk_) * chunk_bytes +
           (words_.tail - chunk_begin(chunk_of(words_.tail))) -
           (words_.oldest - chunk_begin(chunk_of(words_.oldest)));
}

usage log_sample::measure() const noexcept {
    const pool_state& chunks = words_.chunks;
    usage used;
    used.total = file_.bytes();
    used.header = window_header::page_bytes;
    used.values = bytes_in_use();
    used.slack = used.total - used.header - used.values;
    used.find_holes(file_);
    used.slots_live = chunks.live;
    used.slots_free = chunks.free();
    const std::uint64_t slots = (used.total - used.header) / chunk_bytes;
    used.slots_never_used = slots > chunks.high_water ? slots - chunks.high_water : 0;
    return used;
}

} // namespace chainbase
