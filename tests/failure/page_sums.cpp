// Sums of a checkpoint's pages stand for their contents after a kill, so they are each state's own.

#include <chainbase/checkpoint/slot_file.hpp>

#include <catch2/catch.hpp>
#include <tests/support/simulated_disk.hpp>

#include <array>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace chainbase;
using namespace chainbase::test;
using checkpoint::slot_file;

namespace {

slot_file::identity identity_of(unsigned state) {
    slot_file::identity all{};
    all.front() = static_cast<std::byte>(state);
    return all;
}

checkpoint::page content() {
    checkpoint::page all{};
    all.front() = std::byte{7};
    return all;
}

} // namespace

TEST_CASE("a page has another sum in each state and the same one whenever it is opened") {
    simulated_disk disk;
    const slot_file one(disk, "/one", identity_of(1), disk::mode::create);
    const slot_file two(disk, "/two", identity_of(2), disk::mode::create);
    CHECK(one.sum_of(content()) != two.sum_of(content()));
    CHECK(one.sum_of(content()) != one.sum_of(checkpoint::page{}));
    const slot_file again(disk, "/one", identity_of(1), disk::mode::read);
    CHECK(again.sum_of(content()) == one.sum_of(content()));
}

TEST_CASE("pages of the first format are read with the sums they have") {
    simulated_disk disk;
    {
        const slot_file made(disk, "/pages", identity_of(1), disk::mode::create);
    }
    const auto file = disk.open("/pages", disk::mode::write);
    std::array<std::byte, 48> header{};
    REQUIRE(file->read(0, header) == header.size());
    header[16] = std::byte{1};
    const std::uint64_t sum = XXH3_64bits(header.data(), 40);
    std::memcpy(header.data() + 40, &sum, sizeof sum);
    file->write(0, header);
    const slot_file old(disk, "/pages", identity_of(1), disk::mode::read);
    const checkpoint::page page = content();
    CHECK(old.sum_of(page) == XXH3_64bits(page.data(), page.size()));
}
