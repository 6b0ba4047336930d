#pragma once

#include <chainbase/offline/check/page_check.hpp>
#include <chainbase/offline/check/report.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <chainbase/segment/opening_plan.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/size_classes.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::check {

/// Adds to `to` each file that opening would refuse for its kind, owner or mode: `lock`, `readers`,
/// those of `checkpoint` and of the segment's folder. Throws filesystem_error when a folder cannot
/// be read.
void check_files(const std::filesystem::path& state, const std::filesystem::path& segment,
                 part_report& to);

/// What the next opening rolls back, and the state's revisions after it.
struct log_facts {
    bool is_known = false; ///< else the log could not be read
    std::int64_t revision = 0;
    std::int64_t irreversible_revision = 0;
    std::uint64_t sessions = 0; ///< that can be undone
    bool operation = false;     ///< one was under way
    std::uint64_t undone = 0;   ///< sessions that were not pushed
};

/// The files of a state that no process writes, mapped for inspection as private copies
/// (MAP_PRIVATE), in which unfinished work is rolled back. So they show what the next opening
/// gives, and no file changes.
///
/// Opens every file that it can; problems are added to the report. Nothing is mapped of a segment
/// that is lost or whose header cannot be read. During its lifetime no writer can open the state.
class mapped_state {
public:
    /// The windows of a type; null where a file could not be opened.
    struct type {
        const type_schema* schema;
        std::unique_ptr<window> objects;
        std::unique_ptr<window> ids;
        std::vector<std::unique_ptr<window>> tables;
        std::vector<std::unique_ptr<window>> btrees = {};
        std::vector<altered_bytes> altered = {}; ///< of `objects`
    };

    /// Adds the parts "header" and, if it is mapped, "undo_log" to `to`, and "pages" if a
    /// checkpoint has them all. Throws format_error when no state is there, access_error when its
    /// folder is not to be trusted, locked_error when a process has it open for writing, io_error.
    mapped_state(std::filesystem::path state, part_report& to);

    [[nodiscard]] const std::filesystem::path& state() const noexcept { return state_; }
    [[nodiscard]] segment_condition condition() const noexcept { return plan_.condition; }
    /// Why the segment is lost, in words. Requires is_lost(condition()).
    [[nodiscard]] const std::string& why_lost() const noexcept { return plan_.why; }
    [[nodiscard]] bool is_mapped() const noexcept { return addresses_ != nullptr; }
    [[nodiscard]] const log_facts& log() const noexcept { return log_; }
    [[nodiscard]] const std::vector<type>& types() const noexcept { return types_; }
    /// The windows of the size classes, and of the page runs; null where a file could not be
    /// opened.
    [[nodiscard]] const window* buffers(std::size_t number) const noexcept {
        return buffers_[number].get();
    }
    /// Whether the catalogue could be read; else types() is empty.
    [[nodiscard]] bool knows_types() const noexcept { return knows_types_; }
    /// All of it is going to be read: brings it into memory meanwhile, if it is on a disk and
    /// memory has room (disk_pages.hpp). For walks of everything.
    void read_all() const noexcept;
    /// Whether all files could be opened.
    [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }

private:
    bool find_segment(part_report& to);
    bool find_place(part_report& to);
    void keep_writers_out(part_report& to);
    bool read_header(part_report& to);
    void open_windows(part_report& to);
    void open_type(const catalogue::entry& entry, part_report& to);
    std::unique_ptr<window> open_window(std::uint32_t index, const std::string& name,
                                        const window::geometry& shape, part_report& to);
    void check_roots(part_report& to) const;
    void check_log(part_report& to);
    void check_pages(part_report& to);
    template <typename Visitor>
    void each_window(Visitor&& visit) const;

    std::filesystem::path state_;
    std::filesystem::path home_; ///< that holds the segment's folder; empty if nothing says which
    std::optional<file_descriptor> lock_;
    segment_header header_{};
    opening_facts facts_;
    opening_plan plan_; ///< what opening does, if its files can be used
    catalogue catalogue_;
    std::unique_ptr<address_space> addresses_;
    std::unique_ptr<window> log_file_;
    std::array<std::unique_ptr<window>, size_classes::window_count> buffers_;
    std::vector<type> types_;
    std::vector<bool> is_taken_; ///< by window
    bool knows_types_ = false;
    bool is_complete_ = true;
    log_facts log_;
};

} // namespace chainbase::check
