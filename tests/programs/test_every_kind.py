"""Two types with every kind of member and key, values at the edges: create, undo, kill, a copy of
the open state, dump, load, each key, archive. every_kind.cpp makes the states."""

import json
import re
import shutil
import subprocess
from functools import cmp_to_key

import pytest
from conftest import copy_of
from programs import program


def every_kind(state, *steps):
    """Opens the state, takes the steps and closes it; what it answered."""
    return program("every_kind")(state, *steps).json_lines


def stay(state, *steps):
    """Takes the steps and stays, with the state open."""
    running = program("every_kind").start(state, *steps, "wait", stdin=subprocess.PIPE)
    running.wait_for('^"ready"$')
    return running


def content(inspect, state):
    return inspect.json("digest", state)["digest"], inspect("dump", state).bytes


def lines(inspect, *call):
    """The rows of a range, as they are printed."""
    *rows, last = inspect("range", "--limit", "0", "--json", *call).out.splitlines()[1:]
    assert json.loads(last)["more"] is False
    return rows


def get(inspect, state, type, key, words):
    return inspect("get", "--json", state, type, key, "--", *words, code=(0, 1)).json


def by_id(rows):
    return sorted(rows, key=lambda row: row["id"])


@pytest.fixture(scope="module")
def made(session_scratch):
    """15 objects of each type: what a session changed and removed is among them, and what another
    one changed was undone."""
    state = session_scratch / "every_kind"
    steps = ["session", "fill 15", "push", "session", "change 3", "push", "commit"]
    every_kind(state, *steps, "session", "change 5", "undo")
    return state


@pytest.fixture
def sample(made, scratch):
    return copy_of(made, scratch / "state")


# --- undo, kill, copy, load ---


def test_undo_kill_and_reopening_leave_the_content_as_it_was(inspect, sample):
    before = content(inspect, sample)
    of_things = inspect.json("digest", sample, "--type", "thing")["types"][0]["digest"]
    assert every_kind(sample, "say") == [["attached", of_things]]
    nested = ["session", "change 5", "session", "change 7"]
    for steps in (nested[:2] + ["undo"], [*nested, "undo", "undo"], [*nested, "push", "undo"]):
        every_kind(sample, *steps)
        assert content(inspect, sample) == before, steps
    for _ in range(2):
        stay(sample, *nested).kill()
        inspect("check", sample)
        assert content(inspect, sample) == before
        assert every_kind(sample, "say") == [["rolled_back", of_things]]
        inspect("check", sample)
        assert content(inspect, sample) == before
    every_kind(sample, *nested[:2], "push")
    assert content(inspect, sample) != before


def test_a_copy_of_the_open_state_is_its_checkpoint(inspect, sample, scratch):
    before, copy = content(inspect, sample), scratch / "copy"
    with stay(sample, "checkpoint", "session", "change 5", "push", "session", "change 7"):
        subprocess.run(["cp", "-a", sample, copy], check=True)
        assert content(inspect, f"{sample}@checkpoint") == before
    for verb in ("digest", "dump"):
        inspect(verb, copy, code=1).says("checkpoint")
    assert every_kind(copy, "say")[0][0] == "restored"
    inspect("check", copy)
    assert content(inspect, copy) == before


def test_a_copy_of_the_open_state_without_a_checkpoint_is_refused_with_choices(inspect, scratch):
    state, copy = scratch / "state", scratch / "copy"
    with stay(state, "process", "session", "fill 15", "push", "session", "change 3"):
        subprocess.run(["cp", "-a", state, copy], check=True)
    program("every_kind")(copy, "process", code=1).says("repair --from copy", "replay")
    inspect("digest", copy, code=1)


@pytest.mark.parametrize("what", ["made", "archived"])
def test_a_dump_makes_the_state_again_which_goes_on_as_the_first(inspect, request, scratch, what):
    first = copy_of(request.getfixturevalue(what), scratch / "state")
    to, file = scratch / "to", scratch / "dump"
    inspect("dump", first, "--output", file)
    inspect("load", to, file)
    if what == "archived":
        copy_of(first / "archive", to / "archive")
    inspect("check", to)
    assert content(inspect, to) == content(inspect, first)
    orders = [every_kind(one, "orders", "session", "change 10", "push") for one in (to, first)]
    assert orders[0] == orders[1]
    assert content(inspect, to) == content(inspect, first)


# --- keys ---

LONGEST_WORD = 128 * 1024  # that Linux takes as an argument
ARCHIVED = """by_name by_title by_title_back by_digest by_wide by_vast by_octets by_triple
    by_tags_order by_kind by_small by_large by_all""".split()
OTHERS = """by_memo by_name_order by_tags by_place by_numbers by_words by_raw by_other by_title_flat
    by_memo_flat""".split()
SEARCHED = [("thing", key) for key in ARCHIVED + OTHERS]
SEARCHED += [("gauge", key) for key in "by_single by_real by_reals by_thing".split()]
OWN = "by_no_case by_length by_count by_hue_then_sum by_place_order by_parity".split()
OF_THE_PROGRAM = [("gauge", "by_hidden"), *(("thing", key) for key in OWN)]


def keys_of(inspect, state):
    """Of each key its kind and parts: a field, its type, and whether it descends."""
    found = {}
    for type in inspect.json("schema", state)["types"]:
        types = {field["name"]: field["type"] for field in type["fields"]}
        for key in type["indexes"] if type["name"] in ("thing", "gauge") else []:
            parts = [(p["field"], types.get(p["field"]), p["descending"]) for p in key["parts"]]
            found[type["name"], key["name"]] = key["kind"], parts
    return found


def printed(line):
    """The fields of a row, each as it is printed."""
    decoder, at, fields = json.JSONDecoder(), 1, {}
    while at < len(line):
        name, colon = decoder.raw_decode(line, at)
        end = decoder.raw_decode(line, colon + 1)[1]
        fields[name], at = line[colon + 1 : end], end + 1
    return fields


def keyed(inspect, state, type, parts):
    """Each row with the parts of its key as they are printed, but texts as they are."""
    found = []
    for line in lines(inspect, state, type):
        fields = printed(line)
        texts = [fields[field] for field, _, _ in parts]
        words = [json.loads(text) if text.startswith('"') else text for text in texts]
        found.append((words, json.loads(line)))
    return found


def comparable(value, type):
    if isinstance(value, list):
        return [comparable(one, type) for one in value]
    if "string" in type:
        return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode()
    return float(value) if value in ("inf", "-inf") else value


def compare(a, b, parts):
    """By these parts, then by id."""
    for field, type, descending in [*parts, ("id", "id", False)]:
        x, y = comparable(a[field], type), comparable(b[field], type)
        if x != y:
            return 1 if (x < y) == descending else -1
    return 0


def test_keys_that_only_the_program_understands_say_so(inspect, made):
    keys = keys_of(inspect, made)
    assert set(keys) == {*SEARCHED, *OF_THE_PROGRAM}
    for type, key in OF_THE_PROGRAM:
        kind, parts = keys[type, key]
        said = inspect("get", made, type, key, *["0"] * len(parts), code=2)
        said.says(f"{type}.{key} cannot be searched in", "only the program")
        if kind.startswith("hashed"):
            inspect("range", made, type, key, code=2).says("no order")
    rows = map(json.loads, lines(inspect, made, "thing", "by_hue_then_sum", "255"))
    assert {row["colour"] for row in rows} == {255}  # of a part before those of the program


def test_every_ordered_key_is_walked_in_its_order_and_equal_keys_by_id(inspect, sample):
    keys, orders = keys_of(inspect, sample), every_kind(sample, "orders")[0]
    assert set(orders) == {".".join(key) for key, (kind, _) in keys.items() if kind[0] != "h"}
    for name, order in orders.items():
        call = (sample, *name.split("."))
        found = [json.loads(line) for line in lines(inspect, *call)]
        assert [row["id"] for row in found] == order, name
        back = [json.loads(line)["id"] for line in lines(inspect, *call, "--reverse")]
        assert back == order[::-1], name
        if call[1:] in SEARCHED:
            key = cmp_to_key(lambda a, b, parts=keys[call[1:]][1]: compare(a, b, parts))
            assert found == sorted(found, key=key), name


@pytest.mark.parametrize("type, key", SEARCHED)
def test_each_object_is_found_by_its_keys_as_they_are_printed(inspect, made, type, key):
    kind, parts = keys_of(inspect, made)[type, key]
    everything = keyed(inspect, made, type, parts)
    assert len(everything) == 15
    for wanted, _ in everything:
        if any(len(word) >= LONGEST_WORD for word in wanted):
            continue
        same = [row for words, row in everything if words == wanted]
        found = get(inspect, made, type, key, wanted)["rows"]
        assert by_id(found) == same, wanted
        if not kind.startswith("hashed"):
            assert found == same, wanted
            for call in (["--", *wanted], ["--from", *wanted, "--to", *wanted]):
                assert [json.loads(one) for one in lines(inspect, made, type, key, *call)] == same


# --- archive ---


@pytest.fixture(scope="module")
def archived(made, session_scratch):
    """8 of the things were handed over."""
    state = copy_of(made, session_scratch / "archived")
    steps = ["session", "retire 9", "push", "commit", "session", "hand_over", "push"]
    assert every_kind(state, *steps) == [8]
    return state


def test_a_hand_over_changes_no_content(inspect, made, archived):
    inspect("check", archived)
    table = inspect.json("archive", archived)["tables"][0]
    assert (table["name"], table["rows"], table["in_memory"]) == ("thing", 8, 7)
    digest = content(inspect, made)[0]
    assert content(inspect, archived)[0] == digest
    assert every_kind(archived, "say") == every_kind(made, "say")
    inspect("diff", made, archived, "--archive", "--type", "thing", "--type", "gauge")


def all_rows(inspect, state, key):
    return [json.loads(one)["row"] for one in lines(inspect, state, "thing", key, "--archive")]


def test_rows_of_the_archive_are_the_objects_as_they_were(inspect, made, archived):
    before = [json.loads(line) for line in lines(inspect, made, "thing")]
    for row in before:
        found = get(inspect, archived, "thing", "id", [str(row["id"])])
        assert found["archived_rows" if row["id"] < 9 else "rows"] == [row]
    assert all_rows(inspect, archived, "id") == before
    said = inspect("get", archived, "thing", "by_raw", "--", before[1]["raw"], code=1)
    said.says("the archive has no rows of this type by this key")
    for key, words in (("by_raw", ["00"]), ("by_name", ["nobody"])):  # by_name is hashed
        said = inspect("get", made, "thing", key, "--", *words, code=1)
        call = re.search("`range (.*)`", said.err).group(1).split()
        assert inspect("range", *call).out


@pytest.mark.parametrize("key", ARCHIVED)
def test_each_key_of_the_archive_finds_and_orders_as_in_memory(inspect, made, archived, key):
    kind, parts = keys_of(inspect, made)["thing", key]
    if not kind.startswith("hashed"):
        in_order = [json.loads(one) for one in lines(inspect, made, "thing", key)]
        assert all_rows(inspect, archived, key) == in_order
    everything = keyed(inspect, made, "thing", parts)
    for wanted, _ in everything:
        found = get(inspect, archived, "thing", key, wanted)
        same = [row for words, row in everything if words == wanted]
        assert by_id(found["rows"] + found["archived_rows"]) == same, wanted
