"""root: what it tells of a state root's tree is what the tree is, and damage to it is named."""

import shutil
import struct
from itertools import combinations

import pytest
from segment import NODE_CAPACITIES, Segment, Stay, change, flip_bit

TYPES = "account,post,token"


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


class Tree(Segment):
    """The nodes of a state root, read from its files alone (chainbase/state_root/node.hpp)."""

    def capacity(self, ref):
        return NODE_CAPACITIES[ref & 7]

    def name(self, ref):
        return f"state_root.nodes{self.capacity(ref)}"

    def text(self, ref):
        return f"{self.name(ref)} {ref >> 3}"

    def place(self, ref, offset=0):
        return self.value(self.name(ref), ref >> 3) + offset

    def get(self, ref, offset, format="<I"):
        return self.read(self.name(ref) + ".objects", self.place(ref, offset), format)

    def put(self, ref, offset, value, format="<I"):
        self.write(self.name(ref) + ".objects", self.place(ref, offset), value, format)

    def flip_node(self, ref, offset):
        flip_bit(self.file(self.name(ref) + ".objects"), 8 * self.place(ref, offset) + 3)

    def branches(self, ref):
        return self.get(ref, 4, "<H")

    def leaves(self, ref):
        return self.get(ref, 6, "<H")

    def references_at(self, ref):
        return 8 + 32 * self.capacity(ref)

    def types_at(self, ref):
        return self.references_at(ref) + 4 * self.capacity(ref)

    def groups_at(self, ref):
        return (self.types_at(ref) + 2 * self.capacity(ref) + 3) // 4 * 4

    def head(self, field, format="<I", index=0):
        at = self.field("state_root.tree", 0, field) + index * struct.calcsize(format)
        return self.read("state_root.tree.objects", at, format)

    def flip_head(self, field, by=0):
        at = self.field("state_root.tree", 0, field) + by
        flip_bit(self.file("state_root.tree.objects"), 8 * at + 3)

    def children(self, ref):
        """(place in the arrays, reference) of each child that is a node."""
        place = 0
        for digit in range(16):
            if self.branches(ref) >> digit & 1:
                if not self.leaves(ref) >> digit & 1:
                    yield place, self.get(ref, self.references_at(ref) + 4 * place)
                place += 1

    def walk(self, ref=None):
        """(parent, place, node) of every node but the root."""
        ref = self.head("root") if ref is None else ref
        for place, child in self.children(ref):
            yield ref, place, child
            yield from self.walk(child)

    def lowest(self):
        """(parent, place, node) of a node that has leaves alone."""
        return next(e for e in self.walk() if self.leaves(e[2]) == self.branches(e[2]))


@pytest.fixture
def rooted(sample):
    return sample("rooted")


@pytest.fixture
def tree(rooted):
    return Tree(rooted)


# --- what it tells ---


def ratio_of(nodes, sizes):
    """Bytes of arrays of these sizes, in terms of arrays of 16 places."""
    sizes = [*sizes, 16]
    fitting = [min(size for size in sizes if size >= children) for children in range(1, 17)]
    return sum(f * n for f, n in zip(fitting, nodes, strict=True)) / (16 * sum(nodes))


def test_it_tells_the_root_and_the_types_and_how_many_children_nodes_have(inspect, rooted):
    step(rooted, "session", "remove account 0 899 3", "block")  # some nodes become free
    (digest,) = step(rooted, "root")
    found = root(inspect, rooted)
    expected = {
        "schema_version": 1, "state": str(rooted), "root": digest, "revision": 2,
        "root_revision": 2, "current": True, "moved": False, "rolled_back": False, "objects": 700,
        "types": [{"name": "account", "objects": 600}, {"name": "post", "objects": 100}],
        "verified": None,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected

    of = Tree(rooted)
    refs = [of.head("root"), *(node for _, _, node in of.walk())]
    by_children, by_capacity = [0] * 16, dict.fromkeys(NODE_CAPACITIES, 0)
    for ref in refs:
        by_children[of.branches(ref).bit_count() - 1] += 1
        by_capacity[of.capacity(ref)] += 1
    told = found["tree"]
    assert told["nodes_by_children"] == by_children
    nodes = told["nodes"]
    assert nodes == len(refs)
    edges = sum((n + 1) * count for n, count in enumerate(by_children))
    assert edges == 700 + nodes - 1  # each leaf, and each node but the root, is one's child
    made = {one["name"]: one["next_id"] for one in inspect.json("stat", rooted)["types"]}
    for one in told["capacities"]:
        assert one["nodes"] == by_capacity[one["capacity"]]
        assert one["nodes"] + one["free"] == made[f"state_root.nodes{one['capacity']}"]
    assert [one["capacity"] for one in told["capacities"]] == NODE_CAPACITIES
    assert sum(one["free"] for one in told["capacities"]) > 0
    assert told["array_bytes_per_child"] == 38
    assert told["bytes"] == sum(c["node_bytes"] * c["nodes"] for c in told["capacities"])
    assert told["free_bytes"] == sum(c["node_bytes"] * c["free"] for c in told["capacities"])
    assert told["dense_bytes"] == nodes * 616
    per_object = (told["bytes"] + told["free_bytes"]) / 700
    assert told["bytes_per_object"] == pytest.approx(per_object)
    assert told["dense_ratio"] == pytest.approx(told["bytes"] / nodes / 616)
    inspect("root", rooted).says(f"root      {digest}", "current   yes", "the best 5", "in use")


def test_the_table_has_the_best_sizes_of_arrays_and_those_in_use(inspect, rooted):
    told = root(inspect, rooted)["tree"]
    nodes = told["nodes_by_children"]
    best = told["best_sizes"]
    assert len(best) == 6
    assert best[0] == {"sizes": [], "ratio": 1.0}
    for count in range(1, 6):
        least = min(ratio_of(nodes, sizes) for sizes in combinations(range(1, 16), count))
        assert best[count]["ratio"] == pytest.approx(least)
        assert ratio_of(nodes, best[count]["sizes"]) == pytest.approx(least)
        assert len(best[count]["sizes"]) == count
    in_use = told["sizes_in_use"]
    assert in_use["sizes"] == [2, 3, 5, 7, 8, 9, 11]
    assert in_use["ratio"] == pytest.approx(ratio_of(nodes, in_use["sizes"]))


def test_numbers_are_digits(inspect, rooted):
    for wrong in ("--limit -1", "--limit 0x10", "--threads 0", "--threads 1e3"):
        inspect("root", rooted, *wrong.split(), code=2)
    inspect("root", rooted, "--verify", "--limit", "010")


def test_without_objects_it_is_zeros(inspect, scratch):
    state = scratch / "state"
    step(state, "root")
    found = root(inspect, state, "--verify", code=0)
    assert (found["root"], found["objects"]) == ("0" * 64, 0)
    assert found["tree"]["nodes"] == 0
    assert (found["tree"]["bytes_per_object"], found["tree"]["dense_ratio"]) == (0, 1)
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
        inspect("root", rooted, *more, code=2).says("is turned off", "--state-root all")


def test_types_of_others_that_are_called_as_the_tree_are_told_and_are_content(inspect, scratch):
    state = scratch / "state"
    change(state, "state_root.tree", "create state_root.tree 1", "set state_root.tree 0 height 1")
    inspect("root", state, code=1).says(
        "state_root.tree has another layout (field ", "use the chainbase-inspect of the program"
    )
    before = inspect.json("digest", state)["digest"]
    change(state, "state_root.tree", "set state_root.tree 0 height 2")
    assert inspect.json("digest", state)["digest"] != before


def test_a_tree_that_was_not_made_completely_or_has_another_format_is_told(inspect, scratch, tree):
    change(scratch / "part", "head", "create head 1")
    inspect("root", scratch / "part", code=2).says(
        "has no state root yet", "state_root.types is missing", "open it with that program again"
    )
    tree.flip_head("format")
    inspect("root", tree.state, code=1).says(f"is of format {3 ^ 8}, this version knows 3")


def test_the_digest_of_a_state_is_the_same_with_and_without_a_root(inspect, rooted, scratch):
    change(scratch / "plain", TYPES, "create account 900", "create post 100", "create token 1")
    told = inspect.json("digest", rooted)
    assert told["digest"] == inspect.json("digest", scratch / "plain")["digest"]
    assert sum(one["why_not"] == "of the state root" for one in told["types"]) == 10


def test_states_of_the_same_content_and_another_history_are_no_different(
    inspect, rooted, scratch
):
    other = scratch / "other"
    blocks = ("session", "create account 300", "block") * 3
    step(other, *blocks, "session", "create post 100", "create token 1", "block")
    assert root(inspect, other)["root"] == root(inspect, rooted)["root"]
    inspect("diff", rooted, other, "--type", "account")
    inspect("diff", rooted, other, "--type", "state_root.nodes16", code=5)
    types = inspect("diff", rooted, other, "--json", code=(0, 5)).json["types"]
    assert not any("state_root" in one["name"] for one in types)


# --- --verify, of objects ---


def test_a_root_that_was_kept_is_sound(inspect, rooted):
    require_sound(inspect, rooted)
    found = verified(inspect, rooted)
    assert (found["objects"], found["archived_objects"]) == (1000, 0)
    assert found["nodes"] == root(inspect, rooted)["tree"]["nodes"]
    step(rooted, "session", "remove account 0 899 2", "set post 7 body changed", "block")
    require_sound(inspect, rooted)
    assert verified(inspect, rooted)["objects"] == 550
    inspect("root", rooted, "--verify", "--threads", "7")


def flip(of, type, id, name, by=0):
    flip_bit(of.file(type + ".objects"), 8 * (of.field(type, id, name) + by) + 3)


def test_a_bit_that_flipped_in_an_object_is_found_with_its_name(inspect, tree):
    state = tree.state
    flip(tree, "account", 17, "visits")
    inspect("root", state)
    inspect("check", state)  # it is a number like another
    text = inspect("root", state, "--verify", code=4).out
    assert (
        "account 17: its content is not what the root commits to\n"
        '    {"id":17,"name":"17","balance":0,"number":17,"group":3,"visits":8}\n'
    ) in text
    # The verdict first, then what is damaged, then all tables.
    verdict, object, table = map(text.index, ("damaged   1 other_content", "account 17: ", "child"))
    assert verdict < object < table
    found = verified(inspect, state)
    assert (found["sound"], found["faults"]) == (False, 1)
    fault = only(found, "other_content", "account")
    assert (fault["id"], fault["archived"], fault["row"]["visits"]) == (17, False, 8)


def test_a_flipped_bit_in_a_text_is_found_too(inspect, tree):
    text = b"nothing to say"
    for file in tree.folder.glob("buffers.*"):
        at = file.read_bytes().find(text)
        if at >= 0:
            flip_bit(file, 8 * (at + 7) + 1)
            break
    fault = only(verified(inspect, tree.state), "other_content", "post")
    assert fault["row"]["body"] == 'nothing"to say'


def test_an_object_that_cannot_be_read_is_named_and_all_others_are_looked_at(inspect, tree):
    flip(tree, "post", 41, "body", 3)  # leads to no buffer
    flip(tree, "account", 3, "visits")
    found = verified(inspect, tree.state)
    assert (found["faults"], found["objects"]) == (2, 1000)
    fault = only(found, "unreadable", "post")
    assert (fault["id"], fault["row"]) == (41, None)
    assert "body" in fault["what"]
    assert only(found, "other_content", "account")["id"] == 3


def test_what_the_tree_has_not_and_what_it_has_too_much_is_named(inspect, rooted):
    change(rooted, TYPES, "session", "tree_lacks account 23", "tree_leaf post 1234", "tree_noted",
           "block")
    found = verified(inspect, rooted)
    assert found["faults"] == 2
    missing = only(found, "not_in_root", "account")
    assert (missing["id"], missing["what"]) == (23, "in the state, not in the root")
    assert missing["row"]["number"] == 23
    extra = only(found, "not_in_state", "post")
    assert (extra["id"], extra["what"]) == (1234, "in the root, not in the state")
    assert extra["row"] is None
    inspect("root", rooted, "--verify", code=4)


def test_objects_that_were_removed_behind_the_root_are_named(inspect, rooted):
    change(rooted, TYPES, "session", "remove account 609 899 10", "tree_noted", "block")
    found = verified(inspect, rooted)
    assert found["faults"] == 30
    extra = named(found, "not_in_state")
    assert len(extra) == 20
    assert all(one["type"] == "account" and one["id"] % 10 == 9 for one in extra)


def test_of_each_kind_so_many_are_named_as_asked(inspect, tree):
    for n in range(30):
        flip(tree, "account", 10 * n, "visits")
    some = verified(inspect, tree.state)
    assert some["faults"] == 30
    assert [one["id"] for one in some["named"]] == [10 * n for n in range(20)]
    for limit, count in (("3", 3), ("0", 30)):
        found = root(inspect, tree.state, "--verify", "--limit", limit)["verified"]
        assert len(found["named"]) == count


def test_a_type_that_is_gone_is_told_with_its_objects(inspect, scratch):
    state = scratch / "state"
    change(state, "account", root="account", *["session", "create account 900", "block"])
    change(state, "account", "session", "tree_begin account,post", "tree_leaf post 4",
           "tree_noted", "block")
    found = verified(inspect, state)
    types = [one for one in named(found, "tree") if one["type"] == "state_root.types"]
    assert "a type post, which the state does not have" in types[0]["what"]
    assert only(found, "not_in_state", "post")["id"] == 4


# --- --verify, of nodes ---


def nodes_named(found, of, ref):
    """What is said of a node."""
    return [
        one["what"]
        for one in named(found, "node")
        if (one["type"], one["id"]) == (of.name(ref), ref >> 3)
    ]


def test_a_flipped_bit_in_the_digest_of_a_leaf_is_the_nodes(inspect, tree):
    parent, _, node = tree.lowest()
    tree.flip_node(node, 8 + 32 + 7)
    found = verified(inspect, tree.state)
    assert found["faults"] == 2
    fault = only(found, "node", tree.name(node))
    assert fault["id"] == node >> 3 and fault["row"] is None
    assert f"its digest is not the one that its parent, {tree.text(parent)}" in fault["what"]
    (other,) = named(found, "other_content")
    assert f"but {tree.text(node)}, which has its leaf, is damaged" in other["what"]


def test_a_flipped_bit_in_the_digest_of_a_node_is_found(inspect, tree):
    parent, place, node = tree.lowest()
    tree.flip_node(parent, 8 + 32 * place + 7)
    found = verified(inspect, tree.state)
    assert found["faults_by_kind"]["other_content"] == 0
    assert nodes_named(found, tree, node)
    assert found["sound"] is False


def test_a_flipped_bit_in_the_reference_of_a_node_is_found(inspect, tree):
    parent, place, node = tree.lowest()
    tree.flip_node(parent, tree.references_at(parent) + 4 * place + 2)
    found = verified(inspect, tree.state)
    assert found["faults_by_kind"]["not_in_root"] > 0
    assert "which does not exist" in named(found, "node")[0]["what"]
    assert "no node leads to it" in nodes_named(found, tree, node)


@pytest.mark.parametrize(
    "by, kinds, what",
    [
        (2, ["not_in_root", "not_in_state"], ""),
        (0, ["not_in_root", "node"], "of which there is another one"),
    ],
)
def test_a_flipped_bit_in_the_reference_of_a_leaf_is_found(inspect, tree, by, kinds, what):
    _, _, node = tree.lowest()
    tree.flip_node(node, tree.references_at(node) + by)
    found = verified(inspect, tree.state)
    assert found["faults"] == 2
    assert sorted(one["kind"] for one in found["named"]) == sorted(kinds)
    assert any(what in one["what"] for one in found["named"])


def test_a_flipped_bit_in_the_type_of_a_leaf_is_found(inspect, tree):
    _, _, node = tree.lowest()
    tree.flip_node(node, tree.types_at(node))
    found = verified(inspect, tree.state)
    assert len(named(found, "not_in_root")) == 1
    assert "of a type" in only(found, "node", tree.name(node))["what"]
    assert "(no type has the number " in inspect("root", tree.state).out


@pytest.mark.parametrize("offset", [4, 6])
def test_a_flipped_bit_in_the_branches_and_leaves_of_a_node_is_found(inspect, tree, offset):
    _, _, node = tree.lowest()
    tree.flip_node(node, offset)
    found = verified(inspect, tree.state)
    assert found["sound"] is False
    assert nodes_named(found, tree, node)
    inspect("root", tree.state)


@pytest.mark.parametrize("how", ["leaf", "children", "one object", "two parents", "free"])
def test_nodes_that_no_tree_has_are_named(inspect, tree, how):
    parent, place, node = tree.lowest()
    branches = tree.branches(node)
    free_digit = ~branches & (branches + 1)
    lowest = branches & -branches
    told = node
    if how == "leaf":
        tree.put(node, 6, branches | free_digit, "<H")
        expected = "it has a leaf at a digit that has no child"
    elif how == "children":
        tree.put(node, 4, 0xFFFF, "<H")
        expected = f"it has 16 children, and room for {tree.capacity(node)}"
    elif how == "one object":
        tree.put(node, 4, lowest, "<H")
        tree.put(node, 6, lowest, "<H")
        expected = "there is only one object below it, which needs no node"
    elif how == "two parents":
        told = next(n for _, _, n in tree.walk() if n != node and tree.branches(n) != branches)
        tree.put(parent, tree.references_at(parent) + 4 * place, told)
        expected = f"two nodes lead to it, one of them {tree.text(parent)}"
    else:
        tree.put(node, 4, 0, "<H")
        told = parent
        expected = f"it leads to {tree.text(node)}, which is free"
    found = verified(inspect, tree.state)
    assert any(what.endswith(expected) for what in nodes_named(found, tree, told)), found["named"]
    assert len(root(inspect, tree.state)["types"]) == 2


def test_a_flipped_bit_in_a_kept_group_is_found(inspect, tree):
    top = tree.head("root")
    assert tree.capacity(top) == 16  # of a thousand
    tree.flip_node(top, tree.groups_at(top) + 32 * 2 + 5)
    found = verified(inspect, tree.state)
    assert found["faults"] == 1
    what = only(found, "node", "state_root.nodes16")["what"]
    assert what == "the digest that it keeps of its digits 8 to 11 does not match them"


@pytest.mark.parametrize(
    "field, by, words",
    [
        ("digest", 3, "the root is not the digest of state_root.nodes16"),
        ("leaves", 0, "it says that the root commits to 992 objects; the nodes have 1000"),
        ("root", 3, "which is not one of its nodes"),
        ("free", 1, "its list of free nodes of 2 children leads to"),
    ],
)
def test_a_flipped_bit_in_the_head_is_found(inspect, tree, field, by, words):
    tree.flip_head(field, by)
    found = verified(inspect, tree.state)
    assert words in only(found, "tree", "state_root.tree")["what"]
    if field == "leaves":
        inspect("root", tree.state).says("call again with --verify")
    if field == "root":
        assert found["faults_by_kind"]["not_in_root"] == 1000
        assert len(named(found, "not_in_root")) == 20
    inspect("root", tree.state, "--verify", code=4)


@pytest.mark.parametrize("how", ["circle", "empty"])
def test_free_nodes_that_no_list_has_are_found(inspect, rooted, how):
    step(rooted, "session", "remove account 0 899 2", "block")
    require_sound(inspect, rooted)
    of = Tree(rooted)
    first = of.head("free")
    assert first > 0
    if how == "circle":
        ref = (first - 1) << 3
        of.put(ref, of.references_at(ref), first)
        words = ("its list of free nodes of 2 children leads to state_root.nodes2 ",
                 "or is in it twice")
    else:
        of.write("state_root.tree.objects", of.field("state_root.tree", 0, "free"), 0)
        words = ("its list of free nodes of 2 children has 0 of",)
    what = only(verified(inspect, rooted), "tree", "state_root.tree")["what"]
    assert all(one in what for one in words), what


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


def test_of_a_state_that_moves_there_is_the_root_of_a_moment_and_nothing_more(inspect, scratch):
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
            empty = [found["types"] == [], found["tree"] is None, found["verified"] is None]
            assert empty == [moved] * 3
            if moved:
                break
        assert moved
        for _ in range(20):
            text = inspect("root", state, "--verify", code=(0, 4, 6))
            text.says("root      ")
            if text.code == 6:
                text.says("objects   20,000\n", "its writer changed it each time")
                assert "children" not in text.both
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
    change(state, "note", "session", "tree_leaf note 2", "tree_noted", "block", archive=kind)
    fault = only(verified(inspect, state), "other_content", "note")
    assert (fault["id"], fault["archived"]) == (2, True)
    assert fault["row"]["title"] == "title 2"


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
