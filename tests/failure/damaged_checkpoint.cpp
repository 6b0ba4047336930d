// A checkpoint with flipped bits, or truncated: restores the newest one, or the previous one with
// the reason, or refuses with the file's name; never anything else. A check finds every flip in
// used bytes.

#include <chainbase/offline/check/checkpoint_check.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/failure/chains_on_disk.hpp>
#include <tests/support/seeded.hpp>

#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

/// A chain with two checkpoints, not the first ones, closed.
class damaged_chain {
public:
    explicit damaged_chain(std::uint64_t seed)
        : chain(seed, checkpointed_chain::when_asked()), random(seed) {
        for (int i = 0; i < 6; ++i) {
            chain.apply(1 + random.below(5));
            chain.make_checkpoint();
        }
    }

    struct found {
        std::uint64_t generation = 0; ///< 0: refused
        std::string why;
    };
    [[nodiscard]] found open(simulated_disk& disk) const {
        found result;
        result.generation = chain.restored_from(disk, &result.why);
        return result;
    }
    [[nodiscard]] fs::path folder() const { return chain.state() / "checkpoint"; }

    checkpointed_chain chain;
    random_source random;
};

/// A chain that was closed, reopened and changed since.
class reopened_chain : public checkpointed_chain {
public:
    /// With one checkpoint or two.
    reopened_chain(std::uint64_t seed, bool has_two) : checkpointed_chain(seed, when_asked()) {
        apply(12);
        if (has_two) make_checkpoint();
        apply(12);
        close_and_reopen();
        apply();
    }
    [[nodiscard]] bool restores_what_it_promised() const {
        std::string why;
        simulated_disk undamaged(disk);
        const bool is_promised = restored_from(undamaged, &why) == promised;
        if (!is_promised) UNSCOPED_INFO(why);
        return is_promised;
    }
};

std::uint64_t problems_in(simulated_disk& disk, const damaged_chain& of) {
    return check::check_checkpoints(disk, of.chain.state()).report.found;
}

} // namespace

TEST_CASE_METHOD(quietly_seeded, "bits of a checkpoint flipped") {
    damaged_chain all(seed);
    CHECK(problems_in(all.chain.disk, all) == 0);
    std::uint64_t newest = 0;
    std::uint64_t older = 0;
    std::uint64_t refused = 0;
    for (const auto& [file, bytes] : all.chain.disk.sizes()) {
        const std::uint64_t tries = file.filename() == "pages" ? 150 : 50;
        for (std::uint64_t i = 0; i < tries; ++i) {
            simulated_disk disk(all.chain.disk);
            const std::uint64_t bit = all.random.next() % (bytes * 8);
            disk.flip(file, bit);
            INFO(file << ": byte " << bit / 8);
            const bool is_found = problems_in(disk, all) > 0;
            const auto result = all.open(disk);
            if (result.generation == all.chain.promised) {
                ++newest;
                const bool is_told = result.why.find("damaged") != std::string::npos;
                CHECK(is_told == (file.filename() != "pages")); // the older one is not read
            } else if (result.generation != 0) {
                ++older;
                CHECK(result.generation == all.chain.promised - 1);
                CHECK(is_found);
                CHECK_THAT(result.why, Contains(file.filename().string()));
            } else {
                ++refused;
                CHECK(is_found);
                CHECK_THAT(result.why, Contains(file.string()) && Contains("offset"));
            }
        }
    }
    CAPTURE(newest, older, refused);
    CHECK(newest > 0);
    CHECK(older >= 50); // each in the newer publication
}

// Zeros are meaningful in page tables: they mark a page of zeros.
TEST_CASE_METHOD(quietly_seeded, "a sector of a checkpoint reads as zeros") {
    damaged_chain all(seed);
    constexpr std::uint64_t page = 4096;
    const std::vector<std::byte> sector(512);
    const auto pages = all.folder() / "pages";
    std::uint64_t found = 0;
    for (std::uint64_t at = page; at < all.chain.disk.sizes().at(pages); at += page) {
        simulated_disk disk(all.chain.disk);
        disk.open(pages, disk::mode::write)->write(at, sector);
        INFO("byte " << at);
        const bool is_found = problems_in(disk, all) > 0;
        // Compares the restored state with the checkpointed one.
        if (all.open(disk).generation == all.chain.promised) continue;
        CHECK(is_found);
        ++found;
    }
    CHECK(found > 0);
}

TEST_CASE_METHOD(quietly_seeded, "nothing is built upon a checkpoint whose pages are damaged") {
    damaged_chain all(seed);
    const auto pages = all.folder() / "pages";
    std::uint64_t built = 0;
    for (int i = 0; i < 200; ++i) {
        simulated_disk disk(all.chain.disk);
        disk.flip(pages, all.random.next() % (disk.sizes().at(pages) * 8));
        simulated_disk restored(disk);
        if (all.open(restored).generation != all.chain.promised - 1) continue;
        // The state was restored from the older one, then killed, and continues.
        const auto next = all.chain.checkpointed_again(restored);
        REQUIRE(next.generation >= all.chain.promised);
        CHECK(problems_in(restored, all) == 0);
        ++built;
    }
    CHECK(built > 0);
}

TEST_CASE_METHOD(
    quietly_seeded,
    "a checkpoint has all that was in the one before when that cannot be read any more") {
    const bool has_failed = GENERATE(false, true); // an earlier one in the same process
    std::uint64_t faults = 0;
    for (std::uint64_t n = 0; n < 30; ++n) {
        INFO("read " << n);
        reopened_chain chain(random.next(), n % 2 == 0);
        if (has_failed) {
            chain.make_checkpoint();
            chain.apply();
            chain.disk.before = [](simulated_disk::call which, const fs::path&) {
                if (which == simulated_disk::call::reserve) throw out_of_space_error("full");
            };
            CHECK_THROWS_AS(chain.make_checkpoint(), out_of_space_error);
        }
        std::uint64_t reads = 0;
        chain.disk.before = [&](simulated_disk::call which, const fs::path& file) {
            if (which != simulated_disk::call::read || file.filename() != "pages") return;
            if (reads++ == n) throw io_error("no such sector, as asked for");
        };
        try {
            chain.make_checkpoint();
        } catch (const io_error&) { // on reading the file's first page
            chain.make_checkpoint();
        }
        chain.disk.before = nullptr;
        faults += reads > n ? 1 : 0;
        CHECK(chain.restores_what_it_promised());
    }
    CHECK(faults > 4);
}

TEST_CASE_METHOD(
    quietly_seeded,
    "a newest checkpoint that was set aside is not built upon when the next call fails") {
    std::uint64_t failed = 0;
    for (std::uint64_t n = 0; n < 24; ++n) {
        INFO("call " << n);
        reopened_chain chain(random.next(), n % 2 == 0);
        std::uint64_t reads = 0;
        std::uint64_t calls = 0; // since the segment was moved aside
        chain.disk.before = [&](simulated_disk::call which, const fs::path& file) {
            using enum simulated_disk::call;
            if (which == read && file.filename() == "pages" && reads++ == 1)
                throw io_error("no such sector, as asked for");
            if (which != read && (which == rename || calls != 0) && calls++ == 1 + n / 2)
                throw out_of_space_error("full, as asked for");
        };
        CHECK_THROWS_AS(chain.make_checkpoint(), out_of_space_error);
        chain.disk.before = nullptr;
        failed += calls > 1 + n / 2 ? 1 : 0;
        REQUIRE_NOTHROW(chain.make_checkpoint());
        CHECK(chain.restores_what_it_promised());
    }
    CHECK(failed > 4);
}

TEST_CASE_METHOD(
    quietly_seeded,
    "closing what nobody changed makes another checkpoint when the last one is damaged") {
    checkpointed_chain chain(seed, checkpointed_chain::when_asked());
    for (int round = 0; round < 2; ++round) {
        chain.apply(6);
        chain.close_and_reopen();
    }
    chain.db().close();
    const fs::path folder = chain.state() / "checkpoint";
    chain.disk.flip(checkpoint::published(chain.disk, folder).newest_path(), 0);
    chain.reopen(); // which makes one, too
    chain.close_and_reopen();
    CHECK(chain.restored_from(chain.disk) == chain.promised);
}

TEST_CASE_METHOD(seeded, "checkpoints go on where the pages of the older one are cut off") {
    std::uint64_t went_on = 0;
    // Truncation has no effect where the older one has nothing at the end of the file.
    for (std::uint64_t i = 0; went_on < 3; ++i) {
        REQUIRE(i < 100);
        damaged_chain all(seed + i);
        const quiet_log quiet;
        const auto pages = all.folder() / "pages";
        const std::uint64_t bytes = all.chain.disk.sizes().at(pages);
        for (std::uint64_t left = bytes - 4096; left > 0; left -= 4096) {
            simulated_disk disk(all.chain.disk);
            disk.open(pages, disk::mode::write)->resize(left);
            simulated_disk restored(disk);
            if (all.open(restored).generation != all.chain.promised) break;
            if (problems_in(disk, all) == 0) continue; // unused bytes
            REQUIRE(all.chain.checkpointed_again(restored).generation > all.chain.promised);
            CHECK(problems_in(restored, all) == 0);
            ++went_on;
        }
    }
}

TEST_CASE_METHOD(quietly_seeded, "files of a checkpoint cut or gone") {
    damaged_chain all(seed);
    for (const auto& [file, bytes] : all.chain.disk.sizes())
        for (int i = 0; i < 12; ++i) {
            simulated_disk disk(all.chain.disk);
            const std::uint64_t length = i == 0 ? 0 : all.random.next() % bytes;
            if (i == 1)
                disk.remove(file);
            else
                disk.open(file, disk::mode::write)->resize(length);
            INFO(file << " cut to " << length);
            const auto result = all.open(disk);
            const bool is_pages = file.filename() == "pages";
            if (result.generation != 0)
                CHECK(result.generation >= all.chain.promised - 1);
            else
                CHECK(is_pages); // two publications are two chances
        }
}
