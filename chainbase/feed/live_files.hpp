#pragma once

#include <chainbase/segment/mapped_segment.hpp>
#include <pool_allocator/base/files.hpp>

#include <fcntl.h>

#include <algorithm>
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

    /// The bytes at an offset in the writer's address space; zeros behind the end of a file.
    /// Throws io_error.
    void copy(std::uint64_t offset, std::span<std::byte> into) const {
        const auto file = files_.find(offset / header().window_bytes);
        std::size_t there = 0;
        if (file != files_.end())
            there = read_at(file->second, state(), offset % header().window_bytes, into);
        std::fill(into.begin() + static_cast<std::ptrdiff_t>(there), into.end(), std::byte{0});
    }

private:
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
