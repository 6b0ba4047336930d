#pragma once

#include <archive/open_archive.hpp>

#include <tests/archive/note.hpp>

#include <filesystem>

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

/// The state's folder is made before the archive's.
inline void prepare(const std::filesystem::path& state) {
    database db(state, small_state());
}

} // namespace chainbase::test
