// The figures of `top`, and what its looks at the locks come to.

#include <tools/inspect/top/figures.hpp>
#include <tools/inspect/top/views.hpp>

#include <catch2/catch.hpp>

using namespace chainbase;
using namespace chainbase::inspect;

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
    CHECK(short_bytes(5000.0 * (1 << 30)) == "5000.0 GiB");
    CHECK(gained_bytes(-1536) == "-1.5 KiB");
    CHECK(gained_bytes(0.4) == "0 B");
    CHECK(short_time(850) == "850 ns");
    CHECK(short_time(12'345) == "12.3 us");
    CHECK(short_time(4.5e6) == "4.5 ms");
    CHECK(short_time(2.1e9) == "2.1 s");
    CHECK(short_time(180e9) == "3 min");
    CHECK(short_time(5 * 3600e9) == "5 h");
    CHECK(short_age(0) == "0 ms");
    CHECK(short_age(0.0124) == "12 ms");
    CHECK(short_age(3) == "3.0 s");
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
