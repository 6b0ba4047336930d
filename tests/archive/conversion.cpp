// Converting an archive to another kind keeps its content, wherever a process dies, and whatever
// happens to the state in between.

#include <archive/fault_steps.hpp>
#include <archive/memory_store.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/offline/conversion.hpp>
#include <pool_allocator/base/error.hpp>

#include <tests/archive/pair.hpp>
#include <tests/support/failures.hpp>

#include <cstdlib>
#include <set>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using archive::store_kind;
using archive::fault::conversion_step;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

constexpr revision_number half = 50;

struct kinds {
    store_kind from;
    store_kind to;
};

/// Makes a closed state of so many blocks, all irreversible.
void make_irreversible(const fs::path& folder, store_kind kind) {
    REQUIRE(succeeds_in_child([&] {
        pair_of_state_and_archive one(folder, kind);
        one.run_to(half);
        one.state.commit(one.state.revision());
        one.close();
    }));
}

void convert(const fs::path& folder, store_kind to) {
    database state(folder, pair_of_state_and_archive::options());
    archive::conversion_options how;
    how.rows_at_once = 8;
    how.store.ingest_rows = 3;
    (void)archive::convert_archive(state, folder / "archive", to, how);
    state.close();
}

void copy_folder(const fs::path& from, const fs::path& to) {
    const std::string call = "cp -a " + from.string() + " " + to.string();
    REQUIRE(std::system(call.c_str()) == 0);
}

/// No files of other kinds are left.
void check_only(const fs::path& folder, store_kind kind) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder / "archive"))
        names.insert(entry.path().filename());
    names.erase("ingest");
    names.erase("statistics"); // made by every opening
    if (kind == store_kind::rocksdb)
        CHECK(names == std::set<std::string>{"format", "rocksdb", "synced"});
    else
        CHECK(names == std::set<std::string>{"format"});
    CHECK(archive::kind_of(folder / "archive") == kind);
    CHECK(succeeds_in_child([&] {
        database state(folder, pair_of_state_and_archive::options());
        if (!state.has_type("archive.row")) return;
        state.add_type<archive::detail::kept_row>("archive.row");
        state.add_type<archive::detail::kept_key>("archive.key");
        const auto rows = state.count<archive::detail::kept_row>();
        const auto keys = state.count<archive::detail::kept_key>();
        if ((rows != 0) != (kind == store_kind::memory)) throw error("rows in memory");
        if (keys != 3 * rows) throw error("keys without rows");
        state.close();
    }));
}

/// The state is after `half` blocks, and continues to the end.
void check_goes_on(const fs::path& folder) {
    static const std::string now = digest_after(half);
    static const std::string at_end = digest_after(last_block);
    CHECK(succeeds_in_child([&] {
        pair_of_state_and_archive one(folder);
        one.check();
        require_digest(one, now);
        one.run_to(last_block);
        one.check();
        require_digest(one, at_end);
        one.state.commit(one.state.revision());
        one.close();
    }));
}

/// A conversion, to be killed, of a copy of the state in `made`.
kill_trial conversion_trial(const fs::path& made, store_kind to) {
    kill_trial trial;
    trial.setup = [=](const fs::path& state) { copy_folder(made, state); };
    trial.work = [=](const fs::path& state, const killed_process& self) {
        self.arm();
        convert(state, to);
    };
    return trial;
}

kill_point at_step(std::optional<conversion_step> only = {}) {
    return {archive::fault::conversion_hook, only};
}

kinds every_pair() {
    return GENERATE(kinds{store_kind::rocksdb, store_kind::memory},
                    kinds{store_kind::memory, store_kind::rocksdb},
                    kinds{store_kind::none, store_kind::memory},
                    kinds{store_kind::none, store_kind::rocksdb});
}

template <typename E>
void check_thrown(const std::string& what, const std::function<void()>& work) {
    CHECK(succeeds_in_child([&] {
        try {
            work();
        } catch (const E& problem) {
            if (std::string(problem.what()).find(what) != std::string::npos) return;
            throw;
        }
        throw error("nothing was thrown");
    }));
}

} // namespace

TEST_CASE("a converted archive has the same content and goes on to the same end") {
    const auto [from, to] = every_pair();
    CAPTURE(archive::to_string(from), archive::to_string(to));
    const scratch_folder folder;
    make_irreversible(folder / "state", from);
    CHECK(succeeds_in_child([&] { convert(folder / "state", to); }));
    if (from != store_kind::none) check_only(folder / "state", to);
    check_goes_on(folder / "state");
    // And back again, with more rows by now.
    for (const store_kind kind : {store_kind::memory, store_kind::rocksdb, store_kind::memory}) {
        CHECK(succeeds_in_child([&] { convert(folder / "state", kind); }));
        check_only(folder / "state", kind);
    }
    const std::string at_end = digest_after(last_block);
    CHECK(succeeds_in_child([&] {
        const pair_of_state_and_archive one(folder / "state");
        one.check();
        require_digest(one, at_end);
    }));
}

TEST_CASE("killed at every step of a conversion, it is usable, and the same call goes on") {
    const auto [from, to] = every_pair();
    CAPTURE(archive::to_string(from), archive::to_string(to));
    const scratch_folder folder;
    make_irreversible(folder / "made", from);
    std::set<conversion_step> seen;
    int tried = 0;
    kill_trial trial = conversion_trial(folder / "made", to);
    trial.check = [&](const fs::path& state, const progress& told) {
        const auto step = static_cast<conversion_step>(told.step.load());
        seen.insert(step);
        const auto kind = archive::kind_of(state / "archive");
        CHECK((kind == from || kind == to));
        if (step < conversion_step::flipped && step != conversion_step::moved) CHECK(kind == from);
        // Uses the state as it is, without the conversion; then repeats the call.
        if (tried++ % 2 == 0) {
            const fs::path used = folder / "used";
            copy_folder(state, used);
            check_goes_on(used);
            CHECK(succeeds_in_child([&] { convert(used, to); }));
            if (from != store_kind::none) check_only(used, to);
            fs::remove_all(used);
        }
        // Without a retry.
        CHECK(succeeds_in_child([&] { convert(state, to); }));
        if (from != store_kind::none) check_only(state, to);
        check_goes_on(state);
    };
    kill_at_each(at_step(), trial);
    CHECK(seen.contains(conversion_step::verified));
    CHECK(seen.contains(conversion_step::durable));
    CHECK(seen.contains(conversion_step::flipped));
    CHECK(seen.contains(conversion_step::finished) !=
          (from == store_kind::none && to == store_kind::rocksdb));
    CHECK(seen.contains(conversion_step::moved) == (to == store_kind::rocksdb));
    CHECK(seen.contains(conversion_step::batch_copied) == (from != store_kind::none));
}

TEST_CASE("a conversion that was given up leaves nothing when it is called for the old kind") {
    const auto [from, to] = every_pair();
    if (from == store_kind::none) return;
    CAPTURE(archive::to_string(from), archive::to_string(to));
    const scratch_folder folder;
    make_irreversible(folder / "made", from);
    kill_trial trial = conversion_trial(folder / "made", to);
    trial.check = [&](const fs::path& state, const progress&) {
        CHECK(archive::kind_of(state / "archive") == from);
        CHECK(succeeds_in_child([&] { convert(state, from); }));
        check_only(state, from);
        check_goes_on(state);
    };
    CHECK(kill_at(at_step(), 3, trial));
}

TEST_CASE("after a loss of all memory either checkpoint belongs to the new kind") {
    const auto [from, to] = GENERATE(kinds{store_kind::rocksdb, store_kind::memory},
                                     kinds{store_kind::memory, store_kind::rocksdb});
    CAPTURE(archive::to_string(from), archive::to_string(to));
    const bool is_newest_lost = GENERATE(false, true);
    const scratch_folder folder;
    make_irreversible(folder / "state", from);
    // Killed just before the old kind is removed: the last moment with both.
    CHECK(run_process([&] {
              at_step(conversion_step::flipped).arm(0);
              convert(folder / "state", to);
          }).killed);
    const fs::path published = folder / "state" / "checkpoint";
    fs::remove_all(folder / "state" / "segment");
    if (is_newest_lost) {
        const fs::path newest = checkpoint::published(disk::of_system(), published).newest_path();
        std::string content = read_all(newest);
        content[content.size() / 2] ^= 1;
        write_all(newest, content);
    }
    REQUIRE(fs::exists(published / "published.0"));
    REQUIRE(fs::exists(published / "published.1"));
    check_goes_on(folder / "state");
}

TEST_CASE("conversions that make no sense are refused, and change nothing") {
    const scratch_folder folder;
    SECTION("to none") {
        for (const store_kind from : {store_kind::rocksdb, store_kind::memory}) {
            const fs::path state = folder / std::string(archive::to_string(from));
            make_irreversible(state, from);
            check_thrown<usage_error>("cannot be put back",
                                      [&] { convert(state, store_kind::none); });
            check_goes_on(state);
        }
    }
    SECTION("while blocks can be undone") {
        make_pair(folder / "state", store_kind::rocksdb, half);
        check_thrown<usage_error>("3 revision(s)",
                                  [&] { convert(folder / "state", store_kind::memory); });
        check_pair(folder / "state", half);
    }
    SECTION("without an archive") {
        check_thrown<format_error>("no archive",
                                   [&] { convert(folder / "state", store_kind::memory); });
    }
    SECTION("without checkpoints") {
        make_irreversible(folder / "state", store_kind::rocksdb);
        check_thrown<usage_error>("no checkpoints", [&] {
            database state(folder / "state", small_state());
            (void)archive::convert_archive(state, folder / "state" / "archive", store_kind::memory);
        });
        check_goes_on(folder / "state");
    }
}

TEST_CASE("a row that cannot be read ends a conversion, and the kind stays") {
    const scratch_folder folder;
    make_irreversible(folder / "state", store_kind::rocksdb);
    for (const auto& entry : fs::directory_iterator(folder / "state" / "archive" / "rocksdb"))
        if (entry.path().extension() == ".sst") {
            std::string content = read_all(entry.path());
            content[content.size() / 4] ^= 1;
            content[10] ^= 1;
            write_all(entry.path(), content);
        }
    check_thrown<damaged_error>("archive", [&] { convert(folder / "state", store_kind::memory); });
    CHECK(archive::kind_of(folder / "state" / "archive") == store_kind::rocksdb);
}
