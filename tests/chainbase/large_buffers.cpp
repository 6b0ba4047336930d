// Strings larger than any size class live in runs of pages.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>

#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct labels {
    labels() : db(folder / "state", quick_options()) { db.add_type<label>("label"); }
    const label& add(std::string_view text) {
        return db.create<label>([&](label& l) { l.text = text; });
    }
    [[nodiscard]] usage runs() const { return db.memory().buffers().measure_runs(); }
    [[nodiscard]] snapshot now() const { return snapshot(db.memory()); }
    scratch_folder folder;
    database db;
};

std::string text_of(char c, std::size_t bytes) {
    return std::string(bytes, c);
}

} // namespace

TEST_CASE("a large string is kept whole, freed and used again") {
    labels s;
    const label& a = s.add(text_of('a', 65'537));
    CHECK(s.runs().slots_live == 17);
    const label& b = s.add(text_of('b', 1'000'000));
    CHECK(a.text.view() == text_of('a', 65'537));
    CHECK(b.text.view() == text_of('b', 1'000'000));
    const auto live = s.runs().slots_live;
    s.db.modify(a, [](label& l) { l.text = text_of('c', 65'537); });
    CHECK(s.runs().slots_live == live);
    CHECK(s.db.find<label, by_text>(text_of('c', 65'537)) == &a);
    CHECK(s.db.find<label, by_text>(text_of('a', 65'537)) == nullptr);
    s.db.remove(a);
    s.db.remove(b);
    CHECK(s.runs().slots_live == 0);
}

TEST_CASE("free runs merge with both neighbours") {
    labels s;
    std::vector<const label*> all;
    for (int i = 0; i < 9; ++i)
        all.push_back(&s.add(text_of(static_cast<char>('a' + i), 100'000)));
    const auto used = s.runs().slots_live + s.runs().slots_free;
    for (const int i : {0, 2, 4, 6, 8, 7, 1, 5, 3}) // alone, before, after, between
        s.db.remove(*all[static_cast<std::size_t>(i)]);
    CHECK(s.runs().slots_live == 0);
    s.add(text_of('z', used * 4096)); // all of it as one run
    CHECK(s.runs().slots_free == 0);
    CHECK(s.runs().slots_live == used);
}

TEST_CASE("runs come back bit for bit") {
    labels s;
    const label& a = s.add(text_of('a', 300'000));
    s.add(text_of('b', 70'000));
    s.db.remove(s.add(text_of('c', 150'000)));
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        s.db.modify(a, [](label& l) { l.text = text_of('d', 90'000); });
        s.add(text_of('e', 250'000));
        s.add(text_of('f', 100'000));
        s.db.remove(a);
        s.add(text_of('g', 800'000));
    }
    CHECK(s.now() == before);
    CHECK(a.text.view() == text_of('a', 300'000));
}

TEST_CASE("strings of every length around the classes are kept and freed") {
    labels s;
    const auto nothing = s.db.memory().buffers().measure();
    for (const std::size_t length :
         {0,    1,    15,   16,   17,     32,     33,     47,     48,     49,     63,
          64,   65,   96,   97,   127,    128,    129,    191,    192,    193,    4095,
          4096, 4097, 6144, 6145, 49'152, 49'153, 65'535, 65'536, 65'537, 69'632, 69'633}) {
        const std::string text = text_of('x', length);
        const label& l = s.add(text);
        CHECK(l.text.view() == text);
        CHECK(s.db.find<label, by_text>(text) == &l);
        s.db.remove(l);
    }
    CHECK(s.db.memory().buffers().measure().slots_live == nothing.slots_live);
}
