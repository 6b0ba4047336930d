#pragma once

#include <chainbase/segment/segment_header.hpp>

#include <filesystem>

/// What of a segment can be read without mapping it, by whoever may look at its state.
namespace chainbase::inspect {

/// The folder of the segment of the state in the folder `state`, which has one. Throws format_error
/// when no state is there, unclean_error when its segment is gone or another's, access_error,
/// damaged_error, io_error.
[[nodiscard]] std::filesystem::path segment_folder(const std::filesystem::path& state);

/// The header of the segment in `folder`. Throws damaged_error when it is not whole, format_error
/// when it is another format's, access_error, io_error.
[[nodiscard]] segment_header segment_header_in(const std::filesystem::path& folder);

/// Whether files in the segment's folder may be of different times: the machine restarted since
/// they were written, without having been on storage.
[[nodiscard]] bool is_of_another_boot(const segment_header& header);

/// Whether anything of a state is in the folder.
[[nodiscard]] bool is_state(const std::filesystem::path& folder);

} // namespace chainbase::inspect
