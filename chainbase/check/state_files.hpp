#pragma once

#include <chainbase/check/report.hpp>
#include <pool_allocator/private_folder.hpp>

#include <filesystem>
#include <string>

/// The files of a state as the file system has them, before they are read.
namespace chainbase::check {

/// Whether opening would use the file called `name` in the report. If it is no regular file, that
/// is a finding; if its owner or mode are in the way, it is refused. One that is not there is for
/// who opens it.
[[nodiscard]] bool check_file(const std::filesystem::path& file, const std::string& name,
                              part_report& to, group_access group = group_access::read);

/// What else opening looks at before it uses a state: `readers`, and what is in `checkpoint`.
void check_files_beside(const std::filesystem::path& state, part_report& to);

} // namespace chainbase::check
