#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/types.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <tests/undo/page_scan.hpp>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <stdexcept>

namespace chainbase::test {

namespace {

// The kernel's interface, spelled out because the headers of the build machine may be older.
struct uffd_api {
    __u64 api;
    __u64 features;
    __u64 ioctls;
};
struct uffd_register {
    __u64 start;
    __u64 length;
    __u64 mode;
    __u64 ioctls;
};
struct scan_arguments {
    __u64 size;
    __u64 flags;
    __u64 start;
    __u64 end;
    __u64 walk_end;
    __u64 regions;
    __u64 region_count;
    __u64 max_pages;
    __u64 inverted;
    __u64 mask;
    __u64 any_of;
    __u64 returned;
};
struct scan_region {
    __u64 start;
    __u64 end;
    __u64 categories;
};
constexpr unsigned long uffd_api_call = _IOWR(0xAA, 0x3F, uffd_api);
constexpr unsigned long uffd_register_call = _IOWR(0xAA, 0x00, uffd_register);
constexpr unsigned long pagemap_scan_call = _IOWR('f', 16, scan_arguments);
constexpr __u64 wp_shared_memory = 1U << 12;
constexpr __u64 wp_unpopulated = 1U << 13;
constexpr __u64 wp_async = 1U << 15;
constexpr __u64 mode_wp = 2;
constexpr __u64 written = 2;
constexpr __u64 protect_matching = 1;
constexpr __u64 check_async = 2;
constexpr std::size_t page = 4096;

} // namespace

std::unique_ptr<page_scan> page_scan::over(std::vector<range> ranges) {
    std::unique_ptr<page_scan> scan(new page_scan);
    scan->faults_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1));
    scan->pagemap_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uffd_api api{0xAA, wp_shared_memory | wp_unpopulated | wp_async, 0};
    if (scan->faults_ < 0 || scan->pagemap_ < 0 || ioctl(scan->faults_, uffd_api_call, &api) != 0)
        return nullptr;
    for (const auto& [begin, bytes] : ranges) {
        uffd_register region{reinterpret_cast<__u64>(begin), bytes, mode_wp, 0};
        if (ioctl(scan->faults_, uffd_register_call, &region) != 0) return nullptr;
    }
    scan->ranges_ = std::move(ranges);
    try {
        (void)scan->take_written();
    } catch (const std::runtime_error&) {
        return nullptr;
    }
    return scan;
}

page_scan::~page_scan() {
    if (faults_ >= 0) close(faults_);
    if (pagemap_ >= 0) close(pagemap_);
}

std::set<const std::byte*> page_scan::take_written() {
    std::set<const std::byte*> pages;
    std::array<scan_region, 256> regions;
    for (const auto& [begin, bytes] : ranges_) {
        scan_arguments scan{};
        scan.size = sizeof scan;
        scan.flags = protect_matching | check_async;
        scan.start = reinterpret_cast<__u64>(begin);
        scan.end = scan.start + bytes;
        scan.regions = reinterpret_cast<__u64>(regions.data());
        scan.region_count = regions.size();
        scan.mask = written;
        scan.returned = written;
        while (scan.start < scan.end) {
            const int found = ioctl(pagemap_, pagemap_scan_call, &scan);
            if (found < 0) throw std::runtime_error("PAGEMAP_SCAN");
            for (int i = 0; i < found; ++i)
                for (__u64 at = regions[static_cast<std::size_t>(i)].start;
                     at < regions[static_cast<std::size_t>(i)].end; at += page)
                    pages.insert(reinterpret_cast<const std::byte*>(at));
            scan.start = scan.walk_end;
        }
    }
    return pages;
}

} // namespace chainbase::test
