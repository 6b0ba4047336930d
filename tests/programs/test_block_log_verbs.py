"""chainbase-driver block-log: what its verbs print, what they say of damage, what they leave.

Logs are made by block_logs.py, from the description of the format alone.
"""

import functools
import hashlib
import signal
import struct
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import block_logs
import pytest
from block_logs import (Log, account, encode_block, sample_blocks, sealed, social, text,
                        written_by_another)
from chains import CHAINS, STEEM, carried_log


@pytest.fixture
def tool(driver):
    return functools.partial(driver, "block-log")


@pytest.fixture
def report(driver):
    return functools.partial(driver.json, "block-log")


def sha256_of(blocks):
    return hashlib.sha256(b"".join(text(encode_block(one)) for one in blocks)).hexdigest()


def shown(block):
    """As `print --operations` shows a block of a chain that nobody knows."""
    number, when, transactions = block
    return {
        "number": number,
        "time": when,
        "transactions": len(transactions),
        "operations": sum(map(len, transactions)),
        "content": [[{"hex": one.hex()} for one in part] for part in transactions],
    }


@pytest.fixture
def blocks_in(tool):
    """The blocks of a log, as print shows them."""
    return lambda log: tool("print", log, "--operations").json_lines


# --- damage: one table for all verbs ---


@dataclass
class Damage:
    """What happens to a log of twelve blocks, a record each, and what is then said of it.

    lost: the stretches from which no block can be had, as (first record, records), with a part of
    the reason. torn: the record at which a torn end begins. Readers come to the first of these;
    info and repair-index refuse what is damage, and take a log with a torn end.
    """

    name: str
    do: object
    lost: list = field(default_factory=list)
    torn: int = None
    says: str = ""
    mark: str = "is missing"
    unsynced: list = None  # invalid records behind the last sync, for salvage to leave out

    @property
    def is_good(self):
        """For readers, who leave a torn end out."""
        return not self.lost

    @property
    def is_cut(self):
        """No mark tells that the writer of this very file died there."""
        return self.torn is not None and self.unsynced is None

    def stretches(self):
        """(first record, records) of what is no record, as salvage tells them."""
        torn = [] if self.torn is None else [(self.torn, 12 - self.torn)]
        return self.unsynced or [one[:2] for one in self.lost] + torn


def cut_in_last_record(log):
    log.write(log.whole[: log.offsets[11] + 40])


def crashed(synced, *flipped):
    def do(log):
        log.mark_synced(synced)
        log.flip(*flipped)

    return do


DAMAGES = [
    Damage("nothing", lambda log: None),
    Damage("closed", lambda log: log.mark_synced(12, False), mark="fits the log: {size} bytes synced"),
    Damage("one record", lambda log: log.flip(3), lost=[(3, 1, "checksum")]),
    Damage("three records", lambda log: log.flip(3, 7, 8), lost=[(3, 1, "checksum"), (7, 2, "")]),
    Damage("first and last", lambda log: log.flip(0, 11), lost=[(0, 1, "")], torn=11),
    Damage("wrong end", lambda log: log.flip(11), torn=11),
    Damage("cut end", cut_in_last_record, torn=11),
    Damage(
        "end that was synced",
        crashed(12, 11),
        lost=[(11, 1, "it was synced")],
        mark="records {size} bytes synced, where no record ends",
    ),
    Damage(
        "power lost behind the mark",
        crashed(7, 8, 10),
        torn=8,
        unsynced=[(8, 1), (10, 1)],
        says="2 good blocks follow",
        mark="fits the log: {offset7} bytes synced, not closed",
    ),
    Damage(
        "damage in front of the mark",
        crashed(10, 8, 10),
        lost=[(8, 1, ""), (10, 1, "")],
        mark="fits the log: {offset10} bytes synced, not closed",
    ),
]


def runs_without(bad):
    """The first and the last of the records in a row, when these are bad."""
    good = [i for i in range(12) if i not in bad]
    begins = [i for i in good if i - 1 not in good]
    return list(zip(begins, [i for i in good if i + 1 not in good]))


def check_verify(log, damage, found):
    size = log.path.stat().st_size
    assert found["good"] == (damage.is_good and not damage.is_cut)
    assert (found["cut"] is not None) == damage.is_cut
    assert found["lost_count"] == len(damage.lost) == len(found["lost"])
    bad = set() if damage.torn is None else set(range(damage.torn, 12))
    for (first, records, reason), one in zip(damage.lost, found["lost"]):
        after = first + records
        assert one["offset"] == log.offsets[first]
        assert one["bytes"] == log.offsets[after] - one["offset"]
        assert one["block_before"] == (log.number(first - 1) if first else None)
        assert one["block_after"] == (log.number(after) if after < 12 else None)
        assert reason in one["reason"]
        bad |= set(range(first, after))
    if damage.torn is None:
        assert found["torn_end"] is None
    else:
        assert found["torn_end"]["offset"] == log.offsets[damage.torn]
        assert found["torn_end"]["bytes"] == size - log.offsets[damage.torn]
        assert damage.says in found["torn_end"]["reason"]
    assert found["blocks"] == found["records"] == 12 - len(bad)
    assert [(one["first"], one["last"]) for one in found["survives"]] == [
        (log.number(first), log.number(last)) for first, last in runs_without(bad)
    ]
    offsets = {f"offset{i}": offset for i, offset in enumerate(log.offsets)}
    assert found["mark"] == damage.mark.format(size=log.offsets[12], **offsets)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.name)
def test_damage(damage, tool, report, blocks_in, scratch, rng):
    log = Log(scratch / "log", sample_blocks(12, rng))
    damage.do(log)
    content = log.path.read_bytes()
    code = 0 if damage.is_good else 1
    verified = 1 if damage.is_cut else code
    check_verify(log, damage, report("verify", log, code=verified))
    said = tool("verify", log, code=verified).out
    assert ("NOT GOOD" in said) == (verified == 1)
    assert ("salvage" in said) == (not damage.is_good)
    assert ("the log is cut" in said) == damage.is_cut

    # Readers stop at the first place that is no record, and name it.
    first_bad = min([one[0] for one in damage.lost] + [12 if damage.torn is None else damage.torn])
    info = tool("info", log, "--json", code=code)
    printed = report("print", log, "--operations", code=code) if damage.is_good else None
    copied = tool("trim", log, "--to", scratch / "copy", code=code)
    repaired = tool("repair-index", log, "--json", code=code)
    if damage.is_good:
        assert info.json["blocks"] == first_bad and info.json["index"] == "is missing"
        assert info.json["torn_bytes"] == len(content) - log.offsets[first_bad]
        assert printed["blocks"] == [shown(one) for one in log.blocks[:first_bad]]
        assert blocks_in(scratch / "copy") == printed["blocks"]
        assert report("digest", log)["sha256"] == sha256_of(log.blocks[:first_bad])
        assert repaired.json["blocks"] == first_bad and repaired.json["changed"]
        assert report("info", log)["index"] == "fits the log"
    else:
        for refused in (info, copied, repaired):
            assert f"byte {log.offsets[first_bad]}" in refused.err
            assert str(log) in refused.err and "good copy" in refused.err
        assert not log.index.exists()
        assert not (scratch / "copy").exists() and not (scratch / "copy.unfinished").exists()

    stretches = damage.stretches()
    bad = {i for first, records in stretches for i in range(first, first + records)}
    # What is good is saved: all before the first damage, or each stretch in a log of its own.
    saved = tool("salvage", log, "--to", scratch / "saved", "--json", code=0 if first_bad else 2)
    if first_bad:
        assert blocks_in(scratch / "saved") == [shown(one) for one in log.blocks[:first_bad]]
        assert report("verify", scratch / "saved")["mark"].startswith("fits the log")
        assert not (scratch / "saved.unfinished.synced").exists()
        for (first, records), one in zip(stretches[:1], saved.json["lost"], strict=True):
            after = first + records
            assert one["block_after"] == (log.number(after) if after < 12 else None)
            left = max(0, len(content) - log.offsets[after])
            assert saved.json["left_bytes"] == left
            said = tool("salvage", log, "--to", scratch / "again").out
            assert ("--to-folder" in said) == (left > 0)
    else:
        assert "--to-folder" in saved.err and not (scratch / "saved").exists()
    pieces = report("salvage", log, "--to-folder", scratch / "pieces")
    assert pieces["lost_count"] == len(stretches)
    assert [blocks_in(one["path"]) for one in pieces["logs"]] == [
        [shown(one) for one in log.blocks[first : last + 1]] for first, last in runs_without(bad)
    ]
    assert log.path.read_bytes() == content


def test_a_log_that_is_cut_anywhere_is_told_as_cut_and_is_no_damage(report, scratch, rng):
    log = Log(scratch / "log", sample_blocks(12, rng))
    for size in range(log.offsets[11] + 1, log.offsets[12], 9):
        log.write(log.whole[:size])
        found = report("verify", log, code=1)
        torn = found["torn_end"]
        assert torn["bytes"] == size - log.offsets[11]
        assert found["lost_count"] == 0
        assert f"{log.path} is whole up to byte {log.offsets[11]}, " in found["cut"]
        assert report("info", log)["torn_bytes"] == torn["bytes"]


def test_a_log_shorter_than_its_mark_tells_is_cut(report, scratch, rng):
    log = Log(scratch / "log", sample_blocks(12, rng))
    log.mark_synced(12, is_open=False)
    log.write(log.whole[: log.offsets[9]])
    found = report("verify", log, code=1)
    assert str(log.mark) in found["cut"] and f"{log.offsets[12]} bytes" in found["cut"]


def test_a_log_that_its_writer_died_with_or_is_writing_is_not_cut(report, scratch, rng):
    log = Log(scratch / "log", sample_blocks(12, rng))
    cut_in_last_record(log)
    with written_by_another(log.path):
        assert report("verify", log)["good"]
    assert not report("verify", log, code=1)["good"]
    log.mark_synced(11)
    found = report("verify", log)
    assert found["good"] and found["torn_end"]["offset"] == log.offsets[11]


def test_an_end_that_the_index_knows_as_complete_is_damage_and_the_witness_is_kept(
    tool, report, scratch, rng
):
    log = Log(scratch / "log", sample_blocks(12, rng))
    report("repair-index", log)
    index = log.index.read_bytes()
    log.flip(11)
    found = report("verify", log, code=1)
    assert found["torn_end"] is None and "index" in found["lost"][0]["reason"]
    tool("repair-index", log, code=1)  # it would remove the only witness
    assert log.index.read_bytes() == index
    tool("info", log, code=1).says(str(log.index), f"byte {log.offsets[11]}")


def test_an_index_is_built_anew_when_it_is_missing_damaged_foreign_old_or_wrong(
    tool, report, scratch, rng
):
    blocks = sample_blocks(12, rng)
    log, short = Log(scratch / "log", blocks), Log(scratch / "short", blocks[:5])
    assert report("repair-index", log)["before"] == "is missing"
    good = log.index.read_bytes()
    assert not report("repair-index", log)["changed"]
    report("repair-index", short)
    # One that readers would believe: the fifth record's offset is another, the checksum is right.
    wrong = bytearray(good[:-8])
    wrong[56 + 24 * 4] += 1
    flipped = good[:70] + bytes([good[70] ^ 1]) + good[71:]
    for bad in (b"", flipped, good[:80], short.index.read_bytes(), sealed(bytes(wrong))):
        log.index.write_bytes(bad)
        misleads = bad == sealed(bytes(wrong))
        found = report("verify", log, code=1 if misleads else 0)
        assert ("readers trust it" in found["index"]) == misleads
        assert found["lost_count"] == 0 and found["good"] == (not misleads)
        if misleads:
            tool("print", log, code=1)
        repaired = report("repair-index", log)
        assert repaired["changed"] and repaired["records"] == repaired["blocks"] == 12
        assert log.index.read_bytes() == good
        assert report("verify", log)["index"] == "fits the log"
    assert log.path.read_bytes() == log.whole


def test_a_record_out_of_order_or_with_other_blocks_than_it_states_is_lost_the_rest_is_not(
    report, scratch, rng
):
    log = Log(scratch / "log", sample_blocks(12, rng))
    one = log.records
    forged = block_logs.record([log.blocks[1]], last=log.number(1) + 1)
    head = log.whole[:64]
    # what the log is, and of each lost stretch the reason and the block after it
    cases = [
        (
            [one[0], forged, one[5], one[2], one[6]],
            [("ends with block", log.number(5)), ("out of order", log.number(6))],
        ),
        (
            [one[5], one[1], one[2], one[6]],
            [("out of order", log.number(6)), ("out of order", log.number(6))],
        ),
        ([one[5], one[1], one[2]], [("out of order", None), ("out of order", None)]),
    ]
    for i, (records, expected) in enumerate(cases):
        log.write(head + b"".join(records))
        found = report("verify", log, code=1)
        assert found["blocks"] == len(records) - 2
        assert [one["block_after"] for one in found["lost"]] == [after for _, after in expected]
        for lost, (reason, _) in zip(found["lost"], expected):
            assert reason in lost["reason"]
        saved = report("salvage", log, "--to", scratch / f"to{i}")
        assert saved["lost"][0]["block_after"] == expected[0][1]
        pieces = report("salvage", log, "--to-folder", scratch / f"pieces{i}")
        assert [one["block_after"] for one in pieces["lost"]] == [after for _, after in expected]


def seeming_records(count, size):
    """Bytes of which so many stretches look like a record of about that size, and none is one."""
    out = bytearray(b"\x7f" * (count * 48 + size))
    trailers = count * 32 + size
    for i in range(count):
        begin, end = i * 32, trailers + (i + 1) * 16
        whole = end - begin
        out[begin : begin + 32] = block_logs.RECORD_HEADER.pack(
            b"\x8d\xe2CR", whole - 48, 100, 1, 7, 7
        )
        out[end - 16 : end] = struct.pack("<I4sQ", whole, b"\x8d\xe2CE", 0)
    return bytes(out)


def test_a_log_made_to_be_searched_without_end_is_told_as_such_and_its_beginning_saved(
    report, blocks_in, scratch, rng
):
    log = Log(scratch / "log", sample_blocks(12, rng))
    log.write(log.whole + b"?" + seeming_records(1000, 1 << 16))
    found = report("verify", log, code=1)
    assert found["blocks"] == 12 and found["torn_end"] is None
    assert "not searched to the end" in found["lost"][0]["reason"]
    report("salvage", log, "--to", scratch / "to")
    assert blocks_in(scratch / "to") == [shown(one) for one in log.blocks]


def test_no_tool_takes_what_is_no_block_log(tool, scratch, rng):
    log = Log(scratch / "altered", sample_blocks(3, rng))
    log.write(log.whole[:20] + bytes([log.whole[20] ^ 1]) + log.whole[21:])
    (scratch / "text").write_text("this is no block log, but long enough for a header of one......")
    for path in (log, scratch / "text", scratch / "missing", scratch):
        for call in (
            ["info", path],
            ["print", path],
            ["verify", path],
            ["digest", path],
            ["repair-index", path],
            ["trim", path, "--to", scratch / "saved"],
            ["salvage", path, "--to", scratch / "saved"],
            ["split", path, "--every", "2", "--to-folder", scratch / "saved"],
            ["merge", path, "--to", scratch / "saved"],
        ):
            tool(*call, code=1).says(str(path))
    assert not (scratch / "saved").exists()


# --- what a log is ---


@pytest.mark.parametrize("chain", CHAINS)
def test_the_projects_logs(chain, report, scratch):
    log = carried_log(chain, scratch)
    info = report("info", log, "--count")
    assert (info["chain"], info["format"]) == (chain, 1)
    assert (info["blocks"], info["operations"]) == (chain.blocks, chain.operations)
    assert info["bytes"] == log.stat().st_size and info["index"] == "is missing"
    assert info["first"]["number"] < info["last"]["number"]
    assert not Path(f"{log}.index").exists()
    verified = report("verify", log, "--operations")
    assert verified["good"] and verified["operations_checked"]
    assert verified["operations"] == chain.operations

    pieces = report("split", log, "--every", "30000", "--to-folder", scratch / "pieces")["logs"]
    merged = report(
        "merge", "--to", scratch / "merged", "--allow-gaps", *(one["path"] for one in pieces)
    )
    assert merged["logs"][0]["blocks"] == chain.blocks
    expected = report("digest", log)
    assert expected["operations"] == chain.operations
    assert report("digest", scratch / "merged") == expected


def test_the_digest_is_of_the_blocks_however_they_are_packed(report, scratch, rng):
    blocks = sample_blocks(60, rng)
    for i, in_record in enumerate((1, 7, 60)):
        log = Log(scratch / str(i), blocks, blocks_in_record=in_record)
        found = report("digest", log)
        assert found["sha256"] == sha256_of(blocks)
        assert (found["blocks"], found["first"]) == (60, blocks[0][0])
        part = report("digest", log, "--from", blocks[5][0], "--stop-at", blocks[9][0])
        assert part["sha256"] == sha256_of(blocks[5:10])
    number, when, transactions = blocks[30]
    for other in ((number, when + 1, transactions), (number, when, transactions + [[]])):
        changed = Log(scratch / "changed", blocks[:30] + [other] + blocks[31:])
        assert report("digest", changed)["sha256"] != sha256_of(blocks)


def test_times_that_no_calendar_has_are_told_as_they_are(tool, scratch):
    log = Log(scratch / "log", [(1, -(2**63), []), (2, 2**63 - 1, [])])
    tool("info", log).says(str(-(2**63)), str(2**63 - 1))


# --- print ---


def test_every_kind_of_operation_is_printed_in_its_transaction(tool, scratch):
    operations = [
        account("alice"),
        social("comment", "alice", "p", "", "cat", 1, 2, 3, 4, 5, 6, 7),
        social("vote", "bob", "alice", "p", -3, 300),
        social("custom", "bob", "follow", b"\x01"),
        social("deposit", "alice", 70),
        social("transfer", "alice", "bob", 30, "memo"),
        social("claim", "alice"),
        social("comment_delete", "alice", "p"),
    ]
    parts = [[one] for one in operations]
    parts[0].append(operations[1])
    log = Log(scratch / "log", [(7, 1458835200, parts), (8, 1458835203, [])], "social")
    first, second = tool("print", log, "--operations").json_lines
    assert {**first, "content": None} == {
        "number": 7,
        "time": 1458835200,
        "transactions": 8,
        "operations": 9,
        "content": None,
    }
    content = first["content"]
    assert len(content[0]) == 2
    assert [part[0]["kind"] for part in content] == list(block_logs.SOCIAL)
    assert content[5] == [
        {"kind": "transfer", "from": "alice", "to": "bob", "amount": 30, "memo": "memo"}
    ]
    assert content[3][0]["payload"] == "01"
    assert second == {
        "number": 8,
        "time": 1458835203,
        "transactions": 0,
        "operations": 0,
        "content": [],
    }


def test_print_keeps_to_its_range_and_limit_also_as_one_object(tool, report, scratch, rng):
    log = Log(scratch / "log", sample_blocks(30, rng), blocks_in_record=8)
    first, last = log.number(5), log.number(9)
    lines = tool("print", log, "--from", first, "--stop-at", last).json_lines
    assert [one["number"] for one in lines] == [one[0] for one in log.blocks[5:10]]
    assert "content" not in lines[0]
    some = report("print", log, "--from", first, "--limit", "3", "--operations")
    assert some["chain"] == "sample-chain"
    assert some["blocks"] == [shown(one) for one in log.blocks[5:8]]
    assert tool("print", log, "--limit", "0").out == ""
    assert report("print", log, "--limit", "0")["blocks"] == []
    tool("print", log, "--from", "-1", code=2)


def test_an_operation_that_does_not_decode_is_told_with_its_place_and_fails_the_call(
    tool, report, scratch
):
    good = account("alice")
    blocks = [(5, 0, [[good], [good, b"\x63"]]), (6, 0, [[good]])]
    log = Log(scratch / "log", blocks, "steem-2016")
    printed = tool("print", log, "--operations", code=1).says("1 operations do not decode")
    operation = printed.json_lines[0]["content"][1][1]
    assert operation["hex"] == "63" and isinstance(operation["fault"], str)
    tool("verify", log)
    found = report("verify", log, "--operations", code=1)
    assert (found["lost_count"], found["fault_count"], found["operations"]) == (0, 1, 4)
    assert "block 5, transaction 2 of 2, operation 2 of 2" in found["faults"][0]
    unknown = Log(scratch / "other", blocks)
    tool("verify", unknown, "--operations", code=2)


def test_what_print_gave_before_damage_is_whole(tool, scratch, rng):
    log = Log(scratch / "log", sample_blocks(10, rng))
    tool("repair-index", log)
    log.flip(4)
    printed = tool("print", log, "--json", code=1).json
    assert printed["ended"] == "damaged"
    assert [one["number"] for one in printed["blocks"]] == [one[0] for one in log.blocks[:4]]
    tool("digest", log, code=1)


def test_print_that_is_interrupted_ends_with_a_whole_block(driver, scratch):
    log = carried_log(STEEM, scratch)
    printing = driver.start("block-log", "print", log, "--operations", "--json")
    printing.wait_for(".")
    result = printing.interrupt()
    assert result.json["blocks"]
    if result.code == 3:
        assert result.json["ended"] == "interrupted"
    else:
        result.expect(0)


# --- logs of logs ---


def test_what_lies_wholly_inside_a_cut_is_copied_without_being_packed_anew(tool, scratch, rng):
    log = Log(scratch / "log", sample_blocks(60, rng), blocks_in_record=6)  # stored, as no tool does
    tool("trim", log, "--to", scratch / "copy")
    assert (scratch / "copy").read_bytes() == log.whole
    tool("merge", log, "--to", scratch / "merged")
    assert (scratch / "merged").read_bytes() == log.whole
    tool("trim", log, "--to", scratch / "cut", "--stop-at", log.number(8))
    assert (scratch / "cut").read_bytes().startswith(log.whole[: log.offsets[1]])


def test_pieces_that_overlap_or_leave_a_gap_are_refused_with_their_numbers(tool, scratch):
    log = Log(scratch / "log", [(number, 0, []) for number in range(1, 31)], blocks_in_record=7)

    def cut(name, first, last):
        tool("trim", log, "--to", scratch / name, "--from", first, "--stop-at", last)
        return scratch / name

    first, after = cut("first", 1, 10), cut("next", 11, 20)
    later, last = cut("later", 15, 30), cut("last", 22, 30)
    empty, other = Log(scratch / "empty", []), Log(scratch / "other", [(50, 0, [])], "other-chain")
    to = scratch / "merged"

    def refused(*logs):
        result = tool("merge", *logs, "--to", to, code=2)
        assert not to.exists()
        return result

    refused(later, first, after).says("overlap from block 15 to 20", str(after))
    refused(first, first).says("overlap from block 1 to 10")
    refused(first, after, last).says("21 to 21 are missing", "--allow-gaps")
    refused(first, other).says("other-chain", "sample-chain")
    refused(empty)
    made = tool("merge", last, empty, after, first, "--allow-gaps", "--to", to, "--json").json
    assert made["logs"][0]["blocks"] == 29
    tool("merge", first, after, "--to", to, code=2).says("exists already")


def test_a_split_that_cuts_nothing_off_or_into_a_folder_that_exists_is_refused(
    tool, report, scratch, rng
):
    log = Log(scratch / "log", sample_blocks(10, rng))
    pieces, leftover = scratch / "pieces", scratch / "pieces.unfinished"
    for at in (log.number(0), log.number(9) + 1, 0):
        tool("split", log, "--to-folder", pieces, "--at", at, code=2).says(
            f"nothing is split at {at}"
        )
    assert not pieces.exists() and not leftover.exists()
    empty = Log(scratch / "empty", [])
    tool("split", empty, "--to-folder", scratch / "other", "--every", 3, code=2)
    # What an interrupted split left behind is replaced, what somebody else put there is not.
    leftover.mkdir()
    half = leftover / "from-0000001000.blocks.unfinished"
    half.write_text("half")
    (leftover / "notes").write_text("mine")
    tool("split", log, "--to-folder", pieces, "--every", 3, code=(1, 2)).says("notes")
    assert half.exists()
    (leftover / "notes").unlink()
    assert len(report("split", log, "--to-folder", pieces, "--every", 3)["logs"]) == 4
    assert not leftover.exists()
    tool("split", log, "--to-folder", pieces, "--every", 3, code=2).says("exists already")


def test_the_numbers_to_split_at_are_told_one_by_one_or_with_commas(tool, report, scratch, rng):
    log = Log(scratch / "log", sample_blocks(10, rng))
    third, sixth = log.number(3), log.number(6)
    for name, at in (("a", ["--at", third, "--at", sixth]), ("b", ["--at", f"{third},{sixth}"])):
        made = report("split", *at, log, "--to-folder", scratch / name)["logs"]
        assert [one["first"] for one in made] == [log.number(0), third, sixth]
    tool("split", log, "--to-folder", scratch / "c", "--at", third, sixth, code=2)


def test_killed_in_the_middle_of_a_split_no_folder_of_that_name_exists_and_the_call_goes_on(
    driver, tool, scratch
):
    part, made = scratch / "part", scratch / "made"
    unfinished = scratch / "made.unfinished"
    whole = carried_log(STEEM, scratch)
    tool("trim", whole, "--to", part, "--stop-at", 30000)
    call = ["block-log", "split", part, "--every", 400, "--to-folder", made, "--json"]

    def stopped_by(number):
        splitting = driver.start(*call)
        while splitting.is_running and (
            not unfinished.exists() or sum(1 for _ in unfinished.iterdir()) <= 3
        ):
            time.sleep(0.001)
        splitting.signal(number)
        return splitting.wait(None)

    stopped = stopped_by(signal.SIGTERM).expect(3).says("interrupted while copying")
    assert stopped.out == "" and not made.exists() and not unfinished.exists()
    stopped_by(signal.SIGKILL).expect(-signal.SIGKILL)
    assert not made.exists() and unfinished.exists()
    assert len(driver(*call).json["logs"]) == 75
    assert made.exists()


# --- calls ---


def test_calls_that_do_not_fit_together_are_wrong_calls(tool, scratch, rng):
    log, to = Log(scratch / "log", sample_blocks(10, rng)), scratch / "to"
    for call in (
        [],
        ["info"],
        ["split", log, "--to-folder", to],
        ["split", log, "--to-folder", to, "--at", "1001", "--every", "3"],
        ["split", log, "--to-folder", to, "--every", "0"],
        ["split", log, "--to-folder", to, "--at", "1"],
        ["merge", "--to", to],
        ["merge", log, log, "--to", to],
        ["merge", log, "--to", log],
        ["trim", log, "--to", log],
        ["trim", log, "--to", to, "--from", "20", "--stop-at", "10"],
        ["digest", log, "--from", "20", "--stop-at", "30"],
        ["print", log, "--from", "20", "--stop-at", "30"],
        ["print", log, "--from", "20000", "--json"],
        ["salvage", log],
        ["salvage", log, "--to", log],
        ["salvage", log, "--to", to, "--to-folder", to],
    ):
        tool(*call, code=2)
    assert log.path.read_bytes() == log.whole
    assert not to.exists()


@pytest.mark.parametrize("verb", ["info", "verify", "digest", "print"])
def test_a_report_that_stdout_does_not_take_is_a_failure(verb, driver, scratch, rng):
    log = Log(scratch / "log", sample_blocks(10, rng))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [driver, "block-log", verb, log], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert ("the work itself is done" in done.stderr) == (verb != "print")
