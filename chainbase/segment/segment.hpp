#pragma once

#include <chainbase/open_options.hpp>
#include <chainbase/segment/mapped_segment.hpp>
#include <chainbase/segment/state_opening.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace chainbase {

class process_lock;
class segment_checkpoints;
namespace checkpoint {
class prior_sync;
}

/// The shared memory of one state: what is mapped of it (class mapped_segment), its log, its locks,
/// its checkpoints.
///
/// The state folder holds `lock`, `readers` (through which processes take turns), `checkpoint/` (a
/// README of its own) and, unless that is in memory (class segment_place), `segment/`. `ls -l`
/// shows what each file takes.
///
/// Opening (class state_opening) takes the writer's lock before anything is believed, and changes
/// nothing if it fails:
///  - closed properly: attach;
///  - not closed, same boot (the writer died): roll back to the last completed block;
///  - another boot, and not known to be on storage, or copied while it was open, or not this
///    state's, or not there: what the newest checkpoint that is whole has, rolled back likewise;
///    without a checkpoint unclean_error, since its pages may be of different times.
/// Which of these it is, opening_plan says (segment/opening_plan.hpp).
///
/// A forked process cannot use it: the destructor and noexcept calls do nothing; other calls that
/// change the state, wait or take turns throw usage_error.
class segment final : public mapped_segment {
public:
    /// Throws access_error, locked_error, format_error, damaged_error, unclean_error, io_error,
    /// out_of_space_error, limit_error, usage_error (impossible options).
    segment(std::filesystem::path state, const open_options& options);
    /// As close(), but errors are only reported on stderr.
    ~segment();

    /// Closes a state that was open for writing: undoes open sessions, waits until all is on
    /// storage (if `sync`), marks the state as closed and releases the lock. Then log() is null,
    /// and nothing may be changed. Does nothing the second time, or when only reading. Throws
    /// io_error; the state then counts as not closed.
    void close();

    /// Throws usage_error in another process than the one that opened it.
    void require_here() const { origin_.require_here(state().native()); }

    /// How it was opened.
    [[nodiscard]] const opening& opened() const noexcept { return opening_.result(); }

    /// Makes a checkpoint of the present state and waits until it is on storage. Requires that no
    /// operation runs. Throws usage_error when only reading, or without checkpoints; io_error,
    /// out_of_space_error: then the last checkpoint is unchanged.
    checkpoint::outcome make_checkpoint();
    /// Waits until all pushed blocks survive a crash of the machine: until the redo log has them,
    /// or else for a checkpoint. Throws as make_checkpoint.
    void wait_until_durable();
    /// Registers `call`, which syncs data that the state relies on. While the result lives, it is
    /// called before a checkpoint is published or a block goes to the redo log (in other threads),
    /// and before the state is marked as closed. Destroying the result, before or after the state,
    /// calls it a last time, unless the state was closed or abandoned; if that fails, no further
    /// checkpoint is published and closing throws the same error. An `owner` that is already
    /// registered gets its existing result. Waits for the checkpoint in progress. Returns null when
    /// only reading, and for an empty `call`.
    ///
    /// An archive and its life cycles do this themselves.
    [[nodiscard]] std::shared_ptr<void> sync_before_checkpoints(std::function<void()> call,
                                                                const void* owner = nullptr);
    /// Whether the newest checkpoint equals the present state: the state was closed with a
    /// checkpoint, and nothing has changed since. For the writer, outside of operations.
    [[nodiscard]] bool is_in_checkpoint() const;
    /// The checkpoints made since the state was opened. From any thread, but not concurrently with
    /// close() and abandon().
    [[nodiscard]] checkpoint::history checkpoints() const;

    /// Ends writing as a kill would: the next opening rolls back to the last completed block.
    void abandon() noexcept;

    /// The folder of the segment's files, in the state folder or in memory.
    [[nodiscard]] std::filesystem::path folder() const { return opening_.place().folder(); }
    /// Whether some process has the state open for writing at this moment.
    [[nodiscard]] bool has_writer() const { return opening_.has_writer(); }
    /// The log, null when only reading and once closed or abandoned.
    [[nodiscard]] undo_log* log() noexcept { return log_.get(); }
    [[nodiscard]] const undo_log* log() const noexcept { return log_.get(); }

    /// Reads the file lengths again, and the types that another process added.
    void refresh();

    /// @name Turns with other processes
    /// What database::with_read_lock and with_write_lock take besides the lock between threads.
    /// @{
    /// Takes the writer's turn, unless it is already taken. Returns whether it did; then
    /// end_writing() must be called. Does nothing when only reading.
    [[nodiscard]] bool begin_writing();
    void end_writing() noexcept;
    /// Takes a reader's turn, in a read-only process: returns the slot for end_reading(). Throws
    /// what process_lock::lock_shared throws, and replaced_error when the mapped segment was
    /// replaced.
    [[nodiscard]] std::uint32_t begin_reading();
    void end_reading(std::uint32_t slot) noexcept;
    /// Whether refresh() is needed. Call it under the read lock.
    [[nodiscard]] bool is_outdated() const noexcept;
    /// @}

    /// The windows of the type called `schema.name`, created if the state does not have it yet.
    /// Throws schema_error naming the first difference, usage_error when only reading and the type
    /// does not exist, limit_error when the windows are used up.
    type_windows& open_type(const type_schema& schema);

    /// Enters a type made by open_type in the catalogue, after its windows were initialised: this
    /// makes it part of the state. Throws io_error, out_of_space_error.
    void publish_type(type_windows& type);
    /// Discards a type made by open_type that could not be initialised or published.
    void withdraw_type(const type_windows& type) noexcept;

private:
    void open_for_writing();
    void fit_windows();
    void open_for_reading();
    void attach();
    void take_over();
    void recover();
    void start_checkpoints();
    void make_up_for_checkpoint();
    void sync_after_dead_writer();
    void require_checkpoints() const;
    [[nodiscard]] bool has_changed() const;
    void sync(void (mapped_segment::*what)());
    void set_closed(bool synced, std::uint64_t generation);
    void leave_log() noexcept;

    process_of_origin origin_;
    open_options options_;
    state_opening opening_;
    std::unique_ptr<process_lock> turns_; ///< null when reading with allow_unclean
    std::uint64_t lengths_told_ = 0;      ///< to readers: address_space::length_changes()
    /// What a reader has mapped.
    struct {
        std::uint64_t segment = 0;
        std::atomic<std::uint64_t> lengths{0};
        std::atomic<std::uint64_t> types{0};
    } seen_;
    std::unique_ptr<undo_log> log_; ///< null when only reading
    /// The log once closed or abandoned: guards of its sessions look into it as long as there is a
    /// database.
    std::unique_ptr<undo_log> closed_log_;
    std::shared_ptr<checkpoint::prior_sync> before_; ///< what the state relies on elsewhere
    std::shared_ptr<void> dead_writer_sync_; ///< a part of it: what a writer that died wrote
    bool sync_failed_ = false; ///< so nothing on storage is believed, whatever a later sync returns
    std::unique_ptr<segment_checkpoints> checkpoints_; ///< null without checkpoints
    /// What the header said when it was opened, and where the state stood.
    struct {
        bool closed = false;
        bool synced = false;
        std::uint64_t generation = 0; ///< of the checkpoint that holds just that
        revision_number revision = 0;
        revision_number committed = 0;
    } found_;
};

} // namespace chainbase
