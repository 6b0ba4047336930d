#include <chainbase/locks/lock_protocol.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <chainbase/locks/reader_file.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/trace/trace.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

namespace chainbase {

using detail::turn;

namespace {

using clock = std::chrono::steady_clock;

const trace::site process_read_wait("lock.read.wait");
const trace::site process_write_wait("lock.write.wait");

/// The longest sleep, after which the waiter checks whether the other process is still alive.
constexpr auto look_for_reader = std::chrono::milliseconds(20);
constexpr auto look_for_writer = std::chrono::milliseconds(100);
/// How often a waiting writer logs it.
constexpr auto between_warnings = std::chrono::seconds(5);

std::atomic_ref<std::uint32_t> word_of(reader_slot& slot) noexcept {
    return std::atomic_ref(slot.word);
}

bool exchange(reader_slot& slot, turn& expected, turn to) noexcept {
    auto seen = static_cast<std::uint32_t>(expected);
    const bool done = word_of(slot).compare_exchange_strong(seen, static_cast<std::uint32_t>(to));
    expected = static_cast<turn>(seen);
    return done;
}

/// Increments a counter that one process at a time writes and others read.
void advance(std::uint64_t& counter) noexcept {
    const std::atomic_ref shared(counter);
    shared.store(shared.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::uint64_t value_of(std::uint64_t& counter) noexcept {
    return std::atomic_ref(counter).load(std::memory_order_acquire);
}

std::uint32_t own_thread() noexcept {
    struct numbered {
        process_of_origin in;
        std::uint32_t number = static_cast<std::uint32_t>(gettid());
    };
    static thread_local numbered own;
    if (!own.in.is_here()) own = {};
    return own.number;
}

} // namespace

/// The slot that detail::enter_reading works on.
struct process_lock::reader_turn {
    process_lock& all;
    reader_slot& slot;
    std::optional<trace::span> timed{};
    std::optional<clock::time_point> give_up{}; ///< set while no writer is alive

    [[nodiscard]] turn word() const noexcept { return static_cast<turn>(word_of(slot).load()); }
    void set_word(turn to) noexcept { word_of(slot).store(static_cast<std::uint32_t>(to)); }
    bool exchange_word(turn& expected, turn to) noexcept { return exchange(slot, expected, to); }
    [[nodiscard]] std::uint32_t phase() const noexcept {
        return std::atomic_ref(all.file_.header().phase).load();
    }
    void wake() noexcept { detail::wake_on(slot.word); }
    [[gnu::cold]] bool await_writer() {
        if (!timed) timed.emplace(process_read_wait);
        if (all.has_writer()) {
            give_up.reset();
        } else {
            const auto now = clock::now();
            if (!give_up) give_up = now + all.patience_;
            if (now >= *give_up) return false;
        }
        detail::sleep_on(slot.word, static_cast<std::uint32_t>(turn::waiting), look_for_writer);
        return true;
    }
};

/// The slots that detail::enter_writing works on.
struct process_lock::writer_turn {
    process_lock& all;
    std::optional<trace::span> timed{};
    clock::time_point warning{};

    void set_phase(std::uint32_t to) noexcept {
        std::atomic_ref(all.file_.header().phase).store(to);
    }
    [[nodiscard]] std::uint32_t slots() const noexcept { return all.file_.slots(); }
    [[nodiscard]] turn word(std::uint32_t n) const noexcept {
        return static_cast<turn>(word_of(all.file_.slot(n)).load());
    }
    bool exchange_word(std::uint32_t n, turn& expected, turn to) noexcept {
        return exchange(all.file_.slot(n), expected, to);
    }
    void wake(std::uint32_t n) noexcept { detail::wake_on(all.file_.slot(n).word); }
    [[gnu::cold]] void await_reader(std::uint32_t n, turn seen) {
        if (!timed) {
            timed.emplace(process_write_wait);
            warning = clock::now() + between_warnings;
        }
        reader_slot& slot = all.file_.slot(n);
        if (!all.file_.is_held(n)) return reclaim_slot(n, slot);
        detail::sleep_on(slot.word, static_cast<std::uint32_t>(seen), look_for_reader);
        if (clock::now() < warning) return;
        warning += between_warnings;
        spdlog::warn("{}: the writer waits for process {} ({}), thread {}, which has been "
                     "reading for {:.1f} s; let it finish, or end it",
                     all.file_.path().string(), slot.process, reader_file::name_in(slot),
                     slot.thread, reader_file::age(slot.since));
    }
    void reclaim_slot(std::uint32_t n, const reader_slot& slot) {
        const std::uint32_t process = slot.process;
        const std::string name = reader_file::name_in(slot);
        if (all.file_.reclaim_if_dead(n))
            spdlog::warn("{}: process {} ({}) died while it was reading; its lock was released",
                         all.file_.path().string(), process, name);
    }
};

process_lock::process_lock(const std::filesystem::path& state, role which,
                           std::chrono::milliseconds patience)
    : file_(state / "readers", reader_file::mode::take_part), role_(which), patience_(patience),
      writers_lock_(state / "lock"), writers_(::open(writers_lock_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (role_ == role::writer) {
        found_ = file_.header();
        file_.drop_free_end();
        return;
    }
    if (writers_.number() < 0 && errno != ENOENT) throw_file_error(writers_lock_, "open");
    holds_ = std::make_unique<std::atomic<hold>[]>(reader_file::max_slots);
}

process_lock::~process_lock() {
    if (!origin_.is_here()) return;
    if (role_ == role::reader) {
        for (std::uint32_t n = file_.slots(); n-- > 0;)
            if (holds_[n] != hold::none) file_.reclaim_if_dead(n);
        file_.drop_free_end();
    } else if (is_locked_ && !has_unlocked_) {
        restore_header();
    }
}

// --- the writer ---

void process_lock::lock() {
    origin_.require_here(file_.path().native());
    reader_header& header = file_.header();
    std::atomic_ref(header.since).store(reader_file::now(), std::memory_order_relaxed);
    if (!has_unlocked_) // the first phase
        std::atomic_ref(header.writer)
            .store(static_cast<std::uint32_t>(getpid()), std::memory_order_relaxed);
    is_locked_ = true;
    writer_turn all{*this};
    try {
        detail::enter_writing(all);
    } catch (...) {          // no memory to watch a reader
        if (has_unlocked_) { // else the destructor restores the header
            is_locked_ = false;
            detail::leave_writing(all);
        }
        throw;
    }
    std::atomic_ref(header.inside).store(1, std::memory_order_relaxed);
}

void process_lock::unlock() noexcept {
    if (!origin_.is_here()) return;
    is_locked_ = false;
    has_unlocked_ = true;
    std::atomic_ref(file_.header().inside).store(0, std::memory_order_relaxed);
    writer_turn all{*this};
    detail::leave_writing(all);
}

/// A writer that could not open the state did not change it either, and restores the header as
/// found.
void process_lock::restore_header() noexcept {
    reader_header& header = file_.header();
    if (found_.phase == 0) unlock();
    std::atomic_ref(header.inside).store(found_.inside, std::memory_order_relaxed);
    std::atomic_ref(header.since).store(found_.since, std::memory_order_relaxed);
    std::atomic_ref(header.writer).store(found_.writer, std::memory_order_relaxed);
}

void process_lock::replaced_segment() noexcept {
    advance(file_.header().segment);
}

void process_lock::changed_lengths() noexcept {
    advance(file_.header().lengths);
}

void process_lock::added_type() noexcept {
    advance(file_.header().types);
}

// --- readers ---

bool process_lock::has_writer() const noexcept {
    return file_lock::is_held(writers_);
}

bool process_lock::take_if_free(slot_number slot) noexcept {
    hold expected = hold::free;
    return holds_[slot].load(std::memory_order_relaxed) == hold::free &&
           holds_[slot].compare_exchange_strong(expected, hold::busy);
}

/// Usually the slot that this thread had last.
process_lock::slot_number process_lock::take_slot() {
    static thread_local slot_number last = 0;
    if (take_if_free(last)) return last;
    for (slot_number n = 0, end = file_.slots(); n < end; ++n)
        if (take_if_free(n)) return last = n;
    return last = claim_slot();
}

process_lock::slot_number process_lock::claim_slot() {
    const std::lock_guard alone(claiming_);
    for (slot_number n = 0; n < reader_file::max_slots; ++n) {
        if (holds_[n] != hold::none || !file_.claim(n)) continue;
        file_.introduce(n);
        holds_[n] = hold::busy;
        return n;
    }
    throw limit_error(file_.path().string() + ": " + std::to_string(reader_file::max_slots) +
                      " threads have the state open for reading; end some of them");
}

process_lock::slot_number process_lock::lock_shared() {
    origin_.require_here(file_.path().native());
    const slot_number n = take_slot();
    reader_slot& slot = file_.slot(n);
    std::atomic_ref(slot.thread).store(own_thread(), std::memory_order_relaxed);
    std::atomic_ref(slot.since).store(reader_file::now(), std::memory_order_relaxed);
    reader_turn own{*this, slot};
    if (detail::enter_reading(own)) return n;
    holds_[n] = hold::free;
    throw_abandoned();
}

void process_lock::unlock_shared(slot_number n) noexcept {
    if (!origin_.is_here()) return;
    reader_turn own{*this, file_.slot(n)};
    detail::leave_reading(own);
    holds_[n].store(hold::free, std::memory_order_release);
}

void process_lock::throw_abandoned() const {
    throw unclean_error(
        fmt::format("{}: process {} died in the middle of a change to the state, and no other "
                    "writer rolled it back within {} ms. Open the state for writing once, which "
                    "rolls it back, then read again",
                    file_.path().parent_path().string(), file_.header().writer, patience_.count()));
}

std::uint64_t process_lock::segments() const noexcept {
    return value_of(file_.header().segment);
}

std::uint64_t process_lock::lengths() const noexcept {
    return value_of(file_.header().lengths);
}

std::uint64_t process_lock::types() const noexcept {
    return value_of(file_.header().types);
}

namespace {

std::uint32_t value_of(std::uint32_t& shared) noexcept {
    return std::atomic_ref(shared).load(std::memory_order_relaxed);
}

lock_report::of_writer report_writer(const std::filesystem::path& state, reader_header& header) {
    lock_report::of_writer writer;
    writer.process = value_of(header.writer);
    writer.is_alive = file_lock::is_held(state / "lock");
    if (value_of(header.phase) == 0) return writer;
    const bool is_inside = value_of(header.inside) != 0;
    writer.what = is_inside ? lock_report::doing::inside : lock_report::doing::waiting;
    writer.seconds = reader_file::age(header.since);
    return writer;
}

/// An arriving reader announces itself before it checks for a writer; for that moment it counts as
/// inside.
lock_report::doing doing_of(detail::turn word) noexcept {
    switch (word) {
    case detail::turn::reading:
    case detail::turn::granted:
        return lock_report::doing::inside;
    case detail::turn::waiting:
        return lock_report::doing::waiting;
    default:
        return lock_report::doing::idle;
    }
}

lock_report::of_reader report_reader(const reader_file& file, std::uint32_t n) {
    reader_slot& slot = file.slot(n);
    lock_report::of_reader reader;
    reader.slot = n;
    reader.process = value_of(slot.process);
    reader.thread = value_of(slot.thread);
    reader.name = reader_file::name_in(slot);
    reader.is_alive = file.is_held(n);
    reader.what = doing_of(static_cast<detail::turn>(value_of(slot.word)));
    if (reader.what != lock_report::doing::idle) reader.seconds = reader_file::age(slot.since);
    reader.has_snapshot = value_of(slot.snapshot) != 0;
    return reader;
}

} // namespace

format_error no_state_at(const std::filesystem::path& state) {
    std::error_code unknown;
    const auto status = std::filesystem::status(state, unknown);
    return format_error(
        state.string() +
        (!std::filesystem::exists(status)
             ? ": there is nothing of this name, so no chainbase state; check the path"
         : !std::filesystem::is_directory(status)
             ? ": no chainbase state, which would be a folder; check the path"
             : ": no chainbase state is in this folder; check the path"));
}

lock_report lock_report::read(const std::filesystem::path& state) {
    if (!std::filesystem::exists(state / "lock")) throw no_state_at(state);
    lock_report report;
    const std::filesystem::path readers = state / "readers";
    if (!std::filesystem::exists(readers) || reader_file::is_unfinished(readers)) return report;
    const reader_file file(readers, reader_file::mode::look);
    report.writer = report_writer(state, file.header());
    for (std::uint32_t n = 0, end = file.slots(); n < end; ++n) {
        const of_reader reader = report_reader(file, n);
        if (reader.process != 0) report.readers.push_back(reader);
    }
    return report;
}

} // namespace chainbase
