#pragma once

#include <chainbase/bulk_load/object_loader.hpp>
#include <chainbase/segment.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace chainbase::bulk_load {

/// A state that is made from nothing but its objects. It is one when close() returns: until then,
/// and after an exception, what is in the folder is to be removed.
class new_state {
public:
    /// Limits and readers' group of the state; as open_options has them.
    struct limits {
        std::size_t window_bytes = open_options::default_window_bytes;
        std::size_t windows = open_options().windows;
        std::string readers_group;
    };

    /// In `folder`, which is not there, or empty. Throws usage_error when a state is there, and
    /// what creating one throws.
    new_state(const std::filesystem::path& folder, const limits& of);

    /// Makes a type; the one before is finished. See object_loader for what is thrown.
    [[nodiscard]] object_loader add_type(const type_schema& schema);

    /// Lets it stand at `revision`, with nothing to undo, and waits until all is on storage. Throws
    /// io_error.
    void close(revision_number revision);

private:
    segment memory_;
};

} // namespace chainbase::bulk_load
