#pragma once

#include <tools/inspect/memory/state_report.hpp>

#include <catch2/catch.hpp>

#include <filesystem>

namespace chainbase::test {

/// Adds up by itself what a part says.
inline void require_exact(const inspect::measured& part) {
    const usage& bytes = part.bytes;
    REQUIRE(bytes.header + bytes.links + bytes.values + bytes.slack + bytes.punched == bytes.total);
    REQUIRE(part.file_bytes == bytes.total);
    for (const std::uint64_t each :
         {bytes.header, bytes.links, bytes.values, bytes.slack, bytes.punched})
        REQUIRE(each <= bytes.total);
}

/// Requires that every part of the report sums, and that all parts sum to the whole.
inline void require_exact(const inspect::state_report& report) {
    std::uint64_t total = report.header.bytes.total + report.log.bytes.total;
    require_exact(report.header);
    require_exact(report.log);
    for (const inspect::buffer_report& each : report.buffers) {
        require_exact(each.memory);
        total += each.memory.bytes.total;
    }
    for (const inspect::type_report& each : report.types) {
        for (const inspect::measured& part : {each.nodes, each.ids, each.tables}) {
            require_exact(part);
            total += part.bytes.total;
        }
        const usage& slots = each.nodes.bytes;
        REQUIRE(each.objects == slots.slots_live);
        REQUIRE((1 + slots.slots_live + slots.slots_free + slots.slots_never_used) ==
                (slots.total - 4096) / each.node_bytes);
    }
    REQUIRE(report.total().bytes.total == total);
    REQUIRE(report.total().file_bytes == total);
}

/// The bytes of all files in a folder.
inline std::uint64_t bytes_of_files(const std::filesystem::path& folder) {
    std::uint64_t sum = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder))
        sum += file.file_size();
    return sum;
}

} // namespace chainbase::test
