#pragma once

#include <chainbase/index_base.hpp>
#include <chainbase/schema.hpp>
#include <pool_allocator/window.hpp>
#include <tools/inspect/memory/segment_map.hpp>

#include <filesystem>
#include <string>
#include <vector>

/// Which bytes of a segment's files are in use.
///
/// Files are read, not looked at through their mappings: a writer that cuts one at this moment
/// makes a read fail, where a look would kill, and reading fills no hole. No link is followed out
/// of a file, nor twice, so every walk ends, whatever a writer does meanwhile; what does not agree
/// is added to `findings`, in words. All throw io_error when a file is shorter than it was when it
/// was mapped.
namespace chainbase::inspect {

/// The segment's header.
[[nodiscard]] window_map scan_header(const std::filesystem::path& file);

/// The log: in use is what lies between the oldest session and the tail. Slots are chunks.
[[nodiscard]] window_map scan_log(const window& file, std::vector<std::string>& findings);

/// A class of buffers: in use are the slots that its free list does not have.
[[nodiscard]] window_map scan_buffers(const window& file, std::vector<std::string>& findings);

/// The page runs, likewise. Slots are pages.
[[nodiscard]] window_map scan_runs(const window& file, std::vector<std::string>& findings);

/// The files of a type: objects, ids, one per hashed key. Objects in use are those that the table
/// of ids leads to.
[[nodiscard]] std::vector<window_map> scan_type(const type_windows& type, const type_schema& schema,
                                                std::vector<std::string>& findings);

} // namespace chainbase::inspect
