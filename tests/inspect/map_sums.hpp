#pragma once

#include <tools/inspect/memory/segment_map.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/exact.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

namespace chainbase::test {

using inspect::segment_map;
using inspect::window_map;

inline std::uint64_t capacity_of(const window_map& file) {
    if (file.slot_bytes == 0) return 0;
    return (file.bytes - (file.kind == "runs" ? 0 : 4096)) / file.slot_bytes;
}

/// What holds of every sample, whatever a writer did meanwhile.
inline void require_sums(const window_map& file) {
    INFO(file.name);
    const auto& slots = file.slots;
    REQUIRE(slots.reserved + slots.used + slots.free + slots.never_used == capacity_of(file));
    REQUIRE(file.header_bytes + file.bytes_in_use() + file.bytes_free() + file.bytes_never_used() ==
            file.bytes);
    REQUIRE(file.bytes_free() <= file.bytes);
    REQUIRE(file.in_use.size() * 4096 == file.bytes);
    const auto fullness = file.fullness();
    REQUIRE(std::accumulate(fullness.begin(), fullness.end(), std::uint64_t{0}) +
                file.count(window_map::page::header) + file.count(window_map::page::never_used) ==
            file.in_use.size());
    for (const std::size_t most : {1, 7, 80, 1000}) {
        std::uint64_t pages = 0;
        std::uint64_t bytes = 0;
        for (const window_map::cell& each : file.cells(most)) {
            REQUIRE(each.first == pages);
            pages += each.pages;
            bytes += each.bytes_in_use;
        }
        REQUIRE(pages == file.in_use.size());
        REQUIRE(bytes == file.header_bytes + file.bytes_in_use());
    }
}

inline const window_map& file_called(const segment_map& found, const std::string& name) {
    const auto at = std::ranges::find(found.windows, name, &window_map::name);
    REQUIRE(at != found.windows.end());
    return *at;
}

inline void require_slots(const window_map& file, const usage& counted) {
    INFO(file.name);
    REQUIRE(file.bytes == counted.total);
    REQUIRE(file.header_bytes == counted.header);
    REQUIRE(file.slots.used == counted.slots_live);
    REQUIRE(file.slots.free == counted.slots_free);
    REQUIRE(file.slots.never_used == counted.slots_never_used);
}

/// Requires that the map of a state at rest says what `stat` does.
inline void require_same(const segment_map& found, const inspect::state_report& counted) {
    for (const std::string& each : found.discrepancies)
        UNSCOPED_INFO(each);
    REQUIRE(found.consistent);
    REQUIRE(found.discrepancies.empty());
    REQUIRE(found.bytes() == counted.total().file_bytes);
    REQUIRE(found.other_files == counted.other_files);
    REQUIRE(found.bytes() + found.other_files == bytes_of_files(found.segment));
    for (const window_map& each : found.windows)
        require_sums(each);
    const window_map& log = file_called(found, "undo_log");
    require_slots(log, counted.log.bytes);
    REQUIRE(log.bytes_in_use() == counted.log.bytes.values);
    for (const inspect::buffer_report& each : counted.buffers) {
        const window_map& file = file_called(found, each.name);
        require_slots(file, each.memory.bytes);
        REQUIRE(file.bytes_in_use() == each.memory.bytes.values);
    }
    for (const inspect::type_report& each : counted.types) {
        const window_map& objects = file_called(found, each.name + ".objects");
        require_slots(objects, each.nodes.bytes);
        REQUIRE(objects.bytes_in_use() == each.objects * each.node_bytes);
        REQUIRE(file_called(found, each.name + ".ids").bytes_in_use() == each.ids.bytes.links);
        std::uint64_t entries = 0;
        for (const window_map& file : found.windows)
            if (file.type == each.name && file.kind == "hash") entries += file.bytes_in_use();
        REQUIRE(entries == each.tables.bytes.links);
    }
}

} // namespace chainbase::test
