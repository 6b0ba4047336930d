"""root: what it tells of a state root is so, and objects that are not of the root are named."""

import hashlib
import shutil

import pytest
from programs import program
from segment import Segment, Stay, change, flip_bit

TYPES = "account,post,token"
RECORD = "state_root.recorded"
COMMITTED = "state_root.committed"


def step(state, *steps, **settings):
    return change(state, TYPES, *steps, root="account,post", **settings)


def root(inspect, state, *call, code=(0, 4)):
    return inspect("root", state, *call, "--json", code=code).json


def verified(inspect, state):
    return root(inspect, state, "--verify")["verified"]


def require_sound(inspect, state):
    found = inspect.json("root", state, "--verify")["verified"]
    assert (found["sound"], found["faults"]) == (True, 0)


def named(found, kind):
    return [one for one in found["named"] if one["kind"] == kind]


def only(found, kind, type):
    """The only fault of this kind, of which the type is `type`."""
    (one,) = named(found, kind)
    assert found["faults_by_kind"][kind] == 1
    assert one["type"] == type
    return one


@pytest.fixture
def rooted(sample):
    return sample("rooted")


@pytest.fixture
def files(rooted):
    return Segment(rooted)


def flip(of, type, id, name, by=0, bit=3):
    of.flip(type + ".objects", of.field(type, id, name) + by, bit)


def leaves_of(state):
    return state / "state_root.leaves"


def without_leaves(state):
    leaves_of(state).unlink()


# --- what it tells ---


def digest(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def test_it_tells_the_root_and_the_types(inspect, rooted):
    step(rooted, "session", "remove account 0 899 3", "block")
    (of_program,) = step(rooted, "root")
    found = root(inspect, rooted)
    roots = [one.pop("root") for one in found["types"]]
    assert found == {
        "schema_version": 2, "state": str(rooted), "root": of_program, "revision": 2,
        "root_revision": 2, "current": True, "moved": False, "rolled_back": False, "objects": 700,
        "types": [{"name": "account", "objects": 600}, {"name": "post", "objects": 100}],
        "contradictions": [], "verified": None,
    }  # fmt: skip
    # chainbase/state_root/FORMAT.md: the root over trees for ids below 900 and below 100
    account, post = map(bytes.fromhex, roots)
    all = digest(digest(b"\x0c", account, b"account"), digest(b"\x08", post, b"post"))
    for _ in range(3):
        all = digest(all, bytes(32))
    assert digest(b"\x04", all).hex() == of_program
    text = inspect("root", rooted).out
    assert text == (
        f"state     {rooted}\nrevision  2\nroot      {of_program}\ncurrent   yes\n\n"
        "type     objects\naccount      600\npost         100\n----------------\n"
        "all          700\n"
    )


def test_numbers_are_digits(inspect, rooted):
    for wrong in ("--limit -1", "--limit 0x10", "--threads 0", "--threads 1e3"):
        inspect("root", rooted, *wrong.split(), code=2)
    inspect("root", rooted, "--verify", "--limit", "010")


def test_without_objects_there_is_a_root_too(inspect, scratch):
    state = scratch / "state"
    (of_program,) = step(state, "root")
    found = root(inspect, state, "--verify", code=0)
    assert (found["root"], found["objects"]) == (of_program, 0)
    assert [one["root"] for one in found["types"]] == ["0" * 64] * 2
    assert found["verified"]["sound"] is True
    inspect("root", state)


def test_a_state_without_one_and_one_that_was_turned_off_say_so_and_what_to_do(
    inspect, samples, rooted
):
    for more in ([], ["--verify"]):
        inspect("root", samples("sample"), *more, code=2).says(
            "has no state root", "open it with a program that keeps one"
        )
    step(rooted, "forget_root")
    for more in ([], ["--verify"]):
        inspect("root", rooted, *more, code=2).says("it was turned off", "--state-root all")


def test_types_of_others_that_are_called_as_the_record_are_told_and_are_content(inspect, scratch):
    state = scratch / "state"
    change(state, RECORD, f"create {RECORD} 1", f"set {RECORD} 0 height 1")
    inspect("root", state, code=1).says(
        f"{RECORD} has another layout (field ", "use the chainbase-inspect of the program"
    )
    before = inspect.json("digest", state)["digest"]
    change(state, RECORD, f"set {RECORD} 0 height 2")
    assert inspect.json("digest", state)["digest"] != before


def test_a_root_of_an_earlier_version_which_kept_its_tree_in_the_state_is_told(inspect, scratch):
    state = scratch / "state"
    change(state, "state_root.tree", "create state_root.tree 1")
    inspect("root", state, code=2).says("is of an earlier version", "which makes it anew")


def test_a_root_of_another_format_is_told(inspect, files):
    flip(files, RECORD, 0, "format")
    inspect("root", files.state, code=1).says(f"is of format {4 ^ 8}, this version knows 4")


def test_the_digest_of_a_state_is_the_same_with_and_without_a_root(inspect, rooted, scratch):
    change(scratch / "plain", TYPES, "create account 900", "create post 100", "create token 1")
    told = inspect.json("digest", rooted)
    assert told["digest"] == inspect.json("digest", scratch / "plain")["digest"]
    assert sum(one["why_not"] == "of the state root" for one in told["types"]) == 2


def test_states_of_the_same_content_and_another_history_are_no_different(
    inspect, rooted, scratch
):
    other = scratch / "other"
    blocks = ("session", "create account 300", "block") * 3
    step(other, *blocks, "session", "create post 100", "create token 1", "block")
    assert root(inspect, other)["root"] == root(inspect, rooted)["root"]
    inspect("diff", rooted, other, "--type", "account")
    inspect("diff", rooted, other, "--type", RECORD, code=5)
    types = inspect("diff", rooted, other, "--json", code=(0, 5)).json["types"]
    assert not any("state_root" in one["name"] for one in types)


# --- --verify, of objects ---


def test_a_root_that_was_kept_is_sound(inspect, rooted):
    require_sound(inspect, rooted)
    found = verified(inspect, rooted)
    assert (found["objects"], found["archived_objects"]) == (1000, 0)
    step(rooted, "session", "remove account 0 899 2", "set post 7 body changed", "block")
    require_sound(inspect, rooted)
    assert verified(inspect, rooted)["objects"] == 550
    without_leaves(rooted)
    inspect("root", rooted, "--verify", "--threads", "7")


def test_a_bit_that_flipped_in_an_object_is_found_with_its_name(inspect, files):
    state = files.state
    flip(files, "account", 17, "visits")
    inspect("root", state)
    inspect("check", state)  # it is a number like another
    text = inspect("root", state, "--verify", code=4).out
    assert (
        "account 17: its content is not what the root commits to\n"
        '    {"id":17,"name":"17","balance":0,"number":17,"group":3,"visits":8}\n'
    ) in text
    # The verdict first, then what is damaged, then the table.
    verdict, object, table = map(text.index, ("damaged   1 other_content", "account 17: ", "type "))
    assert verdict < object < table
    found = verified(inspect, state)
    assert (found["sound"], found["faults"], found["objects"]) == (False, 1, 1000)
    fault = only(found, "other_content", "account")
    assert (fault["id"], fault["archived"], fault["row"]["visits"]) == (17, False, 8)


def test_without_the_leaves_of_the_root_the_type_is_named(inspect, files):
    state = files.state
    flip(files, "account", 17, "visits")
    without_leaves(state)
    found = verified(inspect, state)
    assert (found["sound"], found["faults"], found["objects"]) == (False, 1, 1000)
    fault = only(found, "type", "account")
    assert (fault["id"], fault["row"]) == (None, None)
    inspect("root", state, "--verify", code=4).says(
        "damaged   1 type", "account: its objects are not those that the root commits to",
        "the state has 900, the root 900", "`chainbase-driver bisect`"
    )


@pytest.mark.parametrize("how", ["bit", "cut", "longer", "earlier", "empty", "folder"])
def test_leaves_that_are_not_those_of_the_root_are_not_used(inspect, files, how):
    file = leaves_of(files.state)
    data = file.read_bytes()
    if how == "bit":
        flip_bit(file, 8 * (len(data) // 2))
    elif how == "cut":
        file.write_bytes(data[:-36])
    elif how == "longer":
        head = data[:24] + (901).to_bytes(8, "little") + data[32:]
        file.write_bytes(head)
    elif how == "earlier":
        step(files.state, "session", "set account 3 balance 7", "block")
        file.write_bytes(data)
    elif how == "empty":
        file.write_bytes(b"")
    else:
        file.unlink()
        file.mkdir()
    require_sound(inspect, files.state)
    flip(files, "account", 17, "visits")
    found = verified(inspect, files.state)
    assert found["faults"] == 1
    only(found, "type", "account")


def test_a_flipped_bit_in_a_text_is_found_too(inspect, files):
    text = b"nothing to say"
    for file in files.folder.glob("buffers.*"):
        at = file.read_bytes().find(text)
        if at >= 0:
            flip_bit(file, 8 * (at + 7) + 1)
            break
    fault = only(verified(inspect, files.state), "other_content", "post")
    assert fault["row"]["body"] == 'nothing"to say'


def test_an_object_that_cannot_be_read_is_named_and_all_others_are_looked_at(inspect, files):
    flip(files, "post", 41, "body", 3)  # leads to no buffer
    flip(files, "account", 3, "visits")
    found = verified(inspect, files.state)
    assert (found["faults"], found["objects"]) == (2, 1000)
    fault = only(found, "unreadable", "post")
    assert (fault["id"], fault["row"], fault["archived"]) == (41, None, False)
    assert "body" in fault["what"]
    assert only(found, "other_content", "account")["id"] == 3

    without_leaves(files.state)
    found = verified(inspect, files.state)
    assert (found["faults"], found["objects"]) == (3, 1000)
    assert only(found, "unreadable", "post")["id"] == 41
    account, post = named(found, "type")
    assert (account["type"], post["type"]) == ("account", "post")
    assert "it could not be compared with the root" in post["what"]


def test_objects_that_came_and_went_behind_the_root_are_named(inspect, rooted):
    change(rooted, TYPES, "session", "remove account 609 899 10", "create post 2",
           "create token 5", "block")
    found = verified(inspect, rooted)
    assert (found["faults"], found["objects"]) == (32, 972)
    gone = named(found, "not_in_state")
    assert len(gone) == 20
    assert all(one["type"] == "account" and one["id"] % 10 == 9 for one in gone)
    assert all(one["what"] == "in the root, not in the state" for one in gone)
    assert all(one["row"] is None for one in gone)
    new = named(found, "not_in_root")
    assert [(one["type"], one["id"]) for one in new] == [("post", 100), ("post", 101)]
    assert new[0]["what"] == "in the state, not in the root"
    assert new[0]["row"]["permlink"] == "permlink-100"
    text = inspect("root", rooted, "--verify", code=4).out
    assert "account 609, 619, 629, " in text

    without_leaves(rooted)
    found = verified(inspect, rooted)
    assert found["faults"] == 2
    assert ["the state has 870, the root 900" in one["what"] for one in named(found, "type")] == [
        True, False,
    ]  # fmt: skip


def test_of_each_kind_so_many_are_named_as_asked(inspect, files):
    for n in range(30):
        flip(files, "account", 10 * n, "visits")
    some = verified(inspect, files.state)
    assert some["faults"] == 30
    assert [one["id"] for one in some["named"]] == [10 * n for n in range(20)]
    for limit, count in (("3", 3), ("0", 30)):
        found = root(inspect, files.state, "--verify", "--limit", limit)["verified"]
        assert len(found["named"]) == count


# --- the record ---


@pytest.mark.parametrize(
    "type, id, field, bit, words",
    [
        (RECORD, 0, "root", 3, "the root does not follow from the roots of the types"),
        (RECORD, 0, "objects", 3, "the root commits to 992 objects; the types have 1000"),
        (COMMITTED, 0, "root", 3, "the root does not follow from the roots of the types"),
        (COMMITTED, 0, "name", 0, "the root does not follow from the roots of the types"),
        (COMMITTED, 1, "height", 2, "the root does not follow from the roots of the types"),
        (COMMITTED, 1, "height", 0, "no tree is of height 9, which it says that of post is"),
        (COMMITTED, 1, "objects", 1, "the root commits to 1000 objects; the types have 1002"),
    ],
)
def test_a_flipped_bit_in_what_is_recorded_is_found(inspect, files, type, id, field, bit, words):
    flip(files, type, id, field, 0, bit)
    state = files.state
    inspect("root", state, code=4).says("its state root is damaged", words, "--verify")
    found = verified(inspect, state)
    assert (found["sound"], found["faults"], found["objects"]) == (False, 1, 1000)
    fault = only(found, "record", COMMITTED if "no tree" in words else RECORD)
    assert words in fault["what"]
    assert fault["id"] == (1 if "no tree" in words else 0)


def test_a_type_whose_recorded_root_is_damaged_does_not_agree_with_it(inspect, files):
    flip(files, COMMITTED, 1, "root")
    without_leaves(files.state)
    found = verified(inspect, files.state)
    assert found["faults"] == 2
    only(found, "record", RECORD)
    only(found, "type", "post")


def test_a_type_that_the_state_does_not_have_is_told(inspect, files):
    flip(files, COMMITTED, 1, "name", 0, 0)
    without_leaves(files.state)
    found = verified(inspect, files.state)
    assert (found["faults"], found["objects"]) == (3, 900)
    one, other = named(found, "record")
    assert "the root does not follow" in one["what"]
    assert (other["type"], other["id"]) == (COMMITTED, 1)
    assert "objects of a type qost, which the state does not have" in other["what"]
    only(found, "type", "qost")


def test_a_root_of_another_revision_by_a_flipped_bit_is_not_sound(inspect, files):
    flip(files, RECORD, 0, "revision")
    found = root(inspect, files.state, "--verify", code=4)
    assert (found["current"], found["root_revision"]) == (False, 1 ^ 8)
    assert (found["verified"]["sound"], found["verified"]["faults"]) == (False, 0)


# --- moments ---


def test_a_state_that_was_written_without_its_root_is_said_to_be_so(inspect, rooted):
    before = root(inspect, rooted)["root"]
    change(rooted, TYPES, "session", "set account 17 balance 5", "set token 0 code 5", "push")
    found = root(inspect, rooted)
    expected = {"current": False, "revision": 2, "root_revision": 1, "root": before}
    assert {name: found[name] for name in expected} == expected
    inspect("root", rooted).says("current   no: it is the root of revision 1")
    found = verified(inspect, rooted)
    assert (found["sound"], found["faults"]) == (False, 1)
    assert only(found, "other_content", "account")["id"] == 17
    step(rooted)  # makes it anew
    found = root(inspect, rooted)
    assert found["current"] is True and found["root"] != before


def test_a_root_that_is_stale_alone_is_not_sound(inspect, rooted):
    change(rooted, TYPES, "session", "push")
    found = verified(inspect, rooted)
    assert (found["sound"], found["faults"]) == (False, 0)
    text = inspect("root", rooted, "--verify", code=4).out
    assert "\nsound" not in text and "\nstale     nothing is wrong" in text


def test_of_checkpoints_and_beside_a_writer_and_after_its_death(inspect, scratch):
    state = scratch / "state"
    step(state, "session", "create account 900", "create post 100", "block", durability="checkpoint")
    first = root(inspect, state)["root"]
    with Stay(state, TYPES, root="account,post", durability="checkpoint") as node:
        for one in ("session", "create account 50", "create post 5", "block"):
            node.step(one)
        second = node.step("root")
        found = root(inspect, state, "--verify")
        assert (found["root"], found["verified"]["sound"]) == (second, True)
        saved = root(inspect, f"{state}@checkpoint", "--verify", code=0)
        assert (saved["root"], saved["objects"]) == (first, 1000)
        assert saved["verified"]["sound"] is True
        node.step("session")
        node.step("remove account 3")
        node.running.send("die\n")
        node.running.wait(-9)
    found = root(inspect, state, "--verify", code=0)
    assert (found["rolled_back"], found["root"]) == (True, second)
    assert found["verified"]["sound"] is True


def test_beside_a_writer_it_is_of_one_block(inspect, scratch):
    state = scratch / "state"
    step(state, "session", "create account 20000", "block")
    with Stay(state, TYPES, root="account,post") as node:
        node.step("busy_blocks account visits 20000")
        revisions = set()
        for _ in range(10):
            found = verified(inspect, state)
            assert found["sound"] is True
            revisions.add(root(inspect, state)["revision"])
        assert len(revisions) > 1
        node.step("calm")
        assert root(inspect, state)["root"] == node.step("root")


def test_of_a_state_that_moves_there_is_the_root_of_a_moment_that_is_not_verified(inspect, scratch):
    """Its writer changes objects outside of sessions, which leaves no block to read."""
    state = scratch / "state"
    step(state, "session", "create account 20000", "block")
    with Stay(state, TYPES, root="account,post") as node:
        node.step("busy account visits 20000 100")
        for _ in range(20):
            result = inspect("root", state, "--verify", "--json", code=(0, 4, 6))
            moved = result.code == 6
            found = result.json
            assert found["moved"] is moved
            assert len(found["root"]) == 64
            assert found["objects"] == 20_000
            assert [one["objects"] for one in found["types"]] == [20_000, 0]
            assert (found["verified"] is None) is moved
            if moved:
                break
        assert moved
        for _ in range(20):
            text = inspect("root", state, "--verify", code=(0, 4, 6))
            text.says("root      ")
            if text.code == 6:
                text.says("account   20,000\n", "its writer changed it each time")
                assert "verified" not in text.out
                break
        node.step("calm")


@pytest.mark.parametrize("how", ["compact", "load"])
def test_compacted_and_loaded_states_have_the_same_root(inspect, rooted, scratch, how):
    before = root(inspect, rooted)["root"]
    if how == "compact":
        inspect("compact", rooted, "--commit")
        require_sound(inspect, rooted)
        assert root(inspect, rooted)["root"] == before
        return
    inspect("dump", rooted, "--output", scratch / "dump")
    copy = scratch / "copy"
    inspect("load", copy, scratch / "dump")
    found = root(inspect, copy, "--verify", code=0)
    assert (found["root"], found["current"]) == (before, True)
    assert found["verified"]["sound"] is True
    assert step(copy, "root", "session", "create account 3", "block", "is_current") == [
        before, True,
    ]  # fmt: skip


# --- --verify, of the archive ---


@pytest.mark.parametrize("kind", ["rocksdb", "memory"])
def test_archived_objects_count_where_they_are(inspect, sample, kind):
    state = sample(f"notes.{kind}")
    change(state, "note", "session", "remove_note 1", "note author 3 another", "block",
           root="note", archive=kind)
    found = root(inspect, state, "--verify", code=0)
    assert (found["objects"], found["verified"]["objects"]) == (10, 10)
    assert found["verified"]["archived_objects"] == 3
    if kind == "rocksdb":
        program("sample_state")("rows", state, "copy 3 2")
        title = "title 3"
    else:
        title = "title:2"
        for file in (state / "segment").glob("buffers.*"):
            file.write_bytes(file.read_bytes().replace(b"title 2", title.encode()))
    fault = only(verified(inspect, state), "other_content", "note")
    assert (fault["id"], fault["archived"]) == (2, True)
    assert fault["row"]["title"] == title
    without_leaves(state)
    found = verified(inspect, state)
    assert found["faults"] == 1
    only(found, "type", "note")


def test_archived_rows_that_cannot_be_read_are_named_in_one_line(inspect, scratch):
    state = scratch / "state"
    notes = [f"note author {n} title-{(n * 2654435761) % 2**31}" for n in range(3000)]
    retired = [n for n in range(3000) if n % 5]
    change(state, "note", "session", *notes, *(f"retire {n}" for n in retired), "block",
           "hand_over", *(f"remove_note {n}" for n in range(0, 3000, 3)),
           archive="rocksdb")
    change(state, "note", root="note", archive="rocksdb")
    in_memory = 600 - 200
    archived = 2400 - 800
    file = max((state / "archive").rglob("*.sst"), key=lambda one: one.stat().st_size)
    flip_bit(file, 8 * (file.stat().st_size // 2))
    found = verified(inspect, state)
    assert found["objects"] == in_memory + archived
    assert found["archived_objects"] == archived
    faults = found["faults"]
    assert 10 < faults < 1000
    assert found["faults_by_kind"]["unreadable"] == faults
    for one in found["named"]:
        assert one["archived"] is True
        assert one["id"] % 5 and one["id"] % 3  # others are in memory, or no objects
    text = inspect("root", state, "--verify", "--limit", "3", code=4).out
    ids = ", ".join(str(one["id"]) for one in found["named"][:3])
    assert f"damaged   {faults} unreadable\n\nnote {ids}: " in text
    assert "Corruption" in text and " (in the archive)\n" in text

    without_leaves(state)
    found = root(inspect, state, "--verify", "--limit", "0")["verified"]
    assert found["objects"] == in_memory + archived - faults  # those that are known to be some
    unreadable = {one["id"] for one in named(found, "unreadable")}
    assert len(unreadable) >= faults
    assert all(one % 5 or not one % 3 for one in unreadable)  # others are in memory
    assert "it could not be compared" in only(found, "type", "note")["what"]


def test_a_state_without_its_archive_says_which_one_is_missing(inspect, sample):
    state = sample("notes.rocksdb")
    change(state, "note", root="note", archive="rocksdb")
    shutil.rmtree(state / "archive")
    text = inspect("root", state, "--verify", code=1)
    text.says("handed over 4 rows of note", "put the archive of this state back in place")
    assert "in memory only" not in text.both


def test_archived_objects_with_an_enum_count_as_those_in_memory(inspect, scratch):
    state = scratch / "state"
    answers = change(
        state, "graded", "session", "grade", "grade", "retire 0", "block", "session", "hand_over",
        "block", root="graded", archive="rocksdb",
    )  # fmt: skip
    assert answers == [1]
    found = verified(inspect, state)
    assert (found["archived_objects"], found["sound"]) == (1, True)
