// Readers under the read lock beside a writer under the write lock never see half a change. Meant
// to run under the thread sanitizer as well.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("readers see whole blocks while a writer applies and undoes them") {
    one_type<item> s;
    constexpr std::uint32_t objects = 50;
    s.db.with_write_lock([&] {
        for (std::uint32_t k = 0; k < objects; ++k)
            s.add(k);
    });
    std::atomic<bool> stop{false};
    std::atomic<int> torn{0};
    std::atomic<int> rounds{0};
    const auto read = [&] {
        while (!stop) {
            s.db.with_read_lock([&] {
                std::uint32_t sum = 0;
                std::uint32_t value = s.find(0)->value;
                for (const item& t : s.db.objects<item>()) {
                    if (t.value != value) ++torn;
                    sum += t.key;
                }
                std::uint32_t by_key_sum = 0;
                for (const item& t : s.db.view<item, by_key>())
                    by_key_sum += t.key;
                if (sum != by_key_sum || s.count() != objects) ++torn;
            });
            ++rounds;
            std::this_thread::sleep_for(std::chrono::microseconds(20)); // let the writer in
        }
    };
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back(read);
    while (rounds < 3)
        std::this_thread::yield(); // else the last block may be there before the first reader
    for (std::uint32_t block = 1; block <= 200; ++block) {
        s.db.with_write_lock([&] {
            auto session = s.db.start_session();
            for (std::uint32_t i = 0; i < objects; ++i)
                s.db.modify(*s.find(i), [&](item& t) {
                    t.value = block;
                    t.key = i + 1000 * block;
                });
            if (block % 3 == 0)
                session.undo();
            else
                session.push();
            s.db.commit(s.db.revision() - 2);
        });
        while (rounds < static_cast<int>(block)) // as many looks as blocks, all along
            std::this_thread::yield();
    }
    stop = true;
    for (std::thread& reader : readers)
        reader.join();
    CHECK(torn == 0);
    CHECK(s.find(0)->value == 200);
}
