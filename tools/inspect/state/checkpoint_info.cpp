#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/state/checkpoint_info.hpp>

namespace chainbase::inspect {

std::vector<checkpoint_info> checkpoints_of(const checkpoint::published& all) {
    std::vector<checkpoint_info> found;
    for (const checkpoint::publication* one : {all.newest(), all.older()}) {
        if (!one) continue;
        std::uint64_t bytes = 0;
        for (const checkpoint::publication::file& file : one->files)
            bytes += file.bytes;
        found.push_back(
            {one->generation, one->revision, one->committed, one->time, bytes, one->redo != 0});
    }
    return found;
}

std::vector<checkpoint_info> checkpoints_now(const std::filesystem::path& state) {
    std::error_code unreadable;
    if (!std::filesystem::exists(state / "checkpoint", unreadable)) return {};
    try {
        return checkpoints_of(checkpoint::published(disk::of_system(), state / "checkpoint"));
    } catch (const error&) {
        return {};
    }
}

} // namespace chainbase::inspect
