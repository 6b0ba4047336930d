"""Every verb of chainbase-inspect beside a replay at full speed: what it tells holds, whenever it
looks; and kills of it at any moment, of which the replay notices nothing."""

import json
import os
import shutil
import time

import pytest
from chains import STEEM, Replays
from kills import until_killed
from programs import operations

IS_SOAK = int(os.environ.get("CHAINBASE_TEST_OPERATIONS") or 0) >= 1000000  # takes minutes

# --- what each verb must tell of a state that is written; False: there was nothing to tell ---


def check_part(part):
    assert part["total"] == sum(
        part[one] for one in ("header", "links", "values", "slack", "punched")
    )
    assert part["files"] == part["total"]


def check_stat(found):
    """Sums are exact, when the sample was consistent."""
    if not found["consistent"]:
        return False
    assert found["discrepancies"] == []
    for one in found["types"]:
        for part in ("nodes", "ids", "tables", "total"):
            check_part(one[part])
    sums = found["sums"]
    assert sums["types"] == sum(one["total"]["total"] for one in found["types"])
    assert sums["total"] == sum(sums[one] for one in ("header", "log", "buffers", "types"))
    assert sums["files"] == sums["total"]
    return True


def check_map(found):
    for file in found["files"]:
        assert file["bytes"] == sum(
            file[part] for part in ("header", "in_use", "free", "never_used")
        )
    return True


def bytes_below(part):
    if "children" in part:
        assert part["bytes"] == sum(map(bytes_below, part["children"]))
    return part["bytes"]


def check_tree(found):
    return bytes_below(found["tree"]) == found["bytes"]


def rows_of(lines):
    """All lines but the first and the last, which tells how many they are."""
    assert lines[0]["schema_version"] == 1
    assert lines[-1]["rows"] == len(lines) - 2
    return lines[1:-1]


def check_comments(lines):
    """In the order of by_cashout_time, which the id makes unique."""
    keys = [(one["cashout_time"], one["id"]) for one in rows_of(lines)]
    assert all(one < after for one, after in zip(keys, keys[1:]))
    return True


def check_blocks(lines):
    """Each block tells how many there were, which is its number: a torn one would not."""
    rows = [one["applied_block"] for one in rows_of(lines)]
    for one in rows:
        assert one["blocks"] == one["number"]
    for before, after in zip(rows, rows[1:]):
        for rising in ("id", "number", "revision"):
            assert after[rising] > before[rising]
        assert after["operations"] >= before["operations"]
    return True


def check_object(found):
    return found["schema_version"] == 1


def check_one_row(found):
    return [one["id"] for one in found["rows"]] == [0]


def check_sample(lines):
    ids = [one["id"] for one in rows_of(lines)]
    return len(ids) == len(set(ids))


def check_top(lines):
    assert all(one["schema_version"] == 1 for one in lines)
    seen = [one for one in lines if one["error"] is None]
    for one in seen:
        assert one["types"] and isinstance(one["locks"]["writer_alive"], bool)
    return bool(seen)


def check_digest(found):
    """There is a digest exactly when the state did not move."""
    assert (found["digest"] is None) == (found["types"] == []) == found["moved"]
    return True


def check_warm(found):
    assert found["dry_run"] and found["files"]
    for file in found["files"]:
        assert file["data_bytes"] <= file["bytes"] and file["resident_after"] is None
    return True


class Verb:
    def __init__(self, call, check, codes=(0,)):
        self.parts, self.check, self.codes = call.split(), check, codes

    def call(self, state):
        return [part.replace("STATE", str(state)) for part in self.parts]

    def answer(self, result):
        """Whether something was told; what was told must hold."""
        lines = result.out.splitlines()
        if "--json" in self.parts and self.check not in (check_comments, check_sample, check_top):
            return self.check(result.json)
        return self.check([json.loads(line) for line in lines])

    @property
    def may_have_none(self):
        return 1 in self.codes or 2 in self.codes

    def __str__(self):
        return " ".join(self.parts)


VERBS = [
    Verb("info STATE --json", check_object),
    Verb("stat STATE --json", check_stat),
    Verb("map STATE --json", check_map),
    Verb("tree STATE --json", check_tree),
    Verb("schema STATE --json", check_object),
    Verb("undo STATE --json", check_object),
    Verb("locks STATE --json", check_object),
    Verb("archive STATE --json", check_object, (0, 1)),  # it moves on while it is read
    Verb("count STATE account --json", check_object),
    Verb("get STATE account id 0 --json", check_one_row),
    Verb("range STATE comment by_cashout_time --limit 300 --json", check_comments),
    Verb("sample STATE account --rows 20 --json", check_sample),
    Verb("dump STATE applied_block", check_blocks),
    Verb("diff STATE STATE --type applied_block --json", check_object, (0, 5)),
    Verb("check STATE --checkpoint --json", check_object, (0, 1)),  # there may be none yet
    Verb("count STATE@checkpoint account --json", check_object, (0, 2)),
    Verb("digest STATE --json", check_digest, (0, 6)),
    Verb("top STATE --count 2 --interval 0.1 --json", check_top),
    Verb("warm STATE --dry-run --json", check_warm),
]


class EndlessReplay:
    """A driver that replays one log into a fresh state after the other."""

    def __init__(self, driver, inspect, folder, seed):
        # Long enough that most looks are at a writer that is neither opening nor closing.
        length = max(150000, operations(1500000))
        driver("generate", "--operations", length, "--seed", seed, "--to", folder / "log")
        self.replay = Replays(driver, folder, None, folder / "log")
        self.inspect, self.running, self.started, self.digests = inspect, None, 0, []

    @property
    def state(self):
        return self.replay.state(f"state{self.started}")

    @property
    def is_writing(self):
        if not (self.state / "archive").exists():
            return False
        found = self.inspect("count", self.state, "applied_block", "--json", code=None)
        return found.code == 0 and found.json["rows"] > 0

    @property
    def changes(self):
        """How often the state was changed."""
        found = self.inspect("stat", self.state, "--json", code=None)
        return found.json["log"]["changes"] if found.code == 0 else 0

    def be_at_work(self):
        """Waits until it writes blocks. At the end of a log it begins with a new state."""
        while True:
            if self.running and not self.running.is_running:
                self.finish()
            if not self.running:
                shutil.rmtree(self.state, ignore_errors=True)
                self.started += 1
                self.running = self.replay.start(state=self.state.name)
            if self.is_writing:
                return
            time.sleep(0.005)

    def finish(self):
        """It ends as it does when nobody looks."""
        if self.running:
            self.digests.append(self.running.wait().json["state_digest"])
            assert len(set(self.digests)) == 1
            self.running = None

    def is_about_to_end(self):
        """Whether it ends within the next seconds, as one does that is about to close the state."""
        end = time.monotonic() + 3
        while self.running.is_running and time.monotonic() < end:
            time.sleep(0.05)
        return not self.running.is_running


@pytest.fixture
def endless(driver, inspect, scratch, seed):
    return EndlessReplay(driver, inspect, scratch, seed)


def test_every_verb_beside_a_replay_tells_what_holds_whenever_it_looks(endless, inspect):
    answers = {str(verb): 0 for verb in VERBS}
    until = time.monotonic() + (240 if IS_SOAK else 10)
    rounds = 0
    while rounds < 2 or time.monotonic() < until:
        rounds += 1
        for verb in VERBS:
            endless.be_at_work()
            result = inspect(*verb.call(endless.state), code=None)
            if result.code not in verb.codes:
                result.expect(1)  # no crash
                assert endless.is_about_to_end(), result
            elif result.code not in (1, 2):
                answers[str(verb)] += verb.answer(result)
    endless.finish()
    assert [one for one in VERBS if not one.may_have_none and not answers[str(one)]] == []


def test_a_look_that_is_killed_at_any_moment_leaves_no_lock_and_the_replay_goes_on(
    endless, inspect, rng
):
    for killed in range(3000 if IS_SOAK else 120):
        endless.be_at_work()
        verb = rng.choice(VERBS)
        until_killed(inspect.start(*verb.call(endless.state)), rng.uniform(0, 0.02))
        if killed % 10 == 0:
            before = endless.changes
            end = time.monotonic() + 60
            while endless.changes <= before and not endless.is_about_to_end():
                assert time.monotonic() < end, f"stands still after a kill of {verb}"
    endless.finish()  # nobody holds it up, and the digest is what it was
    inspect("check", endless.state)
    locks = inspect.json("locks", endless.state)
    assert [one for one in locks["readers"] if one["state"] == "reading"] == []


def test_a_state_and_its_archive_only_grow_while_the_driver_replays_into_them(
    driver, inspect, scratch
):
    looks = 0
    for number in range(10):
        replay = Replays(driver, scratch, STEEM)
        state = replay.state(f"state{number}")
        running = replay.start(state=state.name)
        revision = rows = 0
        while running.is_running:
            if not (state / "archive").exists():
                continue
            found = inspect("stat", state, "--json", code=None)
            archived = inspect("archive", state, "--json", code=None)
            if found.code or found.json["condition"] != "writer_running":
                continue  # not yet made, or just closing
            looks += 1
            check_stat(found.json)
            now = found.json["log"]["revision"]
            assert now + 1 >= revision  # the last session is squashed into the one before
            revision = max(revision, now)
            if archived.code == 0:
                assert archived.json["rows"] >= rows
                rows = archived.json["rows"]
        assert running.wait().json["state_digest"] == STEEM.digest
        assert inspect.json("archive", state)["rows"] == 3566
        assert inspect.json("stat", state)["condition"] == "closed"
        if looks > 10 and rows:
            return
    assert False, f"{looks} looks, {rows} rows at last"
