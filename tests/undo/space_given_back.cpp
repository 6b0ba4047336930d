// compact() gives the space of freed strings and of the log back to the file system, and what was
// given back can be used again.

#include <chainbase/statistics.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <tests/chainbase/small_types.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>

#include <map>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct labels {
    labels() : db(folder / "state", quick_options()) { db.add_type<label>("label"); }

    void add(const std::string& text) {
        const label& made = db.create<label>([&](label& l) { l.text = std::string_view(text); });
        texts[made.id.value] = text;
    }
    /// Of the size asked for, and no two alike.
    std::string text_of(std::size_t bytes) {
        std::string text = std::to_string(++made);
        text.resize(bytes, static_cast<char>('a' + made % 26));
        return text;
    }
    void remove(std::uint32_t number) {
        db.remove(*db.find(id<label>(number)));
        texts.erase(number);
    }
    [[nodiscard]] bool is_whole() const {
        for (const auto& [number, text] : texts) {
            const label* found = db.find(id<label>(number));
            if (!found || found->text.view() != text || db.find<label, by_text>(text) != found)
                return false;
        }
        return db.count<label>() == texts.size();
    }
    [[nodiscard]] std::filesystem::path file(const char* name) const {
        return folder / "state/segment" / name;
    }
    [[nodiscard]] std::uintmax_t length(const char* name) const {
        return std::filesystem::file_size(file(name));
    }
    [[nodiscard]] std::uint64_t held(const char* name) const {
        struct stat status{};
        REQUIRE(stat(file(name).c_str(), &status) == 0);
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    [[nodiscard]] snapshot now() const { return snapshot(db.memory()); }

    scratch_folder folder;
    database db;
    std::map<std::uint32_t, std::string> texts;
    std::size_t made = 0;
};

constexpr std::size_t page = 4096;

} // namespace

TEST_CASE("a free tail of a buffer class is cut, and the free slots that stay are used first") {
    labels s;
    for (int i = 0; i < 2000; ++i)
        s.add(s.text_of(1000)); // of class 1024
    const auto before = s.length("buffers.1024");
    for (std::uint32_t n = 500; n < 2000; ++n)
        s.remove(n);
    for (std::uint32_t n = 0; n < 500; n += 2)
        s.remove(n);
    s.db.compact();
    CHECK(s.length("buffers.1024") <= page + 502 * 1024 + page);
    CHECK(s.length("buffers.1024") < before / 2);
    CHECK(s.is_whole());
    const auto length = s.length("buffers.1024");
    for (int i = 0; i < 250; ++i)
        s.add(s.text_of(1000));
    CHECK(s.length("buffers.1024") == length);
    CHECK(s.is_whole());
    const snapshot settled = s.now();
    s.db.compact();
    CHECK(s.length("buffers.1024") == length);
    CHECK(s.is_whole());
    CHECK(s.now() == settled);
}

TEST_CASE("a class that is empty again keeps no more than its header page") {
    labels s;
    for (int i = 0; i < 20; ++i)
        s.add(s.text_of(60'000));
    for (std::uint32_t n = 0; n < 20; ++n)
        s.remove(n);
    s.db.compact();
    CHECK(s.length("buffers.65536") == page);
    s.add(s.text_of(60'000));
    CHECK(s.is_whole());
}

TEST_CASE("pages within large free buffers are given back, and are there again when used") {
    labels s;
    for (int i = 0; i < 20; ++i)
        s.add(s.text_of(65'536));
    for (std::uint32_t n = 0; n < 19; ++n)
        s.remove(n); // all but the last one
    s.db.compact();
    CHECK(s.length("buffers.65536") >= 20 * 65'536);
    CHECK(s.held("buffers.65536") <= 22 * page + 65'536 + 65'536); // slot 0 was never used
    CHECK(s.is_whole());
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        const auto kept = s.texts;
        for (int i = 0; i < 19; ++i)
            s.add(s.text_of(65'000));
        CHECK(s.is_whole());
        CHECK(s.held("buffers.65536") >= 20 * 65'536);
        s.texts = kept;
    }
    CHECK(s.now() == before);
    CHECK(s.is_whole());
}

TEST_CASE("page runs: the last free one is cut, others are punched") {
    labels s;
    for (int i = 0; i < 10; ++i)
        s.add(s.text_of(400'000));
    for (const std::uint32_t n : {1U, 2U, 5U, 8U, 9U})
        s.remove(n);
    s.db.compact();
    const std::uintmax_t run = (400'000 + page - 1) / page * page;
    CHECK(s.length("buffers.runs") == page + 8 * run);
    CHECK(s.held("buffers.runs") <= page + 5 * run + 2 * page + 2 * page);
    CHECK(s.is_whole());
    const auto length = s.length("buffers.runs");
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        const auto kept = s.texts;
        s.add(s.text_of(800'000)); // the two that merged
        s.add(s.text_of(300'000)); // a part of the third
        CHECK(s.length("buffers.runs") == length);
        CHECK(s.held("buffers.runs") >= page + 5 * run + 1'100'000);
        CHECK(s.is_whole());
        s.texts = kept;
    }
    CHECK(s.now() == before);
    for (const auto& [number, text] : std::map(s.texts))
        s.remove(number);
    s.db.compact();
    CHECK(s.length("buffers.runs") == page);
}

TEST_CASE("strings of all sizes survive compaction again and again") {
    labels s;
    random_source random(test_seed(31));
    for (int round = 0; round < 25; ++round) {
        for (int i = 0; i < 120; ++i)
            s.add(s.text_of(random.below(20) == 0 ? 4 * page + random.below(200'000)
                                                  : 12 + random.below(2000)));
        for (const auto& [number, text] : std::map(s.texts))
            if (random.below(3) != 0) s.remove(number);
        s.db.compact();
        REQUIRE(s.is_whole());
        const usage used = s.db.memory().buffers().measure();
        REQUIRE(used.header + used.links + used.values + used.slack + used.punched == used.total);
    }
}

TEST_CASE("an empty log keeps one chunk, wherever it ended") {
    one_type<card> s;
    for (std::uint32_t k = 0; k < 3000; ++k)
        s.add(k);
    const auto touch_all = [&](std::uint32_t value) {
        for (const card& c : s.db.objects<card>())
            s.db.modify(c, [&](card& t) { t.value = value; });
    };
    for (std::uint32_t block = 1; block <= 60; ++block) {
        auto session = s.db.start_session();
        touch_all(block);
        session.push();
        s.db.commit(s.db.revision() - 40);
    }
    const undo_log& log = *s.db.memory().log();
    CHECK(s.db.memory().log_file().bytes() > 2 * undo_log::chunk_bytes);
    s.db.commit(s.db.revision());
    s.db.compact();
    CHECK(s.db.memory().log_file().bytes() == page + undo_log::chunk_bytes);
    CHECK(log.bytes_in_use() == 0);
    const snapshot before = s.now();
    for (int round = 0; round < 3; ++round) {
        auto session = s.db.start_session();
        for (std::uint32_t block = 0; block < 20; ++block) {
            auto inner = s.db.start_session();
            touch_all(1000 + block);
            inner.push();
        }
        session.undo();
        CHECK(s.now() == before);
        s.db.compact();
        CHECK(s.db.memory().log_file().bytes() == page + undo_log::chunk_bytes);
    }
}

TEST_CASE("a run that could not be taken stays free, also when the modifier goes on") {
    const scratch_folder folder;
    open_options options = quick_options();
    options.window_bytes = std::size_t{8} << 20;
    database db(folder / "state", options);
    db.add_type<label>("label");
    const auto add = [&](std::size_t bytes, char c) -> const label& {
        return db.create<label>([&](label& l) { l.text = std::string(bytes, c); });
    };
    const label& other = add(100, 'o');
    db.remove(add(3'000'000, 'a'));
    const auto length = std::filesystem::file_size(folder / "state/segment/buffers.runs");
    auto session = db.start_session();
    for (int i = 0; db.memory().log()->bytes_in_use() < std::size_t{5} << 20; ++i)
        db.modify(other,
                  [&](label& l) { l.text = std::string(60'000, static_cast<char>('a' + i % 20)); });
    bool caught = false;
    db.modify(other, [&](label& l) {
        l.uses = 7;
        try {
            l.text = std::string(3'000'000, 'b'); // its old content does not fit the log
        } catch (const limit_error&) {
            caught = true;
        }
    });
    CHECK(caught);
    CHECK(other.uses == 7);
    session.push();
    db.commit(db.revision());
    add(3'000'000, 'c');
    CHECK(std::filesystem::file_size(folder / "state/segment/buffers.runs") == length);
}
