#include <pool_allocator/base/error.hpp>
#include <tools/interruption.hpp>
#include <tools/sink/database.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/filled_schema.hpp>
#include <tests/support/seeded.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::sink;
using namespace chainbase::test;

namespace {

using std::chrono::milliseconds;

model model_of(std::uint32_t begin, std::uint32_t end, std::uint32_t number) {
    model made;
    for (std::uint32_t id = begin; id < end; ++id)
        made[id] = counter_record(id, number);
    return made;
}

/// The file after `words` in a DSN, as "port=".
std::string word_of(const std::string& dsn, const std::string& words) {
    const std::size_t at = dsn.find(words) + words.size();
    return dsn.substr(at, dsn.find(' ', at) - at);
}

/// With 100 counters, which it keeps whatever a test does.
struct prepared {
    explicit prepared(const std::string& dsn) : one(dsn, {&counter()}, {"all"}) {
        one.begin(cursor_at(10, 1, false));
        one.apply(counters(0, 100, 1), cursor_at(20, 2));
        one.now.since = 2;
        was = one.now;
    }
    void is_as_before() {
        CHECK(one.another()->where() == was);
        CHECK(rows_of(*one.another(), counter()) == model_of(0, 100, 1));
        CHECK(one.link->where() == was);
    }
    void goes_on() {
        one.apply(counters(0, 200, 2), one.next());
        CHECK(rows_of(*one.link, counter()) == model_of(0, 200, 2));
    }

    filled_schema one;
    cursor was;
};

} // namespace

// --- all or nothing ------------------------------------------------------------------------------

TEST_CASE("a transaction that a server ends midway has done nothing") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    prepared test(servers->dsn());
    filled_schema& one = test.one;
    other_session other(servers->dsn());
    const batch more = counters(0, 50'000, 3);
    const std::string name = one.table_called("counter");
    const auto raise_at_row = [&](const std::string& state) {
        other.run("CREATE OR REPLACE FUNCTION " + one.name() +
                  ".no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.id = 45000 THEN RAISE "
                  "EXCEPTION USING ERRCODE = '" +
                  state +
                  "', MESSAGE = 'no such row, please'; END "
                  "IF; RETURN NEW; END $$");
        other.run("CREATE OR REPLACE TRIGGER no BEFORE INSERT ON " + name +
                  " FOR EACH ROW EXECUTE FUNCTION " + one.name() + ".no()");
    };
    const auto says = [&](const std::string& message, const std::string& word) {
        CAPTURE(message);
        CHECK(message.find(one.link->name()) == 0);
        CHECK(message.find("no such row, please") != std::string::npos);
        CHECK(message.find("\"counter\"") != std::string::npos);
        CHECK(message.find(word) != std::string::npos);
        test.is_as_before();
    };
    const auto applying = [&] { one.apply(more); };
    SECTION("at a row") {
        raise_at_row("P0001");
        says(message_of<io_error>(applying), "P0001");
        raise_at_row("40P01");
        says(message_of<retry_error>(applying), "40P01");
        raise_at_row("53100");
        says(message_of<retry_error>(applying), "make room");
        raise_at_row("23514");
        says(message_of<usage_error>(applying), "23514");
        raise_at_row("42501");
        says(message_of<access_error>(applying), "grant");
        raise_at_row("XX001");
        says(message_of<io_error>(applying), "XX001");
        other.run("DROP TRIGGER no ON " + name);
    }
    SECTION("as it commits") {
        other.run("ALTER TABLE " + name + " ADD CHECK (id >= 0)");
        other.run("CREATE FUNCTION " + one.name() +
                  ".late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.id = 45000 THEN "
                  "RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'too late'; END IF; RETURN "
                  "NULL; END $$");
        other.run("CREATE CONSTRAINT TRIGGER late AFTER INSERT ON " + name +
                  " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " + one.name() +
                  ".late()");
        CHECK(message_of<retry_error>(applying).find("too late") != std::string::npos);
        test.is_as_before();
        other.run("DROP TRIGGER late ON " + name);
    }
    SECTION("at a record") {
        batch bad = more;
        put(bad, counter(), 50'001, archive::byte_buffer(11));
        CHECK_THROWS_AS(one.apply(bad), damaged_error);
        test.is_as_before();
    }
    SECTION("at a statement") {
        const std::vector<std::string> statements = {"DELETE FROM " + name, "no SQL"};
        CHECK_THROWS_AS(one.link->run(statements), usage_error);
        test.is_as_before();
    }
    SECTION("at a row that is read") {
        const table* const all[] = {&counter()};
        struct stop {};
        CHECK_THROWS_AS(one.link->read(all, [](auto&) {}, [](auto&, auto) { throw stop{}; }), stop);
        test.is_as_before();
    }
    SECTION("at a row that is copied") {
        other.run("UPDATE " + one.name() + "_sink.cursor SET is_ready = false");
        raise_at_row("53100");
        load_batch rows{&counter(), {{0, 12}, {12, 24}}, counter_record(1'000, 1)};
        archive::append(rows.records, counter_record(45'000, 1));
        const std::string message = message_of<retry_error>([&] { one.link->load(rows); });
        CHECK(message.find("\"counter\"") != std::string::npos);
        other.run("DROP TRIGGER no ON " + name);
        other.run("UPDATE " + one.name() + "_sink.cursor SET is_ready = true");
        test.is_as_before();
    }
    one.apply(more); // and goes on then
    CHECK(rows_of(*one.link, counter()).size() == 50'000);
}

TEST_CASE("a session that others end, or keep waiting, is tried again") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    prepared test(servers->dsn());
    filled_schema& one = test.one;
    other_session other(servers->dsn());
    other.run("BEGIN");
    other.run("LOCK TABLE " + one.table_called("counter"));
    const auto while_it_waits = [&](const std::string& function) {
        std::thread ends([&] {
            other_session third(servers->dsn());
            while (third
                       .run("SELECT " + function +
                            "(pid) FROM pg_stat_activity WHERE application_name = "
                            "'chainbase-sink' AND wait_event_type = 'Lock'")
                       .empty())
                std::this_thread::sleep_for(milliseconds(5));
        });
        const std::string message =
            message_of<retry_error>([&] { one.apply(counters(0, 200, 2)); });
        ends.join();
        return message;
    };
    CHECK(while_it_waits("pg_cancel_backend").find("57014") != std::string::npos);
    CHECK(while_it_waits("pg_terminate_backend").find("57P01") != std::string::npos);
    other.run("ROLLBACK");
    // One that was idle.
    other.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
              "'chainbase-sink'");
    std::this_thread::sleep_for(milliseconds(50));
    try {
        CHECK(one.link->where() == test.was);
    } catch (const retry_error&) {
        CHECK(one.link->where() == test.was);
    }
    test.is_as_before();
    test.goes_on();
}

// --- servers -------------------------------------------------------------------------------------

TEST_CASE_METHOD(seeded, "a server that is killed in the middle has all of a batch, or nothing") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&thing(), &counter()}, {"counter"});
    random_records records(every_kind(), random);
    one.begin(cursor_at(0, 0, false));
    one.apply({}, cursor_at(100, 1));
    one.now.since = 1;
    model wanted, things;
    int lost = 0, were_done = 0;
    for (std::uint64_t kills = short_test_operations(8); kills != 0; --kills) {
        std::atomic<bool> is_up{true};
        std::thread kill([&, after = milliseconds(random.below(400))] {
            std::this_thread::sleep_for(after);
            servers->command("kill 0");
            is_up = false;
        });
        while (is_up) {
            batch changes;
            model next = wanted, next_things = things;
            const std::uint32_t begin = random.below(3'000), number = random.below(1'000'000);
            for (std::uint32_t id = begin; id < begin + random.below(2'000); ++id)
                put(changes, counter(), id, next[id] = counter_record(id, number));
            for (std::uint32_t id = begin; id < begin + 30; ++id)
                put(changes, thing(), id, next_things[id] = records.next(id));
            const cursor to = one.next();
            try {
                one.apply(changes, to);
            } catch (const retry_error&) {
                ++lost;
                kill.join();
                servers->command("start 0");
                std::optional<cursor> at = one.link->where();
                REQUIRE((at == one.now || at == to));
                were_done += at == to;
                if (at == to)
                    one.now = to;
                else
                    one.apply(changes, to);
            }
            wanted = next;
            things = next_things;
            if (!kill.joinable()) break;
        }
        if (kill.joinable()) { // between two
            kill.join();
            servers->command("start 0");
            one.link = one.another();
        }
    }
    CAPTURE(lost, were_done);
    CHECK(lost > 0);
    CHECK(rows_of(*one.link, counter()) == wanted);
    CHECK(rows_of(*one.link, thing()) == things);
    CHECK(one.link->where() == one.now);
}

TEST_CASE("a server that is not there, or not for who writes, says so") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    const std::string dsn = servers->dsn();
    prepared test(dsn);
    filled_schema& one = test.one;
    const auto says = [&](const std::string& message, const std::string& word) {
        CAPTURE(message);
        CHECK(message.find(one.link->name()) == 0);
        CHECK(message.find(word) != std::string::npos);
    };
    const auto applying = [&] { one.apply(counters(0, 200, 2)); };
    SECTION("stopped") {
        servers->command("stop 0");
        (void)message_of<retry_error>(applying); // of the connection that it had
        says(message_of<retry_error>(applying), "Connection refused");
        servers->command("start 0");
    }
    SECTION("restarted") {
        servers->command("restart 0 immediate");
        (void)message_of<retry_error>(applying);
    }
    SECTION("in recovery, where others may read") {
        servers->command("standby 0 hot");
        one.link = one.another();
        says(message_of<access_error>(applying), "name the primary");
        CHECK(rows_of(*one.another(true), counter()) == model_of(0, 100, 1));
        servers->command("primary 0");
        one.link = one.another();
    }
    SECTION("in recovery, where nobody may") {
        servers->command("standby 0 cold");
        one.link = one.another();
        says(message_of<retry_error>(applying), "57P03");
        servers->command("primary 0");
    }
    SECTION("read-only") {
        servers->command("read_only 0 on");
        one.link = one.another();
        says(message_of<access_error>(applying), "25006");
        test.is_as_before();
        servers->command("read_only 0 off");
    }
    SECTION("for another one to read") {
        const auto reads = one.another(true);
        says(message_of<access_error>(
                 [&] { reads->run(std::vector<std::string>{"CREATE TABLE x()"}); }),
             "25006");
        CHECK(reads->where() == test.was);
    }
    SECTION("frozen as it is connected to") {
        servers->command("freeze 0");
        const auto late = one.another(dsn + " connect_timeout=1");
        says(message_of<retry_error>([&] { (void)late->where(); }), "connect_timeout");
        servers->command("thaw 0");
    }
    SECTION("with too many sessions") {
        std::vector<std::unique_ptr<other_session>> all;
        try {
            for (;;)
                all.push_back(std::make_unique<other_session>(dsn));
        } catch (const std::runtime_error&) {
        }
        const auto late = one.another();
        says(message_of<retry_error>([&] { (void)late->where(); }), "max_connections");
    }
    test.is_as_before();
    test.goes_on();
}

TEST_CASE("a server that says nothing is asked whether it works, and left when it does not") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    prepared test(servers->dsn());
    filled_schema& one = test.one;
    std::atomic<bool> is_over{false};
    link_options how = one.options();
    how.answers_within = std::chrono::seconds(1);
    how.is_over = [&] { return is_over.load(); };
    one.link = open_postgres(servers->dsn() + " connect_timeout=1", how);
    REQUIRE(one.link->where() == test.was);
    const cursor to = one.next();
    const auto applying = [&] { one.link->apply(counters(0, 100, 1), test.was, to); };
    const auto says = [&](const std::string& message, const std::string& word) {
        CAPTURE(message);
        CHECK(message.find(one.link->name()) == 0);
        CHECK(message.find("has not answered for") != std::string::npos);
        CHECK(message.find(word) != std::string::npos);
    };
    SECTION("frozen") {
        servers->command("freeze 0");
        says(message_of<retry_error>(applying), "nor does it answer others");
        servers->command("thaw 0");
    }
    SECTION("of which one process is") {
        other_session other(servers->dsn());
        const pid_t process =
            std::stoi(other
                          .run("SELECT max(pid) FROM pg_stat_activity WHERE application_name = "
                               "'chainbase-sink' AND state = 'idle'")
                          .front());
        kill(process, SIGSTOP);
        says(message_of<retry_error>(applying), "does not work on it");
        applying();
        CHECK(one.link->where() == to);
        kill(process, SIGCONT);
    }
    SECTION("frozen, while nobody wants to wait any more") {
        servers->command("freeze 0");
        is_over = true;
        const std::string message = message_of<interrupted_error>(applying);
        CHECK(message.find(one.link->name()) == 0);
        is_over = false;
        servers->command("thaw 0");
    }
    SECTION("while it works long") {
        one.link->run(std::vector<std::string>{"SELECT pg_sleep(2.5)"});
        is_over = true; // what is answered at once is not left
        CHECK(one.link->where() == test.was);
        is_over = false;
    }
    // A server that was frozen does what it had been sent.
    const std::optional<cursor> at = one.link->where();
    if (at != to) {
        try {
            applying();
        } catch (const fenced_error&) {
        }
    }
    CHECK(one.link->where() == to);
    one.now = to;
    test.goes_on();
}

TEST_CASE("who may not log in, or names no database, is told what to do") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    const std::string dsn = servers->dsn();
    prepared test(dsn);
    other_session other(dsn);
    other.run("DROP ROLE IF EXISTS with_password");
    other.run("CREATE ROLE with_password LOGIN PASSWORD 'right'");
    const auto at = [&](const std::string& more) { return test.one.another(dsn + " " + more); };
    const auto says = [&](const std::string& message, const std::string& word) {
        CAPTURE(message);
        CHECK(message.find("postgresql://") == 0);
        CHECK(message.find(word) != std::string::npos);
        CHECK(message.find("wrong") == std::string::npos);
        CHECK(message.find("LOCATION") == std::string::npos);
    };
    says(message_of<access_error>(
             [&] { (void)at("user=with_password password=wrong passfile=/none")->where(); }),
         "28P01");
    says(message_of<access_error>([&] { (void)at("user=with_password passfile=/none")->where(); }),
         ".pgpass");
    says(message_of<access_error>([&] { (void)at("user=with_password password=right")->where(); }),
         "42501"); // another's schema
    says(message_of<access_error>([&] { (void)at("user=nobody_of_it")->where(); }), "28000");
    says(message_of<usage_error>([&] { (void)at("dbname=none_of_it")->where(); }),
         "create the database");
    says(message_of<retry_error>([&] { (void)at("port=1")->where(); }), "Connection refused");
    says(message_of<retry_error>([&] { (void)at("host=host.invalid")->where(); }), "host.invalid");
    other.run("DROP DATABASE IF EXISTS latin");
    other.run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    says(message_of<usage_error>([&] { (void)at("dbname=latin")->where(); }), "ENCODING 'UTF8'");
    other.run("DROP DATABASE latin");

    const std::string port = word_of(dsn, "port=");
    const auto uri =
        test.one.another("postgresql://postgres:wrong@127.0.0.1:" + port + "/postgres");
    CHECK(uri->name() == "postgresql://postgres@127.0.0.1:" + port + "/postgres");
    CHECK(uri->where() == test.was);
    for (const char* const wrong :
         {"host=a password=my wrong", "postgresql://a:wrong%zz@b/c", "password='wrong", "wrong=1",
          "postgresql://a:wrong@b/c?wrong"}) {
        const std::string message =
            message_of<usage_error>([&] { (void)test.one.another(std::string(wrong)); });
        CAPTURE(message);
        CHECK(message.find("wrong") == std::string::npos);
        CHECK(message.find("postgresql://") != std::string::npos);
    }
    CHECK_THROWS_AS(open_postgres(dsn, {.tables = ddl({dialect::sqlite, "x", {}})}), usage_error);
}

TEST_CASE("a disk that gets full is tried again until there is room") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    prepared test(servers->dsn());
    filled_schema& one = test.one;
    std::string folder;
    try {
        folder = servers->command("small_disk 0 4");
    } catch (const std::exception& problem) {
        WARN("skipped: " << problem.what());
        return;
    }
    other_session other(servers->dsn());
    other.run("CREATE TABLESPACE small LOCATION '" + folder + "'");
    other.run("ALTER TABLE " + one.table_called("counter") + " SET TABLESPACE small");
    const std::string message =
        message_of<retry_error>([&] { one.apply(counters(0, 200'000, 2)); });
    CAPTURE(message);
    CHECK(message.find("make room") != std::string::npos);
    CHECK(message.find("53100") != std::string::npos);
    test.is_as_before();
    other.run("ALTER TABLE " + one.table_called("counter") + " SET TABLESPACE pg_default");
    test.goes_on();
    one.apply(counters(0, 200'000, 3));
    CHECK(rows_of(*one.link, counter()).size() == 200'000);
    one.link.reset();
    other.run("DROP TABLESPACE small");
}

/// Neither side waits for room in a buffer of the other's: a server that answers much while much is
/// sent.
TEST_CASE("much is sent to a server that says much") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    constexpr std::size_t length = 1'000;
    const table of(schema_with("text", {{"id", "id"}, {"body", "shared_string"}}));
    filled_schema one(servers->dsn(), {&of});
    one.begin(cursor_at(0, 0, false));
    other_session other(servers->dsn());
    other.run("CREATE FUNCTION " + one.name() +
              ".talk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', "
              "repeat('x', 2000); RETURN NEW; END $$");
    other.run("CREATE TRIGGER talk BEFORE INSERT ON " + one.table_called("text") +
              " FOR EACH ROW EXECUTE FUNCTION " + one.name() + ".talk()");
    model wanted;
    batch changes;
    load_batch rows{&of, {}, {}};
    for (std::uint32_t id = 0; id < 40'000; ++id) {
        archive::byte_buffer record(12 + length, std::byte('a' + id % 26));
        archive::detail::store_little(record.data(), of.fingerprint());
        archive::detail::store_little(record.data() + 4, id);
        archive::detail::store_little(record.data() + 8, static_cast<std::uint32_t>(length));
        rows.rows.emplace_back(rows.records.size(), rows.records.size() + record.size());
        archive::append(rows.records, record);
        put(changes, of, id, wanted[id] = std::move(record));
    }
    one.link->load(rows);
    CHECK(rows_of(*one.link, of) == wanted);
    one.apply(changes);
    CHECK(rows_of(*one.link, of) == wanted);
}
