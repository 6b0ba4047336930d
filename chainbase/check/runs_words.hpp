#pragma once

#include <pool_allocator/pool.hpp>

#include <cstdint>

namespace chainbase::check {

/// The root block of the page runs, as page_runs.hpp has it.
struct runs_words {
    slot_number first_free;
    slot_number end;
    slot_number live;
};

/// What a free run begins with.
struct free_run {
    slot_number next;
    std::uint32_t pages;
};

} // namespace chainbase::check
