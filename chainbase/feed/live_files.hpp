#pragma once

#include <chainbase/segment/mapped_segment.hpp>
#include <pool_allocator/base/files.hpp>

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

namespace chainbase::feed {

/// The files of a state that a writer changes, to be read piece by piece: they are not mapped,
/// since one that gets shorter would end the process.
class live_files final : public mapped_segment, private page_source {
public:
    /// Throws access_error, damaged_error, format_error, io_error.
    live_files(const std::filesystem::path& state, const std::filesystem::path& folder)
        : mapped_segment(state, window::mode::read_only) {
        map_header(folder);
        map_windows();
    }

    /// Some bytes of the writer's address space, and where a copy of them goes.
    struct piece {
        std::uint64_t offset;
        std::span<std::byte> into;
    };
    /// Copies pieces, by rising offsets; zeros for what is behind the end of a file. Those that lie
    /// close to each other are read at once. Throws io_error.
    void copy(std::span<const piece> pieces) const;

private:
    void copy(std::uint64_t offset, std::span<std::byte> into) const;

    /// Nothing is ever mapped there.
    [[nodiscard]] std::unique_ptr<address_space> reserve_addresses() override {
        auto range = std::make_unique<address_space>(
            address_space::alignment, std::min(next_free_window(), header().windows));
        range->take_pages_from(*this);
        return range;
    }
    void add(std::size_t index, int file) override {
        file_descriptor own(fcntl(file, F_DUPFD_CLOEXEC, 0));
        if (own.number() < 0) throw_file_error(state(), "keep a window open of");
        files_.emplace(index, std::move(own));
    }

    std::unordered_map<std::size_t, file_descriptor> files_; ///< by window
};

} // namespace chainbase::feed
