"""What is damaged is told, and told alike: the damage tables.

FILES has one row for each kind of damage to a state's files: what the next opening does, by `info`
and in fact; what `check` finds; what `repair` proposes. WORDS has one for each kind of word within
the segment: in which part and with which words `check` tells of it, and of which object.
"""

import shutil
import struct
from dataclasses import dataclass
from typing import Callable

import pytest
import segment
from programs import operations
from segment import PAGE, ROOT, Header, Segment, change, claim, content, cut, die, image, write_at

# --- damage to files ---

NOISE = bytes((n * 97 + 13) % 256 for n in range(8192))


def remove(*names):
    def mutate(state):
        for name in names:
            path = state / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return mutate


def cut_to(name, length):
    return lambda state: cut(state / name, length)


def put(name, data, mode=0o600):
    def mutate(state):
        path = state / name
        if path.is_dir():
            shutil.rmtree(path)
        path.write_bytes(data)
        path.chmod(mode)

    return mutate


def noise(name, at=0):
    return lambda state: write_at(state / name, at, NOISE)


def folder_instead(name):
    def mutate(state):
        (state / name).unlink()
        (state / name).mkdir()

    return mutate


def link_instead(name):
    def mutate(state):
        (state / name).unlink()
        (state / name).symlink_to("lock")

    return mutate


def widen(name):
    def mutate(state):
        path = state / name
        path.chmod(path.stat().st_mode | 0o004)

    return mutate


def header(**values):
    return lambda state: Header(state).set(**values)


def all_of(*mutations):
    def mutate(state):
        for one in mutations:
            one(state)

    return mutate


def newer_format(state):
    Header(state).set(format=1000)


def broken_tail(state):
    die(state)
    segment.flip_bit(state / "segment/undo_log", 8 * ROOT)


restart = segment.restart_the_machine
crash = all_of(die, restart)
tear = all_of(
    noise("segment/account.objects", PAGE),
    noise("segment/account.ids", PAGE),
    noise("segment/buffers.16", PAGE),
    cut_to("segment/undo_log", 100),
)
newest_cut = cut_to("checkpoint/published.1", 50)
both_cut = all_of(newest_cut, cut_to("checkpoint/published.0", 50))
no_checkpoint = remove("checkpoint")


@dataclass
class Row:
    """`does`: what info says that the next opening does, and what it does. `trouble`: a code that info
    gives; "" is none at all. `check`: its exit code, and words it says. `repair`: the way that its
    plan has; None: it is refused."""

    name: str
    mutate: Callable
    does: str
    trouble: str
    condition: str
    check: int
    words: str
    repair: object = "checkpoint"
    base: str = "checkpointed"


FILES = [
    Row("nothing", lambda state: None, "attach", "", "closed", 0, "sound: nothing was found",
        repair="nothing"),
    Row("killed", die, "roll_back", "writer_died", "writer_died", 0, "sound",
        repair="nothing"),
    Row("no header", remove("segment/header"), "refuse", "header_missing", "unknown",
        4, "segment/header: missing"),
    Row("header cut", cut_to("segment/header", 60), "refuse", "header_damaged", "unknown",
        4, "header"),
    Row("newer format", newer_format, "refuse", "other_format", "unknown", 1, "format",
        repair=None),
    Row("no lock", remove("lock"), "refuse", "lock_missing", "closed", 4, "lock: missing"),
    Row("lock is a folder", folder_instead("lock"), "refuse", "file", "closed", 4, "lock: not a file"),
    Row("lock is a link", link_instead("lock"), "refuse", "file", "closed", 4,
        "lock: a symbolic link"),
    Row("readers is a folder", folder_instead("readers"), "refuse", "file", "closed",
        4, "readers: not a file"),
    Row("readers is a link", link_instead("readers"), "refuse", "file", "closed",
        4, "readers: a symbolic link"),
    Row("readers has other bytes", noise("readers"), "refuse", "readers_damaged", "closed",
        4, "header: readers, offset 0: not the readers"),
    Row("readers cut", cut_to("readers", 5), "refuse", "readers_damaged", "closed",
        4, "header: readers"),
    Row("readers as a kill leaves them", cut_to("readers", 0), "attach", "", "closed", 0, "sound",
        repair="nothing"),
    Row("a place that is none", put("segment.json", b"{"), "refuse", "place_damaged", "unknown",
        4, "segment.json: does not say where"),
    Row("catalogue cut", cut_to("segment/catalogue.json", 9), "refuse", "catalogue_damaged",
        "closed", 4, "catalogue.json"),
    Row("tail of the log", broken_tail, "refuse", "log_damaged", "writer_died", 4, "undo_log"),
    Row("state is readable by others", lambda state: widen("")(state), "refuse", "access", "unknown",
        1, "chmod -R go=",
        repair=None),
    *(
        Row(f"{name} is readable by others", widen(name), "refuse", "access",
            "unknown" if name == "segment/header" else "closed", 1, "chmod go=",
            repair=None if "published" in name else "nothing")
        for name in ("lock", "segment/header", "segment/catalogue.json", "segment/undo_log",
                     "segment/account.objects", "checkpoint/pages", "checkpoint/published.0")
    ),
    Row("checkpoint is a file", put("checkpoint", b"x"), "refuse", "file", "closed", 4,
        "checkpoint: is not a folder",
        repair="objects"),
    Row("one checkpoint cut", newest_cut, "attach", "checkpoint_damaged", "closed", 0,
        "not checked: pages: against the checkpoint that closing made",
        repair="checkpoints"),
    Row("restarted", restart, "restore", "machine_restarted", "machine_restarted", 0,
        "the next opening takes checkpoint 2",
        repair="nothing"),
    Row("restarted while it was open", crash, "restore", "machine_restarted", "machine_restarted",
        0, "restarted while it was open",
        repair="nothing"),
    Row("restarted, and torn", all_of(restart, tear), "restore", "machine_restarted",
        "machine_restarted", 0, "the next opening takes checkpoint 2 of revision",
        repair="nothing"),
    Row("restarted, and torn to the catalogue",
        all_of(crash, cut_to("segment/undo_log", 100), cut_to("segment/catalogue.json", 5)),
        "restore", "machine_restarted", "machine_restarted", 0, "takes checkpoint 2",
        repair="nothing"),
    Row("segment lost", remove("segment"), "restore", "segment_lost", "segment_lost", 0,
        "its segment is missing",
        repair="nothing"),
    Row("restarted, no checkpoint", all_of(crash, no_checkpoint), "refuse", "machine_restarted",
        "machine_restarted", 4, "there is no checkpoint, so opening",
        repair="none"),
    Row("restarted, newest checkpoint cut", all_of(crash, newest_cut), "restore",
        "checkpoint_damaged", "machine_restarted", 4,
        "the next opening takes checkpoint 1 of revision"),
    Row("restarted, both checkpoints cut", all_of(crash, both_cut), "refuse", "checkpoint_damaged",
        "machine_restarted", 4, "no checkpoint is whole, so opening fails",
        repair="none"),
    Row("closed without storage, restarted", restart, "refuse", "not_on_storage",
        "machine_restarted", 4, "without waiting for storage", base="unsynced",
        repair="none"),
    Row("closed on storage, restarted", restart, "attach", "", "closed", 0, "closed properly",
        base="synced",
        repair="nothing"),
    Row("open on storage, restarted", crash, "refuse", "machine_restarted", "machine_restarted", 4,
        "there is no checkpoint", base="synced",
        repair="none"),
]


@pytest.fixture(scope="module")
def bases(session_scratch, samples):
    def made(name, **settings):
        state = session_scratch / name
        change(state, "account", "session", "create account 200", "block", **settings)
        return state

    return {
        "checkpointed": samples("checkpointed"),
        "unsynced": made("unsynced"),
        "synced": made("synced", sync=1),
    }


def require_info(row, inspect, state):
    found = inspect.json("info", state)
    inspect("info", state)
    codes = {one["code"] for one in found["troubles"]}
    told = (found["next_opening"]["does"], found["condition"])
    assert told == (row.does, row.condition), found["troubles"]
    assert (row.trouble in codes) if row.trouble else not codes
    assert all(one["what"] for one in found["troubles"])
    return found["next_opening"]["why"]


@pytest.mark.parametrize("row", FILES, ids=lambda row: row.name)
def test_file(row, bases, inspect, scratch):
    state = scratch / "state"
    shutil.copytree(bases[row.base], state, symlinks=True)
    row.mutate(state)
    before = image(state)

    why = require_info(row, inspect, state)
    assert image(state) == before, "info changed the state"

    checked = inspect("check", state, code=row.check)
    checked.says(row.words)
    as_json = inspect("check", state, "--json", code=row.check)
    if as_json.out:
        assert as_json.json["sound"] is (row.check == 0)
    elif row.check == 0:
        pytest.fail("no JSON")

    plan = inspect("repair", state, "--json", code=(0, 1, 4))
    if row.repair is None:
        plan.expect(1)
    else:
        assert plan.json["way"] == row.repair
        is_refused = 1 if row.check == 1 else 0
        plan.expect(is_refused if row.repair == "nothing" else 4)
    assert content(state) == {
        name: data for name, (_, data) in before.items() if data is not None and name != "readers"
    }, "check or repair changed the state"

    opened = segment.opens(state, "account", durability="checkpoint")
    assert (opened is not None) == (row.does != "refuse"), opened
    if opened is None:
        return
    ways = {"attach": "attached", "roll_back": "rolled_back", "restore": "restored"}
    assert opened["opened"] == ways[row.does]
    assert opened["objects"]["account"] in (100, 200)
    if row.does == "restore":
        assert f"checkpoint {opened['generation']}" in why


def test_pages_of_a_checkpoint_that_others_may_read(inspect, sample):
    state = sample("checkpointed")
    widen("checkpoint/pages")(state)
    inspect("check", "--checkpoint", state, code=1).says("refused, revision", "chmod go=")


# --- damage to words ---


@dataclass
class Word:
    """One word of a file of the segment: `at` and `value` are computed from the Segment, the value
    also from what is there. `object`: of which the finding must be."""

    name: str
    file: str
    at: Callable
    value: Callable
    type: str
    part: str
    words: str
    object: object = None
    format: str = "<I"


def word(name, file, at, value, where, words, object=None, format="<I"):
    type, _, part = where.rpartition(" ")
    fixed = at if callable(at) else lambda of: at
    computed = value if callable(value) else lambda of, old: value
    return Word(name, file, fixed, computed, type, part, words, object, format)


def of_pool(file, where):
    def head_slot(of):
        return PAGE + of.read(file, ROOT) * of.read(file, 16)

    def used(of):
        return of.read(file, ROOT + 4)

    return [
        word("free list begins outside", file, ROOT, lambda of, old: used(of) + 5, where,
             "free list leads to"),
        word("free list is empty", file, ROOT, 0, where, "the counts say"),
        word("no slot was used", file, ROOT + 4, 0, where, "slots were used"),
        word("too many slots were used", file, ROOT + 4, 2**32 - 1, where, "slots were used"),
        word("one too many is live", file, ROOT + 8, lambda of, old: old + 1, where,
             "the counts say"),
        word("more are live than were used", file, ROOT + 8, lambda of, old: used(of) + 1, where,
             "are in use"),
        word("free list is a circle", file, head_slot, lambda of, old: of.read(file, ROOT), where,
             "again"),
        word("free list leads nowhere", file, head_slot, 2**32 - 1, where, "free list leads to"),
    ]


def of_runs():
    file, where = "buffers.runs", "buffers.runs"

    def first(of):
        return PAGE * of.read(file, ROOT)

    return [
        word("list begins outside", file, ROOT, 1_000_000, where, "list of free runs"),
        word("list is a circle", file, first, lambda of, old: of.read(file, ROOT), where,
             "list of free runs"),
        word("a run is too long", file, lambda of: first(of) + 4, 1_000_000, where,
             "list of free runs"),
        word("a run is too short", file, lambda of: first(of) + 4, lambda of, old: old - 1, where,
             "in use and"),
        word("too many pages were used", file, ROOT + 4, 1_000_000, where, "pages were used"),
        word("live pages", file, ROOT + 8, 3, where, "in use and"),
        word("list is empty", file, ROOT, 0, where, "in use and"),
    ]


def of_ids():
    file, where = "account.ids", "account ids"

    def entry(id):
        return PAGE + 4 * id

    return [
        word("leads to another object", file, entry(4), lambda of, old: of.slot("account", 6),
             where, "which holds object 6", 4),
        word("leads to nothing", file, entry(4), 0, where, "no id leads to it", 4),
        word("leads outside", file, entry(4), 1 << 31, where, "leads to slot", 4),
        word("leads to a free slot", file, entry(5),
             lambda of, old: of.read("account.objects", ROOT), where, "which is free", 5),
        word("too many ids were given", "account.objects", ROOT + 12, 2**32 - 1, where,
             "ids were given"),
        word("too few ids were given", "account.objects", ROOT + 12, 39, where,
             "no id leads to it", 39),
        word("object has another id", "account.objects", lambda of: of.field("account", 8, "id"), 9,
             where, "which holds object 9", 8),
    ]


TREES = [
    ("account", "by_name"),
    ("account", "by_balance"),
    ("account", "by_group"),
    ("account", "by_distance"),
    ("post", "by_link"),
    ("stake", "by_score"),
    ("stake", "by_weight"),
]
NO_CHILD = 0xC0000000


def of_trees():
    rows = []
    for type, key in TREES:
        file, where = f"{type}.objects", f"{type} {key}"

        def at(id, by=0, type=type, key=key):
            return lambda of: of.links(type, key, id) + by

        for id in (0, 10, 19, 39):
            rows += [
                word(f"parent of {id}", file, at(id), lambda of, old: old + 2, where,
                     "its parent is", id),
                word(f"colour of {id}", file, at(id), lambda of, old: old ^ 1, where, ""),
            ]
            for by, side in ((4, "left"), (8, "right")):
                rows += [
                    word(f"{side} of {id} is the root", file, at(id, by), 0, where,
                         "reached already", id),
                    word(f"{side} of {id} is no object", file, at(id, by), 0x3FFFFFFF, where,
                         "which is not an object", id),
                    word(f"{side} of {id} is lost", file, at(id, by),
                         lambda of, old: NO_CHILD if old != NO_CHILD else None, where,
                         "not reached"),
                ]
            if type == "stake":
                rows.append(word(f"count of {id}", file, at(id, 12), lambda of, old: old + 1, where,
                                 "counts", id))
        rows += [
            word("header is black", file, at(None), lambda of, old: old ^ 1, where,
                 "header is black"),
            word("root is lost", file, at(None), 0x80000000, where, "not reached"),
            word("first object", file, at(None, 4), 0, where, "the first object"),
            word("last object", file, at(None, 8), 0, where, "the last object"),
        ]
    return rows


def of_keys():
    def at(type, id, name):
        return lambda of: of.field(type, id, name)

    def same_as(type, id, name):
        return lambda of, old: of.read(f"{type}.objects", of.field(type, id, name), "<Q")

    file = "account.objects"
    return [
        word("name out of order", file, at("account", 8, "name"), ord("z"), "account by_name",
             "comes before", format="<Q"),
        word("balance out of order", file, at("account", 8, "balance"), -7, "account by_balance",
             "comes before", format="<q"),
        word("group out of order", file, at("account", 8, "group"), 77, "account by_group",
             "comes before"),
        word("score out of order", "stake.objects", at("stake", 8, "score"), 1000, "stake by_score",
             "comes before", format="<q"),
        word("hash of another key", "post.objects", at("post", 8, "permlink"),
             same_as("post", 9, "permlink"), "post by_address", "hash of its key", 8, "<Q"),
        word("a key twice", file, at("account", 8, "name"), same_as("account", 9, "name"),
             "account by_name", "equal to that of", format="<Q"),
    ]


def of_tables():
    file, where = "account.0.hash", "account by_number"

    def entry(of, by=0):
        """Where the entry of account 20 is: a slot and a hash."""
        at = 8 << of.read("account.objects", of.table_words("account"))
        while of.read(file, at) != of.slot("account", 20):
            at += 8
        return at + by

    def words(of):
        return of.table_words("account")

    return [
        word("entry lost", file, entry, 0, where, "no entry", 20),
        word("empty entry with a hash", file, entry, 0, where, "an empty entry has a hash"),
        word("entry of no object", file, entry, 1 << 30, where, "which is not an object"),
        word("two entries of one", file, entry, lambda of, old: of.slot("account", 21), where,
             "has two entries", 21),
        word("another hash", file, lambda of: entry(of, 4), lambda of, old: old ^ 1, where,
             "the hash of its key", 20),
        word("not where a search begins", file, lambda of: entry(of, 4),
             lambda of, old: old ^ 0xFFFFFFFF, where, "a search that begins", 20),
        word("table too large", "account.objects", words, 40, where, "does not fit a file"),
        word("table too small", "account.objects", words, 3, where, "does not fit a file"),
        word("seed of the hashes", file, lambda of: ROOT, lambda of, old: old ^ 1, where,
             "the seed of its hashes is altered"),
        word("check of the seed", file, lambda of: ROOT + 16, lambda of, old: old ^ 1, where,
             "the seed of its hashes is altered"),
        word("count of entries", "account.objects", lambda of: words(of) + 4, 7, where,
             "are counted"),
        word("number is another", "account.objects", lambda of: of.field("account", 8, "number"), 1,
             where, "the hash of its key", 8, "<Q"),
    ]


def of_rings():
    file, where = "post.objects", "post by_author"

    def ring(of, by=0):
        return of.ring("post", "by_author", 10) + by

    def slot(id):
        return lambda of, old: of.slot("post", id)

    return [
        word("leads to no object", file, ring, 9999, where, "which is not an object", 10),
        word("leads to itself", file, ring, slot(10), where, "in another place", 10),
        # Of which object depends on the ring that is walked first, and that on the state's seed.
        word("leads to another ring", file, ring, slot(12), where, "in another place"),
        word("leaves one out", file, ring, slot(20), where, "the one before it", 20),
        word("object of another key", file, lambda of: of.field("post", 10, "author"),
             lambda of, old: of.read(file, of.field("post", 12, "author"), "<Q"), where,
             "another key", 10, "<Q"),
        word("the one before", file, lambda of: ring(of, 4), 0, where, "the one before it", 10),
    ]


def of_references():
    file, where = "post.objects", "post references"

    def handle(of, id, name="body"):
        return of.read(file, of.field("post", id, name), "<Q")

    def at(id, name):
        return lambda of: of.field("post", id, name)

    def row(name, field, value, words, object=8, id=8, where=where):
        return word(name, file, at(id, field), value, where, words, object, "<Q")

    return [
        row("highest bit", "body", lambda of, old: old ^ 1 << 63, "is not a buffer"),
        row("no bytes", "body", lambda of, old: old >> 32 << 32, "is not a buffer"),
        row("slot outside", "body", lambda of, old: old | 0x3FFF0000 << 32, "beyond the"),
        row("another object's", "body", lambda of, old: handle(of, 14), "another object refers to",
            14),
        row("an earlier object's", "body", lambda of, old: handle(of, 8), "another object refers to",
            14, 14),
        row("another object's run", "body", lambda of, old: handle(of, 7), "another object refers to",
            14, 14),
        row("no array of four bytes each", "votes", lambda of, old: old + 1,
            "are not a whole number of elements of 4 bytes"),
    ]


def of_log():
    where = "undo_log"

    def last_record(of):
        return of.read("undo_log", ROOT, "<Q") - 8

    return [
        *(
            word(name, "undo_log", ROOT + at, 3, where, "not within", format="<Q")
            for name, at in (("tail", 0), ("completed", 8), ("newest", 16), ("oldest", 24))
        ),
        word("chunks", "undo_log", ROOT + 52, 2**32 - 1, where, "chunks are in use"),
        # Of a session that was pushed: rolling back does not come there.
        word("last record", "undo_log", last_record, 2**64 - 1, where, "not the end of a record",
             format="<Q"),
    ]


def of_headers():
    return [
        word("bytes of windows", "header", 24, 4096, "header", "checksum is wrong", format="<Q"),
        word("neither closed nor open", "header", 36, 9, "header", "neither closed nor open"),
        word("catalogue", "catalogue.json", 60, 0, "header", "not valid JSON"),
        *(
            word(f"slot bytes of {name}", name, 16, 12345, "header", "checksum does not match")
            for name in ("undo_log", "buffers.16", "account.objects", "account.ids",
                         "account.0.hash")
        ),
    ]


WORDS = [
    *of_pool("account.objects", "account objects"),
    *of_pool("buffers.16", "buffers.16"),
    *of_pool("buffers.256", "buffers.256"),
    word("pointer to the pool", "account.objects", ROOT + 24, 7, "account objects",
         "container's link to its pool", format="<Q"),
    *of_runs(),
    *of_ids(),
    *of_trees(),
    *of_keys(),
    *of_tables(),
    *of_rings(),
    *of_references(),
    *of_log(),
    *of_headers(),
]


def findings(report):
    """(type, part, words, object, file, offset) of each, those within parts, too."""
    found = []

    def collect(part):
        for one in part["findings"]:
            found.append(
                (part["type"], part["name"], one["what"], one["object"], one["file"], one["offset"])
            )
        for inner in part["parts"]:
            collect(inner)

    for part in report["parts"]:
        collect(part)
    return found


@pytest.fixture(scope="module")
def damageable(session_scratch, samples):
    state = session_scratch / "words"
    shutil.copytree(samples("damageable"), state)
    claim(state)
    return Segment(state)


MASKS = {"<I": 2**32 - 1, "<Q": 2**64 - 1}


def check_of(inspect, of):
    return inspect("check", of.state, "--json", code=(0, 4)).json


def test_the_damageable_state_has_nothing_to_find(inspect, damageable):
    report = check_of(inspect, damageable)
    assert findings(report) == []
    assert report["sound"] is True
    assert report["condition"] == "writer_died"


@pytest.mark.parametrize("row", WORDS, ids=lambda row: f"{row.type} {row.part}: {row.name}")
def test_word(row, damageable, inspect):
    at = row.at(damageable)
    old = damageable.read(row.file, at, row.format)
    new = row.value(damageable, old)
    if new is None:
        return  # the tree happens to have no such child
    new &= MASKS.get(row.format, -1)
    assert new != old
    damageable.write(row.file, at, new, row.format)
    try:
        report = check_of(inspect, damageable)
    finally:
        damageable.write(row.file, at, old, row.format)
    found = findings(report)
    assert any(
        (type, part) == (row.type, row.part)
        and row.words in what
        and (row.object is None or object == row.object)
        for type, part, what, object, _, _ in found
    ), f"{row.file} at {at}: {old} -> {new}; found {found}"
    assert report["sound"] is False


IN_SEGMENT = 1 << 31  # of the upper half of a handle


def test_buffers_that_are_free_or_lost(damageable, inspect):
    """Handles made by hand: the length in bytes, which says the class, and the slot above it."""
    file = "post.objects"
    votes = damageable.field("post", 8, "votes")
    body = damageable.field("post", 8, "body")

    def handle(length, name):
        slot = damageable.read(name, ROOT)
        return struct.pack("<II", length, slot | IN_SEGMENT)

    for at, make, type, part, words in [
        (votes, lambda: handle(8, "buffers.16"), "post",
         "references", "the buffer is free"),
        (votes, lambda: handle(70_000, "buffers.runs"), "post",
         "references", "the buffer is free"),
        (votes, lambda: handle(2**32 - 1, "buffers.runs"),
         "post", "references", "beyond the"),
        (body, lambda: bytes(8), "", None, "nor used by an object"),
    ]:
        old = damageable.read(file, at, "<Q")
        write_at(damageable.file(file), at, make())
        found = findings(check_of(inspect, damageable))
        damageable.write(file, at, old, "<Q")
        assert any(
            one[0] == type and (part is None or one[1] == part) and words in one[2]
            for one in found
        ), (words, found)


# --- btree keys ---

# Words of a tree of 400 entries of 16 bytes, in levels of 60 entries and 24 separators: where, and what check says.
BTREE_WORDS = [
    ("live nodes", lambda of: ROOT + 8, "nodes in use"),
    ("length of keys", lambda of: ROOT + 12, "of keys of"),
    ("root", lambda of: ROOT + 16, ""),
    ("levels", lambda of: ROOT + 20, ""),
    ("first leaf", lambda of: ROOT + 24, "the first leaf"),
    ("last leaf", lambda of: ROOT + 28, "the last leaf"),
    ("entries", lambda of: ROOT + 32, "entries is"),
    ("count of a leaf", lambda of: of(24), ""),
    ("shared bits", lambda of: of(24) + 4, ""),
    ("a leaf's neighbour before", lambda of: of(24) + 8, "its neighbour"),
    ("a leaf's neighbour behind", lambda of: of(24) + 12, "its neighbour"),
    ("prefix", lambda of: of(24) + 16, "has other bits"),
    ("slice", lambda of: of(24, True), "has other bits"),
    ("slot", lambda of: of(24, True) + 4, ""),
    ("count of the root", lambda of: of(16), ""),
    ("level of the root", lambda of: of(16) + 6, ""),
    ("a child of the root", lambda of: of(16) + 16 + 2 * 24 * 8, ""),
]


@pytest.fixture(scope="module")
def flat(session_scratch):
    state = session_scratch / "flat"
    change(state, "holding", "create holding 400")
    return state


@pytest.mark.parametrize("name, where, words", BTREE_WORDS, ids=lambda one: str(one)[:30])
def test_an_altered_word_of_a_btree_key(name, where, words, flat, inspect):
    file = "segment/holding.0.btree"
    whole = (flat / file).read_bytes()

    def node(at_root, first_entry=False):  # what that word of the root leads to
        at = PAGE + 512 * struct.unpack_from("<I", whole, ROOT + at_root)[0]
        return at + 32 + 8 * struct.unpack_from("<HH", whole, at)[1] if first_entry else at

    altered = bytearray(whole)
    altered[where(node)] ^= 4
    (flat / file).write_bytes(altered)
    die(flat)  # else the sums of a closed state tell first
    found = findings(inspect("check", flat, "--json", code=(0, 4)).json)
    results = [inspect(*call, code=(0, 1)) for call in (
        ("range", flat, "holding", "by_symbol"), ("get", flat, "holding", "by_symbol", "symbol 7"))]
    (flat / file).write_bytes(whole)
    assert any(one[4] == file and words in one[2] for one in found), found
    assert all(one.code == 0 or "by_symbol" in one.err or "check" in one.err for one in results)
    assert findings(inspect("check", flat, "--json").json) == []


@pytest.mark.parametrize(
    "name", ["undo_log", "buffers.16", "account.objects", "account.ids", "account.0.hash"]
)
def test_files_that_are_missing_or_cut(name, damageable, inspect, scratch):
    file = damageable.file(name)
    shutil.move(file, scratch / "aside")
    found = findings(check_of(inspect, damageable))
    shutil.copy(scratch / "aside", file)
    assert any(one[4] == f"segment/{name}" for one in found), found
    for length in (PAGE + 100, PAGE):
        cut(file, length)
        assert findings(check_of(inspect, damageable)), length
    shutil.move(scratch / "aside", file)
    assert findings(check_of(inspect, damageable)) == []


def test_two_types_in_one_place(damageable, inspect):
    file = damageable.file("catalogue.json")
    text = file.read_text()
    at = text.rindex('"first_window": ')
    end = min(n for n in (text.find(",", at), text.find("\n", at)) if n > 0)
    file.write_text(text[:at] + '"first_window": 26' + text[end:])
    found = findings(check_of(inspect, damageable))
    file.write_text(text)
    assert any("is taken" in one[2] for one in found), found


def test_random_flips_are_survived_and_some_are_found(damageable, inspect, rng):
    names = sorted(one.name for one in damageable.folder.iterdir())
    found = 0
    for _ in range(operations(300)):
        flips = []
        for _ in range(rng.randint(1, 3)):
            name = rng.choice(names)
            at = 4 * rng.randrange(min(damageable.file(name).stat().st_size, 16384) // 4)
            old = damageable.read(name, at)
            flips.append((name, at, old))
            new = rng.getrandbits(32) if rng.random() < 0.3 else old ^ 1 << rng.randrange(32)
            damageable.write(name, at, new)
        result = inspect("check", damageable.state, code=None)
        assert result.code in (0, 1, 4), f"{flips}\n{result}"
        found += result.code != 0
        for name, at, old in reversed(flips):
            damageable.write(name, at, old)
    assert found > 0
    assert findings(check_of(inspect, damageable)) == []


# --- segments of other formats and programs: every verb ---


def replaced(name, old, new):
    return lambda state: segment.replace_in(state / name, old, new)


FOREIGN = {
    "an older format": header(format=1),
    "a newer format": header(format=1000),
    "another program's header": lambda state: write_at(
        state / "segment/header", 0, b"CHAINDB\0\x01\0\0\0"
    ),
    "an empty header": cut_to("segment/header", 0),
    "a header that was cut": cut_to("segment/header", 100),
    "a header of zeros": put("segment/header", bytes(PAGE)),
    "no header": remove("segment/header"),
    "a catalogue of another format": replaced(
        "segment/catalogue.json", b'"format": 1', b'"format": 0'
    ),
    "containers of another layout": replaced(
        "segment/catalogue.json", b'"container_layout": 1', b'"container_layout": 2'
    ),
    "a catalogue that is none": put("segment/catalogue.json", b"[]"),
    "a catalogue that is no JSON": put("segment/catalogue.json", b"\xff\xfe types"),
    "no catalogue": remove("segment/catalogue.json"),
    "another type's file": lambda state: (state / "segment/account.objects").write_bytes(
        (state / "segment/post.objects").read_bytes()
    ),
    "a window of another format": lambda state: write_at(
        state / "segment/account.ids", 8, b"\x07\x07\x07\x07"
    ),
    "a window that is none": put("segment/undo_log", b"log"),
    "no window": remove("segment/buffers.64"),
}

# Every verb that looks at a state, or tells what it would do. NEEDED: those that speak of the
# segment's inside, which they cannot do of any of these.
NEEDED = {
    "stat DIR",
    "stat DIR --watch --count 1",
    "get DIR account id 1",
    "range DIR account by_name",
    "sample DIR account",
    "dump DIR",
    "diff DIR DIR",
    "digest DIR",
    "top DIR --json --count 1 --interval 0.1",
    "compact DIR --dry-run",
    "resize DIR",
}
FOR_DAMAGE = {"repair DIR", "dump DIR --rescue"}
CALLS = sorted(NEEDED | FOR_DAMAGE) + [
    "info DIR",
    "map DIR",
    "tree DIR",
    "tree DIR --ncdu",
    "tree DIR --folded",
    "schema DIR",
    "count DIR account",
    "archive DIR",
    "check DIR",
    "check DIR --checkpoint",
    "undo DIR",
    "locks DIR",
    "warm DIR --dry-run",
    "root DIR",
]


def calls_of(state):
    for call in CALLS:
        yield call, call.replace("DIR", str(state)).split()


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_segment_is_told_by_every_verb_and_left_alone(kind, inspect, sample):
    state = sample("sample")
    FOREIGN[kind](state)
    before = content(state)
    for call, words in calls_of(state):
        said = inspect(*words, code=(0, 1, 2, 4) if call == "root DIR" else (0, 1, 4))
        assert said.code == 0 or said.err or said.out, said
        if call in FOR_DAMAGE:
            assert said.code != 0, said
        if call in NEEDED:
            said.expect(1)
            assert str(state) in said.err and ";" in said.err, said  # and what to do
        if call.startswith("dump") or "--ncdu" in call or "--folded" in call or "--json" in call:
            continue
        as_json = inspect(*words, "--json", code=None)
        assert as_json.code == said.code, as_json
        if as_json.out:
            assert as_json.json["schema_version"] == 1
    assert content(state) == before


def test_the_file_of_another_database_is_no_state_for_every_verb(inspect, scratch):
    state = scratch / "state"
    state.mkdir(0o700)
    (state / "shared_memory.bin").write_bytes(b"\x42" * 65536)
    before = content(state)
    for _, words in calls_of(state):
        assert str(state) in inspect(*words, code=1).err
    assert content(state) == before


def test_stat_names_the_damaged_file_and_changes_nothing(inspect, sample):
    for name in ("account.objects", "undo_log", "header", "catalogue.json"):
        state = sample("sample", name)
        write_at(state / "segment" / name, 8, b"\xff\xff\xff\xff")
        before = image(state)
        assert name in inspect("stat", state, code=1).err
        assert image(state) == before


def test_a_folder_that_is_no_state_is_told_with_what_to_do(inspect, scratch):
    (scratch / "file").write_text("not a folder")
    (scratch / "empty").mkdir()
    for folder in ("missing", "empty", "file"):
        for verb in ("stat", "info", "locks", "schema", "tree", "map", "check", "undo"):
            result = inspect(verb, scratch / folder, "--json", code=1)
            assert result.out == "", result
            assert str(scratch / folder) in result.err
        for verb in ("stat", "info", "locks", "schema", "undo"):
            inspect(verb, scratch / folder, code=1).says("check the path")
    assert not (scratch / "missing").exists()
