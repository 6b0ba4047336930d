"""A node that goes from branch to branch of a generated log, which the tests look at from outside."""

import shutil
import time

from peers import serve, sync_call


def forked_node(driver, inspect, scratch, seed, blocks_per_second):
    log = scratch / "log"
    driver("generate", "--operations", "40000", "--accounts", "1000", "--seed", seed, "--to", log,
           "--forks", "15", "--fork-depth", "5", "--bad-forks", "10")
    replayed = driver.json("replay", "--block-log", log, "--state", scratch / "replayed",
                           "--state-root", "all")
    server = serve(driver, log, "--forks", f"{log}.forks", "--blocks-per-second", blocks_per_second)
    return Node(driver, inspect, scratch / "state", server.address, replayed)


class Node:
    def __init__(self, driver, inspect, state, address, replayed):
        self.driver, self.inspect, self.state, self.replayed = driver, inspect, state, replayed
        self.call = [*sync_call(state, address, verb="live"), "--state-root", "all", "--readers",
                     "1", "--pending", "20"]
        self.running, self.popped = None, 0

    def be_at_work(self):
        """At the end of the log it begins again."""
        if self.running and not self.running.is_running:
            self.finish()
        if not self.running:
            shutil.rmtree(self.state, ignore_errors=True)
            self.running = self.driver.start(*self.call)
            end = time.monotonic() + 60
            while self.inspect("count", self.state, "block_root", code=None).code:
                assert time.monotonic() < end
                time.sleep(0.01)

    def finish(self):
        if self.running:
            said = self.running.wait().json
            assert said["state_digest"] == self.replayed["state_digest"]
            self.popped += said["sync"]["popped_blocks"]
            self.running = None
