"""The contract of chainbase-bench: the rows and keys of each report, and how a call ends. Figures
are checked for being figures, never for being fast. That the engines come to the same states is
checked by the program itself."""

import math
import os
import subprocess

import block_logs
import pytest
from block_logs import Log, social

# --- reports ---


def by_engine(rows, least=0):
    """The operations of each engine, once each; every figure is one."""
    found = {}
    for row in rows:
        assert math.isfinite(row["value"]) and row["value"] >= least, row
        operations = found.setdefault(row["engine"], set())
        assert row["operation"] not in operations, row
        operations.add(row["operation"])
    return found


@pytest.fixture
def report(bench):
    """report("account", ...): the JSON of a run."""

    def run(name, *more):
        found = bench.json(name, *more)
        assert found["bench"] == name
        return found

    return run


# --- account ---

PLAIN = {
    *("create", "find_by_id", "find_by_name", "modify", "modify_key", "remove"),
    *("iterate_by_id", "iterate_by_name", "object_bytes", "object_bytes_after_third_removed"),
}
SESSIONS = {
    *("session_create", "session_modify", "session_modify_key", "session_remove"),
    *("undo_create", "undo_modify", "undo_modify_key", "undo_remove", "squash", "commit_modify"),
    *("commit_remove", "commit_call", "empty_session", "session_3_undo", "session_3_squash"),
    *("session_3_commit", "undo_bytes_modify"),
}
# What only an engine with an undo log of its own can tell, or do.
ENGINE = {
    *("undo_bytes_create", "undo_bytes_modify_key", "undo_bytes_remove"),
    *("object_bytes_after_compact", "find_many_by_name"),
}
HASHED = {"find_by_name_hashed"}
ACCOUNT = ("account", "--objects", 2000, "--rounds", 1)


def test_the_account_report_has_the_rows_keys_and_values_of_its_contract(report):
    found = report(*ACCOUNT, "--engines", "classical,heap")
    assert found["objects"] == 2000
    assert found["machine"].keys() >= {
        *("cpu", "cores", "memory", "kernel", "compiler", "huge_pages")
    }
    assert by_engine(found["rows"], 1e-9) == {
        "classical": PLAIN | HASHED | SESSIONS,
        "heap": PLAIN | HASHED,
    }
    for row in found["rows"]:
        assert row["metric"] == ("bytes" if "bytes" in row["operation"] else "ns"), row


def test_the_engine_does_every_row_with_60_types_beside_it(report):
    found = report(*ACCOUNT, "--engines", "chainbase,classical", "--types", 60)
    assert by_engine(found["rows"]) == {
        "chainbase": PLAIN | HASHED | SESSIONS | ENGINE,
        "classical": PLAIN | HASHED | SESSIONS,
    }


def test_every_other_baseline_does_the_plain_rows(report):
    plain = ("offset_ptr_pool", "node_allocator", "adaptive_pool", "rocksdb")
    found = report(*ACCOUNT, "--engines", ",".join((*plain, "lmdb")))
    assert by_engine(found["rows"]) == {
        **dict.fromkeys(plain, PLAIN),
        "lmdb": PLAIN | SESSIONS - {"undo_bytes_modify"},
    }


@pytest.mark.parametrize(
    "call",
    [
        [],
        ["nonsense"],
        ["account", "--engines", "nobody"],
        ["account", "--objects", "many"],
        *(["account", "--rounds", rounds] for rounds in ("0", "-1", "0x1")),
        ["account", "--objects", 2000, "--directory", "/nonexistent"],
        ["chain"],
        ["chain", "--log", "/nonexistent"],
        ["growth", "--objects", "400,200"],
        ["growth", "--objects", "many"],
        ["growth", "--engines", "nobody"],
        ["growth", "--csv", "--json"],
        ["bank", "--accounts", 1],
        ["bank", "--transfers", 0],
        ["bank", "--engines", "nobody"],
        ["crash", "--engines", "nobody"],
        ["crash", "--objects", 1000, "--payments", 501],
        ["crash", "--blocks", 0],
        ["crash", "--memory", "/nonexistent"],
        ["archive", "--rows", 10000, "--mix", "custom=1"],
        ["archive", "--rows", 10000, "--mix", "posts=1"],
        ["readers", "--objects", 1000, "--milliseconds", 10, "--inspect", "/bin/false"],
        ["root", "--objects", 1000],
    ],
    ids=lambda call: " ".join(map(str, call)) or "nothing",
)
def test_a_wrong_call_ends_with_2_and_prints_no_report(call, bench):
    assert bench(*call, code=2).out == ""


def test_a_bench_that_cannot_make_its_files_ends_with_1(bench):
    assert bench(*ACCOUNT, "--engines", "heap", "--directory", "/proc", code=1).out == ""


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_report_that_stdout_does_not_take_ends_with_1(more, bench):
    call = [bench, *map(str, ACCOUNT), "--engines", "heap", *more]
    with open("/dev/full", "w") as full:
        assert subprocess.run(call, stdout=full, stderr=subprocess.DEVNULL).returncode == 1


def test_the_bench_removes_its_files(report, scratch):
    report(*ACCOUNT, "--engines", "classical,lmdb", "--directory", scratch)
    assert os.listdir(scratch) == []


def test_the_account_bench_also_prints_a_table(bench):
    said = bench(*ACCOUNT, "--engines", "classical,heap", "--types", 2).out
    for word in ("classical", "heap", "find_by_name_hashed", "(1.00)", "(0.10)"):
        assert word in said


# --- archive ---

ARCHIVE = ("archive", "--rows", 10000, "--finds", 500, "--cache-mib", 64)


def test_the_archive_report_names_every_row_of_both_chains(report):
    found = report(*ARCHIVE, "--rounds", 2)
    assert found["archived"] > 100
    rows = by_engine(found["rows"], 1e-9)
    assert all(len(row["samples"]) == 2 for row in found["rows"])
    kept = rows.pop("kept")
    (archived,) = rows.values()
    finds = ("find_warm", "find_by_id_warm", "find_nowhere", "find_cold", "find_by_id_cold")
    assert kept == {"replay", "state_bytes"}
    assert archived == kept | {
        *("replay_to_kept", "memory_to_kept", "disk_to_encoded", "encoded_bytes"),
        *("find_cold_blocks", "find_by_id_cold_blocks"),
        *(find + at for find in finds for at in ("", "_p99", "_p99_9")),
    }


def test_the_archive_bench_takes_the_mix_of_its_log(report):
    mix = "custom=62,vote=25,comment=8,transfer=5"
    assert report(*ARCHIVE, "--rounds", 1, "--mix", mix)["archived"] > 100


def test_the_archive_bench_also_prints_a_table_with_goals(bench):
    said = bench(*ARCHIVE, "--rounds", 1).out
    for word in ("archived comments", "memory_to_kept", "find_nowhere", "0.150"):
        assert word in said


# --- chain and growth ---


def payments_of(number):
    """Twenty accounts, and then twenty payments in each block."""

    def name(i):
        return f"account{i % 20}"

    if number == 1:
        return [block_logs.payments("account_create", name(i), 1000) for i in range(20)]
    return [
        block_logs.payments("payment", name(i), name(i + number % 7 + 1), 1) for i in range(20)
    ]


def posts_of(number):
    """A post in each block is paid two blocks later, and all of it goes on to another account in the
    block that pays it: as pending, before that block, there is no money yet."""
    if number == 1:
        return [social("account_create", name) for name in ("author", "reader")]
    post = ("author", f"post{number}", "", "", 0, 0, number + 2, 10, 0, 0, 0)
    made = [social("comment", *post), social("claim", "author")]
    return made + [social("transfer", "author", "reader", 10, "")] * (number >= 4)


def log_of(folder, chain, operations):
    blocks = [(number, number, [[one] for one in operations(number)]) for number in range(1, 61)]
    return Log(folder / "small.blocks", blocks, chain, blocks_in_record=60)


CHAIN = {
    *("replay", "replay_applying", "replay_helping", "replay_waiting", "sync", "sync_to_replay"),
    *("live_block", "live_pending", "state_bytes", "state_bytes_per_object"),
}
ENGINES = ("chainbase", "chainbase_archive", "classical", "classical_hashed")


def chain_report(report, log, *more):
    (only,) = report("chain", "--rounds", 1, "--log", log, *more)["logs"]
    assert len(only["state_digest"]) == 64
    return only, by_engine(only["rows"], 1e-9)


def test_the_chain_report_names_every_row_of_every_engine(report, scratch):
    log = log_of(scratch, "payments", payments_of)
    only, rows = chain_report(report, log, "--live-blocks", 5, "--pending", 50)
    assert (only["log"], only["blocks"], only["transactions"]) == ("small.blocks", 60, 1200)
    assert only["pending"] == 5 * 50
    in_sessions = CHAIN | {"replay_in_sessions"}
    assert rows == dict(zip(ENGINES, (CHAIN, CHAIN, in_sessions, in_sessions)))


def test_all_engines_archive_and_reject_alike(report, scratch):
    log = log_of(scratch, "social", posts_of)
    only, rows = chain_report(report, log, "--live-blocks", 5, "--pending", 20)
    assert 0 < only["rejected"] < only["pending"]
    assert all("live_pending" in rows[engine] for engine in ENGINES)


def test_a_chain_like_a_social_network_is_replayed_and_followed_by_all_engines(
    report, driver, scratch
):
    log = scratch / "social.blocks"
    driver("generate", "--operations", 20000, "--cash-out-percent", 1, "--to", log)
    only, rows = chain_report(report, log, "--live-blocks", 20, "--pending", 200)
    assert only["operations"] == 20000
    assert all("live_block" in rows[engine] for engine in ENGINES)


def test_the_chain_bench_also_prints_a_table_with_the_losing_rows(bench, scratch):
    log = log_of(scratch, "payments", payments_of)
    call = ["chain", "--rounds", 1, "--live-blocks", 5, "--engines", "chainbase,classical"]
    said = bench(*call, "--log", log).out
    for word in (
        *("small.blocks: payments, 60 blocks", "sync_to_replay", "(1.00)", "state digest"),
        "operations/s of replay:",
    ):
        assert word in said


def test_the_growth_report_has_every_size_as_json_and_as_lines_for_a_plot(report, bench):
    call = ("growth", "--objects", "200,400", "--operations", 100, "--rounds", 1)
    rows = by_engine(report(*call)["rows"], 1e-9)
    every = {
        f"{what}_at_{size}"
        for what in ("create", "payment", "state_bytes_per_object")
        for size in (200, 400)
    }
    assert rows == {"chainbase": every, "classical": every}
    lines = bench(*call, "--csv").out
    assert lines.startswith("engine,operation,objects,metric,value\nchainbase,create,200,ns,")


# --- crash ---

CRASH = ("crash", "--objects", 4000, "--payments", 50, "--blocks", 12, "--rounds", 1)


def test_the_crash_report_names_every_row_of_every_engine(report):
    found = report(*CRASH)
    assert found["objects"] == 4000
    assert all(len(row["samples"]) == 1 for row in found["rows"])
    rows = by_engine(found["rows"], 1e-9)
    common = {"block", "written_bytes_per_block", "reopen_after_kill", "close_clean", "open_clean"}
    for engine in (
        *("lmdb_sync", "lmdb_nosync", "rocksdb_sync", "rocksdb_nosync"),
        *("sqlite_full", "sqlite_normal"),
    ):
        assert rows[engine] == common
    synced = common | {"restore_per_gib"}
    for engine in ("chainbase_commit", "chainbase_synced"):
        assert rows[engine] == synced
    assert rows["chainbase"] == synced | {
        *("checkpoint_pause_per_100_mib", "checkpoint_per_100_mib", "checkpoint_bytes_to_dirty"),
        *("barrier_cold", "barrier_hot"),
    }
    assert rows["chainbase_process"] >= common - {"written_bytes_per_block"}


def test_the_crash_bench_also_prints_a_table_with_goals(bench):
    said = bench(*CRASH, "--engines", "chainbase,sqlite_full").out
    for word in ("crash: 4000 accounts", "reopen_after_kill", "restore_per_gib", "met"):
        assert word in said


# --- readers ---


def test_the_readers_report_names_every_setting(report, inspect):
    found = report(
        *("readers", "--objects", 1000, "--readers", 2, "--milliseconds", 50, "--rounds", 1),
        *("--inspect", inspect),
    )
    rows = {row["operation"] for row in found["rows"]}
    ways = ("snapshot", "renewed", "pool")
    may_be_zero = {f"{way}_{one}" for way in ways for one in ("mismatches", "too_old")}
    assert all(row["value"] > 0 for row in found["rows"] if row["operation"] not in may_be_zero)
    for setting in ("alone", "pausing", "low_priority", "busy", "locked", "copied", *ways):
        assert {f"block_{setting}", f"block_lock_{setting}"} <= rows
        assert (f"block_to_alone_{setting}" in rows) == (setting != "alone")
    reads = {f"{way}_{one}" for way in ways for one in ("read", "read_p99", "read_first_p99")}
    assert reads | may_be_zero | {"snapshot_open", "snapshot_page", "snapshot_refresh"} <= rows
    assert [r["value"] for r in found["rows"] if "_mismatches" in r["operation"]] == [0] * 3


# --- root ---

UPDATES = ("update_50000", "update_800")
REPLAYS = ("replay_with_root", "replay_without_root", "replay_with_root_to_without")
SPARSE = ("", "_half_gone", "_95_gone")  # keys; ids of which objects are gone
ROOT = {
    *("build", "build_from_records", "root_from_scratch"),
    *("bytes_per_object", "bytes_per_object_after_updates"),
    *("bytes_per_object_half_gone", "bytes_per_object_95_gone", "bytes_per_object_of_keys"),
    *(f"{one}{of}" for one in ("inner_node_ratio", "node_bytes_ratio") for of in SPARSE),
    *(f"{one}_{threads}" for one in UPDATES for threads in ("one_thread", "two_threads")),
    *("root_ready_after_block", "root_ready_after_block_p99"),
    *("prove", "prove_p99", "verify", "verify_p99", "proof_bytes", "proof_bytes_largest"),
    *("diff_1", "diff_1000"),
    *(prefix + one for prefix in ("", "payments_") for one in REPLAYS),
}


def root_rows(report, *more):
    found = report("root", "--objects", 100000, "--rounds", 1, *more)
    assert found["objects"] == 100000
    return {row["operation"]: row["value"] for row in found["rows"]}


def test_the_root_report_has_every_row_and_leaves_nothing_behind(report, scratch):
    rows = root_rows(report, "--operations", 3000, "--directory", scratch)
    assert ROOT <= rows.keys()
    assert all(rows[one] > 0 for one in ROOT)
    # The tree depends on the objects alone: half of them in pages of 16, then one or none.
    assert rows["bytes_per_object"] == rows["bytes_per_object_after_updates"] < 50
    assert rows["bytes_per_object"] < rows["bytes_per_object_half_gone"] < 75
    assert rows["bytes_per_object_half_gone"] < rows["bytes_per_object_95_gone"] < 110
    assert rows["inner_node_ratio_95_gone"] < 0.2 < 0.5 < rows["inner_node_ratio_half_gone"] < 0.7
    assert rows["inner_node_ratio"] < 0.2
    assert rows["proof_bytes_largest"] >= rows["proof_bytes"]
    assert os.listdir(scratch) == []


def test_the_root_bench_replays_nothing_where_it_is_told_so(report):
    rows = root_rows(report, "--operations", 0)
    assert "diff_1" in rows and not any("replay" in row for row in rows)


# --- bank ---

ALONE = {"open_account"} | {f"transfer_{batch}" for batch in (1, 100, 10000)}
BESIDE = {
    each.format(batch)
    for each in ("transfer_{}_beside_reader", "read_beside_{}", "read_all_beside_{}")
    for batch in (1, 100, 10000)
}


def test_the_bank_report_has_every_row_and_leaves_nothing_behind(report, scratch):
    place = ("--directory", scratch, "--memory", scratch)
    size = ("--accounts", 500, "--transfers", 2000, "--synced-batches", 5, "--seconds", 0, "--rounds", 1)
    found = report("bank", *size, *place)
    assert (found["accounts"], found["transfers"], found["synced_batches"]) == (500, 2000, 5)
    beside = ("chainbase", "chainbase_locked", "lmdb", "rocksdb", "chainbase_commit", "lmdb_sync", "rocksdb_sync")
    assert by_engine(found["rows"], 1e-9) == {
        **{engine: ALONE | BESIDE for engine in beside},
        "classical_hashed": ALONE,
    }
    assert {row["metric"] for row in found["rows"]} == {"ns"}
    assert os.listdir(scratch) == []


# --- large ---

MIXES = ("reads", "half_changes", "skewed_reads", "skewed_half_changes")
LARGE = {"fill", "object_bytes"} | {
    f"{mix}{figure}" for mix in MIXES for figure in ("", "_p99", "_disk_read", "_disk_written")
}
AHEAD = {
    f"{mix}_ahead{figure}"
    for mix in MIXES
    for figure in ("", "_disk_read", "_disk_written")
}
REPLAY = {"replay_state_bytes"} | {
    f"{part}{figure}"
    for part in ("replay", "replay_of_short")
    for figure in ("", "_disk_read", "_disk_written")
}
SMALL = ("large", "--objects", 1000, "--seconds", 0.02, "--rounds", 1)


def test_the_large_report_has_every_row_and_leaves_nothing_behind(report, scratch):
    place = ("--directory", scratch, "--memory", scratch)
    found = report(*SMALL, "--memory-left", 0, "--replay-operations", 20000, *place)
    rows = by_engine(found["rows"])
    counted = {row for row in LARGE | AHEAD | REPLAY if "_disk_" in row}
    if "reads_disk_read" in rows["chainbase"]:  # the kernel tells the device of the folder
        counted = set()
    own = (LARGE | AHEAD) - counted
    assert rows == {
        **{"chainbase_memory": own | REPLAY - counted, "chainbase": own | REPLAY - counted},
        "chainbase_default": own,
        **{"lmdb": LARGE - counted, "rocksdb": LARGE - counted},
    }
    for row in found["rows"]:
        is_bytes = "bytes" in row["operation"] or "_disk_" in row["operation"]
        assert row["metric"] == ("bytes" if is_bytes else "ns"), row
        assert is_bytes or row["value"] > 0, row
    assert os.listdir(scratch) == []


def test_large_replays_nothing_where_it_is_told_so(report, scratch):
    place = ("--engines", "chainbase", "--directory", scratch)
    found = report(*SMALL, "--memory-left", 0, "--replay-operations", 0, *place)
    assert not [row for row in found["rows"] if "replay" in row["operation"]]


def test_large_takes_no_memory_that_is_not_there(bench, scratch):
    place = ("--engines", "chainbase", "--directory", scratch)
    result = bench(*SMALL, "--memory-left", "1024TiB", *place, code=1)
    assert "--memory-left" in result.err
    assert os.listdir(scratch) == []
