// Power is lost at any change of the disk that RocksDB makes: what was promised is there, of the
// rest the first batches, whole.

#include <archive/key.hpp>
#include <archive/rocksdb/database.hpp>
#include <archive/store.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/simulated_files.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/temporary_folder.hpp>

#include <atomic>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t batches = 120;
constexpr std::uint32_t rows_of_small = 8;
constexpr std::uint32_t rows_of_large = 50;

archive::store_options small_files() {
    archive::store_options options;
    options.cache_bytes = 1 << 20;
    options.write_buffer_bytes = 64 << 10;
    options.ingest_rows = rows_of_large;
    return options;
}

/// Every eleventh batch goes into RocksDB as sorted files.
bool is_large(std::uint32_t batch) {
    return batch % 11 == 7;
}
std::uint32_t rows_in(std::uint32_t batch) {
    return is_large(batch) ? rows_of_large : rows_of_small;
}

/// A row of batch n is found by a key of its own, and by one that rows of other batches share.
void write(archive::store& to, archive::table_id table, std::uint32_t number, std::uint32_t first) {
    archive::write_batch batch;
    for (std::uint32_t id = first; id < first + rows_in(number); ++id) {
        const std::string record = std::to_string(id) + std::string(300, 'x');
        const auto own = archive::make_key(id);
        const auto shared = archive::make_key(id % 100);
        const archive::secondary_key keys[] = {{0, own}, {1, shared}};
        batch.put(table, id, archive::as_bytes(record), keys);
    }
    to.write(batch);
}

archive::table_id table_in(archive::store& of) {
    return of.open_table("rows", {"own", "shared"});
}

/// What a loss of power left, and what had been promised before.
struct remains {
    fs::path folder;
    std::uint32_t promised = 0; ///< batches
    std::uint32_t begun = 0;
};

/// Writes all batches, and makes a copy of what a loss of power would leave before every
/// `stride`-th change of the disk.
std::vector<remains> losses_of(const fs::path& scratch, std::uint32_t offset, std::uint32_t stride,
                               random_source& random) {
    const fs::path folder = scratch / "store";
    std::vector<remains> all;
    std::atomic<std::uint32_t> promised{0};
    std::atomic<std::uint32_t> begun{0};
    const auto disk = std::make_shared<simulated_files>(scratch / "shadows");
    {
        archive::fault::simulated_files = disk;
        const auto store = archive::open_store(folder, small_files());
        const archive::table_id table = table_in(*store);
        store->sync();
        disk->watch([&](std::uint64_t change) {
            if (change % stride != offset) return;
            const remains one{scratch / ("after " + std::to_string(change)), promised, begun};
            fs::create_directories(one.folder);
            for (const char* name : {"format", "synced"}) // which no RocksDB writes
                fs::copy_file(folder / name, one.folder / name);
            disk->copy_after_power_loss(folder, one.folder,
                                        [&](std::uint64_t limit) { return random.next() % limit; });
            all.push_back(one);
        });
        std::uint32_t first = 0;
        for (std::uint32_t number = 0; number < batches; ++number) {
            begun = number + 1;
            write(*store, table, number, first);
            first += rows_in(number);
            if (is_large(number)) promised = number + 1;
            if (number % 9 == 4) {
                number % 2 == 0 ? store->sync() : store->flush();
                promised = number + 1;
            }
        }
    }
    disk->watch(nullptr);
    archive::fault::simulated_files = nullptr;
    return all;
}

/// The batches that are there; they are whole, and none is missing before.
std::uint32_t batches_in(const archive::store& store, archive::table_id table) {
    std::uint32_t first = 0;
    std::uint32_t number = 0;
    for (; number < batches && first < store.count(table); ++number) {
        for (std::uint32_t id = first; id < first + rows_in(number); ++id) {
            const auto row = store.find(table, 0, archive::make_key(id));
            REQUIRE(row);
            REQUIRE(row->id() == id);
            REQUIRE(archive::as_text(row->record()).starts_with(std::to_string(id) + "x"));
        }
        first += rows_in(number);
    }
    REQUIRE(store.count(table) == first);
    for (std::uint32_t key = 0; key < std::min(first, 100U); ++key) {
        const auto newest = store.find(table, 1, archive::make_key(key));
        REQUIRE(newest);
        REQUIRE(newest->id() == key + (first - 1 - key) / 100 * 100);
    }
    std::uint32_t shared = 0;
    for (auto at = store.keys(table, 1); at.valid(); at.next())
        ++shared;
    REQUIRE(shared == first);
    return number;
}

void check(const remains& one) {
    CAPTURE(one.folder.string(), one.promised, one.begun);
    std::uint32_t found = 0;
    {
        const auto store = archive::open_store(one.folder, small_files());
        const archive::table_id table = table_in(*store);
        found = batches_in(*store, table);
        CHECK(found >= one.promised);
        CHECK(found <= one.begun);
        if (found < batches) // it goes on
            write(*store, table, found, static_cast<std::uint32_t>(store->count(table)));
    }
    const auto again = archive::open_store(one.folder, small_files());
    CHECK(batches_in(*again, table_in(*again)) == std::min(found + 1, batches));
}

} // namespace

TEST_CASE("power is lost at any change of the disk: what was promised is there") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const std::uint32_t stride = 37;
    const temporary_folder scratch(memory_or_disk());
    const auto all = losses_of(scratch.path(), random.below(stride), stride, random);
    CHECK(all.size() > 20);
    for (const remains& one : all)
        check(one);
}
