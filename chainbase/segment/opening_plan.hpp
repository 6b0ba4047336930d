#pragma once

#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/segment_place.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

/// What opening does about what is there of a state. Opening itself, `info`, `check` and `repair`
/// all ask opening_plan, so they cannot disagree.
namespace chainbase {

class disk;

/// What decides how a state is opened, as its files say: plain values, so that opening_plan::of is
/// a table (tests/failure/opening_plan.cpp).
struct opening_facts {
    enum class header_file {
        missing,
        foreign, ///< another program's: the magic is not ours
        damaged, ///< shorter than a page, or its checksum is wrong
        whole,   ///< then `header` has it, of whatever format
    };

    std::filesystem::path state;
    std::filesystem::path segment; ///< the segment's folder, whether it is there or not
    bool is_in_memory = false;     ///< the segment's place is not in the state's folder
    std::string why_foreign;       ///< segment_place::why_foreign()
    bool is_vacant = false;        ///< nothing is in the way of a new state
    bool has_lock = false;         ///< the file `lock` is there
    bool has_segment = false;      ///< the segment's folder is there
    std::filesystem::path former;  ///< the segment, where a replacement that died left it
    bool has_checkpoint = false;   ///< one is published, whole or not
    std::size_t header_bytes = 0;  ///< length of the header's file
    header_file header_is = header_file::missing;
    std::optional<segment_header> header;
    bool is_of_this_boot = false; ///< the header was written since the machine started
    bool is_a_copy = false;       ///< the header is another file than the one that was opened
    bool is_put_back = false;     ///< the log is not as far as it was (log_witness.hpp)

    /// Reads what is there, of the segment in `place` and the checkpoints on `on`; changes nothing.
    /// Of a segment that was set aside, its header there. `writing`: for somebody who may write the
    /// state. Throws access_error when the folders of a state are not to be trusted, io_error.
    [[nodiscard]] static opening_facts read(const std::filesystem::path& state,
                                            const segment_place& place, disk& on, bool writing);
    /// `found` as the header, whatever the file holds, which is `file`.
    void use(const segment_header& found, const file_identity& file);
};

/// What a state is when nobody has it open.
enum class segment_condition {
    unknown, ///< what says so cannot be read
    closed,
    writer_died,       ///< the next opening rolls back what is unfinished
    machine_restarted, ///< since it was written, without being on storage: pages of different times
    copied_while_open, ///< its files are not those that the writer had: pages of different times
    segment_lost,      ///< it is not there, or what is there is not this state's
};

/// Whether the segment is of no use any more: the next opening restores a checkpoint.
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

/// What the next opening for writing does, if no other process has the state open and its files can
/// be used.
struct opening_plan {
    enum class error_kind { none, format, damaged, unclean };
    static constexpr const char* no_state = "no_state"; ///< the code of a folder that holds none

    opening_way does = opening_way::refuse;
    segment_condition condition = segment_condition::unknown;
    std::string code; ///< of what is in the way or happened, for programs; empty: nothing
    std::string why;  ///< it does that, in some words
    error_kind kind = error_kind::none;
    std::string message; ///< of the exception: file, what is wrong, what to do

    /// What follows from the facts.
    [[nodiscard]] static opening_plan of(const opening_facts& found);
    /// Throws the exception of opening_way::refuse: format_error, damaged_error or unclean_error.
    [[noreturn]] void refuse() const;
};

/// The way out of a segment that cannot be used, where there is a checkpoint: the end of a message.
[[nodiscard]] std::string or_restore(const std::filesystem::path& segment);

/// Whether a checkpoint is, or was, in `folder` (STATE/checkpoint).
[[nodiscard]] bool has_checkpoint(disk& on, const std::filesystem::path& folder);

} // namespace chainbase
