// What `undo` says of sessions is what the test did in them.

#include <chainbase/database.hpp>
#include <chainbase/detail/segment_header.hpp>
#include <tools/inspect/state/undo_report.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/inspect/unchanged.hpp>
#include <tests/support/checkpoints_on_disk.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/staying_process.hpp>
#include <unistd.h>

#include <string>
#include <thread>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace fs = std::filesystem;

namespace {

json undo_of(const fs::path& state) {
    const outcome result = inspect_with("undo " + state.string() + " --json");
    REQUIRE(result.code == 0);
    CHECK(result.output.starts_with("{\n \"schema_version\": 1,"));
    return json::parse(result.output);
}

std::uint64_t number(const json& part, const char* name) {
    return part.at(name).get<std::uint64_t>();
}

/// Bytes and records of the parts are those of the whole.
void require_sums(const json& part) {
    std::uint64_t bytes = number(part, "mark_bytes") + number(part, "unused_bytes");
    std::uint64_t records = number(part, "marks");
    std::uint64_t objects = 0;
    for (const char* owners : {"types", "others"})
        for (const json& one : part.at(owners)) {
            bytes += number(one, "bytes");
            records += number(one, "records");
            if (!one.contains("objects")) continue;
            objects += number(one, "objects");
            REQUIRE(number(one, "created") + number(one, "modified") + number(one, "removed") +
                        number(one, "created_and_removed") ==
                    number(one, "objects"));
        }
    REQUIRE(bytes == number(part, "bytes"));
    REQUIRE(records == number(part, "records"));
    REQUIRE(objects == number(part, "objects"));
}

void require_whole(const json& found) {
    REQUIRE(found.at("consistent") == true);
    REQUIRE(found.at("complete") == true);
    REQUIRE(found.at("why_incomplete").is_null());
    REQUIRE(found.at("sessions").size() == number(found, "can_be_undone"));
    std::uint64_t bytes = 0;
    auto revision = found.at("irreversible_revision").get<std::int64_t>();
    for (const json& session : found.at("sessions")) {
        require_sums(session);
        REQUIRE(session.at("revision") == ++revision);
        bytes += number(session, "bytes");
    }
    REQUIRE(found.at("revision") == revision);
    if (!found.at("operation").is_null()) {
        require_sums(found.at("operation"));
        bytes += number(found.at("operation"), "bytes");
    }
    if (number(found, "can_be_undone") != 0) REQUIRE(bytes == number(found, "bytes_in_use"));
}

/// Of one type: created, modified, removed, created and removed.
void require_changes(const json& session, const char* type, std::array<std::uint64_t, 4> wanted) {
    for (const json& one : session.at("types")) {
        if (one.at("type") != type) continue;
        const std::array<std::uint64_t, 4> found{number(one, "created"), number(one, "modified"),
                                                 number(one, "removed"),
                                                 number(one, "created_and_removed")};
        CHECK(found == wanted);
        return;
    }
    FAIL("nothing of " << type);
}

void add_types(database& db) {
    db.add_type<account>("account");
    db.add_type<label>("label");
}

void add_label(database& db, const std::string& text) {
    db.create<label>([&](label& l) { l.text = text; });
}

/// `all` sessions of `each` labels, pushed.
void add_sessions(const fs::path& state, int all, int each) {
    database db(state, quick_options());
    add_types(db);
    for (int s = 0; s < all; ++s) {
        auto block = db.start_session();
        for (int i = 0; i < each; ++i)
            add_label(db, std::to_string(s) + " " + std::to_string(i));
        block.push();
    }
}

/// Sessions of 200 labels each, without a pause and without an end.
[[noreturn]] void write_under_lock(database& db) {
    for (int n = 0;; ++n)
        db.with_write_lock([&] {
            auto block = db.start_session();
            for (int i = 0; i < 200; ++i)
                add_label(db, std::to_string(n) + "/" + std::to_string(i));
            block.push();
            db.commit(db.revision() - 5);
        });
}

/// Two pushed sessions and an open one; leaves the state as a kill would.
void leave_three_sessions(const fs::path& state) {
    database db(state, quick_options());
    add_types(db);
    for (int i = 0; i < 10; ++i)
        add_label(db, "old " + std::to_string(i));
    auto first = db.start_session(); // created 3, modified 2, removed 1, one comes and goes
    for (int i = 0; i < 3; ++i)
        add_label(db, "new " + std::to_string(i));
    for (std::uint32_t i = 0; i < 2; ++i)
        for (int again = 0; again < 5; ++again)
            db.modify(db.get(id<label>(i)), [](label& l) { ++l.uses; });
    db.remove(db.get(id<label>(2)));
    add_label(db, "passing");
    db.remove(db.get(id<label>(13)));
    first.push();
    auto second = db.start_session(); // another one squashed into it, and both touch one object
    db.modify(db.get(id<label>(3)), [](label& l) { ++l.uses; });
    auto third = db.start_session();
    db.modify(db.get(id<label>(3)), [](label& l) { ++l.uses; });
    db.remove(db.get(id<label>(3)));
    third.squash();
    second.push();
    auto open = db.start_session();
    db.create<account>([](account& a) { a.number = 7; });
    db.abandon();
}

} // namespace

TEST_CASE("undo: the sessions of a closed state with what each changed") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    const sample_counts made = build_sample_state(state);
    const folder_image before = image_of(state);
    const json found = undo_of(state);
    CHECK(image_of(state) == before);
    require_whole(found);
    CHECK(found.at("state") == state.string());
    CHECK(found.at("segment") == (state / "segment").string());
    CHECK(found.at("condition") == "closed");
    CHECK(found.at("revision") == made.revision);
    CHECK(found.at("irreversible_revision") == made.irreversible);
    CHECK(found.at("can_be_undone") == made.revision - made.irreversible);
    CHECK(found.at("oldest") == made.irreversible + 1);
    CHECK(found.at("file_bytes") == fs::file_size(state / "segment/undo_log"));
    CHECK(found.at("operation").is_null());
    CHECK(found.at("next_opening") ==
          json({{"operation", false}, {"sessions", 0}, {"revision", made.revision}}));
    for (const json& session : found.at("sessions")) {
        CHECK(session.at("open") == false);
        CHECK(session.at("marks") == 1);
        CHECK(session.at("mark_bytes") == sizeof(session_mark) + sizeof(record_trailer));
        CHECK(session.at("types").size() == 1);
        require_changes(session, "account", {0, 1, 0, 0});
    }
    const json stat = json::parse(inspect_with("stat --json " + state.string()).output);
    CHECK(found.at("bytes_in_use") == stat.at("log").at("bytes_in_use"));
    const std::string text = inspect_with("undo " + state.string()).output;
    CHECK_THAT(text, Contains("3 can be undone; the oldest, which keeps all of the log after it, "
                              "is of revision 10") &&
                         Contains("closed properly") && Contains("  account"));
}

TEST_CASE("undo: objects count once and net of what cancels out") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    leave_three_sessions(state);
    const folder_image before = image_of(state);
    const json found = undo_of(state);
    CHECK(image_of(state) == before);
    require_whole(found);
    CHECK(found.at("condition") == "writer_died");
    REQUIRE(found.at("sessions").size() == 3);
    const json& sessions = found.at("sessions");
    require_changes(sessions[0], "label", {3, 2, 1, 1});
    require_changes(sessions[1], "label", {0, 0, 1, 0});
    CHECK(sessions[0].at("marks") == 1);
    CHECK(sessions[1].at("marks") == 2);
    require_changes(sessions[2], "account", {1, 0, 0, 0});
    CHECK(sessions[2].at("open") == true);
    CHECK(number(sessions[0].at("others").at(0), "bytes") > 0); // texts
}

TEST_CASE("undo: after a death it says what the next opening takes back") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    leave_three_sessions(state);
    const json found = undo_of(state);
    CHECK(found.at("next_opening") ==
          json({{"operation", false}, {"sessions", 1}, {"revision", 2}}));
    const json checked = json::parse(inspect_with("check --json " + state.string()).output);
    CHECK(checked.at("revision") == found.at("next_opening").at("revision"));
    CHECK(checked.at("rolled_back").at("sessions") == 1);
    CHECK_THAT(inspect_with("undo " + state.string()).output,
               Contains("the next opening for writing takes back 1 session(s), which gives "
                        "revision 2") &&
                   Contains("3 (not pushed)"));
    CHECK(reopen_sample_state(state) == 2);
}

TEST_CASE("undo: an operation that a kill interrupted is shown") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    add_sessions(state, 2, 3);
    if (const pid_t child = ::fork(); child == 0) {
        database db(state, quick_options());
        add_types(db);
        auto block = db.start_session();
        db.modify(db.get(id<label>(1)), [](label& l) {
            ++l.uses;
            ::_exit(0);
        });
    } else {
        ::waitpid(child, nullptr, 0);
    }
    const json found = undo_of(state);
    require_whole(found);
    CHECK(found.at("next_opening") ==
          json({{"operation", true}, {"sessions", 1}, {"revision", 2}}));
    require_changes(found.at("operation"), "label", {0, 1, 0, 0});
    const json checked = json::parse(inspect_with("check --json " + state.string()).output);
    CHECK(checked.at("rolled_back") == json({{"operation", true}, {"sessions", 1}}));
}

TEST_CASE("undo: beside a writer what is consistent sums exactly and after its death all is") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    {
        writer_process writer(state);
        for (int i = 0; i < 10; ++i) {
            const json found = undo_of(state);
            CHECK(found.at("condition") == "writer_running");
            CHECK(found.at("writer") == writer.process());
            if (found.at("consistent") == true) require_whole(found);
            if (found.at("consistent") == false) {
                CHECK(found.at("sessions").empty());
                CHECK(found.at("why_incomplete").is_string());
                CHECK(found.at("next_opening").is_null());
            }
        }
        writer.kill();
    }
    const json found = undo_of(state);
    require_whole(found);
    CHECK(found.at("condition") == "writer_died");
    const std::int64_t revision = found.at("next_opening").at("revision");
    CHECK(reopen_sample_state(state) == revision);
}

TEST_CASE("undo: beside a writer that never pauses a block is shown whole") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    add_sessions(state, 1, 1);
    const staying_process writer([&](auto&& tell) {
        database db(state, quick_options());
        add_types(db);
        const std::jthread work([&] { write_under_lock(db); });
        tell();
    });
    for (int i = 0; i < 5; ++i) {
        const json found = undo_of(state);
        require_whole(found);
        for (const json& session : found.at("sessions"))
            if (session.at("revision") != 1 && session.at("open") == false)
                require_changes(session, "label", {200, 0, 0, 0});
    }
}

TEST_CASE("undo: of a log that is too long for one look the newest sessions are given") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    add_sessions(state, 40, 1000);
    const fs::path folder = state / "segment";
    const auto header = detail::header_in(folder).value();
    inspect::log_image image(folder, header, false);
    REQUIRE(image.copy(inspect::log_image::clock::time_point::max()));
    CHECK(image.is_complete());
    const log_contents all(image.file(), header.window_bytes);
    REQUIRE(all.sessions().size() == 40);

    inspect::log_image again(folder, header, false);
    REQUIRE(again.copy(inspect::log_image::clock::time_point::min()));
    CHECK_FALSE(again.is_complete());
    REQUIRE(again.has_sessions());
    CHECK(again.copied().sessions == 40);
    CHECK(again.copied().irreversible_revision == 0);
    const log_contents some(again.file(), header.window_bytes);
    REQUIRE(some.sessions().size() > 1);
    REQUIRE(some.sessions().size() < 40);
    for (std::size_t i = 0; i < some.sessions().size(); ++i) {
        const logged_session& one = some.sessions().rbegin()[i];
        const logged_session& same = all.sessions().rbegin()[i];
        CHECK(one.revision == same.revision);
        CHECK(one.part.bytes == same.part.bytes);
        CHECK(one.part.records == same.part.records);
    }
}

TEST_CASE("undo: without the catalogue sessions are known and types are not") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    fs::resize_file(state / "segment/catalogue.json", 20);
    const json found = undo_of(state);
    require_whole(found);
    CHECK(found.at("types_unknown").get<std::string>().find("catalogue.json") != std::string::npos);
    CHECK(found.at("sessions").at(0).at("types").empty());
    CHECK(found.at("sessions")
              .at(0)
              .at("others")
              .at(0)
              .at("of")
              .get<std::string>()
              .starts_with("window "));
}

TEST_CASE("undo: a damaged log or segment is refused with the file and what to do") {
    const scratch_folder scratch;
    const auto state = scratch / "state";
    build_sample_state(state);
    const auto refusal = [&] {
        const outcome said = inspect_with("undo " + state.string() + " 2>&1 >/dev/null");
        CHECK(said.code == 1);
        return said.output;
    };
    flip_bit(state / "segment/undo_log",
             8 * (sizeof(window_header) + offsetof(log_words, newest)) + 5);
    CHECK_THAT(refusal(), Contains("undo_log: offset") && Contains("restore the folder"));
    flip_bit(state / "segment/header", 8 * offsetof(segment_header, boot));
    CHECK_THAT(refusal(), Contains("the machine restarted") && Contains("info"));
    flip_bit(state / "segment/header", 8 * offsetof(segment_header, windows));
    CHECK_THAT(refusal(), Contains("header: offset 0") && Contains("info"));
    fs::remove_all(state / "segment");
    CHECK_THAT(refusal(), Contains("is not there") && Contains("info"));
    fs::remove_all(state);
    CHECK_THAT(refusal(), Contains("check the path"));
}
