#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <chainbase/object/key_reader.hpp>
#include <chainbase/offline/check/checkpoint_check.hpp>
#include <chainbase/offline/check/mapped_state.hpp>
#include <chainbase/offline/check/report.hpp>
#include <chainbase/offline/check/slot_checks.hpp>
#include <chainbase/offline/rows/described_buffers.hpp>
#include <chainbase/offline/rows/type_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::check {

/// Checks one type: its pool, ids, each key, and the buffers its objects refer to.
class type_check {
public:
    /// Told how many structures of the type were checked, and how many there are.
    using progress = std::function<void(std::size_t done, std::size_t all)>;

    /// `type` and `buffers` outlive it. Adds the parts "objects", "ids", one for each key, and
    /// "buffers", to `to`.
    type_check(const mapped_state::type& type, buffer_check& buffers, part_report& to,
               const progress& tell);

    /// The objects; null when nothing could be told of them.
    [[nodiscard]] const object_slots* objects() const noexcept {
        return objects_ ? &*objects_ : nullptr;
    }
    [[nodiscard]] const type_schema& schema() const noexcept { return *type_.schema; }
    /// The id that the next object gets.
    [[nodiscard]] std::uint32_t next_id() const noexcept { return next_id_; }
    /// The slot of the object that has this id.
    [[nodiscard]] std::optional<slot_number> find(std::uint32_t id) const noexcept;

private:
    bool check_objects(part_report& to);
    void mark_altered_damaged();
    void check_ids(part_report& to);
    void check_id(std::uint32_t id, std::vector<bool>& by_id, part_report& to);
    void check_container(part_report& to);
    void check_keys(part_report& to, const std::function<void()>& done);
    void check_references(part_report& to);
    [[nodiscard]] std::string refer(const std::byte* place, const buffer_layout& elements,
                                    std::uint64_t& count);

    const mapped_state::type& type_;
    buffer_check& buffers_;
    rows::type_layout layout_;
    std::unique_ptr<rows::described_buffers> references_; ///< null when the catalogue is damaged
    std::optional<object_slots> objects_;
    std::uint32_t next_id_ = 0;
    std::uint32_t known_ids_ = 0; ///< of which the table is in the file
};

/// How much of a type's objects survived.
struct survivors {
    std::string type;
    std::uint64_t objects = 0; ///< that are known of
    std::uint64_t whole = 0;   ///< of which nothing wrong was found
    bool is_known = false;     ///< else nothing can be told: its files could not be opened
};

/// Says whether a state is sound, from its files and its catalogue alone: without the headers of
/// the program that wrote it, and whatever the files hold.
///
/// Invariants:
///  1. No file changes, and no writer can open the state meanwhile.
///  2. Every number that is read is compared with what it may be before it is used; every walk
///     visits a slot, a page, an entry once. So whatever the files hold, the check ends.
///  3. The checked state is the one that the next opening gives: unfinished work is rolled back
///     first, in a copy.
///  4. Data that the catalogue does not describe is listed as not checked.
///  5. The pages of a lost segment are not checked; instead the checkpoint with its redo log is,
///     which opening would restore. A missing checkpoint is a finding.
///
/// Not thread-safe.
class state_check {
public:
    /// Checks the state in the folder `state`. Throws format_error when none is there or it is of
    /// another format, access_error when its folder is not to be trusted, locked_error when a
    /// process has it open for writing, limit_error when it does not fit the addresses of this
    /// process, io_error. `tell` is called now and then with the bytes of objects whose types were
    /// checked, and all there are; what it throws ends the check.
    explicit state_check(std::filesystem::path state, const checkpoint::progress& tell = {});

    [[nodiscard]] const std::filesystem::path& state() const noexcept { return mapped_.state(); }
    [[nodiscard]] segment_condition condition() const noexcept { return mapped_.condition(); }
    /// Whether there is a segment that could be looked at. If not, there is no log either.
    [[nodiscard]] bool is_mapped() const noexcept { return mapped_.is_mapped(); }
    /// Whether the catalogue could be read. If not, types() is empty, whatever the segment holds.
    [[nodiscard]] bool knows_types() const noexcept { return mapped_.knows_types(); }
    [[nodiscard]] const log_facts& log() const noexcept { return mapped_.log(); }
    /// Why the segment is lost, in words; empty if it is not.
    [[nodiscard]] const std::string& why_lost() const noexcept { return mapped_.why_lost(); }
    /// Of a segment that is lost: the checkpoints, unless there are none.
    [[nodiscard]] const std::optional<checked_checkpoints>& checkpoints() const noexcept {
        return checkpoints_;
    }
    /// The parts "header", "undo_log", "pages" if a checkpoint has the sums of all of them,
    /// "buffers", then one for each type; of a segment that is lost "header" and "checkpoint".
    [[nodiscard]] const part_report& report() const noexcept { return report_; }
    [[nodiscard]] std::vector<survivors> survived() const;

    /// Lets callers that compare objects with other data add parts to the report.
    [[nodiscard]] part_report& report() noexcept { return report_; }
    [[nodiscard]] const std::deque<type_check>& types() const noexcept { return types_; }
    [[nodiscard]] const buffer_check& buffers() const noexcept { return buffers_; }
    [[nodiscard]] const mapped_state& mapped() const noexcept { return mapped_; }

private:
    void check_types(const checkpoint::progress& tell);
    void check_what_is_restored();

    part_report report_;
    mapped_state mapped_;
    buffer_check buffers_;
    std::deque<type_check> types_;
    std::optional<checked_checkpoints> checkpoints_;
};

} // namespace chainbase::check
