#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <undo/before_images.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace chainbase {

namespace {

constexpr auto patience = std::chrono::seconds(2);
constexpr const char* was_undone =
    "its block was undone, or so much was rolled back since that this "
    "cannot be told";

template <typename Word>
Word load(const Word& word) noexcept {
    return std::atomic_ref(const_cast<Word&>(word)).load(std::memory_order_relaxed);
}

/// What was loaded or copied before stays before what is loaded after.
void then() noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);
}

/// Calls `done` until it returns true; for the first moments without a pause.
template <typename Done>
bool wait_until(Done&& done) {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (unsigned tries = 0; !done(); ++tries) {
        if (tries > 100) std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
}

} // namespace

before_images::before_images(const std::string& file)
    : name_(file), path_(file), file_(open_private(file, file_use::read)) {
    void* at = mmap(nullptr, window_header::page_bytes, PROT_READ, MAP_SHARED, file_.number(), 0);
    if (at == MAP_FAILED) throw_file_error(file, "map");
    header_ = static_cast<std::byte*>(at);
}

before_images::~before_images() {
    munmap(header_, window_header::page_bytes);
}

void before_images::begin() {
    forget();
    is_torn_ = true;
    block_end newest{};
    const bool is_there = wait_until([&] {
        turn_ = load(words().turn);
        losses_ = load(words().losses);
        then();
        const bool is_whole = read_end(newest);
        return is_whole && losses_ % 2 == 0 && turn_ % 2 == 0 && turn_ == load(words().turn);
    });
    if (!is_there)
        throw busy_error(name_ + ": no block has ended yet that a snapshot could show: the state "
                                 "is being opened or rolled back, or its writer died while it did; "
                                 "try again once it is open for writing");
    set_from(newest);
    is_torn_ = false;
}

void before_images::forget() noexcept {
    records_.clear();
    of_area_.clear();
    pieces_.clear();
    bytes_ = 0;
}

/// Nothing after it was read.
void before_images::set_from(const block_end& to) noexcept {
    from_ = to;
    if (needs_log_only_) from_.epoch = UINT64_MAX;
    read_to_ = to.time;
}

bool before_images::read_end(block_end& end) const noexcept {
    const std::uint64_t edition = load(words().edition);
    then();
    end.revision = load(words().end.revision);
    end.position = load(words().end.position);
    end.time = load(words().end.time);
    end.epoch = load(words().end.epoch);
    then();
    return edition % 2 == 0 && edition == load(words().edition) && end.position != 0;
}

bool before_images::is_newest() const noexcept {
    return !is_torn_ && load(words().end.time) == from_.time &&
           load(words().end.epoch) == from_.epoch && load(words().end.revision) == from_.revision &&
           load(words().losses) == losses_;
}

std::uint64_t before_images::wait_for_even_turn() const {
    std::uint64_t turn = 0;
    if (wait_until([&] { return (turn = load(words().turn)) % 2 == 0; })) return turn;
    throw busy_error(name_ + ": the writer has been rolling back for seconds, or died while it "
                             "did; try again once the state is open for writing");
}

log_time before_images::lowest_since(std::uint64_t turn) const noexcept {
    const auto count = std::min<std::uint64_t>(load(words().count), words().rollbacks.size());
    for (std::uint64_t i = 0; i < count; ++i)
        if (load(words().rollbacks[i].turn) > turn) return load(words().rollbacks[i].to);
    return UINT64_MAX;
}

void before_images::throw_over(const char* why) const {
    throw too_old_error(name_ + ": the snapshot of revision " + std::to_string(from_.revision) +
                        " cannot be read on: " + why + "; take a new one");
}

void before_images::throw_restless() const {
    throw busy_error(name_ + ": the writer rolls back all the time; try again");
}

bool before_images::is_at(const std::string& name) const noexcept {
    return chainbase::is_at(file_, name);
}

void before_images::require_usable() {
    if (is_torn_) throw_over("it failed to move on, or memory ran out while the log was read");
    then();
    if (load(words().floor) > from_.time)
        throw_over("more was changed since than the log keeps for snapshots "
                   "(open_options::snapshot_log_bytes)");
    if (load(words().losses) != losses_)
        throw_over("the state was opened again, compacted, or changed outside of sessions since");
    if (load(words().given_back) >= from_.epoch) throw_over("memory that it needs was given back");
    if (lowest_since(turn_) < from_.time) throw_over(was_undone);
}

void before_images::with_images(void (*copy)(void*), void* with) {
    if (is_torn_) require_usable();
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;; ++retries_) {
        const std::uint64_t turn = wait_for_even_turn();
        then();
        copy(with);
        then();
        const log_time lowest = lowest_since(turn_);
        reading fresh;
        const log_time until = std::max(from_.time, std::min(read_to_, lowest));
        const bool is_whole = read_back(load(log().tail), until, fresh);
        then();
        const bool is_same = load(words().turn) == turn;
        if (is_same) {
            if (lowest < from_.time) throw_over(was_undone);
            require_usable(); // else what follows may be damage that is none
            if (!is_whole)
                throw damaged_error(name_ + ": the records since revision " +
                                    std::to_string(from_.revision) +
                                    " do not lead back to it; run chainbase-inspect check");
            is_torn_ = true;
            drop_from(lowest);
            take(fresh);
            turn_ = turn;
            is_torn_ = false;
            return;
        }
        if (std::chrono::steady_clock::now() > end) throw_restless();
        const std::uint64_t next = wait_for_even_turn();
        require_usable();
        (void)catch_up(load(log().completed), next); // so that less is to be read the next time
    }
}

bool before_images::read_back(log_position at, log_time until, reading& into) const {
    constexpr std::uint64_t chunk_bytes = undo_log_view::chunk_bytes;
    then();
    std::uint64_t expected = 0; // sequence
    for (;;) {
        if (at <= window_header::page_bytes) return false;
        const std::uint64_t begin =
            (at - window_header::page_bytes - 1) / chunk_bytes * chunk_bytes +
            window_header::page_bytes;
        log_chunk header{};
        if (read_at(file_, path_, begin, std::as_writable_bytes(std::span(&header, 1))) !=
            sizeof header)
            return false;
        if (expected != 0 && header.sequence != expected) return false;
        const log_time time_of_begin = header.sequence * chunk_bytes;
        const log_time time = time_of_begin + (at - begin);
        if (into.end == 0) into.end = time;
        if (time < until) return false;
        if (time == until) return true;
        const std::uint64_t first = std::max<std::uint64_t>(
            sizeof header, until > time_of_begin ? until - time_of_begin : 0);
        if (first > at - begin) return false;
        const std::size_t bytes = at - begin - first;
        if (bytes > 0) {
            auto piece = std::make_unique_for_overwrite<std::byte[]>(bytes);
            if (read_at(file_, path_, begin + first, {piece.get(), bytes}) != bytes) return false;
            if (!split({piece.get(), bytes}, time_of_begin + first, into)) return false;
            into.bytes += bytes;
            into.pieces.push_back(std::move(piece));
        }
        if (time_of_begin <= until) return true;
        at = header.previous_end;
        expected = header.sequence - 1;
    }
}

/// The records of a piece of a chunk, which begins at `begin`, from its end back.
bool before_images::split(std::span<const std::byte> piece, log_time begin, reading& into) {
    for (std::size_t at = piece.size(); at != 0;) {
        record_trailer trailer{};
        if (at < sizeof trailer) return false;
        std::memcpy(&trailer, piece.data() + at - sizeof trailer, sizeof trailer);
        if (at - sizeof trailer < trailer.bytes()) return false;
        const std::size_t end = at;
        at -= sizeof trailer + trailer.bytes();
        into.records.push_back({begin + end, trailer.offset(),
                                static_cast<std::uint32_t>(trailer.bytes()), trailer.kind(),
                                piece.data() + at});
    }
    return true;
}

void before_images::take(reading& what) {
    for (std::size_t i = what.records.size(); i-- > 0;)
        enter(what.records[i]);
    for (auto& piece : what.pieces)
        pieces_.push_back(std::move(piece));
    bytes_ += what.bytes;
    read_to_ = what.end;
}

void before_images::enter(const record& one) {
    records_.push_back(one);
    if (!one.restores()) return;
    const auto place = static_cast<std::uint32_t>(records_.size() - 1);
    const std::uint64_t last = (one.offset + one.bytes - 1) >> area_shift;
    for (std::uint64_t area = one.offset >> area_shift; area <= last; ++area)
        of_area_[area].push_back(place);
}

/// Their content stays until move_to() or the end; it is little.
void before_images::drop_from(log_time time) noexcept {
    lowest_ = std::min(lowest_, time);
    for (; !records_.empty() && records_.back().time > time; records_.pop_back()) {
        const record& one = records_.back();
        if (!one.restores()) continue;
        const std::uint64_t last = (one.offset + one.bytes - 1) >> area_shift;
        for (std::uint64_t area = one.offset >> area_shift; area <= last; ++area)
            of_area_[area].pop_back();
    }
}

std::uint64_t before_images::unread_bytes() const noexcept {
    const log_time newest = load(words().end.time);
    return newest > read_to_ ? newest - read_to_ : 0;
}

block_end before_images::find_newest() {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
        const std::uint64_t turn = wait_for_even_turn();
        then();
        block_end newest{};
        if (read_end(newest) && catch_up(newest.position, turn)) {
            lowest_ = UINT64_MAX;
            return newest;
        }
        require_usable();
        if (std::chrono::steady_clock::now() > end) throw_restless();
    }
}

/// What is below `at` stays as it is unless the writer rolls back to below it, so it does not
/// matter what else is rolled back meanwhile. `at` was read after `turn`, which was even.
bool before_images::catch_up(log_position at, std::uint64_t turn) {
    const log_time read = std::min(read_to_, lowest_since(turn_));
    if (read < from_.time) return false;
    reading fresh;
    const bool is_whole = read_back(at, read, fresh);
    then();
    const std::uint64_t now = wait_for_even_turn();
    then();
    const log_time lowest = lowest_since(turn_);
    const log_time later = lowest_since(turn);
    then();
    if (fresh.end == 0 || load(words().turn) != now || later < fresh.end) return false;
    require_usable();
    const log_time known = std::min(read_to_, lowest);
    if (fresh.end <= known) return true; // nothing was to be read
    if (known != read || !is_whole) return false;
    is_torn_ = true;
    drop_from(lowest);
    take(fresh);
    turn_ = now;
    is_torn_ = false;
    return true;
}

void before_images::move_to(const block_end& to) {
    std::vector<record> later;
    std::uint64_t bytes = 0;
    for (const record& one : records_) {
        if (one.time <= to.time) continue;
        later.push_back(one);
        bytes += one.bytes;
    }
    std::vector<std::unique_ptr<std::byte[]>> pieces(1);
    pieces[0] = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::byte* content = pieces[0].get();
    for (record& one : later) {
        std::memcpy(content, one.content, one.bytes);
        one.content = content;
        content += one.bytes;
    }
    const log_time read = read_to_;
    is_torn_ = true;
    forget();
    for (const record& one : later)
        enter(one);
    pieces_ = std::move(pieces);
    bytes_ = bytes;
    set_from(to);
    read_to_ = read;
    is_torn_ = false;
}

// --- blocks ---

void before_images::begin_at_oldest() {
    constexpr std::uint64_t chunk_bytes = undo_log_view::chunk_bytes;
    log_position at = 0;
    log_chunk header{};
    session_mark mark{};
    const auto chunk_begin = [&] {
        return (at - window_header::page_bytes - 1) / chunk_bytes * chunk_bytes +
               window_header::page_bytes;
    };
    const bool is_read = wait_until([&] {
        at = load(log().oldest);
        then();
        if (at == 0) return true;
        const bool is_there =
            at > window_header::page_bytes &&
            read_at(file_, path_, chunk_begin(), std::as_writable_bytes(std::span(&header, 1))) ==
                sizeof header &&
            read_at(file_, path_, at, std::as_writable_bytes(std::span(&mark, 1))) == sizeof mark;
        then();
        return is_there && load(log().oldest) == at;
    });
    if (!is_read)
        throw damaged_error(name_ + ": offset 88: no session begins at " + std::to_string(at) +
                            "; run chainbase-inspect check");
    if (at == 0) return;
    forget();
    set_from({mark.revision - 1, at, header.sequence * chunk_bytes + (at - chunk_begin()), 0});
}

void before_images::begin_at(const before_images& other) noexcept {
    forget();
    set_from(other.from_);
    turn_ = other.turn_;
    losses_ = other.losses_;
    is_torn_ = false;
}

std::optional<revision_number> before_images::committed() const {
    const log_position at = load(log().oldest);
    then();
    session_mark mark{};
    if (at == 0)
        mark.revision = load(log().base) + 1;
    else if (read_at(file_, path_, at, std::as_writable_bytes(std::span(&mark, 1))) != sizeof mark)
        return std::nullopt;
    then();
    if (load(log().oldest) != at) return std::nullopt;
    return mark.revision - 1;
}

std::optional<std::uint32_t> before_images::serial_of_base() const noexcept {
    const std::uint64_t sequence = load(log().sequence);
    then();
    const log_position oldest = load(log().oldest);
    const std::uint32_t serial = load(log().base_serial);
    const revision_number base = load(log().base);
    then();
    if (sequence % 2 != 0 || load(log().sequence) != sequence) return std::nullopt;
    const bool is_there = oldest != 0 ? from_.position == oldest : from_.revision == base;
    return is_there ? std::optional(serial) : std::nullopt;
}

std::optional<before_images::step_back> before_images::undone() const {
    for (;;) {
        const std::uint64_t turn = wait_for_even_turn();
        then();
        const log_time lowest = lowest_since(turn_);
        then();
        if (load(words().turn) != turn) continue;
        if (lowest >= from_.time) return std::nullopt;
        return step_back{turn, lowest};
    }
}

void before_images::go_back(const block_end& to, const step_back& by) noexcept {
    forget();
    set_from(to);
    turn_ = by.turn;
    is_torn_ = false;
}

void before_images::put_back(std::uint64_t offset, std::span<std::byte> bytes,
                             log_time at) const noexcept {
    const std::uint64_t end = offset + bytes.size();
    for (std::uint64_t area = offset >> area_shift; area <= (end - 1) >> area_shift; ++area) {
        const auto found = of_area_.find(area);
        if (found == of_area_.end()) continue;
        const std::uint64_t area_begin = std::max(area << area_shift, offset);
        const std::uint64_t area_end = std::min((area + 1) << area_shift, end);
        for (std::size_t i = found->second.size(); i-- > 0;) { // the newest first
            const record& one = records_[found->second[i]];
            if (one.time <= at) break;
            const std::uint64_t from = std::max(one.offset, area_begin);
            const std::uint64_t to = std::min(one.offset + one.bytes, area_end);
            if (from < to)
                std::memcpy(bytes.data() + (from - offset), one.content + (from - one.offset),
                            to - from);
        }
    }
}

} // namespace chainbase
