// The log covers every written page, checked with the kernel where possible; the pages that it
// announces; runs of pages.

#include <pool_allocator/shared_buffer.hpp>
#include <undo/session.hpp>
#include <undo/undo_log.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/types.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <tests/support/snapshot.hpp>
#include <tests/support/world.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

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

/// Asks the kernel which pages of some ranges were written (PAGEMAP_SCAN with asynchronous write
/// protection, Linux 6.7 or later).
class page_scan {
public:
    using range = std::pair<const std::byte*, std::size_t>;

    /// Null when the kernel or the permissions do not allow it.
    static std::unique_ptr<page_scan> over(std::vector<range> ranges) {
        std::unique_ptr<page_scan> scan(new page_scan);
        scan->faults_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1));
        scan->pagemap_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        uffd_api api{0xAA, wp_shared_memory | wp_unpopulated | wp_async, 0};
        if (scan->faults_ < 0 || scan->pagemap_ < 0 ||
            ioctl(scan->faults_, uffd_api_call, &api) != 0)
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
    ~page_scan() {
        if (faults_ >= 0) close(faults_);
        if (pagemap_ >= 0) close(pagemap_);
    }
    page_scan(const page_scan&) = delete;
    page_scan& operator=(const page_scan&) = delete;

    /// The pages written since the last call, which is forgotten by it.
    std::set<const std::byte*> take_written() {
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

private:
    page_scan() = default;

    int faults_ = -1;
    int pagemap_ = -1;
    std::vector<range> ranges_;
};

} // namespace chainbase::test

// The kernel as an oracle of the write barrier: within a session no page of the state is written
// that the log has no record for, except where nothing was when the session began.

namespace {

constexpr std::size_t page = window_header::page_bytes;
using pages = std::set<const std::byte*>;

const std::byte* page_of(const std::byte* address) {
    return address - reinterpret_cast<std::uintptr_t>(address) % page;
}

/// What is in use when a session begins.
struct used_pages {
    explicit used_pages(const segment& memory) {
        for (const window_part& part : parts_in_use(memory)) {
            const std::byte* begin = part.file->base() + part.begin;
            const std::size_t end = std::min(part.begin + part.bytes, part.file->bytes());
            const std::size_t whole = (end - part.begin + page - 1) / page * page;
            ranges.emplace_back(begin, whole);
            if (end % page != 0) boundary.insert(begin + whole - page);
            if (part.file->name().ends_with(".objects")) objects.insert(begin);
        }
    }
    [[nodiscard]] bool is_of_objects(const std::byte* at) const {
        return std::any_of(ranges.begin(), ranges.end(), [&](const page_scan::range& range) {
            return objects.contains(range.first) && at >= range.first &&
                   at < range.first + range.second;
        });
    }

    std::vector<page_scan::range> ranges; ///< whole pages
    pages boundary; ///< those that the used part ends in the midst of: the rest may be fresh slots
    pages objects;  ///< where ranges of objects begin
};

/// The pages that the log has a record for since the session of `revision` began.
pages logged_pages(segment& memory, revision_number revision) {
    pages found;
    const undo_log& log = *memory.log();
    log.each_record_down_to(
        *log.find_session(revision), [&](record_trailer trailer, const std::byte*) {
            if (!trailer.restores()) return;
            const std::byte* begin = memory.addresses().base() + trailer.offset();
            for (const std::byte* at = page_of(begin); at < begin + trailer.bytes(); at += page)
                found.insert(at);
        });
    return found;
}

/// Where a page is, for a message.
std::string name_of(segment& memory, const std::byte* at) {
    const auto offset = static_cast<std::size_t>(at - memory.addresses().base());
    return "window " + std::to_string(offset / memory.addresses().window_bytes()) + ", page " +
           std::to_string(offset % memory.addresses().window_bytes() / page);
}

} // namespace

TEST_CASE("no page is written in a session that the log does not cover") {
    const scratch_folder folder;
    world w(folder / "state",
            {.changes = {.objects = 2000, .spread = 20, .interrupts = 20, .modifies = 500},
             .verify = false});
    random_source random(test_seed(1));
    w.fill(random);
    segment& memory = w.db().memory();
    std::size_t judged = 0;
    std::size_t judged_of_objects = 0;
    for (int round = 0; round < 60; ++round) {
        const used_pages used(memory);
        w.start();
        const auto scan = page_scan::over(used.ranges);
        if (!scan) {
            WARN("skipped: the kernel does not tell which pages are written");
            return;
        }
        for (int i = 0; i < 30; ++i) {
            if (w.change_unchecked(random) == change_result::refused) {
                (void)scan->take_written(); // what it wrote was rolled back, records and all
                continue;
            }
            const pages covered = logged_pages(memory, w.db().revision());
            for (const std::byte* at : scan->take_written()) {
                if (used.boundary.contains(at)) continue;
                ++judged;
                if (used.is_of_objects(at)) ++judged_of_objects;
                if (!covered.contains(at))
                    FAIL("written without a record: " << name_of(memory, at));
            }
        }
        if (round % 2)
            w.undo();
        else
            w.squash();
    }
    CHECK(judged > 1000);
    CHECK(judged_of_objects > 500);
}

TEST_CASE("the oracle sees a store that passes the barrier by") {
    const scratch_folder folder;
    world w(folder / "state", {.changes = {.objects = 400}, .verify = false});
    random_source random(2);
    w.fill(random);
    const used_pages used(w.db().memory());
    const auto scan = page_scan::over(used.ranges);
    if (!scan) {
        WARN("skipped: the kernel does not tell which pages are written");
        return;
    }
    CHECK(scan->take_written().empty());
    auto* at = const_cast<std::byte*>(used.ranges.back().first);
    auto* stored = reinterpret_cast<volatile std::byte*>(at);
    *stored = *stored;
    CHECK(scan->take_written() == pages{at});
}

// The kernel as an oracle of the page tracker: no page of the state but those of the log is written
// that was not announced since the last capture.

namespace {

class keeps_nothing final : public page_tracker::keeper {
public:
    void keep(std::uint64_t, bool) noexcept override {}
};

/// The windows but for that of the log.
template <typename Visitor>
void each_window(segment& memory, Visitor&& visit) {
    memory.buffers().each_window(visit);
    for (const auto& type : memory.windows())
        type->each(visit);
}

std::uint64_t number_of(segment& memory, const std::byte* at) {
    return static_cast<std::uint64_t>(at - memory.addresses().base()) / page_tracker::page_bytes;
}

/// As a checkpoint that copies all at once.
void capture_all(segment& memory) {
    keeps_nothing nothing;
    page_tracker& pages = memory.addresses().pages();
    memory.log()->forget_what_was_logged();
    each_window(memory, [&](const window& file) {
        const std::uint64_t first = number_of(memory, file.base());
        const std::uint64_t count = file.bytes() / page_tracker::page_bytes;
        pages.capture(first, count, nothing);
        pages.copy(first, count);
    });
}

/// Of those by which the windows grew: what is not zero was written.
void add_new_pages(segment& memory, const std::vector<page_scan::range>& before,
                   std::vector<const std::byte*>& written) {
    std::size_t i = 0;
    each_window(memory, [&](const window& file) {
        const std::byte* const end = file.base() + file.bytes();
        for (const std::byte* at = before[i].first + before[i].second; at < end;
             at += page_tracker::page_bytes)
            if (std::any_of(at, at + page_tracker::page_bytes,
                            [](std::byte one) { return one != std::byte{0}; }))
                written.push_back(at);
        ++i;
    });
}

/// One change, or something about sessions and space.
void do_something(world& w, random_source& random) {
    const std::uint32_t what = random.below(40);
    if (what == 0 && w.depth() < 4)
        w.start();
    else if (what == 1 && w.depth() > 0)
        w.undo();
    else if (what == 2 && w.depth() > 0)
        w.squash();
    else if (what == 3 && w.depth() == 0)
        w.compact();
    else
        w.change_unchecked(random);
}

} // namespace

TEST_CASE("no page is written that was not announced") {
    const std::uint64_t seed = test_seed(3);
    CAPTURE(seed);
    const scratch_folder folder;
    world w(folder / "state",
            {.changes = {.objects = 4000, .spread = 50, .interrupts = 20, .modifies = 400},
             .verify = false});
    random_source random(seed);
    segment& memory = w.db().memory();
    std::size_t judged = 0;
    std::size_t judged_of_new = 0;
    for (int round = 0; round < 100; ++round) {
        capture_all(memory);
        std::vector<page_scan::range> ranges;
        each_window(memory,
                    [&](const window& file) { ranges.emplace_back(file.base(), file.bytes()); });
        const auto scan = page_scan::over(ranges);
        if (!scan) {
            WARN("skipped: the kernel does not tell which pages are written");
            return;
        }
        for (std::uint32_t changes = 1 + random.below(400); changes > 0; --changes)
            do_something(w, random);
        const auto found = scan->take_written();
        std::vector<const std::byte*> written(found.begin(), found.end());
        const std::size_t before = written.size();
        add_new_pages(memory, ranges, written);
        judged += before;
        judged_of_new += written.size() - before;
        for (const std::byte* at : written) {
            const std::uint64_t page = number_of(memory, at);
            INFO("round " << round << ", page " << page);
            REQUIRE(memory.addresses().pages().count_changed(page, 1) == 1);
        }
    }
    CHECK(judged > 1000);
    CHECK(judged_of_new > 50);
}

namespace {

/// A log and buffers without a database.
struct memory {
    memory() {
        std::string name = (std::filesystem::temp_directory_path() / "runs-XXXXXX").string();
        folder = mkdtemp(name.data());
        log_file = std::make_unique<chainbase::window>(chainbase::window::create(
            {&addresses, 0}, folder / "log", chainbase::undo_log::geometry));
        log = std::make_unique<chainbase::undo_log>(addresses, *log_file, true);
        buffers = std::make_unique<chainbase::size_classes>(addresses, folder,
                                                            chainbase::window::mode::create);
        buffers->attach(*log);
    }
    ~memory() { std::filesystem::remove_all(folder); }

    chainbase::buffer_handle allocate(const std::string& content) {
        chainbase::operation change(*log, 0);
        const auto handle = buffers->allocate(std::as_bytes(std::span(content)));
        change.complete();
        return handle;
    }
    void free(chainbase::buffer_handle handle) {
        chainbase::operation change(*log, 0);
        buffers->free_later(handle);
        change.complete();
    }
    std::string content(chainbase::buffer_handle handle) {
        const auto range = chainbase::address_space::containing(addresses.base());
        return {reinterpret_cast<const char*>(chainbase::size_classes::locate(range, handle)),
                handle.length()};
    }

    std::filesystem::path folder;
    chainbase::address_space addresses{std::size_t{256} << 20, 32};
    std::unique_ptr<chainbase::window> log_file;
    std::unique_ptr<chainbase::undo_log> log;
    std::unique_ptr<chainbase::size_classes> buffers;
};

} // namespace

TEST_CASE("buffers of every size keep their content while others come, go and are undone") {
    memory m;
    const std::uint64_t seed = 77;
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<std::pair<chainbase::buffer_handle, std::string>> live;
    const auto make = [&] {
        const std::size_t sizes[] = {1, 16, 17, 48, 100, 4000, 65'536, 65'537, 70'000, 200'000};
        std::string text(sizes[random() % 10] + random() % 3,
                         static_cast<char>('a' + random() % 26));
        live.emplace_back(m.allocate(text), text);
    };
    const auto drop = [&] {
        if (live.empty()) return;
        const std::size_t i = random() % live.size();
        m.free(live[i].first);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    };
    const auto check = [&] {
        for (const auto& [handle, text] : live)
            REQUIRE(m.content(handle) == text);
        const chainbase::usage used = m.buffers->measure();
        REQUIRE(used.header + used.links + used.values + used.slack + used.punched == used.total);
    };
    for (int round = 0; round < 150; ++round) {
        for (std::uint64_t i = random() % 12; i > 0; --i)
            random() % 3 ? make() : drop();
        const auto before = live;
        const auto used_before = m.buffers->measure_runs().slots_live;
        chainbase::session session(*m.log);
        for (std::uint64_t i = random() % 12; i > 0; --i)
            random() % 2 ? make() : drop();
        check();
        if (random() % 2) {
            session.undo();
            live = before;
            REQUIRE(m.buffers->measure_runs().slots_live == used_before);
        } else {
            session.push();
            m.log->commit(m.log->revision());
        }
        check();
        while (live.size() > 60)
            drop();
    }
    while (!live.empty())
        drop();
    CHECK(m.buffers->measure_runs().slots_live == 0);
}
