#pragma once

#include <archive/store.hpp>
#include <chainbase/fwd.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::archive {

/// The kind that the archive in `folder` was made as; nothing when none was made there. Throws
/// format_error when the folder holds something else, io_error.
[[nodiscard]] std::optional<store_kind> kind_of(const std::filesystem::path& folder);

/// What the file `format` of an archive says that is of the kind memory or none, and so has no
/// files of a version.
[[nodiscard]] std::string format_of(store_kind kind);

/// Opens the archive of `state` in `folder`, as the kind it was made as; a new one as `kind`, or
/// rocksdb. The folder says the kind also where nothing else is in it. The state outlives it.
///
/// Throws usage_error when it was made as another kind than `kind`, format_error when the folder is
/// something else or of another version (nothing in it is touched), and what opening the store
/// throws.
[[nodiscard]] std::unique_ptr<store> open_archive(database& state,
                                                  const std::filesystem::path& folder,
                                                  std::optional<store_kind> kind = {},
                                                  const store_options& options = {});

} // namespace chainbase::archive
