// A real process that writes batches is killed at random moments; what it was told is written is
// there, whole batches only, and the counts are exact.
#include <archive/key.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "support.hpp"
#include "writer_process.hpp"

using namespace archive_test;

namespace {

/// Starts the writer at batch `from`, kills it after `lifetime`, returns how many it acknowledged.
std::uint32_t run_and_kill(const std::string& folder, std::uint32_t from,
                           std::chrono::milliseconds lifetime) {
    writer_process writer(folder, from);
    std::this_thread::sleep_for(lifetime);
    writer.kill();
    return writer.acknowledged();
}

/// Checks all that is in the store, returns how many batches are.
std::uint32_t check(const std::string& folder) {
    const auto s = make_store(store_kind::rocksdb, folder);
    const table_id rows = s->open_table("rows", {"by_record"});
    const table_id progress = s->open_table("progress", {"by_record"});
    if (s->count(progress) == 0) {
        REQUIRE(s->count(rows) == 0);
        return 0;
    }
    const auto last = s->find(progress, 0);
    const auto batches =
        1 + static_cast<std::uint32_t>(std::stoul(std::string(as_text(last->record())).substr(6)));
    REQUIRE(s->count(progress) == 1);
    REQUIRE(s->find(progress, 0, make_key(as_text(last->record()))));
    REQUIRE(s->count(rows) == 10 * batches);
    std::uint32_t expected = 0;
    for (auto at = s->rows(rows); at.valid(); at.next(), ++expected) {
        REQUIRE(at.id() == expected);
        REQUIRE(as_text(at.record()).starts_with("row " + std::to_string(expected)));
        if (expected % 97 == 0)
            REQUIRE(s->find(rows, 0, make_key(as_text(at.record())))->id() == expected);
    }
    REQUIRE(expected == 10 * batches);
    std::uint32_t keys = 0;
    for (auto at = s->keys(rows, 0); at.valid(); at.next())
        ++keys;
    REQUIRE(keys == 10 * batches);
    return batches;
}

} // namespace

TEST_CASE("every acknowledged batch survives kill -9") {
    random_source random;
    INFO("CHAINBASE_TEST_SEED=" << random.seed());
    scratch_folder folder;
    const std::string path = (folder / "store").string();
    std::uint32_t batches = 0;
    for (int kill = 0; kill < 25; ++kill) {
        const auto lifetime = std::chrono::milliseconds(random.below(kill < 5 ? 60 : 300));
        // Some batches once more: after a crash the caller cannot know which arrived.
        const std::uint32_t from = batches > 3 ? batches - 3 : 0;
        const std::uint32_t acknowledged = run_and_kill(path, from, lifetime);
        if (!std::filesystem::exists(path)) continue; // killed before it began
        const std::uint32_t found = check(path);
        INFO("kill " << kill << " after " << lifetime.count() << " ms");
        REQUIRE(found >= acknowledged);
        REQUIRE(found >= batches);
        batches = found;
    }
    CHECK(batches > 0);
}
