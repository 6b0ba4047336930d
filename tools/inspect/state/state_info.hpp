#pragma once

#include <chainbase/catalogue.hpp>
#include <chainbase/doctor.hpp>
#include <chainbase/lock/process_lock.hpp>
#include <chainbase/segment/opening_plan.hpp>
#include <tools/inspect/memory/mapped_pages.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/undo_report.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Something that is in the way of using a state, or will be.
struct trouble {
    std::string code; ///< for programs: "writer_died", "no_checkpoint" ...; json.md lists them
    std::string what; ///< for people, with what is to be done
};

/// What can be found out of a state without opening it, whatever is wrong with it. What could not
/// be read is empty, and one of `troubles` says why.
struct state_info {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files; empty if nothing says which
    bool is_in_memory = false;     ///< it is in a folder of memory, and not in the state's
    bool is_lost_with_the_machine = false;
    doctor::mount state_mount;
    doctor::mount segment_mount;
    std::string owner;         ///< of the state's folder: the user's name, or number
    std::string mode;          ///< of it, in octal: "0700"
    std::string readers_group; ///< whose members may read; empty: only the owner may

    std::optional<segment_header> header;
    bool is_this_boot = false;
    lock_report::of_writer writer;
    std::size_t readers = 0; ///< processes' slots in use
    std::optional<undo_report> log;
    std::optional<catalogue> types;
    std::optional<mapped_pages> pages; ///< of the writer's process
    std::string shmem_enabled;         ///< the kernel's setting for tmpfs and shared memory

    std::vector<checkpoint_info> checkpoints; ///< the newest first
    std::string promise; ///< "process", "checkpoint", "commit"; empty: not known
    std::string archive; ///< the kind; empty: none, or not known

    std::string condition;                  ///< json.md lists them
    opening_way next = opening_way::refuse; ///< what the next opening for writing does
    std::string why;                        ///< it does that
    std::vector<trouble> troubles;

    void add(std::string code, std::string what) {
        troubles.push_back({std::move(code), std::move(what)});
    }
};

/// Looks at a state, and changes nothing. Throws format_error when nothing of a state is there,
/// filesystem_error when it cannot be looked at.
[[nodiscard]] state_info read_info(const std::filesystem::path& state);

[[nodiscard]] std::string as_text(const state_info& info);

/// One JSON object; json.md has its members.
[[nodiscard]] std::string as_json(const state_info& info);

} // namespace chainbase::inspect
