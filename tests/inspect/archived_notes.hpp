#pragma once

#include <archive/open_archive.hpp>

#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace chainbase::test {

/// Notes 0 to 9 of which 0 to 3 were handed over, and 4 and 5 are retired.
inline void build_notes(const std::filesystem::path& state,
                        archive::store_kind kind = archive::store_kind::rocksdb) {
    database db(state, small_state());
    db.add_type<note>("note");
    const auto rows = archive::open_archive(db, state / "archive", kind);
    notes all(db, *rows, "note");
    for (std::int64_t i = 0; i < 10; ++i)
        write(db, "author", "title " + std::to_string(i), i);
    for (std::uint32_t i = 0; i < 4; ++i)
        all.retire(db.get(id<note>(i)));
    all.hand_over(db.committed_revision());
    for (std::uint32_t i = 4; i < 6; ++i)
        all.retire(db.get(id<note>(i)));
    rows->flush();
}

/// The notes of a state, and the archive that it keeps them in.
inline void with_notes(const std::filesystem::path& state, archive::store_kind kind,
                       const std::function<void(database&, notes&)>& use) {
    database db(state, small_state());
    db.add_type<note>("note");
    const auto rows = archive::open_archive(db, state / "archive", kind);
    notes all(db, *rows, "note");
    use(db, all);
}

inline constexpr const char* some_authors[] = {"a", "al", "alice", "b"};

/// 400 notes by `some_authors` of weights -30 to 29, of which some were handed over, and some of
/// these and of the others removed.
inline void make_some_notes(database& db, notes& all, random_source& random) {
    auto block = db.start_session();
    for (int i = 0; i < 400; ++i)
        write(db, some_authors[random.below(4)], "title " + std::to_string(i),
              static_cast<std::int64_t>(random.below(60)) - 30);
    for (std::uint32_t i = 0; i < 400; ++i)
        if (random.chance(600)) all.retire(db.get(id<note>(i)));
    block.push();
    db.commit(db.revision());
    all.hand_over(db.committed_revision(), 200);
    for (std::uint32_t i = 0; i < 400; ++i)
        if (random.chance(100)) all.remove(id<note>(i));
}

/// The state's folder is made before the archive's.
inline void prepare(const std::filesystem::path& state) {
    database db(state, small_state());
}

} // namespace chainbase::test
