// The kernel as an oracle of the page tracker: no page of the state but those of the log is written
// that was not announced since the last capture.

#include <catch2/catch.hpp>
#include <tests/support/world.hpp>
#include <tests/undo/page_scan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

class keeps_nothing final : public page_tracker::keeper {
public:
    void keep(std::uint64_t, bool) noexcept override {}
};

/// The windows but for that of the log.
template <typename Visitor>
void each_window(segment& memory, Visitor&& visit) {
    memory.buffers().each_window(visit);
    for (const auto& type : memory.windows()) {
        visit(*type->objects);
        visit(*type->ids);
        for (const auto& table : type->tables)
            visit(*table);
    }
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
        w.change_plainly(random);
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
