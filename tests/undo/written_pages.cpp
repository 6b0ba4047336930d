// The kernel as an oracle of the write barrier: within a session no page of the state is written
// that the log has no record for, except where nothing was when the session began.

#include <chainbase/statistics.hpp>
#include <pool_allocator/hash_table.hpp>

#include <catch2/catch.hpp>
#include <tests/support/world.hpp>
#include <tests/undo/page_scan.hpp>

#include <cstring>
#include <set>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr std::size_t page = window_header::page_bytes;
using pages = std::set<const std::byte*>;

const std::byte* page_of(const std::byte* address) {
    return address - reinterpret_cast<std::uintptr_t>(address) % page;
}

/// The parts of the windows that are in use, whole pages: what lies behind is fresh.
std::vector<page_scan::range> used_ranges(segment& memory) {
    std::vector<page_scan::range> ranges;
    const auto add = [&](const window& file, std::size_t begin, std::size_t end) {
        const std::size_t last = std::min((end + page - 1) / page * page, file.bytes());
        if (begin < last) ranges.emplace_back(file.base() + begin, last - begin);
    };
    memory.buffers().each_window([&](const window& file) {
        struct {
            slot_number first_free, second, third;
        } words;
        std::memcpy(&words, file.root(), sizeof words);
        const bool runs = file.header().slot_bytes == page;
        add(file, 0,
            runs ? page * words.second
                 : page + std::size_t{words.second} * file.header().slot_bytes);
    });
    for (std::size_t t = 0; t < memory.windows().size(); ++t) {
        const type_windows& type = *memory.windows()[t];
        struct {
            pool_state pool;
            std::uint32_t next_id;
            hash_state tables[4];
        } words;
        std::memcpy(&words, type.objects->root(), sizeof words);
        add(*type.objects, 0,
            page + std::size_t{words.pool.high_water} * type.objects->header().slot_bytes);
        add(*type.ids, 0, page + std::size_t{words.next_id} * sizeof(slot_number));
        for (std::size_t k = 0; k < type.tables.size(); ++k) {
            const std::size_t area = hash_table::entry_bytes << words.tables[k].log2_capacity;
            add(*type.tables[k], area, 2 * area);
        }
    }
    return ranges;
}

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
            {.changes = {.objects = 400, .spread = 20, .interrupts = 20}, .verify = false});
    random_source random(test_seed(1));
    for (int i = 0; i < 6000; ++i)
        w.change_plainly(random);
    segment& memory = w.db().memory();
    std::size_t seen = 0;
    for (int round = 0; round < 60; ++round) {
        const auto ranges = used_ranges(memory);
        w.start();
        const auto scan = page_scan::over(ranges);
        if (!scan) {
            WARN("skipped: the kernel does not tell which pages are written");
            return;
        }
        pages boundary; // the last page of a range may hold fresh slots as well
        for (const auto& [begin, bytes] : ranges)
            boundary.insert(begin + bytes - page);
        for (int i = 0; i < 30; ++i) {
            if (w.change_plainly(random) == outcome::refused) {
                (void)scan->take_written(); // what it wrote was rolled back, records and all
                continue;
            }
            const pages covered = logged_pages(memory, w.db().revision());
            for (const std::byte* at : scan->take_written()) {
                ++seen;
                if (covered.contains(at) || boundary.contains(at)) continue;
                FAIL("written without a record: " << name_of(memory, at));
            }
        }
        if (round % 2)
            w.undo();
        else
            w.squash();
    }
    CHECK(seen > 1000);
}

TEST_CASE("the oracle sees a store that passes the barrier by") {
    const scratch_folder folder;
    world w(folder / "state", {.changes = {.objects = 400}, .verify = false});
    random_source random(2);
    for (int i = 0; i < 3000; ++i)
        w.change_plainly(random);
    const auto ranges = used_ranges(w.db().memory());
    const auto scan = page_scan::over(ranges);
    if (!scan) {
        WARN("skipped: the kernel does not tell which pages are written");
        return;
    }
    CHECK(scan->take_written().empty());
    auto* at = const_cast<std::byte*>(ranges.back().first);
    auto* stored = reinterpret_cast<volatile std::byte*>(at);
    *stored = *stored;
    CHECK(scan->take_written() == std::set<const std::byte*>{at});
}
