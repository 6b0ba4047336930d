// A tmpfs without a free page, where also reading a hole of a file takes one.

#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/mount.h>
#include <tests/failure/note.hpp>
#include <tests/failure/own_mounts.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <unistd.h>

#include <map>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

namespace {

/// Takes all space that is left.
void fill_up(const fs::path& place) {
    const int file = open((place / "ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    expect(file >= 0, "no ballast");
    const std::string page(4096, 'b');
    while (write(file, page.data(), page.size()) == 4096)
        ;
    close(file);
}

/// Runs `work` in a process with a small file system of its own.
void on_small_disk(const std::function<void(const fs::path&)>& work) {
    const scratch_folder place;
    const char* at = place.path().c_str();
    run_with_mounts([&] { return mount("none", at, "tmpfs", 0, "size=12m") == 0; },
                    [&] { work(place.path()); });
}

struct content {
    std::uint32_t weight;
    std::string title;
    bool operator==(const content&) const = default;
};
using model = std::map<std::uint32_t, content>;

model copy_of(const database& db) {
    model copy;
    for (const note& n : db.objects<note>()) {
        expect(db.find<note, by_title>(n.title.view()) == &n, "by title");
        copy[n.id.value] = {n.weight, std::string(n.title.view())};
    }
    std::size_t by_weight_count = 0;
    for (const note& n : db.view<note, by_weight>())
        by_weight_count += copy.contains(n.id.value);
    expect(by_weight_count == copy.size(), "by weight");
    return copy;
}

/// One random change of the database and of the model. Returns whether there was room for it.
bool change_one(database& db, model& expected, random_source& random) {
    const auto number = static_cast<std::uint32_t>(random.next());
    const std::string title = std::to_string(number) + std::string(1U << random.below(15), 'x');
    try {
        if (expected.empty() || random.below(3) != 0) {
            const note& n = write_note(db, title, number % 50);
            expected[n.id.value] = {number % 50, title};
            return true;
        }
        auto at = expected.lower_bound(number % (expected.rbegin()->first + 1));
        const note& n = db.get(id<note>(at->first));
        if (random.below(4) == 0) {
            db.remove(n);
            expected.erase(at);
        } else {
            db.modify(n, [&](note& target) {
                target.weight = number % 50;
                target.title = title;
            });
            at->second = {number % 50, title};
        }
        return true;
    } catch (const out_of_space_error& e) {
        expect(std::string(e.what()).find("state/segment/") != std::string::npos, e.what());
        return false;
    }
}

} // namespace

TEST_CASE("lookups of removed objects after compaction on a full disk") {
    on_small_disk([](const fs::path& place) {
        database db(place / "state", quick_options());
        db.add_type<note>("note");
        for (std::uint32_t i = 0; i < 6000; ++i)
            write_note(db, std::to_string(i), i);
        for (std::uint32_t i = 0; i < 5000; ++i)
            db.remove(db.get(id<note>(i)));
        db.compact();
        fill_up(place);
        for (std::uint32_t i = 0; i < 6000; ++i)
            expect((db.find(id<note>(i)) != nullptr) == (i >= 5000), "by id");
        expect(copy_of(db).size() == 1000, "objects");
    });
}

TEST_CASE("random changes on a full disk happen whole or not at all") {
    on_small_disk([](const fs::path& place) {
        random_source random(5);
        model expected;
        std::size_t refused = 0;
        {
            database db(place / "state", quick_options());
            db.add_type<note>("note");
            while (change_one(db, expected, random))
                ;
            fill_up(place);
            expect(copy_of(db) == expected, "the first refusal changed something");
            for (int round = 0; round < 30; ++round) {
                const model before = expected;
                try {
                    auto session = db.start_session();
                    for (int i = 0; i < 60; ++i)
                        refused += !change_one(db, expected, random);
                    expect(copy_of(db) == expected, "a refusal changed something");
                    if (round % 3 == 0)
                        session.squash();
                    else
                        expected = before;
                } catch (const out_of_space_error&) {
                    expect(expected == before, "no session, yet changes");
                }
                expect(copy_of(db) == expected, "after the session");
            }
        }
        expect(refused > 50, "hardly anything was refused");
        database again(place / "state", quick_options());
        again.add_type<note>("note");
        expect(copy_of(again) == expected, "after opening again");
        again.clear<note>();
        expected.clear();
        for (int i = 0; i < 100; ++i)
            expect(change_one(again, expected, random), "no room in an empty state");
        expect(copy_of(again) == expected, "at the end");
    });
}
