#pragma once

#include <chainbase/open_options.hpp>
#include <chainbase/segment/opening_plan.hpp>
#include <chainbase/segment/segment_place.hpp>
#include <pool_allocator/base/files.hpp>

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace chainbase {

class disk;
class process_lock;

/// Marks a state whose place `by` takes, on storage: from then on it is not opened for writing,
/// until the file `superseded` in its folder is removed. Requires the writer's lock. Throws
/// io_error, out_of_space_error.
void supersede(const std::filesystem::path& state, const std::string& by);
/// Who took its place; nothing if nobody did. Throws io_error.
[[nodiscard]] std::optional<std::string> superseded_by(const std::filesystem::path& state);

/// How a state comes to have a segment that can be mapped: the writer's lock is taken, the plan is
/// made (opening_plan.hpp), and a segment that is lost is restored, a new one created. If anything
/// fails, nothing was changed.
class state_opening {
public:
    /// The options outlive it. Throws what reading the place throws.
    state_opening(std::filesystem::path state, const open_options& options);

    /// @name For writing
    /// @{

    /// Takes the writer's lock. Refuses a foreign folder before writing to it; everything else is
    /// checked under the lock. Throws the refusal of the plan, usage_error for options that no new
    /// state can have, access_error, locked_error, io_error.
    [[nodiscard]] opening_plan lock_and_plan();
    /// Says what is wrong with the machine, early, since opening may fail for that very reason.
    void give_advice(const opening_plan& plan) const noexcept;
    /// Restores or creates the segment, if that is the plan. Within the writer's turn.
    void carry_out(const opening_plan& plan, process_lock& turns);
    /// Removes a place that was prepared and not settled. Requires the writer's lock.
    void discard_unsettled() const noexcept;
    /// Releases the lock.
    void unlock() noexcept { lock_.reset(); }
    [[nodiscard]] file_lock& lock() noexcept { return *lock_; }
    /// @}

    /// Requires that there is a segment to read. Throws as require_usable, access_error.
    void find_for_reading() const;
    /// Throws unless the segment can be mapped as it is: closed, or written by a live writer. Asks
    /// `is_closed`, if it is mapped already, whether it was closed meanwhile.
    void require_usable(const opening_facts& found,
                        const std::function<bool()>& is_closed = {}) const;
    /// What is there now.
    [[nodiscard]] opening_facts facts() const;
    /// Whether some process has the state open for writing at this moment.
    [[nodiscard]] bool has_writer() const { return file_lock::is_held(state_ / "lock"); }

    [[nodiscard]] const segment_place& place() const noexcept { return place_; }
    [[nodiscard]] segment_place& place() noexcept { return place_; }
    /// How it went; completed by class segment.
    [[nodiscard]] const opening& result() const noexcept { return result_; }
    [[nodiscard]] opening& result() noexcept { return result_; }

    [[nodiscard]] disk& checkpoint_disk() const noexcept;
    [[nodiscard]] std::filesystem::path checkpoint_folder() const { return state_ / "checkpoint"; }

private:
    /// A place for a segment.
    struct target {
        std::filesystem::path memory; ///< the memory folder; empty: in the state folder
        std::string why;              ///< empty if it was logged
    };

    [[nodiscard]] bool writable() const noexcept { return options_.mode == open_mode::read_write; }
    [[nodiscard]] std::filesystem::path folder() const { return place_.folder(); }
    void check_options() const;
    void check_state_folder() const;
    void make_state_folder() const;
    void create_files();
    [[nodiscard]] std::array<std::byte, 16> fill_folder(const std::filesystem::path& fresh);
    void restore(const std::string& why, const target& to, process_lock& turns,
                 std::optional<std::uint64_t> generation = {});
    void require_same_identity(const std::array<std::byte, 16>& of_checkpoint,
                               const std::filesystem::path& fresh) const;
    void put_in_place(segment_place next, const std::array<std::byte, 16>& identity);
    [[nodiscard]] target place_for_new() const;
    [[nodiscard]] target place_that_fits(const std::filesystem::path& memory) const;
    [[nodiscard]] std::optional<target> better_place() const;
    void move(const target& to, process_lock& turns);
    void log_place(const std::string& why) const;
    void require_persistent(const segment_place& place,
                            const std::string& why_not_moved = {}) const;

    std::filesystem::path state_;
    const open_options& options_;
    segment_place place_;
    std::optional<file_lock> lock_;
    std::optional<target> moves_to_; ///< the closed segment that is attached
    opening result_;
};

} // namespace chainbase
