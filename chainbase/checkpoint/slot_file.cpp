#include <chainbase/checkpoint/slot_file.hpp>
#include <pool_allocator/base/error.hpp>

#include <cstring>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace chainbase::checkpoint {

namespace {

constexpr char slot_file_magic[16] = "chainbase pages";
constexpr std::uint32_t slot_file_format = 2;
constexpr std::uint32_t format_without_seed = 1;

struct slot_file_header {
    char magic[16];
    std::uint32_t format;
    std::uint32_t reserved;
    slot_file::identity state;
    std::uint64_t sum;
};
static_assert(sizeof(slot_file_header) == 48 && offsetof(slot_file_header, sum) == 40);

std::uint64_t header_sum(const slot_file_header& of) noexcept {
    return XXH3_64bits(&of, offsetof(slot_file_header, sum));
}

} // namespace

slot_file::slot_file(disk& on, std::filesystem::path file, const identity& state, disk::mode how)
    : path_(std::move(file)), file_(on.open(path_, how)) {
    if (how == disk::mode::create)
        write_header(state);
    else
        check_header(state);
    used_.resize(file_->bytes() / page_bytes);
    used_[0] = true;
    free_ = used_.size() - 1;
    batch_.reserve(batch_bytes);
}

void slot_file::write_header(const identity& state) {
    slot_file_header h{};
    std::memcpy(h.magic, slot_file_magic, sizeof slot_file_magic);
    h.format = slot_file_format;
    h.state = state;
    h.sum = header_sum(h);
    seed_ = h.sum;
    page first{};
    std::memcpy(first.data(), &h, sizeof h);
    file_->write(0, first);
}

void slot_file::check_header(const identity& state) {
    slot_file_header h{};
    const std::size_t read = file_->read(0, std::as_writable_bytes(std::span(&h, 1)));
    if (read < sizeof h || std::memcmp(h.magic, slot_file_magic, sizeof slot_file_magic) != 0)
        throw format_error(path_.string() +
                           ": offset 0: not the pages of a checkpoint; restore the "
                           "file from a copy, or replay into a new folder");
    if (h.sum != header_sum(h) || file_->bytes() < page_bytes)
        throw damaged_error(path_.string() +
                            ": offset 40: the checksum does not match; restore the "
                            "file from a copy, or replay into a new folder");
    if (h.format != slot_file_format && h.format != format_without_seed)
        throw format_error(path_.string() + ": format " + std::to_string(h.format) +
                           ", this program reads " + std::to_string(slot_file_format) +
                           "; open it with the program that wrote it, or replay");
    if (h.state != state)
        throw usage_error(path_.string() + ": is the checkpoint of another state; put the file of "
                                           "this state in its place, or move the folder away");
    seed_ = h.format == format_without_seed ? 0 : h.sum;
}

std::uint64_t slot_file::sum_of(std::span<const std::byte, page_bytes> content) const noexcept {
    const std::uint64_t sum = XXH3_64bits_withSeed(content.data(), content.size(), seed_);
    return sum != 0 ? sum : 1; // 0 is the sum of a page of zeros
}

void slot_file::use(slot one) {
    if (one == 0) return;
    if (one >= used_.size())
        throw damaged_error(path_.string() + ": truncated to " + std::to_string(used_.size()) +
                            " slots, but slot number " + std::to_string(one) + " is needed");
    if (!used_[one]) --free_;
    used_[one] = true;
}

void slot_file::reserve(std::uint64_t count) {
    if (count <= free_) return;
    const std::uint64_t more = count - free_;
    const std::uint64_t slots = used_.size() + more;
    if (slots > UINT32_MAX)
        throw limit_error(path_.string() + ": a checkpoint has at most 2^32 pages of 4 KiB");
    try {
        file_->reserve(used_.size() * page_bytes, more * page_bytes);
    } catch (...) {
        give_back_reserved();
        throw;
    }
    used_.resize(slots);
    free_ += more;
}

/// A full disk may have granted a part of the space; others on it need it more now.
void slot_file::give_back_reserved() noexcept {
    try {
        file_->resize(used_.size() * page_bytes);
    } catch (const std::exception&) { // the first failure is reported
    }
}

slot slot_file::take() {
    while (used_[next_ % used_.size()])
        ++next_;
    next_ %= used_.size();
    used_[next_] = true;
    --free_;
    return static_cast<slot>(next_++);
}

void slot_file::free(slot one) noexcept {
    if (one == 0 || !used_[one]) return;
    used_[one] = false;
    ++free_;
}

void slot_file::write(slot one, std::span<const std::byte, page_bytes> content) {
    const bool follows = one == batch_first_ + batch_.size() / page_bytes;
    if (!follows || batch_.size() == batch_bytes) flush();
    if (batch_.empty()) batch_first_ = one;
    batch_.insert(batch_.end(), content.begin(), content.end());
}

void slot_file::flush() {
    if (batch_.empty()) return;
    const std::uint64_t at = std::uint64_t{batch_first_} * page_bytes;
    const std::vector<std::byte> now = std::exchange(batch_, {});
    batch_.reserve(batch_bytes);
    file_->write(at, now);
}

void slot_file::sync() {
    flush();
    file_->sync();
}

void slot_file::read(slot first, std::span<std::byte> into) const {
    const std::uint64_t at = std::uint64_t{first} * page_bytes;
    std::size_t found = 0;
    try {
        found = file_->read(at, into);
    } catch (const io_error& e) { // a sector that cannot be read
        throw damaged_error(e.what());
    }
    if (found < into.size())
        throw damaged_error(path_.string() + ": offset " + std::to_string(at) +
                            ": the file ends within " + std::to_string(into.size()) +
                            " bytes that are needed");
}

void slot_file::read(slot one, std::uint64_t sum, std::span<std::byte, page_bytes> into) const {
    read(one, into);
    if (sum_of(into) == sum) return;
    throw damaged_error(path_.string() + ": offset " +
                        std::to_string(std::uint64_t{one} * page_bytes) +
                        ": the page's checksum does not match");
}

} // namespace chainbase::checkpoint
