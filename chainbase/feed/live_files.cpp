#include <chainbase/feed/live_files.hpp>

#include <algorithm>
#include <array>

namespace chainbase::feed {

void live_files::copy(std::uint64_t offset, std::span<std::byte> into) const {
    const auto file = files_.find(offset / header().window_bytes);
    std::size_t there = 0;
    if (file != files_.end())
        there = read_at(file->second, state(), offset % header().window_bytes, into);
    std::fill(into.begin() + static_cast<std::ptrdiff_t>(there), into.end(), std::byte{0});
}

// A call of the kernel takes as long as copying some kilobytes.
void live_files::copy(std::span<const piece> pieces) const {
    constexpr std::uint64_t longest_gap = 2'048;
    std::array<std::byte, 16 * 1'024> together;
    while (!pieces.empty()) {
        const std::uint64_t begin = pieces.front().offset;
        std::uint64_t end = begin + pieces.front().into.size();
        std::size_t count = 1;
        for (; count < pieces.size(); ++count) {
            const piece& next = pieces[count];
            const std::uint64_t next_end = std::max(end, next.offset + next.into.size());
            if (next.offset > end + longest_gap || next_end > begin + together.size() ||
                next.offset / header().window_bytes != begin / header().window_bytes)
                break;
            end = next_end;
        }
        if (count == 1) {
            copy(begin, pieces.front().into);
        } else {
            copy(begin, std::span(together).first(end - begin));
            for (const piece& one : pieces.first(count))
                std::ranges::copy(std::span(together).subspan(one.offset - begin, one.into.size()),
                                  one.into.begin());
        }
        pieces = pieces.subspan(count);
    }
}

} // namespace chainbase::feed
