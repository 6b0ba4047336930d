// The sequence word is odd while a word of the log is about to change or has just changed, so a
// reader never takes a partial change for a state.

#include <catch2/catch.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/one_type.hpp>

#include <optional>

using namespace chainbase;
using namespace chainbase::test;

namespace {

const log_words* watched = nullptr;
std::uint64_t seen = 0;
std::uint64_t seen_even = 0;

void look(fault::point at) {
    const bool stores = at == fault::point::log_append || at == fault::point::rollback_copy ||
                        at == fault::point::log_word;
    if (!stores) return;
    ++seen;
    if (watched->sequence % 2 == 0) ++seen_even;
}

} // namespace

TEST_CASE("operations, starts, undos, squashes, commits and trims keep the sequence odd") {
    one_type<item> s;
    watched = &s.db.memory().words();
    const auto watch = [&](const char* what, auto&& call) {
        seen = seen_even = 0;
        const std::uint64_t before = watched->sequence;
        fault::hook = look;
        call();
        fault::hook = nullptr;
        INFO(what);
        CHECK(seen > 0);
        CHECK(seen_even == 0);
        CHECK(watched->sequence % 2 == 0);
        CHECK(watched->sequence > before);
    };
    watch("create", [&] { s.add(1); });
    std::optional<session> outer;
    watch("start", [&] { outer = s.db.start_session(); });
    watch("modify", [&] { s.set_key(*s.at(1), 2); });
    std::optional<session> inner = s.db.start_session();
    s.set_key(*s.at(2), 3);
    watch("squash", [&] { inner->squash(); });
    inner = s.db.start_session();
    s.set_key(*s.at(3), 4);
    watch("undo", [&] { inner->undo(); });
    for (std::uint32_t k = 0; k < 30'000; ++k) // into the next chunks
        s.add(100 + k);
    watch("undo of chunks", [&] { outer->undo(); });
    outer = s.db.start_session();
    s.set_key(*s.at(1), 5);
    outer->push();
    watch("commit", [&] { s.db.commit(s.db.revision()); });
    {
        auto block = s.db.start_session();
        for (std::uint32_t k = 0; k < 30'000; ++k)
            s.add(100 + k);
        block.push();
        s.db.commit(s.db.revision());
    }
    watch("compact", [&] { s.db.compact(); });
    watch("only squash", [&] {
        auto only = s.db.start_session();
        only.squash();
    });
}
