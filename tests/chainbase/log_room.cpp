// Strings that an operation assigns take log room of their own. Wherever in a chunk of the log it
// happens, what follows them in the operation finds room, too. Builds with assertions check each
// record; in the others the log must still lead back.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>
#include <tests/support/sample_types.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

struct refused {};

struct labels {
    scratch_folder folder;
    database db{folder / "state", quick_options()};
    labels() { db.add_type<label>("label"); }

    const label& add(std::size_t bytes, std::uint32_t number) {
        return db.create<label>([&](label& one) { one.text = text(bytes, number); });
    }
    static std::string text(std::size_t bytes, std::uint32_t number) {
        std::string result = std::to_string(number);
        result.resize(std::max(bytes, result.size()), '.');
        return result;
    }
};

/// Numbers without a period, so that every chunk ends differently.
std::uint32_t scattered(std::uint32_t number) {
    return number * 2'654'435'761U >> 12;
}

constexpr std::uint32_t chunks_to_fill = 40;

struct posts {
    scratch_folder folder;
    database db{folder / "state", quick_options()};
    posts() { db.add_type<post>("post"); }

    const post& add(std::size_t bytes) {
        return db.create<post>([&](post& one) {
            one.permlink = std::to_string(bytes);
            one.body = labels::text(bytes, 0);
        });
    }
    /// Tries to create a post of `bytes` bytes, which its initialiser then refuses.
    bool is_refused(std::size_t bytes) {
        try {
            db.create<post>([&](post& one) {
                one.body = labels::text(bytes, 0);
                throw refused();
            });
            return false;
        } catch (const refused&) {
            return true;
        }
    }
};

std::size_t left_in_chunk(log_position tail) {
    return undo_log::chunk_bytes - (tail - window_header::page_bytes) % undo_log::chunk_bytes;
}

} // namespace

TEST_CASE("a key of text changes at every place of a chunk") {
    labels s;
    const label& changing = s.add(120, 0);
    for (std::uint32_t i = 1; i <= 150; ++i)
        s.add(100 + i, i);
    for (std::uint32_t i = 1; i <= 150; ++i)
        s.db.remove(s.db.get(id<label>(i))); // their buffers are used again, so they are logged
    const snapshot before(s.db.memory());
    auto session = s.db.start_session();
    const auto& log = s.db.memory().words();
    for (std::uint32_t i = 1000; log.chunks.live < chunks_to_fill; ++i) {
        auto block = s.db.start_session(); // what a session touches first takes most log
        s.db.modify(changing,
                    [&](label& one) { one.text = labels::text(100 + scattered(i) % 150, i); });
        block.push();
    }
    CHECK(s.db.find<label, by_text>(changing.text.view()) == &changing);
    session.undo();
    CHECK(snapshot(s.db.memory()) == before);
    CHECK(s.db.find<label, by_text>(labels::text(120, 0)) == &changing);
}

TEST_CASE("a creation fails at every place of a chunk") {
    posts s;
    const post& changing = s.add(20);
    const std::vector<std::size_t> lengths{8192, 12288, 16384, 24576, 32768, 49152, 65536};
    for (const std::size_t length : lengths)
        s.add(length);
    for (std::uint32_t i = 1; i <= lengths.size(); ++i)
        s.db.remove(s.db.get(id<post>(i))); // their slots are used again, so they are logged
    const snapshot before(s.db.memory());
    const auto& log = s.db.memory().words();
    std::size_t refusals = 0;
    for (std::uint32_t i = 1; log.chunks.live < 12; ++i) {
        auto block = s.db.start_session();
        s.db.modify(changing, [&](post& one) { one.likes = i; });
        if (scattered(i) % 2 == 0) s.db.modify(changing, [&](post& one) { one.body = "short"; });
        block.push();
        const std::size_t left = left_in_chunk(log.tail);
        if (left > 70'000) continue;
        for (const std::size_t length : lengths)
            refusals += s.is_refused(length);
    }
    CHECK(refusals > 1000);
    s.db.undo_all();
    CHECK(snapshot(s.db.memory()) == before);
}
