#include <pool_allocator/error.hpp>
#include <tools/bench/baselines/slot_pool.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace chainbase::bench {

namespace {

constexpr std::size_t growth = std::size_t{8} << 20;

[[noreturn]] void fail(const std::string& what) {
    throw io_error("slot_pool: " + what + ": " + std::strerror(errno));
}

} // namespace

slot_pool::slot_pool(const std::filesystem::path& path, std::size_t most_bytes)
    : range_((most_bytes + growth - 1) / growth * growth) {
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file_ < 0) fail("create " + path.string());
    void* mapped = mmap(nullptr, range_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) {
        close(file_);
        fail("map " + path.string());
    }
    base_ = static_cast<char*>(mapped);
    madvise(base_, range_, MADV_HUGEPAGE);
}

slot_pool::~slot_pool() {
    munmap(base_, range_);
    close(file_);
}

void slot_pool::set_slot_bytes(std::size_t bytes) {
    if (slot_bytes_ != 0 || bytes < sizeof(free_slot))
        throw usage_error("slot_pool: a slot of " + std::to_string(bytes) +
                          " bytes asked of a pool of " + std::to_string(slot_bytes_));
    slot_bytes_ = bytes;
}

void* slot_pool::next_slot() {
    if (used_ + slot_bytes_ > size_) grow();
    void* slot = base_ + used_;
    used_ += slot_bytes_;
    return slot;
}

void slot_pool::grow() {
    if (size_ + growth > range_)
        throw limit_error("slot_pool: full at " + std::to_string(size_) + " bytes");
    if (ftruncate(file_, static_cast<off_t>(size_ + growth)) != 0) fail("grow");
    size_ += growth;
}

} // namespace chainbase::bench
