#pragma once

#include <chainbase/catalogue.hpp>
#include <chainbase/files.hpp>
#include <chainbase/index_base.hpp>
#include <chainbase/open_options.hpp>
#include <chainbase/segment/opening_plan.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/address_space.hpp>
#include <pool_allocator/keyed_hash.hpp>
#include <pool_allocator/process_of_origin.hpp>
#include <pool_allocator/size_classes.hpp>
#include <undo/undo_log.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {

class process_lock;
namespace checkpoint {
class prior_sync;
}

/// The shared memory of one state: its folder, the windows mapped from it, the log.
///
/// The state folder holds `lock`, `readers` (through which processes take turns), `checkpoint/` (a
/// README of its own) and, unless that is in memory (class segment_place), `segment/` with
/// `header`, `catalogue.json`, `undo_log`, the `buffers.*` and, for every type, `<type>.objects`,
/// `<type>.ids`, `<type>.<n>.hash`. `ls -l` shows what each takes.
///
/// Opening takes the writer's lock before anything is believed, and changes nothing if it fails:
///  - closed properly: attach;
///  - not closed, same boot (the writer died): roll back to the last completed block;
///  - another boot, and not known to be on storage, or copied while it was open, or not this
///    state's, or not there: what the
///    newest checkpoint that is whole has, rolled back likewise; without a checkpoint
///    unclean_error, since the kernel wrote pages back in any order.
/// Which of these it is, opening_plan says (segment/opening_plan.hpp).
///
/// In a process that was forked nothing of it can be used: the destructor and what is noexcept do
/// nothing, all else that changes the state, waits or takes turns throws usage_error.
class segment {
public:
    static constexpr std::size_t header_bytes = segment_header::page_bytes;

    /// Throws access_error, locked_error, format_error, damaged_error, unclean_error, io_error,
    /// out_of_space_error, limit_error, usage_error (options that cannot be).
    segment(std::filesystem::path state, const open_options& options);
    /// As close(), but errors are only reported on stderr.
    ~segment();
    segment(const segment&) = delete;
    segment& operator=(const segment&) = delete;

    /// Closes a state that was open for writing: undoes open sessions, waits until all is on
    /// storage (if `sync`), marks the state as closed and lets go of the lock. The log is gone
    /// then, and nothing may be changed any more. Does nothing the second time, or when only
    /// reading. Throws io_error; the state then counts as not closed.
    void close();

    /// Throws usage_error in another process than the one that opened it.
    void require_here() const { origin_.require_here(state_.native()); }

    /// How it was opened.
    [[nodiscard]] const opening& opened() const noexcept { return opened_; }

    /// Makes a checkpoint of what is there and waits until it is on storage. Requires that no
    /// operation runs. Throws usage_error when only reading, or without checkpoints; io_error,
    /// out_of_space_error: then the last one is what it was.
    checkpoint::outcome make_checkpoint();
    /// Waits until all blocks that were pushed survive a crash of the machine: until the redo log
    /// has them, or else for a checkpoint. Throws as make_checkpoint.
    void wait_until_durable();
    /// `call` brings to storage what the state relies on: it is called before a checkpoint is
    /// published, a block goes to the redo log, in other threads, or the state is marked as closed,
    /// as long as the result lives. When that is destroyed, before or after the state, it is called
    /// a last time, unless the state was closed or abandoned; if this fails, no checkpoint is
    /// published any more and closing throws the same. An `owner` that has one already gets that
    /// one. Waits for the checkpoint under way. Returns null when only reading, and for null.
    ///
    /// An archive and its life cycles do this themselves.
    [[nodiscard]] std::shared_ptr<void> sync_before_checkpoints(std::function<void()> call,
                                                                const void* owner = nullptr);
    /// Whether the newest checkpoint has just what is there: it was closed with one, and nothing
    /// has changed since. By the writer, outside of operations.
    [[nodiscard]] bool is_in_checkpoint() const;
    /// What became of the checkpoints since the state was opened. In any thread, but not beside
    /// close() and abandon().
    [[nodiscard]] checkpoint::history checkpoints() const;

    /// Ends writing as a kill would: the next opening rolls back to the last completed block.
    void abandon() noexcept;

    [[nodiscard]] const std::filesystem::path& state() const noexcept { return state_; }
    /// Of the segment's files, in the state folder or in memory.
    [[nodiscard]] std::filesystem::path folder() const { return place_.folder(); }
    [[nodiscard]] bool writable() const noexcept { return options_.mode == open_mode::read_write; }
    [[nodiscard]] const catalogue& types() const noexcept { return catalogue_; }
    [[nodiscard]] const std::vector<std::unique_ptr<type_windows>>& windows() const noexcept {
        return types_;
    }
    /// The log, null when only reading and once closed or abandoned.
    [[nodiscard]] undo_log* log() noexcept { return log_.get(); }
    [[nodiscard]] const size_classes& buffers() const noexcept { return *buffers_; }
    [[nodiscard]] size_classes& buffers() noexcept { return *buffers_; }
    /// The log's words, also when reading only.
    [[nodiscard]] const log_words& words() const noexcept {
        return *reinterpret_cast<const log_words*>(log_file_->root());
    }
    [[nodiscard]] const window& log_file() const noexcept { return *log_file_; }
    /// Looks at the files again: what another process grew, and the types it added.
    void refresh();

    /// @name Turns with other processes
    /// What database::with_read_lock and with_write_lock take besides the lock between threads.
    /// @{
    /// Begins to write, unless this is within what another call began. Returns whether it did; then
    /// end_writing() is to be called. Does nothing when only reading.
    [[nodiscard]] bool begin_writing();
    void end_writing() noexcept;
    /// Begins to read, in a process that only reads: returns what end_reading() needs. Throws what
    /// process_lock::lock_shared does, and replaced_error when the segment is not the state's any
    /// more.
    [[nodiscard]] std::uint32_t begin_reading();
    void end_reading(std::uint32_t slot) noexcept;
    /// Whether it is time for refresh(). Under the read lock.
    [[nodiscard]] bool is_outdated() const noexcept;
    /// @}

    /// Whether some process has the state open for writing at this moment.
    [[nodiscard]] bool has_writer() const { return file_lock::is_held(state_ / "lock"); }
    [[nodiscard]] const address_space& addresses() const noexcept { return *addresses_; }
    [[nodiscard]] const segment_header& header() const noexcept { return *header_.at; }

    /// The windows of the type called `schema.name`; made, if the state does not have it yet.
    /// Throws schema_error naming the first difference, usage_error when only reading and the type
    /// is not there, limit_error when the windows are used up.
    type_windows& open_type(const type_schema& schema);

    /// Enters a type made by open_type in the catalogue, after its windows were initialised: only
    /// from then on is it part of the state. Throws io_error, out_of_space_error.
    void publish_type(type_windows& type);
    /// Forgets a type made by open_type that could not be initialised or published.
    void withdraw_type(const type_windows& type) noexcept;

    /// Calls build(with), which initialises a new window, with all stores exempt from the log.
    void initialise_unlogged(void (*build)(void*), void* with);

private:
    void open_for_writing(const opening_plan& plan);
    void open_for_reading();
    void attach();
    void check_options() const;
    void check_state_folder() const;
    void make_state_folder() const;
    void find_for_reading() const;
    [[nodiscard]] opening_plan lock_and_plan();
    [[nodiscard]] disk& checkpoint_disk() const noexcept;
    [[nodiscard]] std::filesystem::path checkpoint_folder() const { return state_ / "checkpoint"; }
    [[nodiscard]] opening_facts facts() const;
    void require_usable(const opening_facts& found) const;
    void give_advice(const opening_plan& plan) const noexcept;
    void restore(std::string why);
    void require_same_identity(const std::array<std::byte, 16>& of_checkpoint,
                               const std::filesystem::path& fresh) const;
    void put_in_place(segment_place next, const std::array<std::byte, 16>& identity);
    [[nodiscard]] std::filesystem::path memory_for_new() const;
    void require_promise(const segment_place& place) const;
    void start_checkpoints();
    void sync_what_the_dead_left();
    void require_checkpoints() const;
    [[nodiscard]] bool has_closing_checkpoint() const;
    [[nodiscard]] bool has_changed() const;
    void create_files();
    [[nodiscard]] std::array<std::byte, 16> fill_folder(const std::filesystem::path& fresh);
    void map_header();
    void map_windows();
    void check_roots() const;
    void check_lengths() const;
    void take_over();
    [[nodiscard]] std::uint32_t roots_checksum() const;
    std::unique_ptr<type_windows> map_type(const catalogue::entry& entry, window::mode how) const;
    [[nodiscard]] std::uint32_t next_free_window() const noexcept;
    [[nodiscard]] hash_seed own_seed() const noexcept;
    [[nodiscard]] bool is_closed() const noexcept;
    void mark_open();
    void mark_closed(bool synced, std::uint64_t generation);
    void sync_windows();
    void sync_header();
    void leave_log() noexcept;
    template <typename Visitor>
    void each_window(Visitor&& visit) const;

    process_of_origin origin_;
    std::filesystem::path state_;
    open_options options_;
    segment_place place_;
    std::optional<file_lock> lock_;
    std::unique_ptr<process_lock> turns_; ///< null when reading with allow_unclean
    std::uint64_t lengths_told_ = 0;      ///< to readers: address_space::length_changes()
    /// A reader's: what it has mapped.
    struct {
        std::uint64_t segment = 0;
        std::atomic<std::uint64_t> lengths{0};
        std::atomic<std::uint64_t> types{0};
    } seen_;
    struct mapped_header {
        segment_header* at = nullptr;
        file_identity mark; ///< of the file
        mapped_header() = default;
        mapped_header(const mapped_header&) = delete;
        mapped_header& operator=(const mapped_header&) = delete;
        ~mapped_header();
    } header_;
    catalogue catalogue_;
    std::unique_ptr<address_space> addresses_;
    std::unique_ptr<window> log_file_;
    std::unique_ptr<size_classes> buffers_;
    std::vector<std::unique_ptr<type_windows>> types_;
    std::unique_ptr<undo_log> log_; ///< null when only reading
    /// Once closed or abandoned: guards of its sessions look into it as long as there is a
    /// database.
    std::unique_ptr<undo_log> left_log_;
    /// What the state relies on elsewhere.
    std::shared_ptr<checkpoint::prior_sync> before_;
    std::shared_ptr<void> left_by_the_dead_; ///< a part of it: what a writer that died wrote
    bool sync_failed_ = false; ///< so nothing on storage is believed, whatever a later one says
    struct checkpoint_maker;
    std::unique_ptr<checkpoint_maker> checkpoints_; ///< null without checkpoints
    /// What the header said when it was opened, and where the state stood.
    struct {
        bool closed = false;
        bool synced = false;
        std::uint64_t generation = 0; ///< of the checkpoint that holds just that
        revision_number revision = 0;
        revision_number committed = 0;
    } found_;
    opening opened_;
};

} // namespace chainbase
