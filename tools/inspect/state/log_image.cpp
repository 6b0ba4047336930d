#include <pool_allocator/base/file_error.hpp>
#include <tools/inspect/state/log_image.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace chainbase::inspect {

namespace {

window open_log(const address_space& addresses, const std::filesystem::path& folder,
                window::mode how) {
    return window::open({&addresses, undo_log::window_index}, folder / "undo_log",
                        undo_log::geometry, how);
}

} // namespace

log_image::log_image(const std::filesystem::path& folder, const segment_header& header,
                     bool is_written)
    : is_written_(is_written), live_addresses_(header.window_bytes, 1),
      live_(open_log(live_addresses_, folder, window::mode::read_only)),
      copy_addresses_(header.window_bytes, header.windows),
      copy_(open_log(copy_addresses_, folder, window::mode::private_copy)) {}

template <typename T>
T log_image::read(log_position at) const {
    T copy;
    live_.read(at, std::as_writable_bytes(std::span(&copy, 1)));
    return copy;
}

/// One read copies its bytes in any order, so it could have the new sequence with old words: the
/// sequence is read before them, by itself.
log_words log_image::words() const {
    const std::uint64_t before = sequence();
    std::atomic_thread_fence(std::memory_order_acquire);
    auto found = read<log_words>(sizeof(window_header));
    found.sequence = before;
    return found;
}

/// Whether nothing changed since the words were read, and no change was under way.
bool log_image::is_unchanged(const log_words& since) const {
    const bool is_changing = since.sequence % 2 != 0 && is_written_;
    std::atomic_thread_fence(std::memory_order_acquire); // what is checked was read before
    return !is_changing && sequence() == since.sequence;
}

/// Whether it lies in a chunk of the file.
bool log_image::is_position(log_position at) const noexcept {
    return at > window_header::page_bytes && at <= live_.bytes() &&
           log_walk::chunk_begin(log_walk::chunk_of(at) + 1) <= live_.bytes();
}

log_image::chunk log_image::chunk_at(log_position at) const {
    return read<chunk>(log_walk::chunk_begin(log_walk::chunk_of(at)));
}

/// Empty when the words are invalid.
std::optional<log_heading> log_image::read_heading(const log_words& words) const {
    if (!is_position(words.tail)) return {};
    if (words.oldest == 0) return log_heading{words.base, words.base, 0, 0};
    if (!is_position(words.oldest) || !is_position(words.newest)) return {};
    const revision_number newest = read<session_mark>(words.newest).revision;
    const revision_number oldest = read<session_mark>(words.oldest).revision;
    // a damaged one may have any value
    const auto irreversible = static_cast<std::uint64_t>(oldest) - 1;
    const auto place = [&](log_position at) {
        return chunk_at(at).sequence * undo_log::chunk_bytes + at -
               log_walk::chunk_begin(log_walk::chunk_of(at));
    };
    return log_heading{newest, static_cast<revision_number>(irreversible),
                       static_cast<std::uint64_t>(newest) - irreversible,
                       place(words.tail) - place(words.oldest)};
}

std::optional<log_heading> log_image::heading() {
    live_.refresh();
    const log_words now = words();
    const std::optional<log_heading> found = read_heading(now);
    return is_unchanged(now) ? found : std::nullopt;
}

bool log_image::copy(clock::time_point until) {
    live_.refresh();
    ranges_.clear();
    bytes_.clear();
    const log_words now = words();
    copied_ = read_heading(now).value_or(log_heading{});
    is_complete_ = copy_chunks(now, until);
    if (!is_unchanged(now)) return false;
    put_in_place(now);
    return true;
}

/// Returns whether the copy is complete. The check of the copy reports invalid positions.
bool log_image::copy_chunks(const log_words& words, clock::time_point until) {
    const log_position first = words.oldest != 0 ? words.oldest : words.completed;
    const std::size_t most = live_.bytes() / undo_log::chunk_bytes;
    log_position end = words.tail;
    for (std::size_t count = 0; count < most && is_position(end); ++count) {
        keep(log_walk::chunk_begin(log_walk::chunk_of(end)), end);
        if (!is_position(first) || log_walk::chunk_of(end) == log_walk::chunk_of(first))
            return true;
        if (clock::now() > until) return false;
        end = chunk_at(end).previous_end;
    }
    return true;
}

void log_image::keep(log_position begin, log_position end) {
    ranges_.push_back({begin, end - begin, bytes_.size()});
    bytes_.resize(bytes_.size() + (end - begin));
    live_.read(begin, std::span(bytes_).last(end - begin));
}

/// Truncating a file also removes its copied mapped pages.
void log_image::detach() {
    copy_.refresh();
    void* const at = ::mmap(copy_.base(), copy_.bytes(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw_file_error(copy_.file(), "copy");
    live_.read(0, std::span(copy_.base(), window_header::page_bytes));
}

void log_image::put_in_place(const log_words& words) {
    detach();
    for (const range& one : ranges_)
        if (one.begin + one.bytes <= copy_.bytes())
            std::memcpy(copy_.base() + one.begin, bytes_.data() + one.at, one.bytes);
    auto& to = *reinterpret_cast<log_words*>(copy_.root());
    to = words;
    has_sessions_ = true;
    if (is_complete_) return;
    to.oldest = oldest_kept(words);
    has_sessions_ = to.oldest != 0;
}

bool log_image::is_kept(log_position at) const noexcept {
    return std::ranges::any_of(ranges_, [&](const range& one) {
        return at >= one.begin && at + sizeof(session_mark) <= one.begin + one.bytes;
    });
}

/// The lowest mark of a complete session; 0 if there is none. The marks of a damaged log may form a
/// cycle.
log_position log_image::oldest_kept(const log_words& words) const noexcept {
    log_position found = 0;
    std::size_t left = bytes_.size() / sizeof(session_mark);
    for (log_position at = words.newest; left != 0 && is_kept(at); --left) {
        found = at;
        session_mark mark;
        std::memcpy(&mark, copy_.base() + at, sizeof mark);
        at = mark.previous;
    }
    return found;
}

} // namespace chainbase::inspect
