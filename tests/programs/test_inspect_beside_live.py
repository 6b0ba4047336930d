"""What chainbase-inspect reads beside a live node that goes from branch to branch is whole: all that
one look finds is of one block, and the node does not notice it."""

import json
import os
import shutil
import subprocess
import time

import pytest
from forked_nodes import forked_node

IS_SOAK = int(os.environ.get("CHAINBASE_TEST_OPERATIONS") or 0) >= 1000000
SECONDS = 600 if IS_SOAK else 15


@pytest.fixture
def node(make_node):
    return make_node()


@pytest.fixture
def make_node(driver, inspect, scratch, seed):
    """A node that keeps a root of its state, and follows one forked log after the other."""
    return lambda blocks=500: forked_node(driver, inspect, scratch, seed, blocks)


def test_each_look_finds_the_objects_to_which_the_root_of_its_block_commits(node, inspect):
    whole = moved = 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or whole < 5:
        node.be_at_work()
        found = inspect("root", node.state, "--verify", "--json", code=None)
        if found.code == 1 and not node.running.is_running:
            continue  # it was being opened or closed
        if found.code == 2 and "is not made yet" in found.err:
            continue  # it was opened for the first time a moment ago
        report = found.expect((0, 6)).json  # 4: an object that is not as the root has it
        whole += found.code == 0
        moved += report["moved"]
    node.finish()
    assert node.popped > 0
    assert whole > moved, f"{whole} whole, {moved} moved"


def test_a_dump_is_of_one_block_and_has_its_digest(node, inspect, scratch):
    whole = 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or whole < 2:
        node.be_at_work()
        shutil.rmtree(scratch / "loaded", ignore_errors=True)
        (scratch / "dump").unlink(missing_ok=True)
        if inspect("dump", node.state, "--output", scratch / "dump", code=None).code:
            assert not node.running.is_running
            continue
        last = json.loads((scratch / "dump").read_text().splitlines()[-1])
        if last["moved"]:
            continue
        whole += 1
        inspect("load", scratch / "loaded", scratch / "dump")
        inspect.json("root", scratch / "loaded", "--verify")
    node.finish()


def test_a_backup_is_of_one_block_and_has_its_root(node, inspect, scratch):
    whole = 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or whole < 3:
        node.be_at_work()
        shutil.rmtree(scratch / "copy", ignore_errors=True)
        call = ("backup", node.state, "--to", scratch / "copy", "--without-archive")
        made = inspect(*call, code=None)
        if made.code:
            assert made.code == 6 or not node.running.is_running, made
            assert not (scratch / "copy").exists()
            continue
        whole += 1
        inspect.json("root", scratch / "copy", "--verify")
    node.finish()


def test_a_look_is_told_of_as_a_snapshot_and_not_as_a_turn(node, inspect):
    states = set()
    end = time.monotonic() + 60
    while "snapshot" not in states:
        assert time.monotonic() < end
        node.be_at_work()
        looks = [inspect.start("root", node.state, "--verify", "--json") for _ in range(3)]
        while any(look.is_running for look in looks):
            states |= {one["state"] for one in inspect.json("locks", node.state)["readers"]}
        for look in looks:
            look.wait(None)
    node.finish()
    assert states <= {"snapshot", "idle"}


def test_within_a_limit_of_files_it_reads_in_turns_with_the_writer(node, inspect):
    """Which leaves no room for the memory of a snapshot."""
    node.be_at_work()
    call = f"ulimit -f 1000; exec '{inspect}' count '{node.state}' account"
    found = subprocess.run(["bash", "-c", call], capture_output=True, text=True, check=True)
    assert int(found.stdout.replace(",", "")) > 0
    node.finish()


class Told:
    """What the lines of a feed lead to. Each entry changes what there is, pops as well."""

    def __init__(self):
        self.known, self.blocks, self.told, self.pops, self.at = {}, [], 0, 0, 0

    def take(self, lines):
        for line in lines:
            entry = json.loads(line)
            if entry.get("position", self.at + 1) <= self.at:
                continue  # it came again
            self.at = entry.get("position", 0)
            if "pop" in entry:
                if self.blocks:  # else it is the block at which the cursor began
                    assert self.blocks.pop() == entry["pop"]
                self.pops += 1
            elif "block" in entry:
                self.blocks.append(entry["block"])
                self.told += 1
            for one in entry.get("changes", []):
                place = one["type"], one["id"]
                assert self.known.get(place, one["before"]) == one["before"]
                assert (one["before"] is None) == (one["change"] in ("created", "unarchived"))
                assert (one["after"] is None) == (one["change"] in ("removed", "archived"))
                self.known[place] = one["after"]

    def require_state(self, inspect, state, dump):
        inspect("dump", state, "--output", dump)
        rows = {}
        for line in dump.read_text().splitlines()[1:-1]:
            for name, row in json.loads(line).items():
                if isinstance(row, dict):
                    rows[name, row["id"]] = row
        assert {place: rows.get(place) for place in self.known} == self.known


def test_the_feed_leads_from_block_to_block_through_forks(node, inspect, scratch):
    node.be_at_work()
    feed = inspect.start("feed", node.state, "--follow", "--json")
    feed.wait_for('"pop"')
    node.finish()
    length = 0
    while feed.is_running and length != (length := len(feed.out)):
        time.sleep(2)  # it has what processor time others leave
    said = feed.interrupt()
    assert said.code in (0, 6)  # 6: the log was emptied before all of it was told
    told = Told()
    told.take(said.out.splitlines())
    assert told.pops > 0 and told.told > 100
    if said.code == 0:
        told.require_state(inspect, node.state, scratch / "dump")


def test_a_cursor_leads_through_kills_of_the_node_and_of_its_follower(
    make_node, inspect, scratch, rng
):
    node = make_node(60)  # it does not come to the end of its log
    node.be_at_work()
    told = Told()
    call = ("feed", node.state, "--cursor", "index", "--follow", "--json")
    feed = inspect.start(*call)
    feed.wait_for('"block"')
    for _ in range(3):
        time.sleep(rng.uniform(0, 0.5))
        node.running.kill()
        node.running = node.driver.start(*node.call)
        time.sleep(rng.uniform(0, 0.5))
        whole = feed.kill().out
        told.take(whole[: whole.rfind("\n") + 1].splitlines())
        feed = inspect.start(*call)
    time.sleep(2)
    node.running.interrupt(3)
    said = feed.interrupt(0)
    told.take(said.out.splitlines())
    told.take(inspect(*call[:-2], "--json").out.splitlines())
    assert told.told > 20
    told.require_state(inspect, node.state, scratch / "dump")
    assert [one["name"] for one in inspect.json("feed", node.state, "--cursors")["cursors"]] == ["index"]
    last = inspect("feed", node.state, "--from", told.blocks[-1], "--json").out.splitlines()
    assert [json.loads(one)["block"] for one in last if "block" in one] == told.blocks[-1:]
    gone = inspect("feed", node.state, "--from", 0, code=6).err
    assert "revision 0 is not there any more" in gone
    inspect("feed", node.state, "--from", 1, "--cursor", "index", code=2)
    inspect("feed", node.state, "--drop", "index")
    assert inspect.json("feed", node.state, "--cursors")["cursors"] == []
    inspect("feed", node.state, "--drop", "index", code=2)
