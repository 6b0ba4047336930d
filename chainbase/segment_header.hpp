#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace chainbase {

/// The first page of `segment/header`.
///
///     0  magic          16  "chainbase state" and a zero byte
///    16  format          4
///    20  windows         4  reserved in the address space
///    24  window_bytes    8
///    32  checksum        4  CRC-32 of the 32 bytes before
///    36  clean           4  1: closed properly, and `roots` holds
///    40  roots           4  CRC-32 over the header pages of all windows, when clean
///    44  synced          4  1: when it was closed its files were on storage
///    48  boot           40  kernel's boot id when it was last opened for writing, zero-padded
///    88  identity       16  of the state; its checkpoints have the same
///   104  generation      8  of the checkpoint that holds just this state, 0 if none does
struct segment_header {
    char magic[16];
    std::uint32_t format;
    std::uint32_t windows;
    std::uint64_t window_bytes;
    std::uint32_t checksum;
    std::uint32_t clean;
    std::uint32_t roots;
    std::uint32_t synced;
    char boot[40];
    std::array<std::byte, 16> identity;
    std::uint64_t generation;

    static constexpr std::uint32_t current_format = 2;
    /// The file is a page.
    static constexpr std::size_t page_bytes = 4096;
};
static_assert(sizeof(segment_header) == 112);

} // namespace chainbase
