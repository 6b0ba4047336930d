#include <archive/detail/file_copy.hpp>
#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace chainbase::archive::detail {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t part_bytes = std::size_t{1} << 20;
constexpr std::size_t block_bytes = 4096;

struct free_state {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

/// Reads a file part by part, calls visit(offset, part), and returns the sum of all.
template <typename Visitor>
std::uint64_t read_through(const disk_file& file, const fs::path& name, std::uint64_t bytes,
                           copy_progress& told, Visitor&& visit) {
    const std::unique_ptr<XXH3_state_t, free_state> sum(XXH3_createState());
    XXH3_64bits_reset(sum.get());
    std::vector<std::byte> buffer(std::min<std::uint64_t>(part_bytes, bytes));
    for (std::uint64_t at = 0; at < bytes;) {
        const std::span part =
            std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), bytes - at));
        if (const std::size_t found = file.read(at, part); found < part.size())
            throw damaged_error(name.string() + ": truncated to " + std::to_string(at + found) +
                                " of " + std::to_string(bytes) + " bytes");
        XXH3_64bits_update(sum.get(), part.data(), part.size());
        visit(at, part);
        at += part.size();
        told.advance(part.size());
    }
    return XXH3_64bits_digest(sum.get());
}

bool is_zero(std::span<const std::byte> block) {
    return block.front() == std::byte{0} &&
           std::memcmp(block.data(), block.data() + 1, block.size() - 1) == 0;
}

/// But for blocks of zeros, which are there without being written.
void write_blocks(disk_file& to, std::uint64_t at, std::span<const std::byte> part) {
    for (std::size_t begin = 0; begin < part.size();) {
        std::size_t end = begin;
        const auto block = [&](std::size_t from) {
            return part.subspan(from, std::min(block_bytes, part.size() - from));
        };
        while (end < part.size() && !is_zero(block(end)))
            end += block(end).size();
        if (end > begin) to.write(at + begin, part.subspan(begin, end - begin));
        begin = end < part.size() ? end + block(end).size() : end;
    }
}

} // namespace

std::uint64_t sum_of(const disk_file& file, const fs::path& name, std::uint64_t bytes,
                     copy_progress& told) {
    return read_through(file, name, bytes, told, [](std::uint64_t, auto) {});
}

std::uint64_t copy_file(const disk_file& from, const fs::path& name, std::uint64_t bytes,
                        const fs::path& to, copy_progress& told) {
    const auto copy = disk::of_system().open(to, disk::mode::create);
    const std::uint64_t sum = read_through(
        from, name, bytes, told,
        [&](std::uint64_t at, std::span<const std::byte> part) { write_blocks(*copy, at, part); });
    copy->resize(bytes);
    copy->sync();
    return sum;
}

void sync_tree(const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_directory())
            sync_folder(entry.path());
        else
            disk::of_system().open(entry.path(), disk::mode::read)->sync();
    }
    sync_folder(folder);
}

} // namespace chainbase::archive::detail
