// A store written by another process: with readers, and killed.

#include <archive/open_archive.hpp>
#include <archive/record/key.hpp>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <tests/support/seeded.hpp>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "support.hpp"

using namespace archive_test;

namespace archive_test {

/// A batch_writer in its own process.
class writer_process {
public:
    writer_process(const std::string& folder, std::uint32_t from, bool ingests = false)
        : acknowledged_(from) {
        int pipe[2];
        REQUIRE(::pipe(pipe) == 0);
        const std::string start = std::to_string(from);
        child_ = ::fork();
        if (child_ == 0) {
            ::dup2(pipe[1], STDOUT_FILENO);
            ::close(pipe[0]);
            ::close(pipe[1]);
            ::execl(BATCH_WRITER, BATCH_WRITER, folder.c_str(), start.c_str(), "0", "0",
                    ingests ? "11" : "0", nullptr);
            ::_exit(127);
        }
        ::close(pipe[1]);
        listener_ = std::thread([this, from = pipe[0]] {
            std::uint32_t done = 0;
            while (::read(from, &done, sizeof done) == sizeof done)
                acknowledged_ = done;
            ::close(from);
        });
    }
    ~writer_process() {
        if (child_ > 0) kill();
    }

    /// Number of batches that it reported as written.
    std::uint32_t acknowledged() const { return acknowledged_; }

    /// Waits until it reported `batches`; fails after minutes, or when it ended.
    void wait_until_acknowledged(std::uint32_t batches) const {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
        while (acknowledged_ < batches) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    /// Kills it; acknowledged() is final then.
    void kill() {
        ::kill(child_, SIGKILL);
        listener_.join();
        int status = 0;
        ::waitpid(child_, &status, 0);
        child_ = -1;
        CHECK(WIFSIGNALED(status)); // it must not end by itself
    }

private:
    pid_t child_ = -1;
    std::atomic<std::uint32_t> acknowledged_;
    std::thread listener_;
};

} // namespace archive_test

// A process that writes batches is killed at random moments; every acknowledged batch is there,
// batches are whole, and the counts are exact.

namespace {

/// Number of batches that a restarted writer repeats.
constexpr std::uint32_t repeated = 3;

/// Starts the writer at batch `from` and kills it after `lifetime`, which begins at its start or,
/// if `at_work`, at its first acknowledgement. It may ingest all batches. Returns the number of
/// acknowledged batches.
std::uint32_t run_and_kill(const std::string& folder, std::uint32_t from, bool at_work,
                           std::chrono::milliseconds lifetime, bool ingests) {
    writer_process writer(folder, from, ingests);
    if (at_work) writer.wait_until_acknowledged(from + 1);
    std::this_thread::sleep_for(lifetime);
    writer.kill();
    return writer.acknowledged();
}

/// Checks the store's whole content and returns its number of batches. `before` existed already;
/// the writer repeated the last of them.
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

TEST_CASE_METHOD(seeded, "every acknowledged batch survives kill -9") {
    scratch_folder folder;
    const std::string path = (folder / "store").string();
    std::uint32_t batches = 0;
    for (int kill = 0; kill < 25; ++kill) {
        const auto lifetime = std::chrono::milliseconds(random.below(80));
        // Repeats some batches: after a crash the caller cannot know which arrived.
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

// A reader that opens while another process writes, flushes and compacts sees everything written
// before, whole batches only, and keeps seeing it.

namespace {

std::uint32_t walk(const store& s, table_id rows) {
    std::uint32_t expected = 0;
    for (auto at = s.rows(rows); at.valid(); at.next(), ++expected)
        REQUIRE(at.id() == expected);
    return expected;
}

/// Opening beside a much faster writer asks for a retry.
std::unique_ptr<store> open_reader(const std::string& path) {
    store_options options;
    options.read_only = true;
    for (;;) {
        try {
            return open_store(path, options);
        } catch (const chainbase::io_error& busy) {
            REQUIRE_THAT(busy.what(), Catch::Matchers::Contains("try again"));
        }
    }
}

} // namespace

TEST_CASE("a reader misses nothing that was written before it opened") {
    scratch_folder folder;
    const std::string path = (folder / "store").string();
    writer_process writer(path, 0);
    writer.wait_until_acknowledged(50);

    for (int i = 0; i < 16; ++i) {
        const std::uint32_t before = writer.acknowledged();
        const auto s = open_reader(path);
        const table_id rows = s->open_table("rows", {"by_record"});
        const auto count = static_cast<std::uint32_t>(s->count(rows));
        REQUIRE(count >= 10 * before);
        for (std::uint32_t id = 10 * before; id-- > 10 * before - 100;)
            REQUIRE(s->contains(rows, id));
        REQUIRE_FALSE(s->contains(rows, count));
        if (i % 8 != 0) continue;
        writer.wait_until_acknowledged(count / 10 + 50); // it flushes and compacts meanwhile
        REQUIRE(walk(*s, rows) == count);
        REQUIRE(s->find(rows, 0, make_key("row 0"))->id() == 0);
    }
    writer.kill();
}
