"""Rows are what chainbase-inspect prints: of each type, by each key, both ways, within bounds, from memory
and archive."""

import pickle

import chainbase
import pytest
from conftest import require_same, rows_of
from programs import program

SAMPLES = ("sample", "holes", "many", "fields", "notes.rocksdb", "notes.memory", "rooted")


@pytest.fixture(scope="module")
def kinds(session_scratch):
    """A state of two types with every kind of member and key."""
    state = session_scratch / "every_kind"
    program("every_kind")(state, "session", "fill 8", "push", "session", "change 3", "push", "commit")
    return state


def values_of(row, key, parts=None):
    return tuple(row[field] for field, _ in key.parts[:parts])


def require_all_keys(inspect, state):
    with chainbase.open(state) as opened:
        for name, table in opened.types.items():
            assert table.name == name
            printed = rows_of(inspect, state, name)
            require_same(printed, table)
            assert len(table) == len(printed)
            by_id = {row.id: row for row in table}
            assert list(table.range(reverse=True)) == list(by_id.values())[::-1]
            for key in table.keys.values():
                if key.is_ordered:
                    in_order = [by_id[one["id"]] for one in rows_of(inspect, state, name, key.name)]
                    assert list(table.range(key.name)) == in_order
                    assert list(table.range(key.name, reverse=True)) == in_order[::-1]
                require_finds(table, key)


def require_finds(table, key):
    rows = list(table)
    for row in rows[:50]:
        try:
            found = table.find_all(key.name, *values_of(row, key))
        except KeyError:
            return  # a part is computed
        except chainbase.UsageError as problem:
            assert "cannot be searched in" in str(problem)
            return
        assert row in found
        assert (len(found) == 1) or not key.is_unique
        if key.is_unique:
            assert table[(key.name, *values_of(row, key))] == row


@pytest.mark.parametrize("what", SAMPLES)
def test_every_type_by_every_key(inspect, samples, what):
    require_all_keys(inspect, samples(what))


def test_every_kind_of_member_and_key(inspect, kinds):
    require_all_keys(inspect, kinds)


def test_bounds_are_included(inspect, samples):
    with chainbase.open(samples("sample")) as state:
        accounts = state["account"]
        ordered = list(accounts.range("by_name"))
        first, last = ordered[3], ordered[-4]
        assert list(accounts.range("by_name", first=first.name, last=last.name)) == ordered[3:-3]
        assert list(accounts.range("by_name", first=first.name)) == ordered[3:]
        assert list(accounts.range("by_name", last=last.name, reverse=True)) == ordered[-4::-1]
        assert list(accounts.range(first=2, last=5)) == [accounts[i] for i in range(2, 6)
                                                         if i in accounts]
        of_group = [row for row in accounts if row.group == 3]
        assert of_group and set(accounts.range("by_group", 3)) == set(of_group)
        link = next(iter(state["post"].range("by_link")))
        of_author = [row for row in state["post"] if row.author == link.author]
        assert set(state["post"].range("by_link", link.author)) == set(of_author)
        rows = list(state["post"].range("by_link"))
        at = rows.index(link)
        bound = (link.author, link.permlink)
        assert list(state["post"].range("by_link", first=bound)) == rows[at:]
        assert list(state["post"].range("by_link", link.author, last=link.permlink))[-1] == link


def test_long_ranges_come_in_slices(scratch):
    from segment import change

    state = scratch / "state"
    change(state, "account", "session", "create account 30000", "push", "commit")
    with chainbase.open(state) as opened:
        ids = [row.id for row in opened["account"]]
        assert ids == sorted(ids) and len(ids) == 30000
        numbers = [row.number for row in opened["account"].range("by_name")]
        assert sorted(numbers) == list(range(30000)) or len(set(numbers)) == 30000


@pytest.mark.parametrize("what", ("notes.rocksdb", "notes.memory"))
def test_objects_in_the_archive(inspect, samples, what):
    state = samples(what)
    with chainbase.open(state) as opened:
        notes = opened["note"]
        in_memory = {row.id for row in notes}
        assert 0 not in in_memory
        assert notes.get(0, archive=False) is None
        archived = notes.get(0)
        assert archived.id == 0 and archived.title == notes["by_title", archived.author, archived.title].title
        printed = [one["row"] for one in rows_of(inspect, state, "note", "id", "--archive")]
        require_same(printed, notes.range(archive=True))
        assert len(printed) > len(notes)
        by_weight = [one["row"] for one in rows_of(inspect, state, "note", "by_weight", "--archive")]
        require_same(by_weight, notes.range("by_weight", archive=True))
        some = notes.get(1).weight
        rows = [row for row in notes.range("by_weight", archive=True) if row.weight <= some]
        assert rows and list(notes.range("by_weight", first=some, archive=True)) == rows
        with opened.at_block() as block:
            assert block["note"].get(0) == archived
            require_same(printed, block["note"].range(archive=True))


def test_a_row_is_a_tuple_with_names(samples):
    with chainbase.open(samples("fields")) as state:
        row = next(iter(state["everything"]))
    assert row.id == row["id"] == row[0]
    assert row.one.amount == row["one"]["amount"]
    assert row.asdict()["one"] == {"amount": row.one.amount, "unit": row.one.unit, "fixed": row.one.fixed}
    assert hash(row) and row == tuple(row) and pickle.loads(pickle.dumps(row)) == row
    assert "everything(id=" in repr(row)
    with pytest.raises(AttributeError):
        row.id = 3
    with pytest.raises(KeyError, match="no field"):
        row["nothing"]
    with pytest.raises(AttributeError):
        row.nothing


def test_what_is_not_there(samples):
    with chainbase.open(samples("sample")) as state:
        accounts = state["account"]
        assert accounts.get(10**6) is None and accounts.find("by_number", 2**60) is None
        assert accounts.find_all("by_number", 2**60) == [] and 10**6 not in accounts
        with pytest.raises(chainbase.NotFoundError, match="no account has by_name 'nobody'"):
            accounts["by_name", "nobody"]


@pytest.mark.parametrize("call, words", (
    (lambda s: s["nothing"], "has no type \"nothing\"; it has account"),
    (lambda s: s["account"].find("by_nothing", 1), "no key \"by_nothing\"; it has id, by_name"),
    (lambda s: s["account"].find("by_name", 3), "3 is no str or bytes, as which account.by_name"),
    (lambda s: s["account"].find("by_name", "x" * 17), "at most 16 bytes"),
    (lambda s: s["account"].find("by_number", -1), "unsigned integer of 64 bits"),
    (lambda s: s["account"].find("by_number", 1.5), "unsigned integer of 64 bits"),
    (lambda s: s["account"].find("by_balance", 1), "has 2 parts, 1 given"),
    (lambda s: s["account"].find("by_name", "a", "b"), "has 1 part, 2 were given"),
    (lambda s: s["account"].find("by_distance", 1, 2), "computed"),
    (lambda s: s["account"].get(-1), "not an id"),
    (lambda s: s["account"].get("x"), "not an id"),
    (lambda s: s["account"].range("by_number"), "it has no order"),
    (lambda s: s["account"].columns(["nothing"]), "has no column \"nothing\"; it has id, name"),
    (lambda s: s["account"].arrow(texts="latin1"), "\"utf8\" or \"binary\""),
    (lambda s: s.feed(), "a cursor, or a revision"),
))
def test_wrong_calls(samples, call, words):
    with chainbase.open(samples("sample")) as state:
        with pytest.raises(chainbase.UsageError) as problem:
            call(state)
        assert words in str(problem.value)


def test_what_a_type_is(inspect, samples):
    with chainbase.open(samples("sample")) as state:
        shown = inspect.json("schema", samples("sample"))
        assert [one["name"] for one in shown["types"]] == list(state.types)
        for one in shown["types"]:
            table = state.types[one["name"]]
            assert [field["name"] for field in one["fields"]] == [field.name for field in table.fields]
            assert [field["type"] for field in one["fields"]] == [field.type for field in table.fields]
            assert [key["name"] for key in one["indexes"]] == list(table.keys)
        assert "account" in state.types and "nothing" not in state.types
        assert state.revision == inspect.json("count", samples("sample"), "account")["revision"]
        assert state.block is None and state.root is None
