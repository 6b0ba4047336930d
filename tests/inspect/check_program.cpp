// The verb `check`: exit codes, what is printed, the archive beside the state.

#include <archive/key.hpp>
#include <archive/write_batch.hpp>
#include <chainbase/rows/type_layout.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/scratch_state.hpp>

#include <fstream>
#include <functional>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
using namespace std::string_view_literals;

namespace fs = std::filesystem;

namespace {

json json_of(const fs::path& state, int code, const std::string& more = "") {
    const outcome result = inspect_with("check " + state.string() + " --json " + more);
    INFO(result.output);
    REQUIRE(result.code == code);
    return json::parse(result.output);
}

/// What the parts of a report say is wrong, one a line.
std::string findings_in(const json& parts) {
    std::string text;
    for (const json& part : parts) {
        for (const json& one : part.at("findings"))
            text += one.at("what").get<std::string>() + "\n";
        text += findings_in(part.at("parts"));
    }
    return text;
}

void break_id(const fs::path& state, std::uint32_t id) {
    std::fstream out(state / "segment/account.ids",
                     std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(4096 + 4 * id);
    out.write("\xFF\xFF\xFF\x0F", 4);
}

using row_change = std::function<void(archive::store&, archive::table_id)>;
std::string after(const fs::path& state, const row_change& make, int code = 4) {
    {
        const auto rows = archive::open_store(state / "archive");
        make(*rows, archive::table_id{0});
        rows->flush();
    }
    return findings_in(json_of(state, code).at("parts"));
}

} // namespace

TEST_CASE("check of a sound state: exit 0, and -v tells more") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const sample_counts made = build_sample_state(state);
    const folder_image before = image_of(state);
    const outcome plain = inspect_with("check " + state.string());
    CHECK(plain.code == 0);
    CHECK_THAT(plain.output, Contains("sound") && Contains("closed properly") &&
                                 Contains("not checked: account by_distance"));
    const outcome more = inspect_with("check -v " + state.string());
    CHECK_THAT(more.output, Contains("undo_log") && Contains("account") && !Contains("by_name"));
    const outcome most = inspect_with("check -vv " + state.string());
    CHECK_THAT(most.output, Contains("account by_name") && Contains("buffers.16"));
    const json found = json_of(state, 0);
    CHECK(found.at("sound") == true);
    CHECK(found.at("found") == 0);
    CHECK(found.at("revision") == made.revision);
    CHECK(found.at("condition") == "closed");
    CHECK(found.at("survived").at(0).at("objects") == made.accounts);
    CHECK(found.at("parts").size() == 3 + 4);
    CHECK(image_of(state) == before);
}

TEST_CASE("check of a damaged state: exit 4, with place and survivors") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const sample_counts made = build_sample_state(state);
    break_id(state, 7);
    const outcome text = inspect_with("check " + state.string());
    CHECK(text.code == 4);
    CHECK_THAT(text.output, Contains("account ids: segment/account.ids, offset 4124: object 7") &&
                                Contains("account: 999 of 1,000 objects") && Contains("damaged"));
    const json found = json_of(state, 4);
    CHECK(found.at("sound") == false);
    CHECK(found.at("survived").at(0).at("whole") == made.accounts - 1);
}

TEST_CASE("check beside a writer: exit 1; of its checkpoints it works") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    writer_process writer(state);
    const outcome refused = inspect_with("check " + state.string() + " 2>&1");
    CHECK(refused.code == 1);
    CHECK_THAT(refused.output,
               Contains("process " + std::to_string(writer.process())) && Contains("--checkpoint"));
    CHECK(inspect_with("check --checkpoint " + state.string() + " 2>/dev/null").code == 1);
    const auto other = scratch / "other";
    open_options how = quick_options();
    how.promise = durability::checkpoint;
    database db(other, how);
    const auto made = db.make_checkpoint();
    const outcome good = inspect_with("check --checkpoint -v " + other.string());
    CHECK(good.code == 0);
    CHECK_THAT(good.output, Contains("would take checkpoint " + std::to_string(made.generation)));
    const json found = json_of(other, 0, "--checkpoint");
    CHECK(found.at("restorable") == made.generation);
    CHECK(found.at("publications").at(0).at("standing") == "whole");
}

TEST_CASE("check of nothing: exit 1; a wrong call: exit 2") {
    const scratch_folder scratch;
    CHECK(inspect_with("check " + (scratch / "none").string() + " 2>/dev/null").code == 1);
    CHECK(inspect_with("check 2>/dev/null").code == 2);
}

TEST_CASE("rows of the archive are compared with the state") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    prepare(state);
    build_notes(state);
    CHECK(after(state, [](auto&, auto) {}, 0).empty());
    const auto put = [](std::uint32_t from, std::uint32_t as) -> row_change {
        return [=](archive::store& rows, archive::table_id table) {
            const auto row = rows.find(table, from);
            archive::byte_buffer record(row->record().begin(), row->record().end());
            archive::write_batch batch;
            batch.put(table, as, record, {});
            rows.write(batch);
        };
    };
    const auto erase = [](std::uint32_t id) -> row_change {
        return [=](archive::store& rows, archive::table_id table) {
            archive::write_batch batch;
            batch.erase(table, id);
            rows.write(batch);
        };
    };
    CHECK_THAT(after(state, put(0, 4)), Contains("row 4: holds object 0") &&
                                            Contains("row 4: differs from the object in memory"));
    CHECK(after(state, erase(4), 0).empty());
    CHECK_THAT(after(state, put(1, 77)), Contains("row 77: holds object 1"));
    CHECK(after(state, erase(77), 0).empty());
    CHECK_THAT(after(state, erase(2)), Contains("4 objects were handed over, 3 of those"));
    const row_change shorten = [](archive::store& rows, archive::table_id table) {
        const auto row = rows.find(table, 1);
        archive::byte_buffer record(row->record().begin(), row->record().end() - 2);
        archive::write_batch batch;
        batch.put(table, 1, record, {});
        rows.write(batch);
    };
    CHECK_THAT(after(state, shorten), Contains("row 1: ends within field marks"));
}

TEST_CASE("finished objects that were removed, and others with their keys, are no damage") {
    const auto kind = GENERATE(archive::store_kind::rocksdb, archive::store_kind::memory);
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_notes(state, kind);
    {
        database db(state, small_state());
        db.add_type<note>("note");
        const auto rows = archive::open_archive(db, state / "archive");
        notes all(db, *rows, "note");
        for (const std::uint32_t number : {1U, 4U, 7U}) { // archived, retired, live
            all.remove(id<note>(number));
            all.retire(write(db, "author", "title " + std::to_string(number), 100));
        }
        all.hand_over(db.committed_revision());
        rows->flush();
    }
    const json rows = json_of(state, 0).at("parts").back();
    if (kind == archive::store_kind::memory) {
        CHECK(rows.at("figures").at("handed over") == 8); // 0 to 3, 5, and three again
        return;
    }
    const json& figures = rows.at("parts").front().at("figures");
    CHECK(figures.at("removed") == 2);
    CHECK(figures.at("handed over") == 8);
    CHECK(figures.at("rows") == 8);
    const json told = json::parse(inspect_with("archive --json " + state.string()).output);
    CHECK(told.at("tables").at(0).at("handed_over") == 8);
    CHECK(told.at("tables").at(0).at("in_both") == 0);
}

TEST_CASE("an archive that is lost is found by what was handed over to it") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    prepare(state);
    CHECK(inspect_with("check " + state.string()).code == 0); // there never was one
    build_notes(state);
    fs::rename(state / "archive", state / "aside");
    CHECK_THAT(findings_in(json_of(state, 4).at("parts")),
               Contains("4 objects were handed over, and no archive is there"));
    {
        const auto other = archive::open_store(state / "archive");
        (void)other->open_table("something");
    }
    CHECK_THAT(findings_in(json_of(state, 4).at("parts")),
               Contains("4 objects were handed over, and it has no table of them"));
}

TEST_CASE("an archive in memory is checked and one that keeps no rows is no damage") {
    const scratch_folder scratch;
    const auto memory = scratch / "memory";
    build_notes(memory, archive::store_kind::memory);
    const json sound = json_of(memory, 0).at("parts").back();
    CHECK(sound.at("figures").at("handed over") == 4);
    CHECK(sound.at("figures").at("rows") == 4);
    CHECK_THAT(inspect_with("stat " + memory.string()).output,
               Contains("rows are objects of the segment"));
    {
        database db(memory, small_state());
        const auto rows = archive::open_archive(db, memory / "archive");
        archive::write_batch batch;
        batch.erase(archive::table_id{0}, 2);
        rows->write(batch);
    }
    CHECK_THAT(findings_in(json_of(memory, 4).at("parts")),
               Contains("4 objects were handed over, and there are 3 rows"));
    const auto none = scratch / "none";
    build_notes(none, archive::store_kind::none);
    CHECK(inspect_with("check " + none.string()).code == 0);
    CHECK(json::parse(inspect_with("stat --json " + none.string()).output)
              .at("archive")
              .at("store") == "none");
}

TEST_CASE("an entry of a key that is lost is found, as one too many is") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    prepare(state);
    build_notes(state);
    const auto put_again = [](std::vector<archive::secondary_key> keys) -> row_change {
        return [=](archive::store& rows, archive::table_id table) {
            const auto row = rows.find(table, 2);
            archive::byte_buffer record(row->record().begin(), row->record().end());
            archive::write_batch batch;
            batch.put(table, 2, record, keys);
            rows.write(batch);
        };
    };
    const archive::byte_buffer title = archive::make_key("author"sv, "title 2"sv);
    const archive::byte_buffer weight =
        archive::make_key(archive::descending(std::int64_t{2}), std::uint32_t{2});
    const archive::byte_buffer author = archive::make_key("author"sv, std::uint32_t{2});
    const archive::byte_buffer other(3, std::byte{2});
    const std::string lost = after(state, put_again({{0, title}, {2, author}}));
    CHECK(lost == "row 2: no entry of key by_weight leads to it\n");
    const std::string twice =
        after(state, put_again({{0, title}, {1, weight}, {1, other}, {2, author}}));
    CHECK_THAT(twice, Contains("row 2: two entries of key by_weight lead to it\n"));
    const std::string wrong = after(state, put_again({{0, other}, {1, weight}, {2, author}}));
    CHECK(wrong == "row 2: is not found by key by_title: the state's filter lacks it\n");
    CHECK(after(state, put_again({{0, title}, {1, weight}, {2, author}}), 0).empty());
}

TEST_CASE("a damaged store is a finding") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    prepare(state);
    build_notes(state);
    for (const auto& entry : fs::directory_iterator(state / "archive/rocksdb"))
        if (entry.path().extension() == ".sst") fs::resize_file(entry.path(), 100);
    CHECK_THAT(findings_in(json_of(state, 4).at("parts")), Contains("archive"));
}
