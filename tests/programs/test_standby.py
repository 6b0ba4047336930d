"""standby: a state that copies a running one, whoever is killed and whatever branches there are, and takes its
place. Entry by entry: tests/feed/replica.cpp."""
import json
import shutil
import time

import pytest
from kills import until
from standbys import CopiedNode, killed, took_over


class Nodes(CopiedNode):
    """A primary, and its standby on the same machine."""

    def standby(self, *more):
        return ["standby", "--of", self.primary, "--state", self.copy, "--json", *self.options, *more]

    def start_standby(self, *more):
        running = self.driver.start(*self.standby(*more))
        running.wait_for('"event":"following"', timeout=60)
        return running


@pytest.fixture
def nodes(driver, inspect, scratch, seed):
    return Nodes(driver, inspect, scratch, seed)


@pytest.mark.parametrize("level", ["process", "checkpoint", "commit"])
def test_a_standby_takes_over_with_every_block_that_a_killed_primary_had(driver, inspect, scratch, seed, rng, level):
    nodes = Nodes(driver, inspect, scratch, seed, options=("--durability", level, "--checkpoint-interval", "0.3"))
    primary = nodes.start_primary()
    standby = nodes.start_standby()
    time.sleep(rng.uniform(0.1, 1.5))
    killed(primary)
    said = took_over(standby)
    assert standby.wait().json_lines[-1]["event"] == "ended"
    nodes.are_equal()
    assert said["block"] == nodes.block(nodes.primary)
    nodes.runs_to_the_end()


def test_whoever_is_killed_the_copy_is_what_is_copied(nodes, rng):
    for _ in range(6):
        primary = nodes.start_primary()
        standby = nodes.start_standby("--take-over", "never")
        time.sleep(rng.uniform(0.05, 0.8))
        which = rng.choice(("primary", "standby", "both"))
        if which != "standby":
            killed(primary)
        if which != "primary":
            killed(standby)
        for one in (primary, standby):
            if one.is_running:
                one.interrupt(None)
    primary = nodes.start_primary(nodes.replayed["head"])
    standby = nodes.start_standby("--take-over", "never")
    nodes.reach(nodes.copy, nodes.replayed["head"])
    primary.interrupt(None)
    assert standby.interrupt(0).json_lines[-1]["took_over"] is False
    nodes.are_equal()
    nodes.runs_to_the_end()


def test_it_goes_on_as_a_node_and_nobody_writes_the_former_state_meanwhile(nodes):
    primary = nodes.start_primary()
    standby = nodes.start_standby("--peer", nodes.blocks.address)
    killed(primary)
    took_over(standby)
    nodes.driver(*nodes.sync, code=1).says("a writer has this state open", str(standby.pid))
    killed(standby)
    nodes.driver(*nodes.sync, code=1).says(f"{nodes.copy} took the place of this state")
    nodes.inspect("doctor", nodes.primary).says(f"{nodes.copy} took its place")
    standby = nodes.driver.start(*nodes.standby("--peer", nodes.blocks.address))  # the same call goes on
    took_over(standby)
    nodes.reach(nodes.copy, nodes.replayed["head"])
    assert standby.interrupt(3).json_lines[-1]["mode"] == "sync"
    assert nodes.digest(nodes.copy) == nodes.replayed["state_digest"]


def test_a_segment_in_memory_is_taken_over(driver, inspect, scratch, on_disk, seed):
    nodes = Nodes(driver, inspect, on_disk, seed, options=("--memory-folder", scratch))
    primary = nodes.start_primary()
    standby = nodes.start_standby()
    time.sleep(0.3)
    killed(primary)
    took_over(standby)
    standby.wait()
    nodes.are_equal()


def test_a_feed_that_was_moved_away_is_found_before_a_take_over(nodes, scratch):
    primary = nodes.start_primary()
    standby = nodes.start_standby()
    primary.interrupt(None)
    shutil.move(nodes.primary / "feed", scratch / "feed")
    primary = nodes.start_primary()
    nodes.reach(nodes.primary, nodes.block(nodes.copy) + 5)
    killed(primary)
    standby.wait(1).says("nothing is taken over")
    assert not (nodes.primary / "superseded").exists()


def test_what_is_not_its_own_is_not_touched(nodes, scratch):
    primary = nodes.start_primary()
    mine = scratch / "copy.standby-snapshot"
    mine.mkdir()
    (mine / "thesis").write_text("years")
    nodes.driver(*nodes.standby(), code=(1, 2))
    assert (mine / "thesis").read_text() == "years"
    for there in (mine, nodes.primary):
        nodes.driver("serve", "--feed", nodes.primary, "--snapshot", there, "--listen", "127.0.0.1:0", code=(1, 2))
        assert (mine / "thesis").exists() and (nodes.primary / "segment").exists()
    shutil.rmtree(mine)
    nodes.start_standby().interrupt(0)
    mine.mkdir()
    (mine / "thesis").write_text("years")
    nodes.start_standby().interrupt(0)  # the copy is there, and what a killed call leaves has this name
    assert (mine / "thesis").read_text() == "years"
    primary.interrupt(None)


def test_a_primary_that_ends_is_waited_for_unless_asked(nodes):
    primary = nodes.start_primary()
    standby = nodes.start_standby()
    primary.interrupt(None)
    primary = nodes.start_primary()
    nodes.reach(nodes.copy, nodes.block(nodes.primary))
    assert standby.interrupt(0).json_lines[-1]["took_over"] is False
    standby = nodes.start_standby("--take-over", "ended")
    primary.interrupt(None)
    took_over(standby)
    standby.wait()
    nodes.are_equal()


def test_a_copy_that_differs_is_found_and_does_not_take_over(driver, inspect, scratch, seed):
    nodes = Nodes(driver, inspect, scratch, seed, options=("--archive", "none"))
    primary = nodes.start_primary()
    nodes.start_standby().interrupt(0)
    primary.interrupt(None)
    dump = [json.loads(one) for one in inspect("dump", nodes.copy).out.splitlines()]
    account = next(one["account"] for one in dump if "account" in one)
    account["balance"] += 1
    (scratch / "dump").write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in dump))
    shutil.move(nodes.copy, scratch / "right")
    inspect("load", nodes.copy, scratch / "dump")
    shutil.copytree(scratch / "right" / "archive", nodes.copy / "archive")
    primary = nodes.start_primary()
    said = driver(*nodes.standby(), code=1)
    assert "the state root is" in said.err or f"account {account['id']}: is another" in said.err, said
    before = nodes.block(nodes.copy)
    killed(primary)
    driver(*nodes.standby(), code=1)
    assert nodes.block(nodes.copy) == before


def test_one_that_is_too_far_behind_says_what_to_do(nodes, driver, scratch):
    primary = nodes.start_primary()
    nodes.start_standby().interrupt(0)
    primary.interrupt(None)
    for one in (nodes.primary / "feed").glob("entries.*"):
        one.unlink()
    primary = nodes.start_primary()
    driver(*nodes.standby(), code=1).says("Move it away and call again", str(nodes.copy))
    shutil.move(nodes.copy, scratch / "aside")
    standby = nodes.start_standby()
    killed(primary)
    took_over(standby)
    standby.wait()
    nodes.are_equal()


def test_one_that_comes_back_in_time_is_followed_on(nodes):
    primary = nodes.start_primary()
    standby = nodes.start_standby("--take-over-after", "3")
    killed(primary)
    primary = nodes.start_primary(nodes.replayed["head"])
    nodes.reach(nodes.copy, nodes.replayed["head"])
    assert standby.interrupt(0).json_lines[-1]["took_over"] is False
    primary.interrupt(None)
    nodes.are_equal()


def test_of_two_standbys_one_takes_over(nodes):
    primary = nodes.start_primary()
    first = nodes.start_standby("--peer", nodes.blocks.address)
    other = nodes.driver.start("standby", "--of", nodes.primary, "--state", nodes.copy.with_name("other"),
                               "--json", "--peer", nodes.blocks.address)
    other.wait_for('"event":"following"', timeout=60)
    killed(primary)
    until(lambda: not other.is_running, first)
    left, taker = (first, other) if other.is_running else (other, first)
    took_over(taker)
    left.wait(1).says("took over", "cannot follow on")


def test_a_loss_of_power_after_the_take_over_loses_no_block_of_the_other(driver, inspect, scratch, on_disk, seed):
    memory = scratch / "memory"
    memory.mkdir()
    nodes = Nodes(driver, inspect, on_disk, seed, ("--memory-folder", memory, "--checkpoint-interval", "100"))
    primary = nodes.start_primary(20)
    standby = nodes.start_standby("--peer", nodes.blocks.address)
    nodes.reach(nodes.copy, 60)
    killed(primary)
    said = took_over(standby)
    killed(standby)
    shutil.rmtree(memory)  # with both segments; the last checkpoints are older
    memory.mkdir()
    again = nodes.driver(*nodes.standby(), code=0).json_lines
    assert again[0]["event"] == "took_over" and again[0]["block"] >= said["block"]
    nodes.runs_to_the_end()


@pytest.mark.parametrize("words, said", [
    (("--of", "nothing"), "there is nothing of this name"), (("--take-over", "soon"), "--take-over"), (("--of", "."), "state")])
def test_wrong_calls(driver, scratch, words, said):
    call = {"--of": scratch / "primary", "--state": scratch / "copy"} | dict([words])
    driver("standby", *(word for pair in call.items() for word in pair), code=None).says(said)
    assert not (scratch / "copy").exists()
