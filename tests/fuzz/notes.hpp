#pragma once

#include <chainbase/checkpoint/disk.hpp>

#include <sys/stat.h>
#include <tests/failure/sample_states.hpp>
#include <tests/fuzz/patches.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

/// A state's folders must be private.
extern "C" [[gnu::used]] inline int LLVMFuzzerInitialize(int*, char***) {
    umask(077);
    return 0;
}

namespace chainbase::test {

inline std::string title_of(std::uint32_t i) {
    return std::string(i % 9 == 8 ? 5000 : 3 + i, 't') + std::to_string(i);
}

inline void write_notes(database& db, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i)
        write_note(db, title_of(i), i / 2, i % 3 == 0 ? "ann" : "ben");
}

/// A digest of all notes, found by id and by each of their keys.
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

/// A disk's file, patched in memory.
using content = std::vector<std::byte>;

inline content content_of(disk& on, const std::filesystem::path& file) {
    const auto opened = on.open(file, disk::mode::read);
    content all(opened->bytes());
    (void)opened->read(0, all);
    return all;
}

/// Replaces the file.
inline void store(disk& on, const std::filesystem::path& file, std::span<const std::byte> all) {
    on.remove(file);
    on.open(file, disk::mode::create)->write(0, all);
}

/// At a page of the file, or behind its end.
inline void apply(content& to, const patches::patch& one) {
    constexpr std::size_t page_bytes = 4096;
    const std::size_t pages = (to.size() + page_bytes - 1) / page_bytes;
    const std::size_t at = (pages == 0 ? 0 : one.page % pages * page_bytes) + one.byte;
    if (one.content.empty()) {
        to.resize(std::min(to.size(), at));
        return;
    }
    if (to.size() < at + one.content.size()) to.resize(at + one.content.size());
    std::memcpy(to.data() + at, one.content.data(), one.content.size());
}

/// Checkpoints only on request.
inline open_options options_on(disk& checkpoints, durability level) {
    open_options options = quick_options();
    options.durability = level;
    options.checkpoints = {std::chrono::milliseconds(0), 0};
    options.checkpoint_disk = &checkpoints;
    return options;
}

} // namespace chainbase::test
