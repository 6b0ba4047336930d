// A process dies while it makes a backup or restores one. What it leaves passes for nothing, and
// the same call does it over.

#include <archive/detail/fault_steps.hpp>
#include <pool_allocator/error.hpp>

#include <tests/archive/pair.hpp>

#include <set>

using namespace chainbase;
using namespace chainbase::test;
using archive::store_kind;
using archive::fault::backup_step;

namespace fs = std::filesystem;

namespace {

constexpr revision_number half = 50;

int steps_left = 0;
int last_step = -1;

void die(backup_step reached) {
    if (steps_left-- != 0) return;
    last_step = static_cast<int>(reached);
    write_file(fs::path(std::getenv("TMPDIR_STEP")) / "step", std::to_string(last_step));
    ::kill(::getpid(), SIGKILL);
}

/// Runs `work` until it dies at its nth step. Returns the step, nothing when it came to its end.
std::optional<backup_step> killed_at(int n, const fs::path& notes,
                                     const std::function<void()>& work) {
    ::setenv("TMPDIR_STEP", notes.c_str(), 1);
    const int status = in_child([&] {
        steps_left = n;
        archive::fault::backup_hook = &die;
        work();
    });
    if (!was_killed(status)) {
        REQUIRE(worked(status));
        return std::nullopt;
    }
    return static_cast<backup_step>(std::stoi(test::read_file(notes / "step")));
}

/// What was cut off is no backup, and says so.
void check_refused(const fs::path& unfinished, const fs::path& to) {
    if (!fs::exists(unfinished)) return;
    if (fs::exists(unfinished / "manifest")) return; // whole, it only has not its name yet
    try {
        (void)archive::restore_backup(unfinished, to);
        FAIL("it was restored");
    } catch (const format_error& problem) {
        CHECK_THAT(problem.what(), Catch::Matchers::Contains(unfinished.string()));
    }
    CHECK_FALSE(fs::exists(to));
}

} // namespace

TEST_CASE("killed at every step of a backup, the same call makes it") {
    const store_kind kind = GENERATE(store_kind::rocksdb, store_kind::memory);
    const temporary_folder folder;
    make_pair(folder / "state", kind, half);
    std::set<backup_step> seen;
    for (int n = 0;; ++n) {
        const fs::path to = folder / ("backup" + std::to_string(n));
        const fs::path unfinished = to.string() + ".unfinished";
        const auto make = [&] { (void)archive::back_up(folder / "state", to); };
        const auto step = killed_at(n, folder.path(), make);
        if (!step) break;
        CAPTURE(n, static_cast<int>(*step));
        seen.insert(*step);
        CHECK(fs::exists(to) == (*step == backup_step::in_place));
        check_refused(unfinished, folder / "none");
        if (!fs::exists(to)) REQUIRE(worked(in_child(make)));
        CHECK_FALSE(fs::exists(unfinished));
        CHECK(archive::check_backup(to).revision == half);
        fs::remove_all(to);
    }
    CHECK(seen.size() == (kind == store_kind::rocksdb ? 10 : 8));
    check_pair(folder / "state", half);
}

TEST_CASE("killed at every step of a restore, the same call makes it") {
    const store_kind kind = GENERATE(store_kind::rocksdb, store_kind::memory);
    const temporary_folder folder;
    make_pair(folder / "state", kind, half);
    REQUIRE(worked(in_child([&] { (void)archive::back_up(folder / "state", folder / "backup"); })));
    std::set<backup_step> seen;
    for (int n = 0;; ++n) {
        const fs::path to = folder / ("again" + std::to_string(n));
        const auto restore = [&] { (void)archive::restore_backup(folder / "backup", to); };
        const auto step = killed_at(n, folder.path(), restore);
        if (!step) break;
        CAPTURE(n, static_cast<int>(*step));
        seen.insert(*step);
        CHECK(fs::exists(to) == (*step == backup_step::in_place));
        if (!fs::exists(to)) REQUIRE(worked(in_child(restore)));
        CHECK_FALSE(fs::exists(to.string() + ".unfinished"));
        if (*step != backup_step::file_copied || n % 4 == 0) check_pair(to, half);
        fs::remove_all(to);
    }
    CHECK(seen.size() == 6);
}
