"""Rows in SQL are the objects of a state: at its end, beside a node that goes from branch to branch,
and through kills of both."""

import contextlib
import re
import shutil
import signal
import socketserver
import sqlite3
import struct
import threading
import time
import urllib.request

import pytest
from chains import EOS, STEEM, carried_log
from forked_nodes import forked_node
from kills import until
from postgres_servers import Servers, missing


@pytest.fixture(scope="session")
def servers(tmp_path_factory):
    if missing():
        pytest.skip(missing())
    with Servers(3) as all_of_them:
        yield all_of_them


@pytest.fixture(params=["sqlite", "server", "shards"])
def to(request, scratch, seed):
    """The options that name the databases of a test, which are empty."""
    if request.param == "sqlite":
        return ["--to", f"sqlite:{scratch / 'rows.sqlite'}"]
    servers = request.getfixturevalue("servers")
    schema = ["--schema", f"s{abs(hash((request.node.name, seed)))}"]
    if request.param == "server":
        return ["--to", servers[0].dsn, *schema]
    return [word for one in servers for word in ("--shard", one.dsn)] + schema


def require_same(sink, state, to):
    said = sink("verify", "--state", state, *to, "--json", code=None).expect(0).json
    assert said["same"] and said["state_digest"] == said["rows_digest"] and said["different"] == 0
    return said


# --- a state that nobody writes ---


@pytest.mark.parametrize("chain", [STEEM, EOS])
def test_the_rows_of_a_replayed_chain_have_its_digest(driver, sink, scratch, to, chain):
    log, state = carried_log(chain, scratch), scratch / "state"
    driver("replay", "--block-log", log, "--state", state)
    first = sink("follow", "--state", state, *to, "--once", "--json").json
    assert first["bootstraps"] == 1 and not first["has_feed"]
    assert require_same(sink, state, to)["rows_digest"] == chain.digest
    again = sink("follow", "--state", state, *to, "--once", "--json").json
    assert again["bootstraps"] == 0 and again["revision"] == first["revision"]
    said = sink("status", "--state", state, *to, "--json").json
    assert all(one["ready"] and one["behind"] == 0 for one in said["databases"])


def test_a_state_that_went_on_without_a_feed_is_copied_again(driver, sink, scratch, to):
    log, state = carried_log(STEEM, scratch), scratch / "state"
    for stop in (5000, 20000):
        driver("replay", "--block-log", log, "--state", state, "--stop-at", stop)
        if stop > 5000:
            sink("verify", "--state", state, *to, code=2).says("follow")
        assert sink("follow", "--state", state, *to, "--once", "--json").json["bootstraps"] == 1
        require_same(sink, state, to)


def test_rows_that_were_changed_are_named(driver, sink, scratch):
    log, state, file = carried_log(STEEM, scratch), scratch / "state", scratch / "rows.sqlite"
    to = ["--to", f"sqlite:{file}"]
    driver("replay", "--block-log", log, "--state", state, "--stop-at", "20000")
    sink("follow", "--state", state, *to, "--once")
    with sqlite3.connect(file) as rows:
        ids = [one[0] for one in rows.execute('SELECT id FROM account ORDER BY id LIMIT 3')]
        rows.execute('UPDATE account SET balance = balance + 1 WHERE id = ?', ids[:1])
        rows.execute('DELETE FROM account WHERE id = ?', ids[1:2])
        rows.execute('UPDATE account SET id = 4000000000 WHERE id = ?', ids[2:])
    said = sink("verify", "--state", state, *to, "--json", code=5).json
    assert said["state_digest"] != said["rows_digest"] and said["different"] == 4
    assert [(one["id"], one["what"]) for one in said["differences"] if one["type"] == "account"] == [
        (ids[0], "balance"), (ids[1], "missing"), (ids[2], "missing"), (4000000000, "too many")]


def test_another_state_is_refused_and_nothing_is_changed(driver, sink, scratch, to):
    log = carried_log(STEEM, scratch)
    for name in ("one", "other"):
        driver("replay", "--block-log", log, "--state", scratch / name, "--stop-at", "3000")
    sink("follow", "--state", scratch / "one", *to, "--once")
    sink("follow", "--state", scratch / "other", *to, "--once", code=2).says("another state", "--schema")
    sink("verify", "--state", scratch / "other", *to, code=2)
    require_same(sink, scratch / "one", to)


# --- beside a node ---


def test_rows_follow_a_node_from_branch_to_branch(driver, inspect, sink, scratch, seed, to):
    node = forked_node(driver, inspect, scratch, seed, 100)
    node.be_at_work()
    following = sink.start("follow", "--state", node.state, *to, "--json")
    node.finish()
    state = node.state
    end = time.monotonic() + 60
    while sink("status", "--state", state, *to, "--json", code=None).json["databases"][0].get("behind") != 0:
        assert following.is_running and time.monotonic() < end, following.kill()
        time.sleep(0.1)
    said = following.interrupt(0).json
    assert said["bootstraps"] == 1 and said["blocks"] > 0
    assert require_same(sink, state, to)["rows_digest"] == node.replayed["state_digest"]


def test_each_block_is_applied_once_through_kills_of_node_and_sink(
    driver, inspect, sink, scratch, seed, rng, to
):
    node = forked_node(driver, inspect, scratch, seed, 60)
    node.be_at_work()
    call = ("follow", "--state", node.state, *to, "--json")
    following = sink.start(*call)
    for number in range(6):
        time.sleep(rng.uniform(0, 1))
        if number % 2:
            node.running.kill()
            node.running = node.driver.start(*node.call)
        time.sleep(rng.uniform(0, 1))
        following.kill()
        following = sink.start(*call)
    time.sleep(2)
    require_same(sink, node.state, to)
    node.running.interrupt((0, 3))
    following.interrupt((0, 3))
    sink("follow", "--state", node.state, *to, "--once", "--json")
    require_same(sink, node.state, to)


def wait_until_ready(sink, following, to):
    end = time.monotonic() + 60
    while True:
        said = sink("status", *to, "--json", code=None)  # 1: the file is not there yet
        if said.code == 0 and all(one["ready"] for one in said.json["databases"]):
            return
        assert following.is_running and time.monotonic() < end, following.kill()
        time.sleep(0.05)


@pytest.mark.parametrize("attempt", range(3))
def test_of_two_sinks_that_begin_at_one_block_one_goes_on(driver, sink, scratch, to, attempt):
    log, state = carried_log(STEEM, scratch), scratch / "state"
    node = driver.start("live", "--block-log", log, "--state", state, "--interval-ms", "20")
    assert until(lambda: sink("ddl", "--state", state, code=None).code == 0, node)
    first = sink.start("follow", "--state", state, "--to", f"sqlite:{scratch / 'first.sqlite'}")
    wait_until_ready(sink, first, ["--to", f"sqlite:{scratch / 'first.sqlite'}"])
    first.interrupt(0)
    node.signal(signal.SIGSTOP)  # all begin at its last block
    both = [sink.start("follow", "--state", state, *to) for _ in range(2)]
    end = time.monotonic() + 60
    while all(one.is_running for one in both):
        if time.monotonic() > end - 58:
            node.signal(signal.SIGCONT)  # they meet at a block at the latest
        assert time.monotonic() < end
        time.sleep(0.01)
    node.signal(signal.SIGCONT)
    loser, winner = sorted(both, key=lambda one: one.is_running)
    loser.wait(2).says("another sink follows into this database", "stop one of them")
    try:
        wait_until_ready(sink, winner, to)
    except AssertionError:  # with several shards each may find the other one in one of them
        assert to.count("--shard") > 1
        winner.wait(2).says("another sink follows into this database")
        winner = sink.start("follow", "--state", state, *to)
        wait_until_ready(sink, winner, to)
    node.interrupt(3)
    winner.interrupt(0)
    sink("follow", "--state", state, *to, "--once")
    require_same(sink, state, to)


@contextlib.contextmanager
def frozen(server):
    """While it is: it neither answers nor closes connections."""
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


def test_a_frozen_server_is_named_and_met_again(driver, sink, scratch, seed, servers):
    log, state = carried_log(STEEM, scratch), scratch / "state"
    to = ["--to", f"{servers[0].dsn} connect_timeout=1", "--schema", f"frozen{seed}"]
    node = driver.start("live", "--block-log", log, "--state", state, "--interval-ms", "20")
    following = sink.start("follow", "--state", state, *to, "--answer-timeout", "1")
    wait_until_ready(sink, following, to)
    with frozen(servers[0]):
        following.wait_for("has not answered for [0-9]+ s, nor does it answer others", stream="err")
    before = sink("status", *to, "--json").json["databases"][0]["revision"]
    end = time.monotonic() + 60
    while sink("status", *to, "--json").json["databases"][0]["revision"] < before + 5:
        assert following.is_running and time.monotonic() < end, following.kill()
        time.sleep(0.05)
    with frozen(servers[0]):
        time.sleep(0.2)
        begin = time.monotonic()
        following.signal(signal.SIGTERM)
        following.wait(3).says("did not answer")
        assert time.monotonic() - begin < 10  # against a patience of 30 s
    node.interrupt(3)
    sink("follow", "--state", state, *to, "--once")
    require_same(sink, state, to)


def test_types_that_came_while_no_sink_was_there_have_their_tables(driver, sink, scratch, to):
    log, state = carried_log(STEEM, scratch), scratch / "state"
    driver("replay", "--block-log", log, "--state", state, "--stop-at", "100")
    node = driver.start("live", "--block-log", log, "--state", state, "--interval-ms", "20")
    following = sink.start("follow", "--state", state, *to, "--json")
    wait_until_ready(sink, following, to)
    node.interrupt(3)
    following.interrupt(0)
    driver("replay", "--block-log", log, "--state", state, "--stop-at", "40000", "--state-root", "all")
    assert require_same(sink, state, to)["told_since"] > 0  # of these types, too
    said = sink("follow", "--state", state, *to, "--once", "--json").json
    assert said["bootstraps"] == 0 and said["blocks"] > 0
    require_same(sink, state, to)


def test_rows_are_compared_again_after_a_lost_connection(driver, sink, scratch, seed, servers):
    log, state, schema = carried_log(STEEM, scratch), scratch / "state", f"lost{seed}"
    to = ["--to", servers[0].dsn, "--schema", schema]
    driver("replay", "--block-log", log, "--state", state, "--stop-at", "3000")
    sink("follow", "--state", state, *to, "--once")
    end_who_waits = f"""DO $$ BEGIN LOCK TABLE {schema}.account; LOOP
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'chainbase-sink' AND wait_event_type = 'Lock';
        EXIT WHEN FOUND; PERFORM pg_sleep(0.01), pg_stat_clear_snapshot(); END LOOP; END $$"""
    ending = threading.Thread(target=servers[0].sql, args=(end_who_waits,))
    ending.start()
    locked = f"SELECT count(*) FROM pg_locks WHERE relation = '{schema}.account'::regclass"
    while servers[0].sql(locked) == "0":
        time.sleep(0.01)
    sink("verify", "--state", state, *to).says("compared anew")
    ending.join()


def test_a_state_that_was_replaced_is_told(driver, sink, inspect, scratch):
    to = ["--to", f"sqlite:{scratch / 'rows.sqlite'}"]
    node = forked_node(driver, inspect, scratch, 5, 100)
    node.be_at_work()
    following = sink.start("follow", "--state", node.state, *to, "--json")
    wait_until_ready(sink, following, to)
    node.finish()
    following.interrupt((0, 3))
    shutil.rmtree(node.state / "feed")
    sink("follow", "--state", node.state, *to, "--once", code=1).says("was replaced", "--bootstrap again")
    said = sink("follow", "--state", node.state, *to, "--once", "--bootstrap", "again", "--json").json
    assert said["bootstraps"] == 1
    require_same(sink, node.state, to)


def test_what_the_board_asks_a_sink_for_is_counted(driver, sink, scratch, tree):
    log, state = carried_log(STEEM, scratch), scratch / "state"
    to = ["--to", f"sqlite:{scratch / 'rows.sqlite'}"]
    node = driver.start("live", "--block-log", log, "--state", state, "--interval-ms", "10")
    while not (state / "segment/header").exists():
        assert node.is_running
        time.sleep(0.01)
    following = sink.start("follow", "--state", state, *to, "--metrics", "127.0.0.1:0")
    port = following.wait_for(r"127\.0\.0\.1:(\d+)/metrics", stream="err").group(1)
    asked = set(re.findall("chainbase_sink_[a-z_]+", (tree / "tools/driver/grafana.json").read_text()))
    assert len(asked) >= 3
    end = time.monotonic() + 60
    while True:
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        values = dict(line.split() for line in page.splitlines() if line.startswith("chainbase_sink"))
        shown = {name.split("{")[0] for name in values}
        if float(values["chainbase_sink_rows_total"]) > 100 and asked <= shown:
            break
        assert following.is_running and time.monotonic() < end, asked - shown
        time.sleep(0.05)
    assert float(values["chainbase_sink_blocks_total"]) > 0
    node.interrupt(3)
    following.interrupt(0)


# --- wrong calls ---


def test_options_of_tables_stay_as_they_were_made(driver, sink, scratch):
    log, state = carried_log(STEEM, scratch), scratch / "state"
    to = ["--to", f"sqlite:{scratch / 'rows.sqlite'}"]
    driver("replay", "--block-log", log, "--state", state, "--stop-at", "100")
    call = ("follow", "--state", state, *to, "--once")
    sink(*call, "--history", "nosuch", code=2).says("nosuch", "schema")
    sink(*call, "--history", "account")
    sink(*call, code=2).says("--history account", "--schema")
    sink(*call, "--history", "account", "--distribute", "vote:voter", code=2)
    sink(*call, "--history", "account")


def test_wrong_calls_say_what_to_do(driver, sink, scratch):
    log, state = carried_log(STEEM, scratch), scratch / "state"
    driver("replay", "--block-log", log, "--state", state, "--stop-at", "100")
    sink("follow", "--state", state, "--once", code=2).says("--to")
    sink("follow", "--state", scratch / "none", "--to", f"sqlite:{scratch / 'x'}", "--once", code=1)
    sink("follow", "--state", state, "--to", f"sqlite:{scratch / 'no/x'}", "--once", code=1).says("no/x")
    (scratch / "text").write_text("this is no database, and never was one\n" * 100)
    sink("follow", "--state", state, "--to", f"sqlite:{scratch / 'text'}", "--once", code=1).says("text")
    sink("follow", "--state", state, "--to", "host=", "--distribute", "account", "--once", code=2)
    sink("verify", "--state", state, "--to", f"sqlite:{scratch / 'y'}", code=1).says("there")
    assert not (scratch / "y").exists()


class OldServer(socketserver.BaseRequestHandler):
    """Says that it is PostgreSQL 11, and no more."""

    def handle(self):
        while (length := self.request.recv(4)) and len(length) == 4:
            asked = self.request.recv(int.from_bytes(length, "big") - 4)
            if asked[:2] != b"\x04\xd2":  # else for TLS, or GSSAPI
                break
            self.request.sendall(b"N")
        words = [b"server_version\0" b"11.22\0", b"server_encoding\0UTF8\0"]
        said = b"R" + struct.pack(">II", 8, 0)
        said += b"".join(b"S" + struct.pack(">I", 4 + len(one)) + one for one in words)
        self.request.sendall(said + b"K" + struct.pack(">III", 12, 1, 1) + b"Z\0\0\0\5I")
        self.request.recv(1)


def test_a_server_of_an_older_version_is_refused(sink):
    with socketserver.TCPServer(("127.0.0.1", 0), OldServer) as old:
        threading.Thread(target=old.serve_forever, daemon=True).start()
        dsn = f"host=127.0.0.1 port={old.server_address[1]} user=x dbname=x"
        sink("status", "--to", dsn, code=2).says("version 11.22", "needs 12 or later")
        old.shutdown()


def test_ddl_is_sql_that_makes_the_tables(driver, sink, scratch):
    log, state = carried_log(STEEM, scratch), scratch / "state"
    driver("replay", "--block-log", log, "--state", state, "--stop-at", "100")
    text = sink("ddl", "--state", state, "--dialect", "sqlite", "--history", "all").out
    with sqlite3.connect(scratch / "made.sqlite") as made:
        made.executescript(text)
        made.executescript(text)  # again, where it is
        names = {one[0] for one in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"account", "account.history", "applied_block"} <= names
    lines = sink("ddl", "--state", state, "--json", "--distribute-with", "citus").json_lines
    assert any("create_distributed_table" in one for one in lines)
