"""A node that goes from branch to branch, chainbase-sink, and three servers: all killed (SIGKILL) at random
moments, again and again. What must hold is in Pipeline.verify() and in wrong_histories().

    sink_kills.py [--kills N] [--seed S] [--first-round N] [--folder FOLDER] [--break row|cursor|twice]

Each round has a chain, a state and servers of its own, and ends after KILLS_OF_ROUND kills. The plan of a
round (options, what is killed, when it is started again) follows from "SEED.ROUND" alone, so
--first-round N repeats round N; the moments of processes beside each other do not repeat exactly. The
first difference ends it with 1, and leaves all files. --break: makes a fault on purpose, which must be
found. CHAINBASE_BIN names a folder of programs, build/release/bin without it.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True

from peers import serve  # noqa: E402
from postgres_servers import Servers, missing, scratch_parent  # noqa: E402
from programs import PATIENCE, program  # noqa: E402

SHARDS = 3
KILLS_OF_ROUND = 100
KILLS_OF_LOOK = 10  # after so many all is compared
BLOCKS = 50000  # of a chain: more than a round takes
LAG = 20  # blocks that can be popped
VACUUM = {"autovacuum": "on", "autovacuum_naptime": "2s"}  # histories need statistics


class Pipeline:
    """The processes, in a folder. `servers`: three of rows, and one for their coordinator.

    kill() and start() take the names in PARTS."""

    PARTS = ["node", "sink", *range(SHARDS)]

    def __init__(self, folder, servers, sink=()):
        """`sink`: options of all calls of chainbase-sink but status."""
        self.driver, self.program = program("chainbase-driver"), program("chainbase-sink")
        self.folder, self.servers, self.options = folder, servers, sink
        self.log, self.state = folder / "log", folder / "state"
        self.shards = [word for one in servers[:SHARDS] for word in ("--shard", one.dsn)]
        self.kills, self._turns, self._calls, self._running = Counter(), [], {}, {}

    def serve_chain(self, chain, serving, node=()):
        """Makes a chain, and serves it. Options of generate, serve, live."""
        self.driver("generate", "--to", self.log, "--forks", 15, "--fork-depth", 5, "--bad-forks", 10,
                    *chain)
        server = serve(self.driver, self.log, "--forks", f"{self.log}.forks", *serving)
        self._calls = {
            "node": (self.driver, "live", "--state", self.state, "--peer", server.address,
                     "--lag", LAG, "--pending", 20, "--json", *node),
            "sink": (self.program, "follow", "--state", self.state, *self.shards, "--json", *self.options),
        }

    # --- what runs ---

    def begin(self):
        """Starts both when there is a state, with its types."""
        self.start("node")
        inspect = program("chainbase-inspect")
        self._until(lambda: inspect("count", self.state, "vote", code=None).code == 0, "no state")
        self.start("sink")

    def start(self, name):
        if name in self._calls:
            call, *words = self._calls[name]
            self._running[name] = call.start(*words)
        else:
            self.servers[name].start()

    def kill(self, name):
        self.require_running(name)
        self.kills[name] += 1
        if name in self._calls:
            self._running.pop(name).kill()
        else:
            self.servers[name].kill()

    def require_running(self, *names):
        for name in names or self.PARTS:
            if name in self._calls and not self._running[name].is_running:
                raise AssertionError(f"the {name} ended\n{self._running[name].wait(None)}")

    def interrupt(self, name):
        """Its report."""
        return self._running.pop(name).interrupt((0, 3)).json

    def rest(self):
        """Kills the sink, and ends the node, whose state could not be read after a kill."""
        self.kill("sink")
        self.interrupt("node")

    def disturb(self, rng, longest=1):
        """Kills one of them, each in its turn, at times several, and starts them again, at once or later."""
        time.sleep(rng.uniform(0, longest))
        if not self._turns:
            self._turns = rng.sample(self.PARTS, len(self.PARTS))
        some = [self._turns.pop()] if rng.random() < 0.8 else rng.sample(self.PARTS, rng.randint(2, 4))
        for name in some:
            self.kill(name)
        time.sleep(rng.choice([0, rng.uniform(0, 0.5)]))
        for name in rng.sample(some, len(some)):
            self.start(name)

    # --- what the sink says ---

    def status(self):
        return self.program("status", "--state", self.state, *self.shards, "--json").json["databases"]

    def wait_until_ready(self):
        self._until(lambda: all(one["ready"] for one in self.status()), "the rows are not all there")

    def verify(self):
        """The rows are the state, as of one block: its report. A node may be faster, on a busy machine."""
        call = ("verify", "--state", self.state, *self.shards, "--json", *self.options)
        for _ in range(10):
            said = self.program(*call, code=None)
            if said.code != 1 or "call again" not in said.err:
                break
        found = said.expect(0).json
        assert found["same"] and found["rows_digest"] == found["state_digest"], found
        return found

    def catch_up(self):
        self.program("follow", "--state", self.state, *self.shards, "--once", *self.options)

    def coordinate(self):
        """The last server then has the tables of all shards."""
        self.program("coordinator", "--state", self.state, "--to", self.servers[SHARDS].dsn,
                     *self.shards, *self.options)
        return self.servers[SHARDS]

    def _until(self, holds, why_not):
        end = time.monotonic() + PATIENCE
        while not holds():
            self.require_running(*self._running)
            assert time.monotonic() < end, f"{why_not} after {PATIENCE} s; {self.status()}"
            time.sleep(0.02)


# --- what histories must be like ---


def columns_of(server, suffix, schema="chainbase"):
    """{TYPE: [column]} of the tables TYPE + suffix; those that a history has besides are none of it."""
    found = server.sql(f"""SELECT json_object_agg(name, names) FROM (
        SELECT left(table_name, length(table_name) - {len(suffix)}) AS name,
               json_agg(column_name ORDER BY ordinal_position) FILTER (WHERE column_name NOT IN
               ('from_revision', 'from_serial', 'until_revision', 'until_serial')) AS names
        FROM information_schema.columns
        WHERE table_schema = '{schema}' AND right(table_name, {len(suffix)}) = '{suffix}'
        GROUP BY table_name) AS x""")
    return json.loads(found or "{}")


def _wrong_history(name, columns):
    id, all_of_them = f'"{columns[0]}"', ", ".join(f'"{one}"' for one in columns)
    rows = f"SELECT {id} AS id, ROW({all_of_them})::text AS it FROM chainbase.\"{name}\""
    now = (f"SELECT {id} AS id, ROW({all_of_them})::text AS it FROM chainbase.\"{name}.history\" "
           "WHERE until_revision IS NULL")
    return f"""
        SELECT '{name}', id, what, a, sa, b, sb FROM (
            SELECT {id} AS id, from_revision AS a, from_serial AS sa, until_revision AS b,
                   until_serial AS sb, lead(from_revision) OVER (PARTITION BY {id}
                   ORDER BY from_revision, from_serial) AS next FROM chainbase."{name}.history") AS h,
            here, LATERAL (VALUES
                ('ends before it begins', b <= a),
                ('has no serial of its end', (b IS NULL) <> (sb IS NULL)),
                ('goes on when the next one has begun', next < coalesce(b, next + 1)),
                ('is ahead of the cursor', greatest(a, b) > here.revision),
                ('is of a block that was undone', here.serial <> 0 AND
                    (a = here.revision AND sa NOT IN (0, here.serial) OR
                     b = here.revision AND sb NOT IN (0, here.serial)))
            ) AS wrong(what, holds) WHERE holds
        UNION ALL SELECT '{name}', id, 'is a row, and is none of the history', 0, 0, 0, 0
            FROM ({rows} EXCEPT ALL {now}) AS x
        UNION ALL SELECT '{name}', id, 'is of the history, and is no row', 0, 0, 0, 0
            FROM ({now} EXCEPT ALL {rows}) AS x"""


def _blocks_of_histories(names):
    ends = " UNION ALL ".join(
        f'SELECT {end}_revision AS revision, {end}_serial AS serial FROM chainbase."{name}.history"'
        for name in names for end in ("from", "until"))
    return f"""UNION ALL SELECT 'all', revision, 'has changes of several blocks', min(serial), max(serial),
        0, 0 FROM ({ends}) AS x WHERE serial <> 0 GROUP BY revision HAVING min(serial) <> max(serial)"""


def wrong_histories(server, here="SELECT revision, serial FROM chainbase_sink.cursor"):
    """What is wrong with the histories of a server, in one transaction: ranges that overlap, repeat or
    are empty, that are not as the rows now, or have a block that was undone or is not applied yet."""
    types = columns_of(server, ".history")
    if not types:
        return ""
    each = " UNION ALL ".join(_wrong_history(*one) for one in types.items())
    return server.sql(f"WITH here AS ({here}) {each} {_blocks_of_histories(types)} LIMIT 20")


def removed_twice(server):
    """Objects that are rows, and rows of TYPE.removed."""
    each = [f"""SELECT '{name}', r."{ids[0]}" FROM chainbase."{name}.removed" AS r
                JOIN chainbase."{name}" AS t ON t."{ids[0]}" = r."{ids[0]}" """
            for name, ids in columns_of(server, ".removed").items()]
    return server.sql(" UNION ALL ".join(each)) if each else ""


def require_none(wrong, where):
    assert not wrong, f"{where}: {wrong}"


# --- a round ---


class Round:
    """Kills, and looks at what is there after every KILLS_OF_LOOK of them."""

    def __init__(self, folder, seed, number, broken=None):
        self.rng = random.Random(f"{seed}.{number}")
        self.folder, self.broken = folder, broken
        self.history = self.rng.choice(["all", "all", ""]) if not broken else "all"
        self.by = self.rng.sample(["vote:voter", "account:balance", "comment:author"],
                                  self.rng.randint(0, 3))
        self.seed, self.looks, self.rows, self.bootstraps = self.rng.randrange(2**32), 0, 0, 0

    def sink_options(self):
        history = ["--history", self.history] if self.history else []
        return [*history, *(word for one in self.by for word in ("--distribute", one))]

    def options(self):
        mix = "custom=30,vote=30,comment=12,comment_delete=3,transfer=10,claim=5,deposit=5,account_create=2"
        return {
            "chain": ["--operations", 17 * BLOCKS, "--accounts", 1000, "--seed", self.seed,
                      "--transactions-per-block", 15, "--paid-percent", 90, "--cash-out-percent", 1,
                      "--mix", mix],
            "serving": ["--blocks-per-second", self.rng.choice([20, 40, 60]),
                        "--from-head", self.rng.choice([1, 3000, 8000])],
            "node": ["--archive", self.rng.choice(["rocksdb", "rocksdb", "memory", "none"]),
                     "--durability", self.rng.choice(["checkpoint", "commit"])],
        }

    def run(self, kills):
        with Servers(SHARDS + 1, self.folder / "servers", VACUUM) as servers:
            self.it = Pipeline(self.folder, servers, self.sink_options())
            self.it.serve_chain(**self.options())
            self.it.begin()
            for name in ("sink", 1, "node", "sink"):  # while rows are copied
                time.sleep(self.rng.uniform(0, 0.4))
                self.it.kill(name)
                self.it.start(name)
            while (killed := self.it.kills.total()) < kills:
                goal = min(kills, killed + KILLS_OF_LOOK)
                while self.it.kills.total() < goal:
                    self.it.disturb(self.rng)
                self.look()
            self.end()
        return self

    def look(self):
        """Beside node and sink, or when both are at rest."""
        self.looks += 1
        self.it.wait_until_ready()
        is_at_rest = self.looks % 2 == 0
        if is_at_rest and self.broken:
            BREAKS[self.broken](self.it)
        elif is_at_rest:
            self.it.rest()
        self.compare()
        if is_at_rest:
            self.it.start("node")
            self.it.start("sink")

    def compare(self):
        self.rows = self.it.verify()["rows"]
        for number, one in enumerate(self.it.servers[:SHARDS]):
            require_none(wrong_histories(one), f"server {number}")
            require_none(removed_twice(one), f"server {number}: removed, and a row")

    def end(self):
        """Nobody is killed any more: all at one block, all shards together."""
        self.it.wait_until_ready()
        time.sleep(1)
        node, sink = self.it.interrupt("node"), self.it.interrupt("sink")
        assert node["sync"]["popped_blocks"] and sink["pops"] and sink["blocks"], (node, sink)
        self.it.catch_up()
        self.compare()
        self.bootstraps = self.it.status()[0]["bootstraps"]
        here = "SELECT max(revision) AS revision, 0 AS serial FROM chainbase_sink.progress"
        require_none(wrong_histories(self.it.coordinate(), here), "all shards")
        if self.history:
            self.compare_with_replay()

    def compare_with_replay(self):
        """Histories as of an earlier block are the rows of a replay that ends there."""
        servers = self.it.servers[:SHARDS]
        since, now = map(int, servers[0].sql("SELECT since, revision FROM chainbase_sink.cursor").split("|"))
        revision = self.rng.randint(since, max(since, now - LAG))
        newest = f'SELECT coalesce(max(number), 0) FROM chainbase."applied_block.at"({revision})'
        number = max(int(one.sql(newest)) for one in servers)
        state = self.folder / "replayed"
        self.it.driver("replay", "--block-log", self.it.log, "--state", state, "--stop-at", number)
        self.it.program("follow", "--state", state, *self.it.shards, "--once", "--schema", "replayed",
                        *self.it.options)
        names = set(columns_of(servers[0], ".history")) - {"applied_block"}  # whose ids are the node's
        for shard, one in enumerate(servers):
            different = " UNION ALL ".join(_different_at(name, revision) for name in sorted(names))
            require_none(one.sql(different + " LIMIT 20"), f"server {shard} at block {number}")


def _different_at(name, revision):
    history = f'SELECT r::text AS it FROM chainbase."{name}.at"({revision}) AS r'
    replay = f'SELECT r::text AS it FROM replayed."{name}" AS r'
    return f"""SELECT '{name}', 'only in the history', it FROM ({history} EXCEPT ALL {replay}) AS x
        UNION ALL SELECT '{name}', 'only in the replay', it FROM ({replay} EXCEPT ALL {history}) AS x"""


# --- faults on purpose, which leave node and sink at rest ---


def break_row(it):
    """Rows change that no block changed."""
    it.rest()
    it.servers[0].sql("UPDATE chainbase.account SET balance = balance + 1")


def break_cursor(it):
    """The cursor of a shard moves to where another one is, without the rows."""
    it.kill(0)
    time.sleep(1)
    it.rest()
    it.start(0)
    _move_cursor(it.servers[0], _cursor_of(it.servers[1]))


def break_twice(it):
    """The blocks of a second are applied to a shard once more."""
    before = _cursor_of(it.servers[0])
    time.sleep(1)
    it.kill("sink")
    _move_cursor(it.servers[0], before)
    it.start("sink")
    time.sleep(1)
    it.rest()


def _cursor_of(server):
    return server.sql("SELECT position, revision, serial FROM chainbase_sink.cursor").split("|")


def _move_cursor(server, to):
    assert _cursor_of(server) != to
    server.sql("UPDATE chainbase_sink.cursor SET (position, revision, serial) = "
               f"({', '.join(to)})")


BREAKS = {"row": break_row, "cursor": break_cursor, "twice": break_twice}


# --- the program ---


def run(kills, seed, folder, first_round=1, broken=None):
    """Rounds until so many kills. Files of a round are removed when it is done."""
    total, began, number = Counter(), time.monotonic(), first_round
    while total.total() < kills:
        one = Round(folder / f"round{number}", seed, number, broken)
        one.folder.mkdir()
        before = time.monotonic()
        one.run(min(KILLS_OF_ROUND, kills - total.total()))
        total.update(one.it.kills)
        print(f"round {number}: {one.it.kills.total()} kills, {one.looks + 1} looks, {one.rows} rows, "
              f"{one.bootstraps} bootstraps, {time.monotonic() - before:.0f} s; "
              f"{' '.join(one.it.options) or 'no options'}", flush=True)
        shutil.rmtree(one.folder)
        number += 1
    said = ", ".join(f"{name if isinstance(name, str) else f'server {name}'} {total[name]}"
                     for name in Pipeline.PARTS)
    print(f"{total.total()} kills ({said}) in {time.monotonic() - began:.0f} s: no difference")
    return total


def main():
    words = argparse.ArgumentParser(usage=__doc__)
    words.add_argument("--kills", type=int, default=1000)
    words.add_argument("--seed", type=int, default=random.randrange(10**9))
    words.add_argument("--first-round", type=int, default=1)
    words.add_argument("--folder", type=Path)
    words.add_argument("--break", dest="broken", choices=BREAKS)
    asked = words.parse_args()
    if missing():
        sys.exit(f"sink_kills: {missing()}")
    folder = Path(tempfile.mkdtemp(prefix="chainbase-sink-kills-", dir=asked.folder or scratch_parent()))
    print(f"--seed {asked.seed}, in {folder}", flush=True)
    try:
        run(asked.kills, asked.seed, folder, asked.first_round, asked.broken)
    except AssertionError:
        print(f"sink_kills: failed; all files are in {folder}", file=sys.stderr)
        raise
    folder.rmdir()


if __name__ == "__main__":
    main()
