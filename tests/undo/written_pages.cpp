// The kernel as an oracle of the write barrier: within a session no page of the state is written
// that the log has no record for, except where nothing was when the session began.

#include <catch2/catch.hpp>
#include <tests/support/window_parts.hpp>
#include <tests/support/world.hpp>
#include <tests/undo/page_scan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
            if (w.change_plainly(random) == change_result::refused) {
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
