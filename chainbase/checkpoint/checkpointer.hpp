#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <chainbase/checkpoint/prior_sync.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/checkpoint/slot_file.hpp>
#include <pool_allocator/page_tracker.hpp>
#include <pool_allocator/window.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase {
class undo_log;
}

namespace chainbase::checkpoint {

/// Makes checkpoints of one segment, one at a time: capture() by the writer at a block boundary,
/// then write() by another thread while the writer goes on.
///
/// Thread-safety: capture() by the writer; write() by one thread at a time, between a capture and
/// the next.
class checkpointer final : private page_tracker::keeper {
public:
    /// The parts of a segment at a capture.
    struct source {
        std::vector<const window*> windows; ///< all but the log
        undo_log* log = nullptr;
        std::string catalogue;
        std::uint64_t redo = 0; ///< publication::redo
        std::uint64_t window_bytes = 0;
        std::uint32_t windows_reserved = 0;
    };

    /// For the state with the identity `state`, in the folder of its checkpoints, which is created
    /// if missing. Throws io_error, format_error, usage_error when the checkpoint is another
    /// state's.
    checkpointer(disk& on, std::filesystem::path folder, const slot_file::identity& state,
                 page_tracker& pages);

    /// The published checkpoints. Not while write() runs.
    [[nodiscard]] const published& done() const noexcept { return published_; }

    /// Begins a checkpoint of the present state. Requires that no operation runs and that the
    /// previous capture was written. Throws std::bad_alloc; then no checkpoint begins.
    void capture(const source& of);
    /// Writes and publishes the capture; calls `before` when all but the publication is on storage.
    /// Returns nothing when the newest checkpoint turned out to be damaged and was set aside: the
    /// capture was relative to it, so call capture() again. Throws io_error, out_of_space_error,
    /// and what `before` throws: then the published checkpoints are unchanged, and the captured
    /// pages count as changed again.
    std::optional<outcome> write(prior_sync& before);

    /// Removes the files of the redo log that no published checkpoint needs. Throws io_error.
    void remove_obsolete_redo();

private:
    struct kept_page {
        std::uint64_t number;
        bool is_known;
        std::unique_ptr<page> content;
    };
    struct captured_window {
        const window* from;
        std::string name;
        std::uint32_t index;
        std::uint64_t bytes;
        std::uint64_t first; ///< page of the address space
        std::uint64_t pages() const noexcept { return bytes / page_bytes; }
    };

    void keep(std::uint64_t page, bool is_known) noexcept override;
    void read_copied(std::uint64_t number, page& into) const;
    void load();
    void load_newest();
    void write_all(outcome& result, prior_sync& before);
    void write_window(const captured_window& one, outcome& result);
    void write_log(outcome& result);
    void write_kept(page_table& table, const captured_window& of, outcome& result);
    void put(page_table& table, std::uint64_t page, std::span<const std::byte, page_bytes> content,
             bool is_known, outcome& result);
    void publish(outcome& result);
    void forget() noexcept;
    void mark_all_changed() noexcept;
    [[nodiscard]] std::unique_ptr<page> fresh_page();

    disk& on_;
    std::filesystem::path folder_;
    slot_file::identity state_;
    page_tracker& pages_;
    published published_;
    std::uint64_t set_aside_ = 0; ///< the newest generation that was set aside
    bool is_set_aside_ = false;   ///< one was, and the capture is relative to it

    // of the checkpoint in progress
    publication next_;
    std::vector<captured_window> windows_;
    std::vector<std::pair<std::uint64_t, std::unique_ptr<page>>> log_pages_;
    captured_window log_;
    std::uint64_t known_ = 0; ///< pages known to have changed, to be written in any case
    double pause_ = 0;
    std::vector<std::pair<std::uint64_t, bool>> copied_; ///< page and is_known, no longer captured

    std::mutex kept_mutex_;
    std::vector<kept_page> kept_;
    std::vector<std::unique_ptr<page>> spare_;
    std::uint64_t copied_ahead_ = 0;
    std::thread::id writer_;
    const window* copied_window_ = nullptr; ///< being copied by write()
    std::uint64_t copied_first_ = 0;        ///< its first page in the address space
    bool lost_ = false;                     ///< a page could not be kept for lack of memory

    // the files; not loaded before the first checkpoint, nor after a failed one
    std::unique_ptr<slot_file> slots_;
    std::map<std::string, page_table> tables_;
    std::vector<slot> replaced_; ///< slots of the newest publication that the next one replaces
    std::vector<slot> outlived_; ///< slots that only the older publication uses
};

} // namespace chainbase::checkpoint
