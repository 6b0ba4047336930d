#pragma once

#include <tests/failure/note.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <string>

namespace chainbase::test {

inline std::string title_of(std::uint32_t i) {
    return std::string(i % 9 == 8 ? 5000 : 3 + i, 't') + std::to_string(i);
}

inline void write_notes(database& db, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i)
        write_note(db, title_of(i), i / 2, i % 3 == 0 ? "ann" : "ben");
}

/// Of all notes, found by id and by each of their keys.
inline std::uint64_t digest_of_notes(const database& db) {
    std::uint64_t digest = 14'695'981'039'346'656'037U;
    const auto add = [&](std::uint64_t value) { digest = (digest ^ value) * 1'099'511'628'211U; };
    for (const note& one : db.objects<note>()) {
        add(one.id.value);
        add(one.weight);
        for (const char c : one.title.view())
            add(static_cast<unsigned char>(c));
        add(db.find<note, by_title>(one.title.view()) == &one);
    }
    for (const note& one : db.view<note, by_weight>())
        add(one.id.value);
    for (const char* author : {"ann", "ben"}) {
        const auto found = db.view<note, by_author>().equal_range(author);
        for (auto at = found.begin(); at != found.end(); ++at)
            add(at->id.value);
    }
    return digest;
}

} // namespace chainbase::test
