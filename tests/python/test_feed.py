"""The change feed, roots and proofs."""

import time

import chainbase
import pytest
from forked_nodes import forked_node
from segment import Segment, make


@pytest.fixture
def node(driver, inspect, scratch, seed):
    return forked_node(driver, inspect, scratch, seed, 100)


def apply(entry, objects):
    for change in entry.changes:
        if change.type != "account":
            continue
        assert objects.get(change.id) == change.before
        if change.after is None:
            del objects[change.id]
        else:
            objects[change.id] = change.after


def begin(state, name):
    """A new cursor; the node begins to write its feed a moment later."""
    feed = state.feed(cursor=name)
    for _ in range(100):
        try:
            return feed, feed.begin()
        except (chainbase.BusyError, chainbase.TooOldError):
            time.sleep(0.05)
    raise AssertionError("the node does not write its feed")


def test_entries_lead_from_a_block_to_the_end(node, inspect):
    node.be_at_work()
    with chainbase.open(node.state) as state:
        feed, block = begin(state, "mirror")
        with block:
            objects = {row.id: row for row in block["account"]}
            at = block.revision
        assert not feed.is_new and feed.revision == at
        kinds = {"block": 0, "pop": 0, "irreversible": 0}
        while node.running.is_running:
            for entry in feed:
                kinds[entry.kind] += 1
                apply(entry, objects)
            feed.keep()
            time.sleep(0.01)
        for entry in feed.follow(timeout=0.5):
            kinds[entry.kind] += 1
            apply(entry, objects)
        feed.keep()
        position = feed.position
    node.finish()
    assert kinds["block"] > 0 and kinds["irreversible"] > 0
    with chainbase.open(node.state) as state:
        assert objects == {row.id: row for row in state["account"]}
        again = state.feed(cursor="mirror")
        assert again.next() is None and again.position == position and not again.is_new
        again.go_to(position)
        assert again.revision <= state.revision
        kept = [entry for entry in state.feed(from_revision=state.revision) if entry.kind == "block"]
        assert [entry.revision for entry in kept][-1:] == [state.revision]


def test_a_feed_that_nobody_writes(scratch):
    state = make("sample", scratch / "state")
    with chainbase.open(state) as opened:
        with pytest.raises(chainbase.UsageError, match="nobody follows"):
            opened.feed(from_revision=1)
        feed = opened.feed(cursor="one")
        assert feed.is_new
        with pytest.raises(chainbase.UsageError, match="begin_at|not begun"):
            feed.next()
        with pytest.raises(chainbase.BusyError, match="no node writes it"):
            feed.begin()


def test_proofs(inspect, samples):
    state = samples("rooted")
    root = bytes.fromhex(inspect.json("root", state)["root"])
    with chainbase.open(state) as opened:
        assert opened.root.digest == root and opened.root.is_current
        assert opened.root.objects == sum(opened.root.types.values())
        with opened.at_block() as block:
            for type in block.root.types:
                for row in list(block[type])[:5]:
                    proof = block.prove(type, row.id)
                    assert proof.verify(root) == "included" == chainbase.verify(proof, root.hex())
                    assert block[type].row(proof.record) == row
                    forged = bytearray(proof.record)
                    forged[-1] ^= 1
                    assert proof._replace(record=bytes(forged)).verify(root) == "invalid"
                    assert proof._replace(id=row.id + 1).verify(root) == "invalid"
                    assert proof._replace(record=None).verify(root) == "invalid"
                    assert proof._replace(path=proof.path[:-1]).verify(root) == "invalid"
                    assert proof.verify(bytes(32)) == "invalid"
                missing = block.prove(type, 10**6)
                assert missing.record is None and missing.verify(root) == "excluded"
            with pytest.raises(chainbase.UsageError, match="does not commit to objects of nothing"):
                block.prove("nothing", 1)
        assert opened.prove(type, 0).verify(root) == "included"
        with pytest.raises(chainbase.UsageError, match="32 bytes|no root"):
            missing.verify("00")
        with pytest.raises(chainbase.UsageError, match="no root"):
            missing.verify("zz" * 32)
    with chainbase.open(samples("sample")) as opened:
        with pytest.raises(chainbase.UsageError, match="keeps no state root"):
            opened.prove("account", 0)


def test_objects_that_are_not_those_of_the_root_prove_nothing(sample):
    state = sample("rooted")
    segment = Segment(state)
    segment.flip("account.objects", segment.value("account", 3) + 24)
    with chainbase.open(state) as opened:
        with pytest.raises(chainbase.DamagedError, match="not those that its root commits to"):
            opened.prove("account", 3)
