// The heap allocations of writing a row: almost none. RocksDB's writer of sorted files makes a
// string for each key.
#include "allocations.hpp"

#include <archive/record/key.hpp>
#include <archive/rocksdb/store.hpp>

#include <rocksdb/write_batch.h>

#include <cstdlib>
#include <new>

#include "support.hpp"

using namespace archive_test;

thread_local std::int64_t allocations_left = -1;

namespace {

thread_local std::uint64_t allocations = 0;

void* counted(std::size_t size) {
    ++allocations;
    const bool fails = allocations_left >= 0 && allocations_left-- == 0;
    if (void* const memory = fails ? nullptr : std::malloc(size)) return memory;
    throw std::bad_alloc();
}

} // namespace

void* operator new(std::size_t size) {
    return counted(size);
}
void* operator new[](std::size_t size) {
    return counted(size);
}
// Replaces the non-throwing forms, too: a sanitizer's would not match this delete.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

constexpr std::uint32_t rows = 4000;

/// Allocations per row in a batch of new rows, including RocksDB's on this thread.
double allocations_per_row(std::size_t ingest_rows) {
    scratch_folder folder;
    store_options options;
    options.ingest_rows = ingest_rows;
    rocksdb_store s(folder / "store", options);
    const table_id table = s.open_table("posts", {"by_title"});
    std::vector<byte_buffer> keys;
    for (std::uint32_t id = 0; id < 2 * rows; ++id)
        keys.push_back(make_key("a title that is not short", id * 2654435761u));
    const byte_buffer record(150);
    write_batch batch;
    for (std::uint32_t from : {0u, rows}) { // the first batch only loads the table's extent
        batch.clear();
        allocations = 0;
        for (std::uint32_t id = from; id < from + rows; ++id) {
            const secondary_key key[] = {{0, keys[id]}};
            batch.put(table, id, record, key);
        }
        s.write(batch);
    }
    const auto taken = static_cast<double>(allocations);
    CHECK(s.count(table) == 2 * rows);
    return taken / rows;
}

} // namespace

TEST_CASE("writing rows takes less than a tenth of an allocation each") {
    CHECK(allocations_per_row(SIZE_MAX) < 0.1);
    CHECK(allocations_per_row(1) < 1 + 0.1); // the string of its one secondary key
}
