// Arithmetic of reports for times and counts that no real state shows on demand: growth, rates,
// shares of an interval, units, pages mapped by a process, sizes of arrays.
#include <archive/statistics.hpp>
#include <chainbase/object/value_type.hpp>
#include <tools/inspect/maintenance/warm.hpp>
#include <tools/inspect/memory/live_sample.hpp>
#include <tools/inspect/memory/mapped_pages.hpp>
#include <tools/inspect/memory/segment_map.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/top/views.hpp>
#include <tools/text_table.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::inspect;
using namespace chainbase::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

state_report state_with(std::uint64_t objects, std::uint64_t used, std::uint64_t files) {
    type_report type;
    type.name = "account";
    type.objects = objects;
    type.nodes.bytes.values = used;
    type.nodes.file_bytes = files;
    state_report state;
    state.types.push_back(type);
    return state;
}

growth_meter::clock::time_point at(std::chrono::seconds when) {
    return growth_meter::clock::time_point(when);
}

live_sample sample_at(std::chrono::seconds when, std::uint64_t changes, std::int64_t revision) {
    live_sample sample;
    sample.taken = std::chrono::steady_clock::time_point(when);
    sample.state.changes = changes;
    sample.state.revision = revision;
    return sample;
}

archive::published_statistics counted(std::int64_t opened, std::uint64_t finds,
                                      std::uint64_t rows) {
    archive::published_statistics all;
    all.process = 7;
    all.opened = opened;
    all.figures.hits_in_archive.count = finds;
    all.figures.misses.count = finds;
    all.figures.hits_in_memory.count = 1'000'000; // did not ask the archive
    all.figures.rows_put = rows;
    return all;
}

} // namespace

TEST_CASE("growth is per minute, of the last minute, and may be negative") {
    growth_meter meter;
    CHECK(meter.add(state_with(100, 1000, 4096), at(0s)).seconds == 0);
    const state_growth soon = meter.add(state_with(200, 1600, 8192), at(6s));
    CHECK(soon.seconds == 6);
    REQUIRE(soon.types.size() == 1);
    CHECK(soon.types[0].name == "account");
    CHECK(soon.types[0].objects == 1000);
    CHECK(soon.types[0].used_bytes == 6000);
    CHECK(soon.types[0].file_bytes == 40960);
    CHECK(soon.whole.objects == 1000);
    for (int second = 7; second <= 65; ++second)
        (void)meter.add(state_with(200, 1600, 8192), at(std::chrono::seconds(second)));
    const state_growth later = meter.add(state_with(140, 1000, 4096), at(66s));
    CHECK(later.seconds == 60);
    CHECK(later.whole.objects == -60);
    CHECK(later.whole.used_bytes == -600);
    CHECK(later.whole.file_bytes == -4096);
    CHECK_THAT(as_text(later), Contains("-60") && Contains("-4,096"));
}

TEST_CASE("growth of a type that comes later begins with it") {
    growth_meter meter;
    (void)meter.add({}, at(0s));
    const state_growth found = meter.add(state_with(50, 500, 4096), at(60s));
    CHECK(found.types[0].objects == 0);
    CHECK(found.whole.objects == 50);
}

TEST_CASE("rates are what changed divided by the time between") {
    live_sample first = sample_at(10s, 1000, 50);
    live_sample second = sample_at(14s, 5000, 58);
    first.state.types.resize(1);
    second.state.types.resize(2); // one is new
    first.state.types[0].next_id = 100;
    second.state.types[0].next_id = 130;
    second.state.types[1].next_id = 10;
    first.state.header.file_bytes = 4096;
    second.state.header.file_bytes = 2048;
    first.archive = counted(1, 100, 30);
    second.archive = counted(1, 300, 70);
    const live_rates rates = live_rates::between(first, second);
    CHECK(rates.changes == 1000);
    CHECK(rates.revisions == 2);
    CHECK(rates.objects == 10);
    CHECK(rates.growth == -512);
    CHECK(rates.archive_finds == 100);
    CHECK(rates.archive_rows == 10);
}

TEST_CASE("rates of counters that began anew and of no time are zero") {
    const live_rates undone = live_rates::between(sample_at(1s, 9, 9), sample_at(2s, 3, 4));
    CHECK(undone.changes == 0);
    CHECK(undone.revisions == 0);
    const live_rates at_once = live_rates::between(sample_at(1s, 1, 1), sample_at(1s, 3, 4));
    CHECK(at_once.changes == 0);
    live_sample first = sample_at(1s, 1, 1);
    live_sample second = sample_at(2s, 1, 1);
    first.archive = counted(1, 10, 10);
    second.archive = counted(2, 300, 300); // was opened again
    CHECK(live_rates::between(first, second).archive_finds == 0);
    CHECK(live_rates::between(first, second).archive_rows == 0);
}

TEST_CASE("rates of a writer and disks are of one process, and only of what is known") {
    live_sample first = sample_at(10s, 1, 1);
    live_sample second = sample_at(14s, 1, 1);
    CHECK_FALSE(live_rates::between(first, second).disk_read_per_second);
    first.disk = process_disk{7, 100, 4096, 1000, 3};
    CHECK_FALSE(live_rates::between(first, second).disk_read_per_second);
    second.disk = process_disk{7, 100, 8192, 3000, 5};
    const live_rates rates = live_rates::between(first, second);
    CHECK(rates.disk_read_per_second == 1024.0);
    CHECK(rates.disk_written_per_second == 500.0);
    CHECK(rates.major_faults_per_second == 0.5);
    second.disk->read_bytes.reset();
    CHECK_FALSE(live_rates::between(first, second).disk_read_per_second);
    CHECK(live_rates::between(first, second).disk_written_per_second == 500.0);
    second.disk->started = 101; // another process of the same number
    CHECK_FALSE(live_rates::between(first, second).disk_written_per_second);
}

TEST_CASE("a process and disks: what the kernel tells, and what it does not") {
    const scratch_folder scratch;
    fs::create_directories(scratch / "proc/7");
    CHECK_FALSE(process_disk::of(7, scratch.path()));
    std::ofstream(scratch / "proc/7/stat")
        << "7 (a) b (c) S 1 7 7 0 -1 4194560 900 800 12 700 1 2 3 4 20 0 4 0 5555 6 7\n";
    const auto some = process_disk::of(7, scratch.path());
    REQUIRE(some);
    CHECK(some->major_faults == 12);
    CHECK(some->started == 5555);
    CHECK_FALSE(some->read_bytes); // io is for the owner only
    std::ofstream(scratch / "proc/7/io")
        << "rchar: 1\nwchar: 2\nsyscr: 3\nread_bytes: 4096\nwrite_bytes: 8192\n"
           "cancelled_write_bytes: 5\n";
    const auto all = process_disk::of(7, scratch.path());
    CHECK(all->read_bytes == 4096);
    CHECK(all->written_bytes == 8192);

    const std::ofstream open(scratch / "open");
    std::ofstream(scratch / "closed").close();
    CHECK(has_open(::getpid(), scratch / "open"));
    CHECK_FALSE(has_open(::getpid(), scratch / "closed"));
    CHECK_FALSE(has_open(::getpid(), scratch / "none"));
    CHECK_FALSE(has_open(7, scratch / "open", scratch.path()));
    CHECK(process_disk::of(::getpid())->major_faults);
}

TEST_CASE("huge pages are summed over the mappings of the segment and no other") {
    const scratch_folder scratch;
    fs::create_directories(scratch / "proc/71");
    std::ofstream(scratch / "proc/71/smaps")
        << "7f00-7f10 rw-s 00000000 00:17 5    /dev/shm/a b/segment/header\n"
           "Rss:                  8 kB\nShmemPmdMapped:     2048 kB\nTHPeligible:    1\n"
           "VmFlags: rd wr mr\n"
           "7f10-7f20 rw-s 00000000 00:17 6    /dev/shm/a b/segment/undo_log\n"
           "Rss:                 12 kB\nFilePmdMapped:      4096 kB\nAnonHugePages:  6 kB\n"
           "7f20-7f30 rw-s 00000000 00:17 7    /dev/shm/a b/other\n"
           "Rss:               1000 kB\nShmemPmdMapped:     9999 kB\n"
           "7f30-7f40 rw-p 00000000 00:00 0 \nRss:   1000 kB\n";
    const auto found = pages_mapped_by(71, "/dev/shm/a b/segment", scratch.path());
    REQUIRE(found);
    CHECK(found->mappings == 2);
    CHECK(found->resident == 20 * 1024);
    CHECK(found->shmem_pmd_mapped == 2048 * 1024);
    CHECK(found->file_pmd_mapped == 4096 * 1024);
    CHECK(found->anon_huge_pages == 6 * 1024);
    CHECK_FALSE(pages_mapped_by(71, "/dev/shm/a", scratch.path()));
    CHECK_FALSE(pages_mapped_by(72, "/dev/shm/a b/segment", scratch.path()));
}

TEST_CASE("looks at the locks: shares of an interval and what was seen under way") {
    lock_watch watch;
    lock_report writing;
    writing.writer = {1, true, lock_report::doing::inside, 0.004};
    lock_report waiting;
    waiting.writer = {1, true, lock_report::doing::waiting, 0.5};
    waiting.readers.resize(3);
    waiting.readers[0] = {0, 2, 2, "a", true, lock_report::doing::inside, 2.0};
    waiting.readers[1] = {1, 3, 3, "b", true, lock_report::doing::waiting, 0.25};
    waiting.readers[2] = {2, 4, 4, "dead", false, lock_report::doing::inside, 9.0};
    lock_report dead = writing;
    dead.writer.is_alive = false;
    for (const lock_report& each : {writing, writing, waiting, dead})
        watch.add(each);
    CHECK(watch.last().looks == 0);
    watch.end_interval();
    CHECK(watch.last().looks == 4);
    CHECK(watch.last().writing == 2);
    CHECK(watch.last().writer_waiting == 1);
    CHECK(watch.last().reading == 1);
    CHECK(watch.last().readers_waiting == 1);
    CHECK(watch.write_turns.count() == 2);
    CHECK(watch.writer_waits.read().longest_ns() == 500'000'000);
    CHECK(watch.read_turns.read().longest_ns() == 2'000'000'000);
    CHECK(watch.reader_waits.count() == 1);
    watch.end_interval();
    CHECK(watch.last().looks == 0);
    CHECK(watch.looks() == 4);
}

TEST_CASE("figures of the dashboard") {
    CHECK(short_bytes(0) == "0 B");
    CHECK(short_bytes(1023) == "1023 B");
    CHECK(short_bytes(1536) == "1.5 KiB");
    CHECK(short_bytes(5.0 * (1 << 30)) == "5.0 GiB");
    CHECK(short_bytes(5000.0 * (1 << 30)) == "4.9 TiB");
    CHECK(gained_bytes(-1536) == "-1.5 KiB");
    CHECK(gained_bytes(0.4) == "0 B");
    CHECK(duration_in_words(850e-9) == "850 ns");
    CHECK(duration_in_words(12.345e-6) == "12.3 us");
    CHECK(duration_in_words(4.5e-3) == "4.5 ms");
    CHECK(duration_in_words(2.1) == "2.1 s");
    CHECK(duration_in_words(3) == "3 s");
    CHECK(duration_in_words(100) == "100 s");
    CHECK(duration_in_words(180) == "3 min");
    CHECK(duration_in_words(5 * 3600) == "5.0 h");
    CHECK(duration_in_words(0) == "0 s");
    CHECK(short_number(0) == "0");
    CHECK(short_number(0.42) == "0.4");
    CHECK(short_number(9.96) == "10");
    CHECK(short_number(1234.5) == "1,235");
    CHECK(gained_number(-3.2) == "-3.2");
    CHECK(gained_number(0.01) == "0");
    CHECK(percent(1, 3) == "33.3 %");
    CHECK(percent(1, 0) == "-");
    CHECK(bar_of(0.5, 4, false) == "##..");
    CHECK(bar_of(0.5, 4, true) == "██  ");
    CHECK(bar_of(0.53125, 4, true) == "██▏ ");
    CHECK(bar_of(7, 3, true) == "███");
    CHECK(bar_of(-1, 2, true) == "  ");
    CHECK(sparkline({0, 7, 14}, 10, true) == "▁▅█");
    CHECK(sparkline({14, 0, 14}, 2, true) == "▁█");
    CHECK(sparkline({0, 0}, 5, true) == "▁▁");
    CHECK(sparkline({0, 10}, 5, false) == "_#");
}

TEST_CASE("row values: names of types that are none, or of another length, are bytes") {
    using rows::value_type;
    using kind = value_type::kind;
    CHECK(value_type::of("u32", 4).what == kind::number);
    CHECK(value_type::of("u32", 8).what == kind::opaque);
    CHECK(value_type::of("{a u8, b u64}", 16).members.at(1).offset == 8);
    std::string nested = "u8"; // whoever walks a type does so by recursion
    for (int level = 0; level < 100'000; ++level)
        nested += "[1]";
    CHECK(value_type::of(nested, 1).what == kind::opaque);
    CHECK(value_type::of("{a u8, b u64}", 9).what == kind::opaque);
    CHECK(value_type::of("{a bytes<4>}", 4).what == kind::opaque);
    CHECK(value_type::of("shared_vector<{a u8, b fixed_string<8>}>", 8).element().bytes == 16);
    CHECK(value_type::of("shared_vector<fixed_string<24>>", 8).element().bytes == 24);
    CHECK(value_type::of("{a {b u16[3], c bool}, d id}[2]", 24).what == kind::array);
    std::string deep;
    for (int i = 0; i < 100'000; ++i)
        deep += "shared_vector<";
    for (const std::string& wrong :
         {std::string(), std::string("u24"), std::string("{"), std::string("{}"),
          std::string("{a}"), std::string("u8["), std::string("u8[]"), std::string("u8[-1]"),
          std::string("u64[4294967295]"), std::string("fixed_string<"),
          std::string("fixed_string<>"), std::string("shared_vector<u8"), deep})
        CHECK(value_type::of(wrong, 8).what == kind::opaque);
}

TEST_CASE("warm: what a report says of what is unknown") {
    warming_report report;
    report.files.resize(1);
    report.files[0].name = "account.objects";
    report.files[0].bytes = report.files[0].data_bytes = report.files[0].to_fetch = 8192;
    report.files[0].why_not_huge = "because";
    CHECK_THAT(as_text(report), Contains("unknown") && Contains("only to the owner of the files") &&
                                    Contains("not all in huge pages, 1 file(s): because"));
    CHECK(nlohmann::json::parse(as_json(report)).at("total").at("resident_after").is_null());
    report.files[0].resident_before = 0;
    report.files[0].resident_after = 4096;
    CHECK_THAT(as_text(report), Contains("4.0 KiB are still not in memory"));
}

TEST_CASE("map: pages are told by what lies in them") {
    window_map file;
    file.kind = "buffers";
    file.bytes = 12 * 4096;
    file.slot_bytes = 1000;
    file.header_bytes = 4096;
    file.end = 10 * 4096;
    file.in_use.assign(12, 0);
    file.is_hole.assign(12, false);
    file.is_hole[8] = file.is_hole[11] = true;
    file.fill(0, 4096);
    file.fill(1 * 4096, 1);           // 1-25 %
    file.fill(2 * 4096, 1024);        // 1-25 %
    file.fill(3 * 4096, 1025);        // 26-50 %
    file.fill(4 * 4096, 3000);        // 51-75 %
    file.fill(5 * 4096 + 1, 4095);    // 76-99 %
    file.fill(6 * 4096, 4096 + 2048); // 100 %, and 26-50 % of the next one
    CHECK(file.fullness() == window_map::histogram{2, 2, 2, 1, 1, 1});
    CHECK(file.at(0) == window_map::page::header);
    CHECK(file.at(7) == window_map::page::used);
    CHECK(file.at(8) == window_map::page::punched);
    CHECK(file.at(9) == window_map::page::empty);
    CHECK(file.at(11) == window_map::page::never_used);
    CHECK(file.longest_free_run().first == 8);
    CHECK(file.longest_free_run().pages == 2);
    CHECK(file.bytes_in_use() == 1 + 1024 + 1025 + 3000 + 4095 + 4096 + 2048);
}
