// The digest of a state from its catalogue alone: of one that moves there is none.
#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/digest_support.hpp>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

namespace {

constexpr std::uint32_t objects = 100'000; // a digest takes more than ten turns

void fill(database& db) {
    for (std::uint32_t i = 0; i < objects; ++i)
        db.create<plain>([](plain&) {});
}

std::string typed_digest(const database& db) {
    archive::state_digest digest;
    digest.add<plain>(db, "plain");
    return digest.hex();
}

std::string text_of_file(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Modifies objects all the time, outside of any session, so at one revision.
class busy_writer {
public:
    explicit busy_writer(database& db) : thread_([this, &db] { run(db); }) {}
    ~busy_writer() {
        is_over_ = true;
        thread_.join();
    }
    busy_writer(const busy_writer&) = delete;
    busy_writer& operator=(const busy_writer&) = delete;

private:
    void run(database& db) {
        while (!is_over_)
            db.with_write_lock([&] {
                for (std::uint32_t i = 0; i < objects; i += 100)
                    db.modify(db.get(id<plain>(i)), [](plain& p) { ++p.count; });
            });
    }

    std::atomic<bool> is_over_{false};
    std::thread thread_;
};

} // namespace

TEST_CASE("digest: what changes between two turns is noticed") {
    const scratch_folder folder;
    const auto state = folder / "state";
    with_plain(state, [&](database& db) {
        db.create<plain>([](plain&) {});
        inspect::row_source from(state);
        inspect::still_state still(from);
        inspect::type_records records(still, "plain", nullptr, inspect::type_records::places::both);
        CHECK_FALSE(records.read(0, 1).empty());
        db.with_write_lock([&] { db.modify(db.get(id<plain>(0)), [](plain& p) { ++p.count; }); });
        CHECK_THROWS_AS(records.read(0, 1), inspect::moved_meanwhile);
        inspect::still_state later(from);
        CHECK_THROWS_AS(later.take_turn([&] {
            db.modify(db.get(id<plain>(0)), [](plain& p) { ++p.count; }); // takes no turn
            throw damaged_error("torn");
        }),
                        inspect::moved_meanwhile);
        CHECK_THROWS_AS(
            inspect::still_state(from).take_turn([] { throw damaged_error("damaged"); }),
            damaged_error);
    });
}

TEST_CASE("digest: a change at an unchanged revision is noticed in each part that is read") {
    const scratch_folder folder;
    const auto state = folder / "state";
    with_plain(state, [&](database& db) {
        fill(db);
        const auto revision = db.revision();
        inspect::row_source from(state);
        inspect::still_state still(from);
        inspect::type_records records(still, "plain", nullptr, inspect::type_records::places::both);
        CHECK_FALSE(records.read(0, objects / 2).empty());
        db.with_write_lock( // of what was read already
            [&] { db.modify(db.get(id<plain>(1)), [](plain& p) { ++p.count; }); });
        CHECK(db.revision() == revision);
        CHECK_THROWS_AS(records.read(objects / 2, objects), inspect::moved_meanwhile);
    });
}

TEST_CASE("digest: of a state that moves there is none") {
    constexpr int most_runs = 20; // between two changes there may be time enough for a digest
    const scratch_folder folder;
    const auto state = folder / "state";
    with_plain(state, [&](database& db) {
        fill(db);
        const auto revision = db.revision();
        int moved = 0;
        {
            const busy_writer writer(db);
            for (int run = 0; run < most_runs && moved == 0; ++run) {
                const outcome result = digest_with(state, "--json 2>" + (folder / "said").string());
                INFO(text_of_file(folder / "said"));
                REQUIRE((result.code == 6 || result.code == 0));
                const bool has_moved = result.code == 6;
                const json report = json::parse(result.output);
                CHECK(report.at("moved") == has_moved);
                CHECK(report.at("digest").is_null() == has_moved);
                CHECK(report.at("types").empty() == has_moved);
                CHECK(report.at("revision") == revision);
                moved += has_moved;
            }
        }
        CHECK(moved == 1);
        CHECK(told(state) == typed_digest(db));
    });
}
