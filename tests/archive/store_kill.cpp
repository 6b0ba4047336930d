// A real process that writes batches is killed at random moments; what it was told is written is
// there, whole batches only, and the counts are exact.
#include <archive/key.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "support.hpp"
#include "writer_process.hpp"

using namespace archive_test;

namespace {

/// How many batches a writer puts once more.
constexpr std::uint32_t repeated = 3;

/// Starts the writer at batch `from`, kills it after `lifetime`, which begins at its start or, if
/// `at_work`, once it acknowledged something. It may ingest all batches. Returns how many batches
/// it acknowledged.
std::uint32_t run_and_kill(const std::string& folder, std::uint32_t from, bool at_work,
                           std::chrono::milliseconds lifetime, bool ingests) {
    writer_process writer(folder, from, ingests);
    if (at_work) writer.wait_until_acknowledged(from + 1);
    std::this_thread::sleep_for(lifetime);
    writer.kill();
    return writer.acknowledged();
}

/// Checks all that is in the store, returns how many batches are. There were `before` already, the
/// last ones of which the writer put once more.
std::uint32_t check(const std::string& folder, std::uint32_t before) {
    const auto s = open_store(folder);
    const table_id rows = s->open_table("rows", {"by_record"});
    const table_id progress = s->open_table("progress", {"by_record"});
    if (s->count(progress) == 0) {
        REQUIRE(s->count(rows) == 0);
        return 0;
    }
    const auto last = s->find(progress, 0);
    const auto last_put =
        1 + static_cast<std::uint32_t>(std::stoul(std::string(as_text(last->record())).substr(6)));
    const std::uint32_t batches = std::max(last_put, before);
    REQUIRE(last_put + repeated >= before);
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
        const auto lifetime = std::chrono::milliseconds(random.below(80));
        // Some batches once more: after a crash the caller cannot know which arrived.
        const std::uint32_t from = batches > repeated ? batches - repeated : 0;
        const std::uint32_t acknowledged =
            run_and_kill(path, from, kill % 4 != 0, lifetime, kill % 3 == 1);
        if (!std::filesystem::exists(path)) continue; // killed before it began
        const std::uint32_t found = check(path, batches);
        INFO("kill " << kill << " after " << lifetime.count() << " ms");
        REQUIRE(found >= acknowledged);
        batches = found;
    }
    CHECK(batches > 0);
}
