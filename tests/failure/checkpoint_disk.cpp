// The checkpoint disk fails, or loses power, at each call: the promised checkpoint is restored.

#include <chainbase/checkpoint/slot_file.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <sys/syscall.h>
#include <tests/failure/chains_on_disk.hpp>
#include <tests/failure/sample_states.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/simulated_disk.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
namespace fs = std::filesystem;

// The checkpoint disk fails: the state continues, the previous checkpoint stays, and the next one
// is whole. A failed sync loses what was written, and no later sync restores it.

namespace {

using failure = std::function<void()>;

/// After a machine restart: from the disk alone.
std::uint64_t restored_after_a_loss(const checkpointed_chain& chain, random_source& random) {
    simulated_disk after(chain.disk);
    after.lose_power(random);
    return chain.restored_from(after);
}

void apply_some(checkpointed_chain& chain, random_source& random) {
    chain.apply(1 + random.below(4));
}

/// Whether the next checkpoint reaches call number `n`, which then fails by `fail`.
bool fail_at(checkpointed_chain& chain, std::uint64_t n, const failure& fail) {
    std::uint64_t calls = 0;
    chain.disk.before = [&](simulated_disk::call which, const fs::path&) {
        if (which != simulated_disk::call::read && calls++ == n) fail();
    };
    bool failed = false;
    try {
        chain.make_checkpoint();
    } catch (const error& e) {
        failed = true;
        expect(std::string(e.what()).find("as asked for") != std::string::npos, e.what());
    }
    chain.disk.before = nullptr;
    return failed;
}

/// Makes call number `n` of a checkpoint fail. Returns whether there was such a call.
bool fail_call(std::uint64_t n, const failure& fail, random_source& random) {
    checkpointed_chain chain(random.next(), checkpointed_chain::when_asked());
    chain.disk.part_of_a_failed_write = random.below(8192);
    chain.disk.failed_sync_works = random.chance(500);
    for (int before = 0; before < 2; ++before) {
        apply_some(chain, random);
        chain.make_checkpoint();
    }
    apply_some(chain, random);
    const std::uint64_t digest = digest_of(chain.db());
    const bool failed = fail_at(chain, n, fail);
    expect(digest_of(chain.db()) == digest, "a failed checkpoint changes nothing");
    expect(restored_after_a_loss(chain, random) >= chain.promised, "what was promised");
    if (random.chance(500)) chain.reopen();
    apply_some(chain, random);
    // Loses power during the next checkpoint, which must not overwrite what the failed one may have
    // left on the disk.
    if (failed) {
        fail_at(chain, random.below(8), [&] {
            expect(restored_after_a_loss(chain, random) >= chain.promised, "what was promised");
        });
    } else {
        chain.make_checkpoint();
    }
    expect(restored_after_a_loss(chain, random) == chain.promised, "the next one is whole");
    apply_some(chain, random);
    chain.make_checkpoint();
    expect(restored_after_a_loss(chain, random) == chain.promised, "the one after that, too");
    return failed;
}

} // namespace

TEST_CASE_METHOD(quietly_seeded,
                 "each call of a checkpoint's disk fails, and the next checkpoint is whole") {
    const failure full = [] { throw out_of_space_error("full, as asked for"); };
    const failure broken = [] { throw io_error("broken, as asked for"); };
    for (const failure& fail : {full, broken}) {
        std::uint64_t calls = 0;
        for (int again = 0; again < 4; ++again)
            for (calls = 0; fail_call(calls, fail, random); ++calls) {
            }
        CHECK(calls > 5);
    }
}

TEST_CASE_METHOD(seeded, "checkpoints that are made beside the writer are of one moment") {
    std::uint64_t copied_ahead = 0;
    std::uint64_t most = 0; // generations in a round
    for (int round = 0; round < 12; ++round) {
        const std::uint64_t chain_seed = random.next();
        checkpointed_chain chain(chain_seed, {std::chrono::milliseconds(0), 1});
        reference_chain reference(chain_seed);
        chain.disk.before = [](simulated_disk::call which, const fs::path&) {
            if (which == simulated_disk::call::write)
                std::this_thread::sleep_for(std::chrono::microseconds(300));
        };
        const std::uint64_t steps = 20 + random.below(60);
        std::map<std::uint64_t, revision_number> digests;
        for (std::uint64_t step = 0; step < steps; ++step) {
            chain.apply();
            digests[reference.digest_after(step + 1)] = reference.revision_after(step + 1);
            const auto so_far = chain.db().checkpoints();
            if (so_far.last) copied_ahead += so_far.last->copied_ahead;
        }
        const auto options =
            checkpointed_chain::options_on(chain.disk, checkpointed_chain::when_asked());
        chain.abandon(); // completes the checkpoint in progress
        fs::remove_all(chain.state() / "segment");
        const world restored(chain.state(), {.verify = false, .how = options.how});
        const opening& opened = restored.db().opened();
        INFO("round " << round << ": checkpoint " << opened.generation << " of revision "
                      << opened.revision);
        REQUIRE(opened.how == opening::way::restored);
        most = std::max(most, opened.generation);
        const auto found = digests.find(digest_of(restored.db()));
        REQUIRE(found != digests.end());
        CHECK(found->second == opened.revision);
        check_keys_of(restored.db());
    }
    CHECK(most > 1);
    CHECK(copied_ahead > 0);
}

// Power is lost at each call of a checkpoint to its disk, which keeps, tears or loses unsynced
// data: the restored state is a published checkpoint, the last acknowledged one or one in progress.
// Before the first one the state has none; half of one is none.
// If that one is also damaged, it is the previous one.

namespace {

class loss_of_power {
public:
    loss_of_power(const checkpointed_chain& chain, random_source& random)
        : chain_(chain), random_(random) {}

    /// Called before call number count() of the chain's disk.
    void happen(simulated_disk::call which, const fs::path& file) {
        if (!problem.empty() || which == simulated_disk::call::read) return;
        is_publishing_ = is_publishing_ || file.filename().string().starts_with("published");
        try {
            lose_power();
            if (!is_publishing_ && chain_.promised > 1) lose_power_and_newest();
        } catch (const std::exception& e) {
            problem = "call " + std::to_string(count) + ": " + e.what();
        }
        ++count;
    }
    void begin() { is_publishing_ = false; }

    std::uint64_t count = 0;
    std::string problem;

private:
    void lose_power() {
        simulated_disk after(chain_.disk);
        after.lose_power(random_);
        std::string why;
        const std::uint64_t found = chain_.restored_from(after, &why);
        expect(found >= chain_.promised, "restored " + std::to_string(found) + ", promised " +
                                             std::to_string(chain_.promised));
        expect(why.find("no checkpoint that is whole") == std::string::npos, why);
    }
    void lose_power_and_newest() {
        simulated_disk after(chain_.disk);
        after.lose_power(random_);
        const auto number = (chain_.promised - 1) % 2; // the two slots alternate
        after.flip(chain_.state() / "checkpoint" / ("published." + std::to_string(number)), 0);
        const std::uint64_t found = chain_.restored_from(after);
        expect(found == chain_.promised - 1, "restored " + std::to_string(found) +
                                                 " in place of the damaged " +
                                                 std::to_string(chain_.promised));
    }

    const checkpointed_chain& chain_;
    random_source& random_;
    bool is_publishing_ = false;
};

} // namespace

TEST_CASE("power lost at each call of checkpoints") {
    const quiet_log quiet;
    std::uint64_t losses = 0;
    const std::uint64_t chains = 1 + test_operations(40'000) / 20'000;
    for (std::uint64_t n = 0; n < chains; ++n) {
        const std::uint64_t seed = test_seed(new_seed());
        CAPTURE(seed);
        random_source random(seed);
        checkpointed_chain chain(seed, checkpointed_chain::when_asked());
        loss_of_power loss(chain, random);
        for (int round = 0; round < 14; ++round) {
            if (round % 4 == 3) chain.reopen();
            chain.apply(1 + random.below(6));
            loss.begin();
            chain.disk.before = [&](auto which, const fs::path& file) { loss.happen(which, file); };
            chain.make_checkpoint();
            chain.disk.before = nullptr;
            INFO("round " << round);
            REQUIRE(loss.problem == "");
        }
        losses += loss.count;
    }
    WARN(losses << " losses of power"); // each with a random outcome
    CHECK(losses > 100 * chains);
}

TEST_CASE_METHOD(
    quietly_seeded,
    "a checkpoint that a killed process left unsynced is on storage before it counts") {
    checkpointed_chain chain(random.next(), checkpointed_chain::when_asked());
    for (int before = 0; before < 2; ++before) {
        apply_some(chain, random);
        chain.make_checkpoint();
    }
    apply_some(chain, random);
    // Reads return the written data, in the next process, too; storage lacks it.
    chain.disk.before = [](simulated_disk::call which, const fs::path& file) {
        if (which == simulated_disk::call::sync && file.filename() != "pages")
            throw io_error("broken, as asked for");
    };
    CHECK_THROWS_AS(chain.make_checkpoint(), io_error);
    chain.disk.before = nullptr;
    chain.reopen();
    apply_some(chain, random);
    std::string problem;
    chain.disk.before = [&](simulated_disk::call which, const fs::path& file) {
        if (which != simulated_disk::call::sync || file.filename() == "pages") return;
        for (int loss = 0; loss < 24; ++loss) // sometimes tears the newest one
            if (restored_after_a_loss(chain, random) < chain.promised) problem = file;
    };
    chain.make_checkpoint();
    chain.disk.before = nullptr;
    CHECK(problem == "");
}

// Syncing a file of the segment fails while a state is closed. The system reports that once; a
// second attempt seems to succeed.

namespace {

int calls_until_failure = 0; ///< 0: none

}

/// Replaces the C library's function in this program.
extern "C" int fdatasync(int file) {
    if (calls_until_failure != 0 && --calls_until_failure == 0) {
        errno = EIO;
        return -1;
    }
    return static_cast<int>(syscall(SYS_fdatasync, file));
}

TEST_CASE("a state whose sync failed once never counts as closed") {
    const quiet_log quiet;
    open_options how = quick_options();
    how.durability = durability::process;
    how.sync = true;
    for (int call = 1; call < 12; ++call) {
        const scratch_folder folder;
        {
            database db(folder / "state", how);
            db.add_type<note>("note");
            write_note(db, "one", 1);
            calls_until_failure = call;
            CHECK_THROWS_AS(db.close(), io_error);
        } // which would close it, too
        const auto header = detail::header_in(folder / "state/segment");
        REQUIRE(header);
        CHECK(header->clean == 0);
        database again(folder / "state", how);
        again.add_type<note>("note");
        CHECK(again.count<note>() == 1);
    }
}

// After a kill page sums are trusted for their contents, so each state seeds its own.

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
