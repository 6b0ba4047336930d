"""A node, a sink and three servers, killed again and again while the node goes from branch to branch;
in the end the digest of the rows must be that of the state. Called by tools/sink-demo.sh.

    demo.py BIN [FOLDER] [SECONDS]

    BIN      the folder of the programs
    FOLDER   where states and servers are; removed at the end unless it is named
    SECONDS  how long kills go on: 20
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/programs"))
from postgres_servers import Servers, missing  # noqa: E402

os.environ.setdefault("CHAINBASE_MEMORY_FOLDER", "none")
QUERIES = Path(__file__).with_name("queries.sql")


class Demo:
    def __init__(self, bin, folder, servers):
        self.bin, self.folder, self.servers = Path(bin), folder, servers
        self.log, self.state = folder / "log", folder / "state"
        self.shards = [word for one in servers[:3] for word in ("--shard", one.dsn)]
        self.running = {}

    def call(self, program, *words, code=0):
        run = subprocess.run([self.bin / f"chainbase-{program}", *map(str, words)],
                             capture_output=True, text=True)
        if run.returncode != code:
            sys.exit(f"{' '.join(map(str, run.args))}\nexit code {run.returncode}\n{run.stdout}{run.stderr}")
        return run.stdout

    def start(self, name, program, *words):
        said = open(self.folder / name, "ab")
        self.running[name] = subprocess.Popen(
            [self.bin / f"chainbase-{program}", *map(str, words)], stdout=said, stderr=said)

    def end(self, name, how=signal.SIGKILL):
        if name in self.running:
            self.running[name].send_signal(how)
            self.running.pop(name).wait()

    def start_node(self):
        self.start("node", "driver", "live", "--state", self.state, "--peer", self.address,
                   "--state-root", "all", "--pending", "20")

    def start_sink(self):
        self.start("sink", "sink", "follow", "--state", self.state, *self.shards)

    def prepare(self, seconds):
        operations = 100000 + int(seconds * 6000)  # more than the node takes meanwhile
        self.call("driver", "generate", "--operations", operations, "--accounts", 5000, "--to", self.log,
                  "--forks", 15, "--fork-depth", 5, "--bad-forks", 10)
        server = subprocess.Popen(
            [self.bin / "chainbase-driver", "serve", "--block-log", self.log, "--forks",
             f"{self.log}.forks", "--blocks-per-second", "100", "--json"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.running["serve"] = server
        self.address = json.loads(server.stdout.readline())["listening"]

    def kill_at_random(self, seconds):
        end, kills = time.monotonic() + seconds, {"node": 0, "sink": 0, "server": 0}
        while time.monotonic() < end:
            time.sleep(random.uniform(0.2, 1.2))
            what = random.choice(list(kills))
            kills[what] += 1
            if what == "server":
                one = random.choice(self.servers[:3])
                one.kill()
                one.start()
                continue
            self.end(what)
            self.start_node() if what == "node" else self.start_sink()
        return kills

    def verify(self):
        return json.loads(self.call("sink", "verify", "--state", self.state, *self.shards, "--json"))

    def ask(self):
        all_of_them = self.servers[3]
        self.call("sink", "coordinator", "--state", self.state, "--to", all_of_them.dsn, *self.shards)
        return all_of_them.sql(QUERIES.read_text())


def main(bin, folder=None, seconds="20"):
    if missing():
        sys.exit(f"sink-demo: {missing()}")
    with tempfile.TemporaryDirectory(prefix="chainbase-sink-") as own:
        folder = Path(folder or own)
        folder.mkdir(exist_ok=True)
        with Servers(4) as servers:
            demo = Demo(bin, folder, servers)
            try:
                demo.prepare(float(seconds))
                demo.start_node()
                while not (demo.state / "segment/header").exists():
                    time.sleep(0.05)
                demo.start_sink()
                kills = demo.kill_at_random(float(seconds))
                print(f"kill -9 of the node {kills['node']} times, of the sink {kills['sink']} times, "
                      f"of a server {kills['server']} times")
                said = demo.verify()
                print(f"beside both, at revision {said['revision']}: the same, {said['rows']} rows")
                demo.end("node", signal.SIGTERM)
                demo.end("sink", signal.SIGTERM)
                demo.call("sink", "follow", "--state", demo.state, *demo.shards, "--once")
                said = demo.verify()
                print(f"digest of the rows   {said['rows_digest']}")
                print(f"digest of the state  {said['state_digest']}")
                print(demo.ask())
            finally:
                for name in list(demo.running):
                    demo.end(name)
    print("== as expected ==")


if __name__ == "__main__":
    main(*sys.argv[1:])
