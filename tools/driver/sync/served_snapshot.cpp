#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <tools/driver/sync/served_snapshot.hpp>

#include <boost/endian/conversion.hpp>
#include <fcntl.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <utility>

namespace chainbase::driver {

using snapshot_file::chunk_entry;
using snapshot_file::type_entry;

namespace {

constexpr std::size_t looked_at_once = std::size_t{1} << 20;
constexpr std::uint64_t chunk_sum_at = 8;    // FORMAT.md
constexpr std::uint64_t chunk_frame_at = 16; // likewise

std::shared_ptr<const disk_file> opened(const std::filesystem::path& name) {
    file_descriptor file(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (file.number() < 0) throw_file_error(name, "open");
    return std::make_shared<system_file>(name, std::move(file));
}

} // namespace

// --- a file ---

struct outgoing_file::running_sum {
    XXH3_state_t state;
    std::vector<std::byte> read = std::vector<std::byte>(looked_at_once);
};

outgoing_file::outgoing_file(std::shared_ptr<const disk_file> from, std::uint64_t summed_from,
                             std::uint64_t expected)
    : from_(std::move(from)), bytes_(from_->bytes()), looked_at_(summed_from), expected_(expected),
      sum_(std::make_unique<running_sum>()) {
    XXH3_64bits_reset(&sum_->state);
}

outgoing_file::~outgoing_file() = default;

outgoing_file::look outgoing_file::look_on() {
    const std::size_t got = from_->read(looked_at_, sum_->read);
    XXH3_64bits_update(&sum_->state, sum_->read.data(), got);
    looked_at_ += got;
    if (got != 0 && looked_at_ < bytes_) return look::has_more;
    const bool is_sound = looked_at_ == bytes_ && XXH3_64bits_digest(&sum_->state) == expected_;
    sum_.reset();
    return is_sound ? look::sound : look::damaged;
}

bytes outgoing_file::next_frame() {
    bytes part(std::min<std::uint64_t>(wire::max_part, bytes_ - sent_));
    if (from_->read(sent_, part) < part.size())
        throw damaged_error("a file of the snapshot became shorter while it was sent");
    bytes frame = framed(snapshot_part_message{bytes_, sent_, part});
    sent_ += part.size();
    return frame;
}

// --- a snapshot ---

served_snapshot::served_snapshot(const std::filesystem::path& folder,
                                 const std::optional<std::string>& chain,
                                 const std::vector<std::filesystem::path>& bases)
    : from_(folder, bases), manifest_file_(opened(folder / "manifest")) {
    if (chain && manifest().chain != *chain)
        throw usage_error(folder.string() + ": is a snapshot of the chain \"" + manifest().chain +
                          "\", the block log is of " + *chain +
                          "; name one of that chain, of a state that chainbase-driver made");
    const std::string text = manifest().text();
    manifest_sum_ = XXH3_64bits(text.data(), text.size());
    for (const type_entry& type : manifest().types)
        for (const auto* chunks : {&type.chunks, &type.removed})
            for (const chunk_entry& one : *chunks) {
                if (!from_.file_of(one))
                    throw usage_error(folder.string() + ": has no file of " +
                                      snapshot_file::name_of(type, one) +
                                      "; name the snapshot that it is based on with "
                                      "--snapshot-base, or get the file again");
                chunks_.emplace(one.digest, &one);
            }
}

std::unique_ptr<outgoing_file> served_snapshot::open(const sha256_digest& digest) const {
    if (digest == sha256_digest{})
        return std::make_unique<outgoing_file>(manifest_file_, 0, manifest_sum_);
    const auto found = chunks_.find(digest);
    if (found == chunks_.end()) return nullptr;
    const auto name = from_.file_of(*found->second);
    if (!name) return nullptr;
    auto file = opened(*name);
    std::array<std::byte, chunk_frame_at> front{};
    if (file->read(0, front) < front.size() ||
        file->bytes() > snapshot_file::most_file_bytes(found->second->bytes))
        return nullptr;
    const auto sum = load<wire::little_uint64_buf_t>(byte_view(front), chunk_sum_at).value();
    return std::make_unique<outgoing_file>(std::move(file), chunk_frame_at, sum);
}

} // namespace chainbase::driver
