"""The demonstration of chainbase-sink. Called by tools/sink-demo.sh, which says what it shows.

    sink_demo.py FOLDER run SECONDS | queries
"""

import os
import random
import re
import shutil
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

from postgres_servers import Servers, missing  # noqa: E402
from programs import TREE  # noqa: E402
from sink_kills import SHARDS, Pipeline  # noqa: E402

QUERIES = TREE / "tools/sink/queries.sql"
BY = ["--distribute", "vote:voter"]


def run(folder, seconds):
    folder.mkdir(parents=True, exist_ok=True)
    for one in ("done", "servers", "state", "log", "log.forks", "log.index", "log.synced"):
        path = folder / one
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    rng = random.Random()
    with Servers(SHARDS + 1, folder / "servers", {"max_wal_size": "64MB", "min_wal_size": "32MB"}) as servers:
        it = Pipeline(folder, servers, BY)
        operations = 200000 + seconds * 6000  # more than the node takes meanwhile
        it.serve_chain(["--operations", operations, "--accounts", 5000], ["--blocks-per-second", 100])
        it.begin()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            it.disturb(rng)
        kills = ", ".join(f"{name if isinstance(name, str) else f'server {name + 1}'} {it.kills[name]}"
                          for name in it.PARTS)
        print(f"killed (kill -9): {kills}")
        it.wait_until_ready()
        said = it.verify()
        print(f"beside node and sink, at block {said['revision']}: the same, {said['rows']} rows")
        popped = it.interrupt("node")["sync"]["popped_blocks"]
        it.interrupt("sink")
        it.catch_up()
        said = it.verify()
        print(f"at the end, at block {said['revision']}, after forks (the last node popped {popped} blocks):")
        print(f"  digest of the rows   {said['rows_digest']}")
        print(f"  digest of the state  {said['state_digest']}")
        it.coordinate()
        (folder / "done").touch()
    print(f"All is kept in {folder}; tools/sink-demo.sh queries asks it.")
    print("== as expected ==")


def queries(folder):
    if not (folder / "done").exists():
        sys.exit(f"sink-demo: there is nothing to ask in {folder}; call tools/sink-demo.sh first")
    with Servers(SHARDS + 1, folder / "servers") as servers:
        it = Pipeline(folder, servers, BY)
        all_shards = it.coordinate()  # again: servers have other ports
        for query in parts_of(QUERIES.read_text()):
            print(f"\n{query};\n\n{all_shards.sql(query, form='--pset=footer=off')}")
            plan = all_shards.sql(f"EXPLAIN (COSTS OFF) {query}")
            if spares_shards(plan):
                print(f"\nThe plan asks only the shards that matter:\n\n{plan}")
    print("\n== as expected ==")


def parts_of(text):
    """Queries, with the comments above them."""
    return [part.strip().split("\n\n")[-1] for part in text.split(";") if part.strip()]


def spares_shards(plan):
    """Whether of a table not all shards are asked. A shard's part of TABLE is TABLE~NUMBER."""
    asked = {}
    for table, shard in re.findall(r'Foreign Scan on "?([\w.]+)~(\d+)', plan):
        asked.setdefault(table, set()).add(shard)
    return any(len(one) < SHARDS for one in asked.values())


def reachable(folder):
    """Servers of root run as another user, to whom root's own folders are closed: elsewhere then."""
    if os.geteuid() == 0 and not all(one.stat().st_mode & 0o001 for one in folder.parents if one.exists()):
        folder = Path("/var/tmp/chainbase-sink-demo")
        if folder.is_symlink() or (folder.exists() and folder.stat().st_uid != 0):
            sys.exit(f"sink-demo: {folder} is there, and is not root's; remove it")
    return folder


def main(folder, what, seconds="20"):
    if why := missing():
        sys.exit(f"sink-demo: {why}")
    folder = reachable(Path(folder).resolve())
    queries(folder) if what == "queries" else run(folder, int(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
