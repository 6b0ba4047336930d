"""The root that replay, sync and live keep: of the state alone, whatever the way to it; roots and
bisect, and what they find when a run, a disk or a program changed something."""
import itertools
import re
import signal
import struct
import time
from pathlib import Path

import pytest
from blocks import PaymentsTree, encoded_block, social_account, social_deposit, write_log
from chains import EOS, STEEM, carried_log
from conftest import copy_of

WITH_ROOT = ["--state-root", "all"]
UNKNOWN_WRITES = "0" * 64  # of a block at which the root was made anew
LAST = 60


# --- a carried log, replayed in many ways ---


class Replays:
    """States of one log."""

    def __init__(self, driver, scratch, chain):
        self.driver, self.scratch, self.chain = driver, scratch, chain
        self.log = carried_log(chain, scratch)

    def call(self, name, *more):
        return ["replay", "--json", "--block-log", self.log, "--state", self.scratch / name, *more]

    def __call__(self, name, *more, code=0):
        run = self.driver(*self.call(name, *more), code=code)
        return run.json if code in (0, 5) else run

    def roots(self, name):
        """What `roots` prints, by block."""
        lines = self.driver("roots", self.scratch / name).out.splitlines()
        return {int(line.split()[0]): line for line in lines if not line.startswith("#")}

    def write_roots(self, name):
        file = self.scratch / f"{name}.roots"
        file.write_text(self.driver("roots", self.scratch / name).out)
        return file


@pytest.fixture
def steem(driver, scratch):
    return Replays(driver, scratch, STEEM)


@pytest.fixture
def eos(driver, scratch):
    return Replays(driver, scratch, EOS)


@pytest.fixture(params=[STEEM, EOS])
def replay(request, driver, scratch):
    return Replays(driver, scratch, request.param)


def test_a_replay_comes_to_the_same_root_by_any_way(replay):
    root = replay.chain.root
    at_once = replay("at-once", *WITH_ROOT, "--verify-roots")
    assert at_once["state_digest"] == replay.chain.digest
    assert at_once["state_root"]["root"] == root
    assert at_once["state_root"]["recomputed"] is True
    roots = replay.roots("at-once")
    head = at_once["head"]
    assert max(roots) == head
    assert root in roots[head]

    def same(said, name):
        assert said["state_root"]["root"] == root
        shared = 0
        for number, line in replay.roots(name).items():
            if number in roots and not line.endswith(UNKNOWN_WRITES):
                assert line == roots[number]
                shared += 1
        assert shared > 100

    same(replay("memory", *WITH_ROOT, "--archive", "memory", "--threads", "3", "--root-threads",
                "0"), "memory")
    same(replay("threads", *WITH_ROOT, "--root-threads", "5"), "threads")
    for stop in (head // 3, head // 2, head - 1):
        replay("restarted", *WITH_ROOT, "--archive", "none", "--stop-at", stop)
    same(replay("restarted", "--verify-roots"), "restarted")
    replay("late", "--stop-at", head // 2)
    late = replay("late", *WITH_ROOT, "--verify-roots", replay.scratch / "at-once")
    assert late["state_root"]["compared_blocks"] > 100
    same(late, "late")


def test_a_root_that_is_turned_on_later_is_that_of_the_block_at_which_the_state_stands(steem):
    stop = ["--stop-at", "3000"]
    steem("from-begin", *WITH_ROOT, *stop)
    steem("later", *stop)
    steem("later", *WITH_ROOT, *stop)
    later, known = steem.roots("later"), steem.roots("from-begin")
    assert list(later) == [3000]
    assert later[3000].endswith(UNKNOWN_WRITES)
    assert later[3000].split()[1] == known[3000].split()[1]
    steem.driver("bisect", steem.scratch / "later", steem.scratch / "from-begin")
    steem("later", "--stop-at", "3100", "--verify-roots", steem.scratch / "from-begin")


def test_the_roots_of_some_blocks_can_be_asked_for(eos):
    eos("state", *WITH_ROOT)
    roots, state = eos.roots("state"), eos.scratch / "state"
    first, second, third = itertools.islice(roots, 3)

    def some(*more):
        return eos.driver.json("roots", state, *more)

    early = some("--to", third)
    assert early["chain"] == EOS
    assert [one["block"] for one in early["blocks"]] == [first, second, third]
    last = early["blocks"][2]
    assert roots[third] == f"{third} {last['root']} {last['writes']}"
    newest = some("--newest", "1")["blocks"]
    assert [one["root"] for one in newest] == [EOS.root]
    assert len(some("--from", third, "--to", third)["blocks"]) == 1
    eos.driver("roots", state, "--from", "4000000000", code=2).says("none from 4000000000")
    file = eos.write_roots("state")
    assert eos.driver("roots", file).out == file.read_text()
    eos.driver("roots", eos.scratch / "missing", code=2).says("neither a state nor a file of roots")


def test_a_state_without_a_root_has_nothing_of_one_and_one_that_is_turned_off_neither(steem):
    without = steem("without")
    assert without["state_root"] is None
    assert not [name for name in without["objects"] if "root" in name]
    steem.driver("roots", steem.scratch / "without", code=2)

    steem("off", *WITH_ROOT, "--stop-at", "100000")
    off = steem("off", "--state-root", "none")
    assert off["state_root"] is None
    assert off["state_digest"] == STEEM.digest
    assert not [name for name, count in off["objects"].items()
                if "root" in name and count != 0]
    assert steem("off")["state_root"] is None


def test_a_root_can_be_of_some_types_only(steem):
    accounts = steem("some", "--state-root", "account", "--verify-roots")
    root = accounts["state_root"]
    assert root["types"] == ["account"]
    assert root["objects"] == accounts["objects"]["account"]
    assert root["root"] != STEEM.root
    assert steem("some", "--verify-roots")["state_root"]["root"] == root["root"]
    two = steem("some", "--state-root", "account,global", "--verify-roots")
    assert two["state_root"]["objects"] == root["objects"] + 1
    assert steem("some", *WITH_ROOT)["state_root"]["root"] == STEEM.root
    steem("some", "--state-root", "acount", code=2).says('"acount"')
    assert steem("some")["state_root"]["root"] == STEEM.root


def test_as_many_roots_are_kept_as_are_asked_for(steem):
    for more, stop, kept in ([*WITH_ROOT, "--keep-roots", "7"], 5000, 7), ([], 6000, 7), \
            (["--keep-roots", "20"], 7000, 20), (["--keep-roots", "3"], 8000, 3):
        steem("few", *more, "--stop-at", stop)
        assert len(steem.roots("few")) == kept
        assert max(steem.roots("few")) == stop


def test_a_root_that_is_turned_on_is_that_of_what_was_asked_for_or_none_also_after_a_kill(
        steem, rng):
    stop, some = ["--stop-at", "100000"], ["--state-root", "account", "--root-threads", "0"]
    steem("killed", *stop)
    for _ in range(10):
        process = steem.driver.start(*steem.call("killed", *some, *stop))
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        root = steem("killed", *stop)["state_root"]
        if root is None:
            continue
        assert root["types"] == ["account"]
        assert len(steem.roots("killed")) == 1
        steem("killed", "--state-root", "none", *stop)
    assert steem("killed", *some, *stop, "--verify-roots")["state_root"]["types"] == ["account"]


def test_a_call_that_is_refused_leaves_the_root_as_it_was(steem):
    steem("state", *WITH_ROOT, "--stop-at", "2000")
    before = steem.roots("state")
    wrong_ranges = (["--from", "5000"], ["--stop-at", "1000"])
    for more in (["--keep-roots", "1"], ["--state-root", "none"], ["--state-root", "account"]):
        for wrong in wrong_ranges:
            steem("state", *more, *wrong, code=2)
            assert steem.roots("state") == before
    steem("state", "--state-root", "none", "--stop-at", "2000")
    for wrong in wrong_ranges:
        steem("state", *WITH_ROOT, *wrong, code=2)
    steem.driver("roots", steem.scratch / "state", code=2)


@pytest.mark.parametrize("more, says", [
    (["--keep-roots", "5"], "--keep-roots"),
    (["--state-root", "none", "--keep-roots", "5"], "--keep-roots"),
    (["--state-root", "all,pair"], "cannot be combined"),
    (["--state-root", "none,all"], "cannot be combined"),
    (["--state-root", "bogus"], "its types are "),
    (["--verify-roots"], "--state-root"),
])
def test_what_is_asked_of_a_root_that_there_is_not_is_refused(eos, more, says):
    eos("none", *more, code=2).says(says)


# --- compared with others ---


def test_roots_of_other_types_are_not_compared(steem):
    accounts, stop = ["--state-root", "account"], ["--stop-at", "2000"]
    steem("all", *WITH_ROOT, *stop)
    steem("some", *accounts, *stop)
    file = steem.write_roots("some")
    assert "# types: account\n" in file.read_text()
    both = [steem.scratch / "all", steem.scratch / "some"]
    for refused in (["bisect", *both], ["bisect", both[0], file],
                    steem.call("all", "--verify-roots", file)):
        steem.driver(*refused, code=2).says("--state-root ", "account")
    steem("new", *accounts, "--verify-roots", file, *stop)

    other = steem("all", *accounts, "--stop-at", "2500")
    assert other["state_root"]["types"] == ["account"]
    roots = steem.roots("all")
    assert min(roots) == 2000  # where it was made anew
    assert UNKNOWN_WRITES in roots[2000]
    steem("some", "--stop-at", "2500")
    steem.driver("bisect", *both)


def test_roots_of_other_chains_are_not_compared(steem, eos):
    steem("steem", *WITH_ROOT, "--stop-at", "500")
    eos("eos", *WITH_ROOT)
    file = steem.write_roots("steem")
    assert file.read_text().startswith("# chain: steem-2016\n")
    for refused in (["bisect", file, eos.scratch / "eos"], eos.call("eos", "--verify-roots", file)):
        steem.driver(*refused, code=2).says("of the chain steem-2016", "of eos-swap-2022")


def test_a_replay_stops_behind_the_first_block_with_another_root_than_is_expected(steem):
    some = ["--stop-at", "30000"]
    steem("whole", *WITH_ROOT, *some)
    file, roots = steem.write_roots("whole"), steem.roots("whole")
    same = steem("same", *WITH_ROOT, *some, "--verify-roots", file)["state_root"]
    assert same["compared_blocks"] == len(roots)
    assert same["differs"] is None

    number = sorted(roots)[len(roots) // 2]
    root = roots[number].split()[1]
    wrong = root[:4] + ("b" if root[4] == "a" else "a") + root[5:]
    file.write_text(file.read_text().replace(root, wrong))
    call = ["stopped", *WITH_ROOT, *some, "--verify-roots", file]
    said = steem(*call, code=5)
    assert said["head"] == number
    assert said["state_root"]["differs"]["block"] == number
    assert said["state_root"]["differs"]["same_writes"] is True
    assert said["state_root"]["root"] == root
    again = steem(*call, code=5)  # it remembers
    assert again["state_root"]["differs"] == said["state_root"]["differs"]
    assert again["replayed_blocks"] == 0
    assert steem("stopped", *some)["state_root"]["root"] in roots[max(roots)]


DIGEST = "a" * 64
NO_ROOTS = {
    "empty": ("", "has no roots"),
    "comment": ("# nothing\n", "has no roots"),
    "twice": (f"7 {DIGEST} {DIGEST}\n" * 2, "line 2"),
    "more": (f"7 {DIGEST} {DIGEST} more\n", "line 1"),
    "word": (f"seven {DIGEST} {DIGEST}", "line 1"),
    "short": (f"7 {DIGEST[1:]} {DIGEST}", "line 1"),
    "digit": (f"7 {DIGEST[1:]}g {DIGEST}", "line 1"),
    "one": (f"7 {DIGEST}", "line 1"),
    **{number: (f"{number} {DIGEST} {DIGEST}", "line 1")
       for number in ("-7", "+7", "0", "7x", "18446744073709551616")},
}


@pytest.mark.parametrize("what", NO_ROOTS)
def test_what_is_no_file_of_roots_is_refused(eos, what):
    content, says = NO_ROOTS[what]
    file = eos.scratch / "roots"
    file.write_text(content)
    eos("state", *WITH_ROOT, "--verify-roots", file, code=1).says(str(file), says)
    assert not (eos.scratch / "state").exists()


def test_what_has_no_roots_cannot_be_compared(eos):
    file = eos.scratch / "roots"
    file.write_text(f"7 {DIGEST} {DIGEST}\n")
    eos("state", "--verify-roots", file, code=2).says("--state-root")
    eos("other", "--verify-roots", code=2)
    eos("no-root")
    eos("state", *WITH_ROOT, "--verify-roots", eos.scratch / "no-root", code=2).says(
        "keeps no roots")


def test_roots_that_have_no_block_in_common_with_a_state_are_refused(steem):
    steem("begun", *WITH_ROOT, "--stop-at", "300")
    file = steem.scratch / "roots"

    def refused(block, *more):
        file.write_text(f"{block} {DIGEST} {DIGEST}\n")
        steem("begun", "--verify-roots", file, *more, code=2).says(
            f"blocks {block} to", "nothing was compared")

    refused(400, "--stop-at", "350")
    steem("begun", "--keep-roots", "3")
    refused(7)
    refused(4_000_000_000)


# --- two runs that are not the same ---


def deposits(other=0, more=0):
    """Ten accounts; then block n deposits n to account n % 10; block `other`, so much more."""
    blocks = [(1, encoded_block(1, 1000, [social_account(f"account{i}") for i in range(10)]))]
    for n in range(2, LAST + 1):
        amount = n + (more if n == other else 0)
        blocks.append((n, encoded_block(n, 1000 + n, [social_deposit(f"account{n % 10}", amount)])))
    return blocks


class TwoRuns:
    """Two logs, and the states of their replays."""

    def __init__(self, driver, scratch):
        self.driver, self.scratch = driver, scratch
        self.a, self.b = scratch / "a", scratch / "b"

    def make(self, a, b):
        write_log(f"{self.a}.log", "social", a)
        write_log(f"{self.b}.log", "social", b)
        return self

    def replay(self, state, *more):
        self.driver("replay", "--block-log", f"{state}.log", "--state", state, *WITH_ROOT, *more)

    def replay_both(self, *more):
        self.replay(self.a, *more)
        self.replay(self.b, *more)
        return self

    def bisect(self, code, *more):
        return self.driver.json("bisect", self.a, self.b, *more, code=code)

    def text(self):
        return self.driver("bisect", self.a, self.b, code=None)

    def roots(self, state):
        file = Path(f"{state}.roots")
        file.write_text(self.driver("roots", state).out)
        return file

    def flip_a_bit(self, account=5):
        """Of an account of b where it lies, as no program does it: of when it was created."""
        name = f"account{account}".encode().ljust(16, b"\0")
        flip(self.b, name + struct.pack("<q", 1000), 16 + 2, 16)

    def flip_a_root(self, number):
        """Of what b has kept of a block."""
        one = self.driver.json("roots", self.b, "--from", number, "--to", number)["blocks"][0]
        flip(self.b, bytes.fromhex(one["root"] + one["writes"]), 3, 16)


def flip(state, found_by, at, bit):
    """One bit of the bytes of an object in a state's memory, which are there once."""
    places = [(file, where.start()) for file in (state / "segment").glob("*.objects")
              for where in re.finditer(re.escape(found_by), file.read_bytes())]
    assert len(places) == 1, places
    with places[0][0].open("r+b") as both:
        both.seek(places[0][1] + at)
        both.write(bytes([found_by[at] ^ bit]))


@pytest.fixture
def runs(driver, scratch):
    return TwoRuns(driver, scratch)


def test_of_two_runs_of_the_same_blocks_bisect_finds_nothing(runs):
    runs.make(deposits(), deposits())
    runs.replay(runs.a)
    runs.replay(runs.b, "--stop-at", "40")
    found = runs.bisect(0)
    assert (found["same"], found["first_compared_block"], found["last_compared_block"]) == (
        True, 1, 40)
    runs.replay(runs.b)
    assert runs.bisect(0)["last_compared_block"] == LAST
    runs.text().says("the roots of blocks 1 to 60 are the same", "11 objects of a were compared")


def test_bisect_finds_the_block_that_was_another_one_and_the_object_and_the_field(runs):
    found = runs.make(deposits(), deposits(33, 1)).replay_both().bisect(5)
    assert found["differs"]["block"] == 33
    assert found["differs"]["same_writes"] is False
    for state in (runs.a, runs.b):
        state.rename(f"{state}.whole")
    found = runs.replay_both("--stop-at", "33").bisect(5)
    assert found["differs"]["block"] == 33
    assert [(one["type"], one["id"], one["fields"]) for one in found["objects"]] == [
        ("account", 3, ["balance"]), ("global", 0, ["deposited"])]
    first = found["objects"][0]
    assert first["a"]["balance"] + 1 == first["b"]["balance"]
    runs.text().says("account 3\n    balance: ")


def test_bisect_compares_files_of_roots_too(runs):
    runs.make(deposits(), deposits(50, 7)).replay_both()
    file = runs.roots(runs.b)
    found = runs.driver.json("bisect", runs.a, file, code=5)
    assert found["differs"]["block"] == 50
    assert found["objects"] == []
    runs.driver("bisect", file, file)


def test_bisect_refuses_what_has_no_blocks_in_common(runs):
    runs.make(deposits(), deposits())
    runs.replay(runs.a, "--keep-roots", "5", "--stop-at", "30")
    runs.replay(runs.b, "--keep-roots", "5")
    runs.driver("bisect", runs.a, runs.b, code=2).says("blocks 26 to 30", "blocks 56 to 60")
    runs.driver("bisect", runs.a, runs.scratch / "none", code=2).says(str(runs.scratch / "none"))


def test_as_many_objects_are_named_as_are_asked_for(runs):
    found = runs.make(deposits(), deposits(60, 5)).replay_both().bisect(5, "--objects", "1")
    assert found["different_objects"] == 2
    assert len(found["objects"]) == 1


@pytest.mark.parametrize("alike", [False, True], ids=["little_in_common", "all_but_one_block"])
def test_bisect_finds_in_two_states_what_their_rows_differ_in(runs, inspect, seed, alike):
    """It compares digests of types with another root; `inspect diff` all rows, and no digest."""
    def generate(state, seed, *more):
        runs.driver("generate", "--to", f"{state}.log", "--seed", seed, *more)

    generate(runs.a, seed, "--operations", "6000")
    if alike:  # the last block has another deposit
        made = runs.driver.json("replay", "--block-log", f"{runs.a}.log", "--state",
                                runs.scratch / "plain")
        number, name = made["head"] + 1, "somebody"
        time_of = 1 << 31
        Path(f"{runs.b}.log").write_bytes(Path(f"{runs.a}.log").read_bytes())
        last = {runs.a: [social_account(name)],
                runs.b: [social_account(name + "2"), social_account(name + "3")]}
        runs.replay_both()
        for state, operations in last.items():
            more = write_log(f"{state}.log2", "social",
                             [(number, encoded_block(number, time_of, operations))])
            runs.driver("replay", "--block-log", more, "--state", state, "--from", number)
    else:
        generate(runs.b, seed + 1, "--operations", "3000", "--mix",
                 "comment=30,comment_delete=10,vote=20,custom=30,transfer=10")
        runs.replay_both()
    own = {"applied_block", "chain_identity", "block_root", "root_setting"}
    rows = inspect.json("diff", runs.a, runs.b, "--archive", "--limit", "0", code=5)["rows"]
    expected = sorted((one["type"], one["id"]) for one in rows if one["type"] not in own)
    found = runs.bisect(5, "--objects", "1000000")
    assert len(expected) > (1 if alike else 100)
    assert found["different_objects"] == len(expected)
    assert [(one["type"], one["id"]) for one in found["objects"]] == expected
    some = runs.bisect(5, "--objects", "7")
    assert some["different_objects"] == len(expected)
    assert len(some["objects"]) == min(7, len(expected))
    assert all(one in found["objects"] for one in some["objects"])


# --- damage ---


def test_bisect_finds_a_flipped_bit_in_an_object_that_no_block_touched_since(runs):
    runs.make(deposits(), deposits()).replay_both().flip_a_bit()
    found = runs.bisect(5)
    assert found["differs"] is None
    assert found["a"]["fault_count"] == 0
    assert found["b"]["fault_count"] == 1
    fault = found["b"]["faults"][0]
    assert (fault["kind"], fault["type"], fault["id"]) == ("other_content", "account", 5)
    assert [(one["type"], one["id"], one["fields"]) for one in found["objects"]] == [
        ("account", 5, ["created"])]


def test_bisect_finds_a_flipped_bit_by_the_other_state_where_no_leaves_are_kept(runs):
    runs.make(deposits(), deposits()).replay_both().flip_a_bit()
    (runs.b / "state_root.leaves").unlink()
    found = runs.bisect(5)
    assert found["differs"] is None
    assert found["a"]["fault_count"] == 0
    (fault,) = found["b"]["faults"]
    assert (fault["kind"], fault["type"], fault["id"]) == ("type", "account", None)
    assert [(one["type"], one["id"], one["fields"]) for one in found["objects"]] == [
        ("account", 5, ["created"])]
    runs.text().says("b: 1 fault(s) that no block made:\n  account: its objects are not those",
                     "  account 5\n    created: ")


def test_bisect_finds_a_flipped_bit_at_the_block_that_touched_its_object_next(runs):
    runs.make(deposits(), deposits())
    runs.replay(runs.a, "--stop-at", "35")
    runs.replay(runs.b, "--stop-at", "27")
    runs.flip_a_bit()
    runs.replay(runs.b, "--stop-at", "35")  # which deposits to account 5
    found = runs.bisect(5)
    assert found["differs"]["block"] == 35
    assert found["differs"]["same_writes"] is False
    assert [(one["type"], one["id"], one["fields"]) for one in found["objects"]] == [
        ("account", 5, ["created"])]


def test_bisect_finds_a_flipped_bit_when_the_other_one_is_a_file_of_roots(runs):
    file = runs.make(deposits(), deposits()).replay_both().roots(runs.a)
    runs.flip_a_bit()
    found = runs.driver.json("bisect", runs.b, file, code=5)
    assert found["differs"] is None
    assert found["a"]["faults"][0]["id"] == 5
    assert found["b"]["objects_looked_at"] is None


def test_bisect_tells_a_flipped_root_that_was_kept_from_those_of_the_states(runs):
    runs.make(deposits(), deposits()).replay_both().flip_a_root(20)
    found = runs.bisect(5)
    assert (found["differs"]["block"], found["differs"]["same_again"]) == (20, 21)
    assert found["different_objects"] == 0
    runs.text().says("from block 21 on they are the same again")


def test_bisect_tells_a_flipped_root_of_the_last_block_from_the_recorded_one(runs):
    runs.make(deposits(), deposits()).replay_both().flip_a_root(LAST)
    found = runs.bisect(5)
    assert found["differs"]["block"] == LAST
    assert found["different_objects"] == 0
    assert found["a"]["fault_count"] == 0
    assert [one["kind"] for one in found["b"]["faults"]] == ["block_root"]


def test_bisect_names_objects_whose_rows_in_the_archive_cannot_be_read(steem):
    steem("a", *WITH_ROOT)
    other = copy_of(steem.scratch / "a", steem.scratch / "b")
    table = max((other / "archive").rglob("*.sst"), key=lambda file: file.stat().st_size)
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    found = steem.driver.json("bisect", steem.scratch / "a", other, code=5)
    assert found["differs"] is None
    assert found["a"]["fault_count"] == 0
    assert found["a"]["objects_looked_at"] == found["b"]["objects_looked_at"]
    faults = found["b"]["faults"]
    assert faults
    for one in faults:
        assert one["kind"] == "unreadable"
        assert "Corruption" in one["what"]
    assert len(found["objects"]) == len(faults)
    for one in found["objects"]:
        assert isinstance(one["a"], dict)
        assert one["b"] is None
        assert "Corruption" in one["unreadable"][0]


def test_a_block_with_another_root_is_told_though_the_books_do_not_add_up_either(driver, scratch):
    blocks = [(1, encoded_block(1, 1000, [social_account("alice"), social_account("bob")]))]
    blocks += [(n, encoded_block(n, 1000 + n, [social_deposit(["alice", "bob"][n % 2], n)]))
               for n in range(2, 21)]
    log = write_log(scratch / "log", "social", blocks)

    def replay(state, *more, code=0):
        return driver("replay", "--json", "--block-log", log, "--state", scratch / state,
                      *WITH_ROOT, *more, code=code)

    replay("whole")
    replay("flipped", "--stop-at", "10")
    balance = struct.pack("<qq", 1000, sum(range(2, 11, 2)))
    flip(scratch / "flipped", b"alice".ljust(16, b"\0") + balance, 24, 8)
    said = replay("flipped", "--verify-roots", scratch / "whole", code=5).json
    assert said["state_root"]["differs"]["block"] == 12  # the next one for alice
    assert "does not add up" in said["broken_books"]
    replay("flipped", "--verify-roots", code=1)


# --- what followers of the state are told ---


def test_followers_are_told_of_the_id_and_the_root_of_each_block(driver, inspect, scratch, rng):
    tree = PaymentsTree(rng)
    chain = [1, *tree.grow(1, 39)]
    log, state = tree.write_log(scratch / "log"), scratch / "state"

    def replay(to):
        driver("replay", "--block-log", log, "--state", state, *WITH_ROOT, "--stop-at", to)

    def feed():
        return inspect("feed", state, "--cursor", "index", "--json").json_lines

    replay(5)
    first = inspect.start("feed", state, "--cursor", "index", "--json")
    while not (state / "feed/cursors/index").exists():
        assert first.is_running
        time.sleep(0.01)
    replay(6)  # tells the cursor where it begins
    first.wait(0)
    feed()
    for last in (*range(7, 15), 40):
        replay(last)
    blocks = {}  # by number, as the state numbers them
    roots = {}
    for entry in (one for one in feed() if "block" in one):
        made = [one["after"] for one in entry["changes"] if one["change"] == "created"]
        new = [one for one in made if one.keys() >= {"revision", "number", "id_high"}]
        assert [one["revision"] for one in new] == [entry["block"]] * len(new)
        blocks |= {one["number"]: one for one in new}
        kept = {one["number"]: one["root"] for one in made if "root" in one}
        if new:  # of the blocks that it applied, and no other
            assert max(kept) == new[0]["number"] and not kept.keys() & roots.keys()
        roots |= kept
    assert blocks.keys() >= {*range(7, 15), 40}
    for number, one in blocks.items():
        place = tree[chain[number - 1]].place
        assert (one["id_high"], one["id_low"]) == (place.high, place.low)
    known = driver.json("roots", state, "--from", 7)["blocks"]
    assert roots == {one["block"]: one["root"] for one in known}
    assert list(roots) == list(range(7, 41))


# --- beside writers ---


def test_bisect_of_states_that_are_written_ends_and_so_do_their_writers(steem):
    for name in ("a", "b"):  # however far one gets ahead, they have blocks in common
        steem(name, *WITH_ROOT, "--stop-at", "3000", "--keep-roots", "10000000")
    a, b = steem.scratch / "a", steem.scratch / "b"
    writers = [steem.driver.start(*steem.call(name)) for name in ("a", "b")]
    looks = moved = 0
    while all(one.is_running for one in writers):
        beside = [steem.driver.start("bisect", *two, "--json")
                  for two in ((a, b), (b, a), (a, a))]
        for one in beside:
            run = one.wait((0, 6))
            looks += 1
            if run.code == 6:
                moved += 1
                assert run.json["moved"] is True
                assert run.json["last_compared_block"] >= 3000  # the blocks are told all the same
                assert run.json["differs"] is None
    assert moved < looks
    for one in writers:
        assert one.wait().json["state_root"]["root"] == STEEM.root
    same = steem.driver.json("bisect", a, b)
    assert same["a"]["objects_looked_at"] == same["b"]["objects_looked_at"]


def test_bisect_beside_a_node_reads_a_block_and_not_what_is_pending_on_top_of_it(steem):
    state = steem.scratch / "live"
    node = steem.driver.start("live", "--block-log", steem.log, "--state", state, *WITH_ROOT,
                              "--pending", "200", "--interval-ms", "500", "--json")
    end = time.monotonic() + 300
    for _ in range(3):
        while True:
            assert node.is_running and time.monotonic() < end
            run = steem.driver("bisect", state, state, "--json", code=None)
            if run.code == 0:
                break
        assert run.json["a"]["objects_looked_at"] is not None
        assert run.json["a"]["fault_count"] == 0
        assert run.json["different_objects"] == 0
    node.signal(signal.SIGTERM)
    node.wait(3)
    steem.driver("bisect", state, state)
