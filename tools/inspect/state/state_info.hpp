#pragma once

#include <chainbase/locks/process_lock.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <chainbase/segment/doctor.hpp>
#include <chainbase/segment/opening_plan.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <tools/inspect/memory/mapped_pages.hpp>
#include <tools/inspect/state/named_state.hpp>
#include <tools/inspect/state/undo_report.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// An obstacle to using a state, now or later.
struct trouble {
    std::string code; ///< for programs: "writer_died", "no_checkpoint" ...; json.md lists them
    std::string what; ///< text, with what to do
};

/// Everything known about a state without opening it, however damaged it is. Unreadable parts are
/// empty, and one of `troubles` says why.
struct state_info {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files; empty if unknown
    bool is_in_memory = false;     ///< it is in a memory folder, not in the state's
    bool is_lost_with_the_machine = false;
    std::string why_on_disk; ///< why a new one would be there, too, or how it gets into memory
    doctor::mount state_mount;
    doctor::mount segment_mount;
    std::string owner;         ///< owner of the state's folder: name or number
    std::string mode;          ///< its mode in octal: "0700"
    std::string readers_group; ///< its members may read; empty: only the owner may

    std::optional<segment_header> header;
    bool is_this_boot = false;
    lock_report::of_writer writer;
    std::size_t readers = 0; ///< reader slots in use
    std::optional<undo_report> log;
    std::optional<catalogue> types;
    std::optional<mapped_pages> pages;  ///< of the writer's process
    std::optional<cached_bytes> cached; ///< of all files of the segment
    std::string shmem_enabled;          ///< the kernel's setting for tmpfs and shared memory

    std::vector<checkpoint_info> checkpoints; ///< newest first
    std::string durability;                   ///< "process", "checkpoint", "commit"; empty: unknown
    std::string archive;                      ///< the kind; empty: none, or unknown

    std::string condition;                  ///< json.md lists them
    opening_way next = opening_way::refuse; ///< what the next opening for writing does
    std::string why;                        ///< the reason
    std::vector<trouble> troubles;

    void add(std::string code, std::string what) {
        troubles.push_back({std::move(code), std::move(what)});
    }
};

/// Reads a state and changes nothing. Throws format_error without a state, filesystem_error when
/// the folder is unreadable.
[[nodiscard]] state_info read_info(const std::filesystem::path& state);

[[nodiscard]] std::string as_text(const state_info& info);

/// One JSON object; json.md has its members.
[[nodiscard]] std::string as_json(const state_info& info);

/// One sentence: what to do next with the state.
[[nodiscard]] std::string next_step(const state_info& info);

} // namespace chainbase::inspect
