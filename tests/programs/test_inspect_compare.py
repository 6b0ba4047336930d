"""diff and digest: what two states do not have in common, and one number for all content."""

import shutil

import pytest
import segment
from segment import Stay, change

KINDS = ("rocksdb", "memory", "none")


# --- diff ---


@pytest.fixture(scope="module")
def origin(session_scratch):
    state = session_scratch / "a"
    change(state, "account,post", "create account 600", "create post 600")
    return state


class Pair:
    def __init__(self, inspect, a, b):
        self.inspect, self.a, self.b = inspect, a, b

    def in_b(self, *steps):
        change(self.b, "account,post", *steps)

    def diff(self, *call, code=0):
        return self.inspect("diff", self.a, self.b, *call, code=code)

    def types(self, *call):
        report = self.diff("--json", *call, code=(0, 5)).json
        return {one["name"]: one for one in report["types"]}


@pytest.fixture
def pair(inspect, origin, scratch):
    return Pair(inspect, origin, segment_copy(origin, scratch / "b"))


def segment_copy(source, target):
    shutil.copytree(source, target)
    return target


def test_two_states_that_are_the_same(pair):
    assert "\nthe same\n" in pair.diff().out
    pair.in_b("commit", "compact")
    report = pair.diff("--json").json
    assert (report["schema_version"], report["same"], report["rows"]) == (1, True, [])
    assert report["types"][0]["rows_b"] == 600


def test_rows_in_one_of_them_only_and_fields_that_differ_are_counted(pair):
    pair.in_b(
        *(f"remove account {id}" for id in (0, 255, 256, 599)),
        "create account 1",
        "set account 1 balance 7",
        "set account 300 balance 7",
        "set account 300 visits 1",
        "set post 5 body long enough for a buffer",
    )
    result = pair.diff("--json", code=5)
    accounts = pair.types()["account"]
    assert [accounts[name] for name in ("rows_a", "rows_b", "only_a", "only_b", "changed")] == [
        600, 597, 4, 1, 2,
    ]  # fmt: skip
    assert accounts["fields"] == {"balance": 2, "visits": 1}
    assert pair.types()["post"]["fields"] == {"body": 1}
    rows = result.json["rows"]
    assert len(rows) == 8
    assert (rows[0]["id"], rows[0]["b"]) == (0, None)
    assert rows[1]["fields"] == ["balance"]
    assert (rows[1]["a"]["balance"], rows[1]["b"]["balance"]) == (0, 7)
    assert (rows[6]["a"], rows[6]["b"]["name"]) == (None, "600")
    text = pair.diff(code=5).out
    assert "~ account 300  balance, visits\n    balance: 0 -> 7\n" in text
    assert "\nnot the same\n" in text


def test_fields_and_types_are_left_out_when_it_is_told_to(pair):
    pair.in_b("set account 9 visits 3", "set account 9 balance 3", "set post 9 likes 3")
    pair.diff("--ignore-field", "balance", "visits", "likes")
    pair.diff("--ignore-field", "account.balance", "account.visits", "post.likes")
    pair.diff("--ignore-field", "post.balance", "visits", "likes", code=5)
    pair.diff("--type", "post", "--ignore-field", "likes")
    assert list(pair.types("--type", "post")) == ["post"]
    assert len(pair.diff("--json", "--limit", "1", code=5).json["rows"]) == 2  # a type each
    pair.diff("--type", "posts", code=2)


def test_diff_of_what_is_no_state_is_exit_1(inspect, scratch):
    inspect("diff", scratch, scratch, code=1)


def test_with_the_archive_what_only_left_memory_is_no_difference(inspect, sample, scratch):
    a = sample("notes.rocksdb", "a")
    b = segment_copy(a, scratch / "b")
    change(b, "note", "hand_over", archive="rocksdb")  # 4 and 5
    call = ("diff", a, b, "--type", "note")
    left_out = "4 and 6 rows were handed over to the archives, which were not"
    assert f"note: {left_out}" in inspect(*call, code=5).out
    assert left_out not in inspect(*call, "--archive").out
    type = inspect(*call, "--json", code=5).json["types"][0]
    assert (type["handed_over_a"], type["handed_over_b"]) == (4, 6)
    change(b, "note", "remove_note 2", archive="rocksdb")
    (row,) = inspect(*call, "--archive", "--json", code=5).json["rows"]
    assert (row["id"], row["archived_in_a"], row["b"]) == (2, True, None)


# --- digest ---


def digest(inspect, state, *call):
    return inspect.json("digest", state, *call)["digest"]


def test_the_same_content_has_the_same_digest_whatever_its_history(inspect, sample, scratch):
    state = sample("sample")
    before = digest(inspect, state)
    assert len(before) == 64
    change(state, "account,post,token,marker", "commit", "compact")
    assert digest(inspect, state) == before
    change(scratch / "one", "account", "create account 9", *(
        f"set account {n} visits {n}" for n in range(9)
    ))
    change(scratch / "other", "account", "create account 9", *(
        step for n in reversed(range(9)) for step in (
            f"set account {n} visits 77", "session", f"set account {n} balance 3", "undo",
            f"set account {n} visits {n}",
        )
    ))
    assert digest(inspect, scratch / "one") == digest(inspect, scratch / "other")


def test_that_of_one_type_is_another_one_than_the_whole(inspect, samples):
    state = samples("sample")
    everything = inspect.json("digest", state)
    one = inspect.json("digest", state, "--type", "post")
    assert (everything["schema_version"], everything["revision"]) == (1, 12)
    assert len(everything["types"]) == 4
    assert one["digest"] != everything["digest"]
    assert one["types"] == [each for each in everything["types"] if each["name"] == "post"]
    assert f"digest   {everything['digest']}" in inspect("digest", state).out
    inspect("digest", state, "--type", "posts", code=2)
    inspect("digest", state, "--threads", "0", code=2)


def test_that_of_a_state_which_was_restored_is_the_one_it_had(inspect, sample):
    state = sample("checkpointed")
    before = digest(inspect, state)
    shutil.rmtree(state / "segment")
    assert segment.opens(state, "account", durability="checkpoint")["opened"] == "restored"
    assert digest(inspect, state) == before


CHANGES = {
    "tiny": 5, "small": 9, "low": 2**40, "high": 77, "name": "other", "text": "another text",
}  # fmt: skip


def test_all_kinds_of_fields_come_to_the_digest_of_their_types_and_each_one_counts(
    inspect, scratch, seed
):
    state = scratch / "state"
    types = "everything,account,post,stake,token,label"
    steps = [f"create {type} 40" for type in types.split(",")[1:]]
    _, typed = change(state, types, f"everything {seed} 200", *steps,
                      "remove everything 3 190 7", f"digest {types}")
    for threads in ("1", "2", "5"):
        assert digest(inspect, state, "--threads", threads) == typed
    for name, value in CHANGES.items():
        (now,) = change(state, types, f"set everything 0 {name} {value}", f"digest {types}")
        assert digest(inspect, state) == now
        assert now != typed, name
        typed = now
    # Also those that no step sets: a byte of each.
    of = segment.Segment(state)
    for one in of.types["everything"]["fields"]:
        if one["name"] == "id" or "shared" in one["type"]:
            continue
        bit = 8 * of.field("everything", 1, one["name"])
        segment.flip_bit(of.file("everything.objects"), bit)
        now = digest(inspect, state)
        segment.flip_bit(of.file("everything.objects"), bit)
        assert now != typed, one["name"]
    assert digest(inspect, state) == typed


def test_the_digest_beside_an_idle_writer_is_that_of_its_types(inspect, scratch):
    with Stay(scratch / "state", "account", "create account 300") as node:
        assert digest(inspect, scratch / "state") == node.step("digest account")


def test_what_no_record_can_hold_is_taken_as_it_is(inspect, scratch):
    state = scratch / "state"
    change(state, "measured", "measured 1")
    one = digest(inspect, state)
    change(state, "measured", "set measured 0 single 2")
    assert digest(inspect, state) != one
    change(state, "measured", "set measured 0 single 1")
    assert digest(inspect, state) == one


@pytest.mark.parametrize("kind", KINDS)
def test_objects_count_wherever_they_are(inspect, sample, samples, kind):
    state = sample(f"notes.{kind}")
    expected = digest(inspect, samples("notes.none"))
    assert change(state, "note", "notes_digest", archive=kind) == [expected]
    assert digest(inspect, state) == digest(inspect, state, "--threads", "7") == expected
    assert (digest(inspect, state, "--memory") == expected) == (kind == "none")
    also = [] if kind == "none" else ["remove_note 5"]
    *_, typed = change(state, "note", "remove_note 1", *also, "hand_over", "notes_digest",
                       archive=kind)
    report = inspect.json("digest", state)
    assert report["digest"] == typed != expected
    for one in report["types"]:
        is_note = one["name"] == "note"
        assert (one["digest"] is not None, one["why_not"] is None) == (is_note, is_note)
        if is_note and kind != "none":
            assert one["archived_rows"] == 4  # 0, 2 and 3 of those before, and 4


@pytest.mark.parametrize("kind", KINDS)
def test_after_the_writers_death_it_is_that_of_what_the_next_opening_gives(inspect, sample, kind):
    state = sample(f"notes.{kind}")
    change(state, "note", "session", "note author 40 kept", "hand_over", "push", "session",
           "note author 41 lost", "abandon", archive=kind)
    dead = digest(inspect, state)
    assert "title 2" in inspect("get", state, "note", "id", "2").out
    assert change(state, "note", "notes_digest", archive=kind) == [dead]
    assert digest(inspect, state) == dead


def test_rows_that_the_archive_lost_are_told(inspect, sample):
    state = sample("notes.rocksdb")
    shutil.rmtree(state / "archive")
    inspect("digest", state, code=1).says("handed over 4")
    inspect("digest", state, "--memory")


def test_of_a_state_that_moves_there_is_no_digest(inspect, scratch):
    """Its writer changes objects at one revision, outside of any session."""
    state = scratch / "state"
    with Stay(state, "account", "create account 300000") as node:
        revision = node.step("say")["revision"]
        node.step("busy account visits 300000 100")
        for _ in range(300):  # between two changes there may be time enough for a digest
            report = inspect("digest", state, "--threads", "1", "--json", code=(0, 6))
            has_moved = report.code == 6
            found = report.json
            assert found["moved"] is has_moved
            assert (found["digest"] is None) == has_moved
            assert (found["types"] == []) == has_moved
            assert found["revision"] == revision
            if has_moved:
                break
        assert has_moved
        node.step("calm")
        assert digest(inspect, state) == node.step("digest account")
