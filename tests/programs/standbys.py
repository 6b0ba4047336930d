"""A node that follows a served chain with forks, and a state that copies it."""

import json
import signal
import time

from peers import serve, sync_call

ROOT = "--state-root", "all"


class CopiedNode:
    """The node's state `primary`, its copy `copy`, and the server of the blocks."""

    def __init__(self, driver, inspect, scratch, seed, options=(), operations=40_000, blocks_per_second=150):
        self.driver, self.inspect, self.options = driver, inspect, options
        self.log, self.primary, self.copy = scratch / "log", scratch / "primary", scratch / "copy"
        driver("generate", "--operations", operations, "--accounts", operations // 40, "--seed", seed, "--to",
               self.log, "--forks", "20", "--fork-depth", "5")
        self.replayed = driver.json("replay", "--block-log", self.log, "--state", scratch / "replayed", *ROOT)
        self.blocks = serve(driver, self.log, "--forks", f"{self.log}.forks",
                            "--blocks-per-second", blocks_per_second)

    @property
    def sync(self):
        call = [one for one in sync_call(self.primary, self.blocks.address) if one != "--once"]
        return [*call, *ROOT, *self.options]

    def start_primary(self, until_block=1):
        running = self.driver.start(*self.sync)
        running.wait_for("going on after block", "err")  # who looks before that may keep it out
        self.reach(self.primary, until_block)
        return running

    def block(self, state):
        said = self.inspect("range", state, "applied_block", "by_number", "--json", "--reverse", "--limit", "1",
                            code=None)
        return said.json_lines[1]["number"] if said.code == 0 and len(said.json_lines) == 3 else 0

    def reach(self, state, block, seconds=60):
        until = time.monotonic() + seconds
        while self.block(state) < block:
            assert time.monotonic() < until, f"{state} does not get to block {block}"
            time.sleep(0.02)

    def digest(self, state):
        return self.inspect.json("digest", state, "--json")["digest"]

    def are_equal(self):
        assert self.inspect("check", self.copy).code == 0
        assert self.digest(self.copy) == self.digest(self.primary)

    def runs_to_the_end(self):
        """The copy goes on as a node, to where a replay ends."""
        said = self.driver.json(*sync_call(self.copy, self.blocks.address))
        assert said["state_digest"] == self.replayed["state_digest"]
        assert said["state_root"]["root"] == self.replayed["state_root"]["root"]


def killed(running):
    running.signal(signal.SIGKILL)
    running.wait(code=None)


def took_over(standby):
    standby.wait_for('"event":"took_over".*}', timeout=60)
    said = next(one for one in map(json.loads, standby.out.splitlines()) if one["event"] == "took_over")
    assert said["took_over"] and said["checks_roots"]
    return said
