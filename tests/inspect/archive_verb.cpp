// The verb `archive`: what it tells of each kind of store, beside a writer and after it, and how
// it ends.

#include <archive/write_batch.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/staying_process.hpp>
#include <unistd.h>

#include <fstream>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace fs = std::filesystem;

namespace {

json told(const fs::path& state, int code = 0, const std::string& more = "") {
    const outcome result =
        inspect_with("archive " + state.string() + " --json " + more + " 2>/dev/null");
    INFO(result.output);
    REQUIRE(result.code == code);
    return json::parse(result.output);
}

std::string said(const std::string& arguments, int code) {
    const outcome result = inspect_with("archive " + arguments + " 2>&1");
    INFO(result.output);
    REQUIRE(result.code == code);
    return result.output;
}

fs::path state_of(const scratch_folder& scratch,
                  archive::store_kind kind = archive::store_kind::rocksdb) {
    const auto state = scratch / std::string(archive::to_string(kind));
    prepare(state);
    build_notes(state, kind);
    return state;
}

void require_objects(const json& table, bool keeps_rows) {
    CHECK(table.at("name") == "note");
    CHECK(table.at("in_memory") == (keeps_rows ? 6 : 10));
    CHECK(table.at("retired") == (keeps_rows ? 2 : 6));
    CHECK(table.at("handed_over") == (keeps_rows ? 4 : 0));
}

void require_times(const json& times, std::uint64_t count) {
    CHECK(times.at("count") == count);
    CHECK(times.at("measured").get<std::uint64_t>() <= count);
    const auto of = [&](const char* name) { return times.at(name).get<double>(); };
    CHECK(of("p50_us") <= of("p99_us"));
    CHECK(of("p99_us") <= of("p999_us"));
    CHECK(of("p999_us") <= of("longest_us"));
    CHECK((of("longest_us") > 0) == (times.at("measured") > 0));
    CHECK(of("longest_us") <= of("seconds") * 1e6 * 1.001);
}

/// Puts a row as if it were of the object `to`.
void put_row_again(const fs::path& state, std::uint32_t to) {
    const auto rows = archive::open_store(state / "archive");
    const auto row = rows->find(archive::table_id{0}, 1);
    archive::write_batch batch;
    batch.put(archive::table_id{0}, to, row->record());
    rows->write(batch);
}

} // namespace

TEST_CASE("archive tells of a store on disk what is where, and changes nothing") {
    const scratch_folder scratch;
    const auto state = state_of(scratch);
    const folder_image before = image_of(state);
    const json found = told(state, 0, "--records");
    CHECK(image_of(state) == before);

    CHECK(found.at("state") == state.string());
    CHECK(found.at("folder") == (state / "archive").string());
    CHECK(found.at("store") == "rocksdb");
    CHECK(found.at("condition") == "closed");
    CHECK(found.at("readable") == true);
    CHECK(found.at("refusal").is_null());
    CHECK(found.at("state_refusal").is_null());
    CHECK(found.at("findings").empty());
    CHECK(found.at("rows") == 4);
    REQUIRE(found.at("tables").size() == 1);
    const json& table = found.at("tables").at(0);
    require_objects(table, true);
    CHECK(table.at("keys") == json({"by_title", "by_weight", "by_author,id"}));
    CHECK(table.at("rows") == 4);
    CHECK(table.at("in_both") == 0);
    CHECK(table.at("ahead") == 0);
    // fingerprint, id, author, title, weight, two marks
    CHECK(table.at("record_bytes") == 4 * (4 + 4 + (4 + 6) + (4 + 7) + 8 + (4 + 2 * 4)));
    CHECK(told(state).at("tables").at(0).at("record_bytes").is_null());

    const json& rocksdb = found.at("rocksdb");
    CHECK_THAT(rocksdb.at("format").get<std::string>(), Contains("chainbase archive"));
    CHECK(rocksdb.at("closed") == true);
    CHECK(rocksdb.at("being_written") == false);
    CHECK(rocksdb.at("synced_write") == rocksdb.at("last_write"));
    CHECK(rocksdb.at("log").at("files") >= 0);
    REQUIRE(rocksdb.at("families").size() == 2);
    std::uint64_t file_bytes = 0;
    for (const json& family : rocksdb.at("families")) {
        std::uint64_t in_levels = 0;
        for (const json& level : family.at("levels"))
            in_levels += level.at("bytes").get<std::uint64_t>();
        CHECK(family.at("file_bytes") == in_levels);
        file_bytes += in_levels;
    }
    const json& notes_of_it = rocksdb.at("families").at(1);
    CHECK(notes_of_it.at("name") == "table/note");
    CHECK(notes_of_it.at("files") >= 1);
    CHECK(notes_of_it.at("entries") >= 4 * (1 + 3) + 1); // rows, keys, the count
    CHECK(notes_of_it.at("content_bytes") > table.at("record_bytes"));
    CHECK(notes_of_it.at("filter_bytes") > 0);
    CHECK(found.at("bytes").at("file_bytes") >= file_bytes);
    CHECK(found.at("bytes").at("files") >= 5);
    CHECK(found.at("bytes").at("segment_bytes").is_null());
}

TEST_CASE("archive tells what the last process did that had it open") {
    const scratch_folder scratch;
    const json counted = told(state_of(scratch)).at("statistics");
    CHECK(counted.at("process") == ::getpid());
    CHECK(counted.at("running") == false);
    CHECK(counted.at("closed") >= counted.at("opened"));
    CHECK(counted.at("rows") == 4);
    CHECK(counted.at("failures") == 0);
    require_times(counted.at("batches"), 1);
    require_times(counted.at("syncs"), 1);
    require_times(counted.at("hit_in_memory"), 0);
    const json& steps = counted.at("hand_over");
    CHECK(steps.at("objects") == 4);
    CHECK(steps.at("largest_batch_rows") == 4);
    CHECK(steps.at("largest_batch_bytes") > 0);
    require_times(steps.at("encoding"), 1);
    require_times(steps.at("writing"), 1);
    require_times(steps.at("waiting"), 0);
    require_times(steps.at("removing"), 1);
}

TEST_CASE("archive tells of rows in memory and of an archive that keeps none") {
    const scratch_folder scratch;
    const json in_memory = told(state_of(scratch, archive::store_kind::memory), 0, "--records");
    CHECK(in_memory.at("store") == "memory");
    require_objects(in_memory.at("tables").at(0), true);
    CHECK(in_memory.at("tables").at(0).at("rows") == 4);
    CHECK(in_memory.at("tables").at(0).at("record_bytes") == 4 * 49);
    CHECK(in_memory.at("bytes").at("segment_bytes") > 0);
    CHECK(in_memory.at("rocksdb").is_null());
    CHECK(in_memory.at("statistics").at("rows") == 4);

    const json none = told(state_of(scratch, archive::store_kind::none));
    CHECK(none.at("store") == "none");
    REQUIRE(none.at("tables").size() == 1);
    require_objects(none.at("tables").at(0), false);
    CHECK(none.at("tables").at(0).at("rows").is_null());
    CHECK(none.at("bytes").at("segment_bytes").is_null());
    CHECK_THAT(said((scratch / "none").string(), 0), Contains("keeps no rows"));
}

TEST_CASE("rows ahead of the state are told apart from those of objects in memory") {
    const scratch_folder scratch;
    const auto state = state_of(scratch);
    for (const std::uint32_t id : {5u, 8u, 10u, 11u, 4000000000u})
        put_row_again(state, id);
    const json table = told(state).at("tables").at(0);
    CHECK(table.at("rows") == 9);
    CHECK(table.at("handed_over") == 4);
    CHECK(table.at("in_both") == 2);
    CHECK(table.at("ahead") == 3);
}

TEST_CASE("rows that are missing are damage, named with the next thing to do") {
    const scratch_folder scratch;
    const auto state = state_of(scratch);
    {
        const auto rows = archive::open_store(state / "archive");
        archive::write_batch batch;
        batch.erase(archive::table_id{0}, 2);
        rows->write(batch);
    }
    put_row_again(state, 10); // ahead: it stands for none that is missing
    REQUIRE(told(state, 4).at("findings").size() == 1);
    CHECK_THAT(said(state.string(), 4),
               Contains("table note: 4 objects were handed over, and there are 3 rows") &&
                   Contains("replay into a new folder"));
    fs::remove_all(state / "archive");
    const json lost = told(state, 4);
    CHECK(lost.at("store").is_null());
    CHECK(lost.at("findings").size() == 1);
    CHECK(lost.at("tables").at(0).at("handed_over") == 4);
    CHECK_THAT(said(state.string(), 4), Contains("is not there"));
}

TEST_CASE("a damaged store is damage, one that cannot be read is not, and what is known is told") {
    const scratch_folder scratch;
    const auto state = state_of(scratch);
    for (const auto& file : fs::directory_iterator(state / "archive/rocksdb"))
        if (file.path().extension() == ".sst") fs::remove(file.path());
    const json damaged = told(state, 4);
    CHECK(damaged.at("readable") == false);
    CHECK(damaged.at("findings").size() == 1);
    CHECK_THAT(damaged.at("refusal").get<std::string>(),
               Contains((state / "archive").string()) && Contains("backup"));
    CHECK(damaged.at("tables").at(0).at("handed_over") == 4);
    CHECK(damaged.at("statistics").at("rows") == 4);

    std::ofstream(state / "archive/format") << "chainbase archive\nformat 99\n";
    const json foreign = told(state, 1);
    CHECK(foreign.at("findings").empty());
    CHECK_THAT(foreign.at("refusal").get<std::string>(), Contains("format 99"));

    const auto other = scratch / "other";
    fs::rename(state_of(scratch, archive::store_kind::memory), other);
    fs::remove_all(other / "segment"); // rows and all
    CHECK_THAT(told(other, 1).at("state_refusal").get<std::string>(), Contains(other.string()));
}

TEST_CASE("calls that are wrong, and folders without an archive") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    prepare(state);
    CHECK_THAT(said(state.string(), 1), Contains("there is no archive"));
    CHECK_THAT(said((scratch / "nowhere").string(), 1), Contains("nowhere"));
    CHECK_THAT(said("", 2), Contains("DIR"));
    CHECK_THAT(said(state.string() + " --rows", 2), Contains("--rows"));
}

namespace {

/// Looks `hits` objects up in each place and as many that are nowhere.
template <typename Done>
void look_up(const fs::path& state, int hits, Done done) {
    database db(state, small_state());
    db.add_type<note>("note");
    const auto rows = archive::open_archive(db, state / "archive");
    const notes all(db, *rows, "note");
    for (int i = 0; i < hits; ++i)
        if (!all.find(id<note>(1)) || !all.find(id<note>(7)) || all.find(id<note>(70))) return;
    done();
}

} // namespace

TEST_CASE("archive tells beside a running process what it has counted so far") {
    const scratch_folder scratch;
    const auto kind = GENERATE(archive::store_kind::rocksdb, archive::store_kind::memory);
    const auto state = state_of(scratch, kind);
    staying_process process([&](auto done) { look_up(state, 200, done); });
    {
        const json found = told(state);
        CHECK(found.at("condition") == "writer_running");
        CHECK(found.at("rows") == 4);
        const json& counted = found.at("statistics");
        CHECK(counted.at("process") == process.number());
        CHECK(counted.at("running") == true);
        CHECK(counted.at("closed").is_null());
        require_times(counted.at("hit_in_memory"), 200);
        require_times(counted.at("hit_in_archive"), 200);
        require_times(counted.at("known_miss"), 200);
        CHECK(counted.at("hit_in_archive").at("measured") == 200);
        CHECK_THAT(said(state.string(), 0), Contains("and running"));
    }
    process.kill();
    const bool is_memory = kind == archive::store_kind::memory;
    const json found = told(state, is_memory ? 1 : 0);
    CHECK(found.at("condition") == "writer_died");
    CHECK(found.at("readable") == !is_memory);
    if (is_memory)
        CHECK_THAT(found.at("refusal").get<std::string>(),
                   Contains("the last writer died, and rows in memory"));
    CHECK(found.at("statistics").at("running") == false);
    require_times(found.at("statistics").at("known_miss"), 200);
    CHECK_THAT(said(state.string(), is_memory ? 1 : 0), Contains("and died"));
}
