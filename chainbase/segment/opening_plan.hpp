#pragma once

#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

/// Decides how an existing state is opened. Opening itself, `info`, `check` and `repair` all use
/// opening_plan, so they cannot disagree.
namespace chainbase {

class disk;

/// The facts that decide how a state is opened, read from its files: plain values, so that
/// opening_plan::of is a table (tests/failure/opening_plan.cpp).
struct opening_facts {
    enum class header_file {
        missing,
        foreign, ///< another program's: the magic is not ours
        damaged, ///< shorter than a page, or its checksum is wrong
        whole,   ///< then `header` holds it, in any format
    };

    std::filesystem::path state;
    std::filesystem::path segment; ///< the segment's folder, which need not exist
    bool is_in_memory = false;     ///< the segment's place is not in the state's folder
    std::string why_foreign;       ///< segment_place::why_foreign()
    bool is_file = false;          ///< `state` is something else than a folder
    bool is_vacant = false;        ///< nothing is in the way of a new state
    bool has_lock = false;         ///< the file `lock` is there
    bool has_segment = false;      ///< the segment's folder is there
    std::filesystem::path former;  ///< the segment set aside by a replacement that was killed
    bool has_checkpoint = false;   ///< one is published, complete or not
    std::size_t header_bytes = 0;  ///< length of the header's file
    header_file header_is = header_file::missing;
    std::optional<segment_header> header;
    bool is_of_this_boot = false; ///< the header was written since the machine started
    bool is_a_copy = false;       ///< the header is another file than the one that was opened
    bool is_put_back = false;     ///< the log is not as far as it was (log_witness.hpp)

    /// Reads the facts of the segment in `place` and of the checkpoints on `on`; changes nothing.
    /// For a segment that was set aside, reads its header there. `writing`: on behalf of a writer.
    /// Throws access_error when the folders of the state cannot be trusted, io_error.
    [[nodiscard]] static opening_facts read(const std::filesystem::path& state,
                                            const segment_place& place, disk& on, bool writing);
    /// Uses `found` as the header, read from `file`, instead of the file's content.
    void use(const segment_header& found, const file_identity& file);
};

/// The condition of a segment that no process has open.
enum class segment_condition {
    unknown, ///< it cannot be read
    closed,
    writer_died,       ///< the next opening rolls back what is unfinished
    machine_restarted, ///< before all was on storage: pages of different times
    copied_while_open, ///< its files are copies made while a writer had it open: pages of different
                       ///< times
    segment_lost,      ///< it is missing, or belongs to another state
};

/// Whether the segment cannot be used: the next opening restores a checkpoint.
[[nodiscard]] constexpr bool is_lost(segment_condition what) noexcept {
    using enum segment_condition;
    return what == machine_restarted || what == copied_while_open || what == segment_lost;
}

/// "unknown", "closed", "writer_died", "machine_restarted", "copied_while_open" or "segment_lost".
[[nodiscard]] std::string to_string(segment_condition what);

enum class opening_way {
    attach,    ///< it was closed properly
    roll_back, ///< the writer died: to the last completed block
    restore,   ///< the newest checkpoint that is whole
    create,    ///< a new state
    refuse,    ///< throws an exception, and changes nothing
};
/// "attach", "roll_back", "restore", "create" or "refuse".
[[nodiscard]] std::string to_string(opening_way what);

/// The action of the next opening for writing, if no other process has the state open and its files
/// can be used.
struct opening_plan {
    enum class error_kind { none, format, damaged, unclean };
    static constexpr const char* no_state = "no_state"; ///< the code of a folder that holds none

    opening_way does = opening_way::refuse;
    segment_condition condition = segment_condition::unknown;
    std::string code; ///< machine-readable problem or event; empty: none
    std::string why;  ///< the reason, in a few words
    error_kind kind = error_kind::none;
    std::string message; ///< of the exception: file, what is wrong, what to do

    /// Derives the plan from the facts.
    [[nodiscard]] static opening_plan of(const opening_facts& found);
    /// Throws the exception of opening_way::refuse: format_error, damaged_error or unclean_error.
    [[noreturn]] void refuse() const;
};

/// The end of a message about an unusable segment: how to restore the checkpoint instead.
[[nodiscard]] std::string or_restore(const std::filesystem::path& segment);

/// Whether a checkpoint is, or was, in `folder` (STATE/checkpoint).
[[nodiscard]] bool has_checkpoint(disk& on, const std::filesystem::path& folder);

} // namespace chainbase
