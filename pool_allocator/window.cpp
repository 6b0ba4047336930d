#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/fault_injection.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/base/resource_limits.hpp>
#include <pool_allocator/disk_pages.hpp>
#include <pool_allocator/window.hpp>

#include <boost/crc.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace chainbase {

#ifndef MADV_COLLAPSE // Linux 6.1; the C library's header is older
#define MADV_COLLAPSE 25
#endif

namespace {

constexpr char magic[8] = {'c', 'h', 'a', 'i', 'n', 'w', 'i', 'n'};
constexpr std::size_t page = window_header::page_bytes;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
}

[[noreturn]] void fail(const std::string& file, const char* what) {
    const int reason = errno;
    const std::string said =
        "cannot " + std::string(what) + " " + file + ": " + std::strerror(reason);
    if (reason == ENOSPC || reason == EDQUOT)
        throw out_of_space_error(said + "; free space, or remove files if the file system limits "
                                        "their number");
    if (reason == EMFILE || reason == ENFILE)
        throw io_error(said + "; raise the limit of open files (ulimit -n)");
    throw io_error(said);
}

[[noreturn]] void fail_to_grow(const std::string& file, std::size_t from, std::size_t length,
                               const std::string& why) {
    throw out_of_space_error(file + ": no space to grow from " + std::to_string(from) +
                             " bytes by " + std::to_string(length) + ": " + why);
}

/// A file grows by a 32nd of its length: the number of growths is logarithmic at first and small
/// beyond. Not by less than 16 pages, and to whole huge pages once it is large.
std::size_t next_length(std::size_t length, std::size_t needed) noexcept {
    const std::size_t step = std::clamp<std::size_t>(length / 32, 16 * page, std::size_t{16} << 20);
    const std::size_t grown = std::max(needed, length + step);
    const std::size_t unit = grown < (std::size_t{16} << 20) ? page : address_space::alignment;
    return round_up(grown, unit);
}

/// Advice whose failure only costs speed: populates new pages now, with two calls instead of one
/// fault per page, and as huge pages where a whole one fits. On tmpfs only MADV_COLLAPSE makes
/// these without a mount option; disk file systems make large folios when the pages are populated.
/// The log is written from end to end and gains nothing by it.
///
/// Populating comes first: it clears the pages. Where tmpfs gives huge pages by itself (huge=always
/// or within_size), Linux 6.18 maps a page that is collapsed before its first touch uncleared, with
/// another file's content in it.
void make_resident(std::byte* base, std::size_t begin, std::size_t end, bool collapse) noexcept {
    constexpr std::size_t huge = address_space::alignment;
    const std::size_t first = begin / huge * huge;
    const std::size_t last = end / huge * huge;
    madvise(base + begin, end - begin, MADV_POPULATE_WRITE);
    if (collapse && first < last) madvise(base + first, last - first, MADV_COLLAPSE);
}

/// Checks whether the file exists only after opening it failed.
file_descriptor open_there(const std::string& file, file_use use) {
    try {
        return open_private(file, use);
    } catch (const error&) {
        require_there(file);
        throw;
    }
}

} // namespace

std::uint32_t window_header::computed_checksum() const noexcept {
    boost::crc_32_type crc;
    crc.process_bytes(this, offsetof(window_header, checksum));
    return crc.checksum();
}

window::window(const place& where, std::string file, file_descriptor descriptor, window_kind kind,
               mode how)
    : place_(where), file_(std::move(file)), descriptor_(std::move(descriptor)), kind_(kind),
      limit_(where.addresses->window_bytes()) {
    struct stat status{};
    if (fstat(descriptor_.number(), &status) != 0) fail(file_, "examine");
    set_bytes(static_cast<std::size_t>(status.st_size));
    if (page_source* const source = where.addresses->source()) {
        source->add(where.index, descriptor_.number());
        base_ = where.addresses->place(where.index);
        return;
    }
    is_written_ = how != mode::read_only;
    if (is_written_) cover(bytes_);
    const int access = how == mode::read_only ? PROT_READ : PROT_READ | PROT_WRITE;
    // A private copy never grows, and its addresses count where memory is not overcommitted.
    const bool is_private = how == mode::private_copy;
    const std::size_t length =
        is_private ? std::clamp(round_up(bytes_, page), page, limit_) : limit_;
    const int sharing = is_private ? MAP_PRIVATE : MAP_SHARED;
    void* at = mmap(where.addresses->place(where.index), length, access,
                    sharing | MAP_NORESERVE | MAP_FIXED, descriptor_.number(), 0);
    if (at == MAP_FAILED) fail(file_, "map");
    base_ = static_cast<std::byte*>(at);
    disk_pages::advise(base_, length, descriptor_.number(),
                       how == mode::read_write || how == mode::create);
}

window::window(window&& other) noexcept
    : place_(other.place_), file_(std::move(other.file_)),
      descriptor_(std::move(other.descriptor_)), kind_(other.kind_),
      base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_), limit_(other.limit_),
      is_written_(other.is_written_), holes_(other.holes_) {}

/// A read-only window stays mapped until the whole range is given back: nothing else is mapped in
/// its place.
window::~window() {
    if (base_) disk_pages::forget(base_);
    if (base_ && is_written_) place_.addresses->vacate(place_.index);
}

window window::create(const place& where, const std::string& file, const geometry& shape) {
    window made(where, file, open_private(file, file_use::replace), shape.kind, mode::create);
    made.extend(0, page);
    made.changing(0, page);
    made.write_header(shape);
    return made;
}

window window::open(const place& where, const std::string& file, const geometry& shape, mode how) {
    const file_use use = how == mode::read_write ? file_use::write : file_use::read;
    window opened(where, file, open_there(file, use), shape.kind, how);
    opened.check_header(shape);
    return opened;
}

void window::write_header(const geometry& shape) {
    window_header& h = header();
    h = {};
    std::memcpy(h.magic, magic, sizeof magic);
    h.format = window_header::current_format;
    h.kind = static_cast<std::uint32_t>(shape.kind);
    h.slot_bytes = shape.slot_bytes;
    h.first_slot = shape.first_slot;
    h.index = place_.index;
    const std::string called = name();
    std::memcpy(h.name, called.data(), std::min(called.size(), sizeof h.name));
    h.checksum = h.computed_checksum();
}

void window::check_header(const geometry& shape) const {
    const std::string where = file_;
    if (bytes_ < page || bytes_ % page != 0)
        throw damaged_error(where + ": truncated to " + std::to_string(bytes_) +
                            " bytes, within a page of " + std::to_string(page) +
                            "; restore the state folder from a copy, or replay into a new one");
    // Not through the mapping: a fault takes many times as long, and a reader looks into few
    // windows.
    window_header h{};
    read(0, std::as_writable_bytes(std::span(&h, 1)));
    if (std::memcmp(h.magic, magic, sizeof magic) != 0)
        throw damaged_error(where + ": offset 0: not a window of a chainbase segment; restore the "
                                    "file from a copy, or replay into a new folder");
    if (h.checksum != h.computed_checksum())
        throw damaged_error(where + ": offset 0: the header's checksum does not match; restore the "
                                    "file from a copy, or replay into a new folder");
    if (h.format != window_header::current_format)
        throw format_error(where + ": format " + std::to_string(h.format) +
                           ", this program reads " + std::to_string(window_header::current_format));
    if (h.kind != static_cast<std::uint32_t>(shape.kind) || h.index != place_.index ||
        h.slot_bytes != shape.slot_bytes || h.first_slot != shape.first_slot)
        throw damaged_error(where + ": offset 8: kind, place or slot size is not what the "
                                    "catalogue says; is it the file of another state?");
}

void window::grow_to(std::size_t needed) {
    if (needed <= bytes_) return;
    if (needed > limit_)
        throw limit_error(file_ + ": " + std::to_string(needed) + " bytes do not fit a window of " +
                          std::to_string(limit_) + "; create the state with larger windows");
    extend(bytes_, std::min(next_length(bytes_, needed), limit_) - bytes_);
}

void window::grow_range(std::size_t offset, std::size_t length) {
    if (offset + length > limit_)
        throw limit_error(file_ + ": " + std::to_string(offset + length) +
                          " bytes do not fit a window of " + std::to_string(limit_) +
                          "; create the state with larger windows");
    extend(offset, length);
}

void window::extend(std::size_t offset, std::size_t length) {
    fault::reach(fault::point::growth);
    const std::size_t end = offset + length;
    cover(end);
    allocate(offset, length);
    make_resident(base_, offset, end,
                  kind_ != window_kind::undo_log && is_memory(descriptor_.number()));
    set_bytes(std::max(bytes_, end));
}

/// Allocates blocks for the range and lengthens the file as needed; if it throws, the file is
/// unchanged.
void window::allocate(std::size_t offset, std::size_t length) {
    const std::string against =
        resource_limits::refusal(descriptor_.number(), offset + length, length);
    if (!against.empty()) fail_to_grow(file_, bytes_, length, against);
    int reason = 0;
    do
        reason = posix_fallocate(descriptor_.number(), static_cast<off_t>(offset),
                                 static_cast<off_t>(length));
    while (reason == EINTR);
    if (reason == 0) return;
    if (ftruncate(descriptor_.number(), static_cast<off_t>(bytes_)) != 0) fail(file_, "restore");
    const std::string said = std::strerror(reason);
    if (reason == ENOSPC || reason == EDQUOT)
        fail_to_grow(file_, bytes_, length, said + "; free space and try again");
    if (reason == EFBIG)
        fail_to_grow(file_, bytes_, length, said + "; use a file system with larger files");
    errno = reason;
    fail(file_, "grow");
}

void window::shrink_to(std::size_t needed) {
    const std::size_t length = std::max(round_up(needed, page), page);
    if (length >= bytes_) return;
    changing_content(length, bytes_ - length);
    if (ftruncate(descriptor_.number(), static_cast<off_t>(length)) != 0) fail(file_, "shorten");
    set_bytes(length);
}

bool window::punch(std::size_t offset, std::size_t length) noexcept {
    const std::size_t begin = round_up(offset, page);
    const std::size_t end = (offset + length) / page * page;
    if (begin >= end) return false;
    changing_content(begin, end - begin);
    return punch_pages(begin, end);
}

void window::discard(std::size_t offset, std::size_t length) noexcept {
    const std::size_t begin = round_up(offset, page);
    const std::size_t end = (offset + length) / page * page;
    if (begin >= end) return;
    if (is_written_) {
        page_tracker& pages = place_.addresses->pages();
        pages.discarded(base_ + begin, end - begin);
        each_content(begin, end - begin,
                     [&](std::size_t at, std::size_t bytes) { pages.cleared(base_ + at, bytes); });
    }
    punch_pages(begin, end);
}

bool window::punch_pages(std::size_t begin, std::size_t end) noexcept {
    int result = 0;
    do
        result = fallocate(descriptor_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           static_cast<off_t>(begin), static_cast<off_t>(end - begin));
    while (result != 0 && errno == EINTR);
    if (result != 0) return false;
    holes_ = true;
    return true;
}

void window::fill_holes(std::size_t offset, std::size_t length) {
    if (!may_have_holes()) return;
    fault::reach(fault::point::growth);
    allocate(offset, length);
}

/// An earlier process may have punched holes. Blocks that were never written count as holes, too.
bool window::may_have_holes() noexcept {
    if (!holes_) {
        const off_t first = lseek(descriptor_.number(), 0, SEEK_HOLE);
        holes_ = first < 0 || static_cast<std::size_t>(first) < bytes_;
    }
    return *holes_;
}

std::size_t window::held_bytes() const noexcept {
    struct stat status{};
    if (fstat(descriptor_.number(), &status) != 0) return bytes_;
    constexpr std::size_t block = 512; // the unit of st_blocks, whatever the file system
    return std::min(bytes_, static_cast<std::size_t>(status.st_blocks) * block);
}

bool window::holes_take_space() const noexcept {
    return is_memory(descriptor_.number());
}

void window::sync() const {
    if (msync(base_, bytes_, MS_SYNC) != 0 || fdatasync(descriptor_.number()) != 0)
        fail(file_, "sync");
}

void window::read(std::size_t offset, std::span<std::byte> into) const {
    if (read_to_end(offset, into) < into.size())
        throw io_error(file_ + ": ends before byte " + std::to_string(offset + into.size()) +
                       "; a process may have truncated it, so try again");
}

std::size_t window::read_to_end(std::size_t offset, std::span<std::byte> into) const {
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t count = ::pread(descriptor_.number(), into.data() + done, into.size() - done,
                                      static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(file_, "read");
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

void window::refresh() {
    struct stat status{};
    if (fstat(descriptor_.number(), &status) != 0) fail(file_, "examine");
    set_bytes(static_cast<std::size_t>(status.st_size));
}

void window::cover(std::size_t bytes) {
    page_tracker& pages = place_.addresses->pages();
    const std::uint64_t each = limit_ / page_tracker::page_bytes;
    pages.cover(place_.index * each, std::max<std::uint64_t>(bytes / page_tracker::page_bytes, 1));
}

void window::changing(std::size_t offset, std::size_t length) noexcept {
    if (is_written_) place_.addresses->pages().replaced(base_ + offset, length);
}

/// Calls visit(offset, bytes) for every range that is not a hole. The page tracker, which may copy
/// changing pages, must not read holes: on tmpfs that allocates space.
template <typename Visitor>
void window::each_content(std::size_t offset, std::size_t length, Visitor&& visit) const noexcept {
    const auto end = static_cast<off_t>(offset + length);
    off_t data = lseek(descriptor_.number(), static_cast<off_t>(offset), SEEK_DATA);
    if (data < 0 && errno != ENXIO) return visit(offset, length); // the file system cannot tell
    while (data >= 0 && data < end) {
        const off_t hole = lseek(descriptor_.number(), data, SEEK_HOLE);
        const off_t last = hole < 0 ? end : std::min(hole, end);
        visit(static_cast<std::size_t>(data), static_cast<std::size_t>(last - data));
        data = lseek(descriptor_.number(), last, SEEK_DATA);
    }
}

/// As changing(), for bytes that will become zero. Holes are zero already.
void window::changing_content(std::size_t offset, std::size_t length) noexcept {
    each_content(offset, length,
                 [this](std::size_t at, std::size_t bytes) { changing(at, bytes); });
}

void window::set_bytes(std::size_t bytes) noexcept {
    bytes_ = bytes;
    place_.addresses->set_file_bytes(place_.index, std::min(bytes, limit_));
}

} // namespace chainbase
