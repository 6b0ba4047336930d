#pragma once

#include <pool_allocator/base/file_descriptor.hpp>
#include <undo/undo_log.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace chainbase {

/// What the bytes of a state were at the end of a block, read from its log beside the writer,
/// without a lock: the reading half of snapshots and of the feed. It has a copy of each record
/// since that block, as far as it was read, and finds those of a page.
///
/// Invariant: after with_images(copy) the copied bytes, with put_back() applied, are those at
/// from(). chainbase/snapshot/README.md has the proof.
///
/// Thread-safety: one thread at a time.
class before_images {
public:
    struct record {
        log_time time; ///< behind it
        std::uint64_t offset;
        std::uint32_t bytes;
        record_kind kind;
        const std::byte* content;
        [[nodiscard]] bool restores() const noexcept {
            return bytes != 0 && record_trailer::make(0, 0, kind).restores();
        }
    };

    /// Opens the log's `file`. Throws access_error, io_error.
    explicit before_images(const std::string& file);
    ~before_images();
    before_images(const before_images&) = delete;
    before_images& operator=(const before_images&) = delete;

    /// From now on memory that was outgrown is not needed, but the log only. Before begin().
    void need_log_only() noexcept { needs_log_only_ = true; }

    /// Starts again at the end of the newest block. Throws busy_error when there is none: the state
    /// is being opened, or its writer died while it rolled back.
    void begin();
    [[nodiscard]] const block_end& from() const noexcept { return from_; }

    /// Whether a snapshot that began now would begin there, too. Any thread.
    [[nodiscard]] bool is_newest() const noexcept;

    /// snapshot_words::losses at its begin.
    [[nodiscard]] std::uint64_t losses() const noexcept { return losses_; }

    /// Calls copy(with), which copies live bytes of the state, one or more times, until all that it
    /// may have copied can be put back. Throws too_old_error, busy_error (the writer rolls back all
    /// the time, or died while it did), damaged_error, io_error, and what `copy` throws.
    void with_images(void (*copy)(void*), void* with);
    /// Puts the bytes of [offset, offset + bytes.size()) of the address space back to what they
    /// were at a later time, or at from().
    void put_back(std::uint64_t offset, std::span<std::byte> bytes, log_time at = 0) const noexcept;
    /// Throws too_old_error when nothing more can be read.
    void require_usable();

    /// @name Moving on to a newer block
    /// @{
    /// How many bytes of the log that will read, at least.
    [[nodiscard]] std::uint64_t unread_bytes() const noexcept;
    /// The end of the newest block, up to which the records are read now. Throws as with_images.
    [[nodiscard]] block_end find_newest();
    /// Calls visit(offset, bytes) for all bytes that differ between from() and `to`, which
    /// find_newest() returned last; for others, too, and more than once. Of bytes that came into
    /// use for the first time there are some in each page that has any.
    template <typename Visitor>
    void each_change_until(const block_end& to, Visitor&& visit) const {
        for (const record& one : records_)
            if (one.time <= to.time && one.restores()) visit(one.offset, one.bytes);
    }
    /// From now on from() is `to`, which find_newest() returned last. Throws std::bad_alloc; then
    /// nothing more can be read.
    void move_to(const block_end& to);
    /// @}

    /// @name What happened in each block
    /// @{
    /// Since from(), as far as they were read, the oldest first.
    [[nodiscard]] const std::vector<record>& records() const noexcept { return records_; }
    /// After begin(): begins at the begin of the oldest session that can be undone, if there is
    /// one. Throws io_error, damaged_error; may leave it too old.
    void begin_at_oldest();
    /// Begins where `other` did, which reads the same log and is not in use meanwhile; may leave it
    /// too old.
    void begin_at(const before_images& other) noexcept;
    /// The newest revision that cannot be undone; nothing while it changes. Throws io_error.
    [[nodiscard]] std::optional<revision_number> committed() const;
    /// If from() is where nothing can be undone, what tells it apart from other states of its
    /// revision (log_words::base_serial); nothing if it is not, or while the log changes.
    [[nodiscard]] std::optional<std::uint32_t> serial_of_base() const noexcept;
    /// How far the writer went back.
    struct step_back {
        std::uint64_t turn;
        log_time to;
    };
    /// Whether the block of from() was undone. Throws busy_error.
    [[nodiscard]] std::optional<step_back> undone() const;
    /// From now on from() is `to`, the end of an earlier block that was not undone with it.
    void go_back(const block_end& to, const step_back& by) noexcept;
    /// Whether `to`, which find_newest() returned last, was not undone since, as far as is known
    /// here.
    [[nodiscard]] bool holds(const block_end& to) const noexcept { return lowest_ >= to.time; }
    /// @}

    /// Bytes of records that it holds.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// Whether the file has this name still.
    [[nodiscard]] bool is_at(const std::string& name) const noexcept;
    /// How often `copy` was called again.
    [[nodiscard]] std::uint64_t retries() const noexcept { return retries_; }

private:
    /// Of areas of the address space: few, so that what leads to their images stays in the cache.
    static constexpr unsigned area_shift = 16;

    /// Records that were read and not taken yet.
    struct reading {
        std::vector<record> records; ///< the newest first
        std::vector<std::unique_ptr<std::byte[]>> pieces;
        std::uint64_t bytes = 0;
        log_time end = 0;
    };

    [[nodiscard]] const log_words& log() const noexcept {
        return *reinterpret_cast<const log_words*>(header_ + sizeof(window_header));
    }
    [[nodiscard]] const snapshot_words& words() const noexcept {
        return *reinterpret_cast<const snapshot_words*>(header_ + sizeof(window_header) +
                                                        sizeof(log_words));
    }
    [[noreturn]] void throw_over(const char* why) const;
    /// Returns false while it changes or there is none.
    [[nodiscard]] bool read_end(block_end& end) const noexcept;
    [[nodiscard]] std::uint64_t wait_for_even_turn() const;
    [[nodiscard]] log_time lowest_since(std::uint64_t turn) const noexcept;
    [[noreturn]] void throw_restless() const;
    [[nodiscard]] bool catch_up(log_position at, std::uint64_t turn);
    /// Reads the records between `until` and `at`. Returns false when they do not lead there, which
    /// is damage unless the log changed meanwhile.
    [[nodiscard]] bool read_back(log_position at, log_time until, reading& into) const;
    [[nodiscard]] static bool split(std::span<const std::byte> piece, log_time begin,
                                    reading& into);
    void take(reading& what);
    void enter(const record& one);
    void forget() noexcept;
    void set_from(const block_end& to) noexcept;
    void drop_from(log_time time) noexcept;

    std::string name_;
    std::filesystem::path path_; ///< the same, which takes time to make
    file_descriptor file_;
    std::byte* header_ = nullptr; ///< the first page, mapped
    block_end from_{};
    std::uint64_t losses_ = 0; ///< when it began
    std::uint64_t turn_ = 0;   ///< up to which rollbacks are known
    log_time read_to_ = 0;
    log_time lowest_ = UINT64_MAX; ///< of rollbacks since find_newest()
    bool needs_log_only_ = false;
    std::vector<record> records_;
    /// Places in records_ of those that restore.
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> of_area_;
    std::vector<std::unique_ptr<std::byte[]>> pieces_;
    std::uint64_t bytes_ = 0;
    std::uint64_t retries_ = 0;
    bool is_torn_ = true; ///< what it holds is not as of from_
};

} // namespace chainbase
