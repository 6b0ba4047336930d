#pragma once

#include <chainbase/check/report.hpp>
#include <chainbase/checkpoint/publication.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>

namespace chainbase::check {

/// Reads every page that a publication in `folder` names, leaves of its tables included, and
/// compares it with its sum. Calls found(one) for each that is damaged: where it is in `pages`, and
/// what of the segment it holds. Returns how many there are. Throws damaged_error when the file's
/// begin is, io_error when it cannot be opened, access_error.
std::uint64_t read_pages(disk& on, const std::filesystem::path& folder,
                         const checkpoint::publication& of,
                         const std::function<void(finding)>& found);

} // namespace chainbase::check
