// Files may not grow, the file system is read-only, a window or the address space is used up: a
// typed exception that names the file, and a state that is what it was and works on.

#include <catch2/catch.hpp>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <tests/failure/killed_chain.hpp>
#include <tests/failure/own_mounts.hpp>
#include <tests/failure/state_image.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/sample_types.hpp>

#include <csignal>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// Limits the length of files that this process writes.
void limit_files(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, RLIM_INFINITY};
    expect(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
}

/// Creates cards until E is thrown, in a session or not; the last call must have changed nothing.
template <typename E>
std::string fill_with_cards(database& db) {
    std::uint32_t key = db.count<card>() * 2;
    for (;; ++key) {
        const auto count = db.count<card>();
        try {
            db.create<card>([&](card& c) {
                c.key = key;
                c.group = key % 100;
            });
        } catch (const E& e) {
            const snapshot before(db.memory());
            expect(db.count<card>() == count, "count after a failure");
            const auto create = [&] { db.create<card>([&](card& c) { c.key = key; }); };
            try {
                create();
                expect(false, "the second attempt worked");
            } catch (const E&) {
            }
            expect(snapshot(db.memory()) == before, "a failure changed the state");
            expect(!(db.find<card, by_key>(key)), "the object that failed is found");
            return e.what();
        }
    }
}

void expect_names(const std::string& said, const std::string& what) {
    expect(said.find(what) != std::string::npos, "does not name " + what + ": " + said);
}

/// Works on in the room that is left: changes, removes, undoes.
void use_what_is_left(database& db) {
    const snapshot before(db.memory());
    {
        auto session = db.start_session();
        const card& first = *db.objects<card>().begin();
        db.modify(first, [](card& c) { c.key += 5'000'000; });
        db.remove(first);
    }
    expect(snapshot(db.memory()) == before, "undo");
    db.remove(*db.objects<card>().begin());
}

void fill_state(const std::filesystem::path& path) {
    database db(path, quick_options());
    db.add_type<card>("thing");
    limit_files(1'200'000);
    const std::string said = fill_with_cards<out_of_space_error>(db);
    expect_names(said, "thing");
    expect_names(said, "bytes");
    use_what_is_left(db);
    limit_files(RLIM_INFINITY);
    for (std::uint32_t k = 0; k < 10'000; ++k)
        db.create<card>([&](card& c) { c.key = 1'000'000 + k; });
}

} // namespace

TEST_CASE("files that may not grow: what fails changes nothing, and more room is enough") {
    const scratch_folder folder;
    CHECK_FALSE(run_process([&] { fill_state(folder / "state"); }).killed);
    database db(folder / "state", quick_options());
    db.add_type<card>("thing");
    CHECK(db.find<card, by_key>(1'009'999U) != nullptr);
}

TEST_CASE("a state that cannot be created for lack of room leaves the way free") {
    const scratch_folder folder;
    CHECK_FALSE(run_process([&] {
                    for (const rlim_t bytes : {100, 5'000, 50'000}) {
                        limit_files(bytes);
                        try {
                            database db(folder / "state", quick_options());
                            expect(false, "created");
                        } catch (const error&) {
                        }
                    }
                    limit_files(RLIM_INFINITY);
                    database db(folder / "state", quick_options());
                    db.add_type<card>("thing");
                    limit_files(1'000);
                    try {
                        db.add_type<item>("other");
                        expect(false, "added");
                    } catch (const error&) {
                    }
                }).killed);
    database db(folder / "state", quick_options());
    db.add_type<card>("thing");
    db.add_type<item>("other");
}

TEST_CASE("a read-only file system") {
    const sample_state state;
    const char* place = state.folder.path().c_str();
    const auto mount_read_only = [&] {
        struct statvfs now{}; // the flags that a user namespace may not drop
        return mount(place, place, nullptr, MS_BIND, nullptr) == 0 && statvfs(place, &now) == 0 &&
               mount(place, place, nullptr,
                     MS_BIND | MS_REMOUNT | MS_RDONLY |
                         (now.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC)),
                     nullptr) == 0;
    };
    CHECK_NOTHROW(state.open_and_compare());
    run_with_mounts(mount_read_only, [&] {
        for (const auto& path : {state.path, state.folder / "new"})
            expect_names(message_of<io_error>([&] { database db(path, quick_options()); }),
                         "Read-only");
        database reader(state.path, quick_options(open_mode::read_only));
        reader.add_type<card>("thing");
        expect(reader.count<card>() == 20, "count");
    });
}

TEST_CASE("a window that is as long as it may be") {
    const scratch_folder folder;
    open_options options = quick_options();
    options.window_bytes = std::size_t{2} << 20;
    database db(folder / "state", options);
    db.add_type<card>("thing");
    const std::string said = fill_with_cards<limit_error>(db);
    CHECK_NOTHROW(expect_names(said, "2097152"));
    CHECK_NOTHROW(use_what_is_left(db));
}

TEST_CASE("a log that is as long as it may be: the session is still undone") {
    const scratch_folder folder;
    open_options options = quick_options();
    options.window_bytes = std::size_t{4} << 20;
    database db(folder / "state", options);
    db.add_type<label>("label");
    db.create<label>([](label& l) { l.text = std::string(60'000, 'a'); });
    const snapshot before(db.memory());
    auto session = db.start_session();
    const label& only = *db.objects<label>().begin();
    const auto change = [&](char c) {
        db.modify(only, [&](label& l) { l.text = std::string(60'000, c); });
    };
    int done = 0;
    const std::string said = message_of<limit_error>([&] {
        for (;; ++done)
            change(static_cast<char>('a' + done % 26));
    });
    CHECK_NOTHROW(expect_names(said, "undo_log"));
    CHECK(done > 20);
    CHECK(only.text.view() == std::string(60'000, static_cast<char>('a' + (done - 1) % 26)));
    CHECK_THROWS_AS(change('z'), limit_error);
    session.undo();
    CHECK(snapshot(db.memory()) == before);
    CHECK_NOTHROW(change('z'));
}

TEST_CASE("no window left for a type") {
    const scratch_folder folder;
    open_options options = quick_options();
    options.windows = 26 + 4 + 1;
    {
        database db(folder / "state", options);
        db.add_type<card>("thing");
        const state_image before(folder / "state");
        CHECK_NOTHROW(
            expect_names(message_of<limit_error>([&] { db.add_type<item>("other"); }), "other"));
        CHECK(state_image(folder / "state") == before);
        db.create<card>([](card&) {});
    }
    database db(folder / "state", options);
    db.add_type<card>("thing");
    CHECK(db.count<card>() == 1);
}
