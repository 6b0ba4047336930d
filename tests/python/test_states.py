"""States that are written, killed, undone, damaged and removed while Python reads them: an error of the
library or an answer, never a crash."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import chainbase
import pytest
from conftest import copy_of, require_same, rows_of
from forked_nodes import forked_node
from segment import Segment, Stay, Writer, change, flip_bit, make

FOLDER = os.path.dirname(os.path.dirname(chainbase.__file__))


def read_everything(state):
    for table in state.types.values():
        for row in table:
            table.get(row.id)
        for key in table.keys.values():
            if key.is_ordered:
                for _ in table.range(key.name):
                    pass
        table.columns()


# --- how a state may be opened ---


def test_closing_ends_the_use(samples):
    with chainbase.open(samples("sample")) as state:
        accounts, rows = state["account"], iter(state["account"])
        first = next(rows)
        for _ in range(15):
            next(rows)
    assert state.closed and first.id == 0
    for call in (lambda: len(accounts), lambda: accounts.get(0), lambda: accounts.columns(),
                 lambda: state.revision, lambda: list(rows), lambda: state.at_block()):
        with pytest.raises(chainbase.UsageError, match="was closed; open it again"):
            call()
    assert [one.name for one in accounts.fields][0] == "id"


def test_what_is_no_state(scratch):
    with pytest.raises(chainbase.FormatError):
        chainbase.open(scratch)
    with pytest.raises(chainbase.Error):
        chainbase.open(scratch / "nothing")


def test_a_checkpoint(inspect, sample):
    state = sample("checkpointed")
    with chainbase.open(f"{state}@checkpoint") as opened:
        require_same(rows_of(inspect, f"{state}@checkpoint", "account"), opened["account"])
        with opened.at_block() as block:
            assert list(block["account"]) == list(opened["account"])
        with pytest.raises(chainbase.UsageError, match="no feed"):
            opened.feed(from_revision=1)
    with pytest.raises(chainbase.UsageError, match="has no checkpoint 77"):
        chainbase.open(f"{state}@checkpoint:77")


@pytest.mark.parametrize("what", ("many", "notes.rocksdb", "fields"))
def test_the_folder_of_a_snapshot(inspect, samples, scratch, what):
    inspect("snapshot", "write", samples(what), "--to", scratch / "snapshot")
    with chainbase.open(scratch / "snapshot") as opened, chainbase.open(samples(what)) as state:
        for name in state.types:
            if not name.startswith(("archive.", "note.")):
                assert list(opened[name].range(archive=True)) == list(state[name].range(archive=True))
                assert list(opened[name]) == list(state[name])


def test_a_snapshot_with_a_key_that_only_its_program_can_make(inspect, samples, scratch):
    inspect("snapshot", "write", samples("sample"), "--to", scratch / "snapshot")
    with pytest.raises(chainbase.UsageError, match="by_distance: only the program"):
        chainbase.open(scratch / "snapshot")


def test_what_a_killed_writer_left(inspect, scratch):
    state = make("sample", scratch / "state")
    with Stay(state, "account,post,token,marker", "session", "create account 100") as writer:
        writer.kill()
    with chainbase.open(state) as opened:
        assert opened.is_rolled_back
        require_same(rows_of(inspect, state, "account"), opened["account"])
        with opened.at_block() as block:
            assert len(block["account"].columns(["id"])["id"]) == len(opened["account"])


# --- beside a writer ---


def test_each_call_reads_the_newest_block_and_a_block_stays(scratch):
    state = scratch / "state"
    change(state, "account", "session", "create account 10", "push", "commit")
    with Stay(state, "account") as writer, chainbase.open(state) as opened:
        accounts = opened["account"]
        assert len(accounts) == 10
        block = opened.at_block()
        for step in ("session", "create account 5", "push"):
            writer.step(step)
        assert len(accounts) == 15 and accounts.get(14) and opened.revision == block.revision + 1
        assert len(block["account"]) == 10 and block["account"].get(14) is None
        assert len(block["account"].columns(["id"])["id"]) == 10
        later = opened.at_block()
        writer.step("pop")
        assert len(accounts) == 10
        with pytest.raises(chainbase.TooOldError, match="take another one"):
            for _ in range(3):
                list(later["account"].range("by_name"))
                later["account"].columns()
        assert len(block["account"]) == 10
        block.close()


@pytest.mark.parametrize("kind", ("rocksdb", "memory"))
def test_objects_that_leave_for_the_archive_meanwhile(sample, kind):
    state = sample(f"notes.{kind}")
    with Stay(state, "note", archive=kind) as writer, chainbase.open(state) as opened:
        notes = opened["note"]
        before = list(notes.range(archive=True))
        assert notes.get(0) == before[0] and notes.get(0, archive=False) is None
        at = len(notes)
        for step in ("session", "retire 6 7", "push", "commit", "hand_over"):
            writer.step(step)
        assert len(notes) < at and notes.get(6, archive=False) is None
        assert notes.get(6) == before[6]
        assert notes["by_title", before[7].author, before[7].title] == before[7]
        assert list(notes.range(archive=True)) == before
        assert notes.columns(["weight"], archive=True)["weight"].tolist() == [row.weight for row in before]


def test_the_writer_may_begin_and_end_meanwhile(scratch):
    state = scratch / "state"
    change(state, "account", "session", "create account 1000", "push", "commit")
    with chainbase.open(state) as opened:
        accounts = opened["account"]
        rows = iter(accounts)
        next(rows)
        with Stay(state, "account") as writer:
            for step in ("session", "create account 5", "push", "commit"):
                writer.step(step)
            assert len(accounts) == 1005
            for _ in range(100):
                next(rows)
            writer.close()
        assert len(accounts) == 1005
        assert len(list(rows)) >= 899


def test_a_type_that_is_made_anew_with_another_layout(scratch):
    state = scratch / "state"
    change(state, "token", "session", "create token 10", "push", "commit")
    with chainbase.open(state) as opened:
        tokens = opened["token"]
        assert len(tokens) == 10
        shutil.rmtree(state)
        change(state, "token@later", "session", "create token@later 1", "push", "commit")
        with Stay(state, "token@later"):
            time.sleep(0.01)
            for read in (lambda: tokens.get(0), lambda: list(tokens), lambda: len(tokens),
                         lambda: tokens.find("by_code", 0), tokens.columns,
                         lambda: opened.at_block() and tokens.columns()):
                with pytest.raises(chainbase.ReplacedError, match="another layout of token; open it again"):
                    read()


READ = f"""
import sys
sys.path.insert(0, {FOLDER!r})
import chainbase
with chainbase.open(sys.argv[1]) as state:
    print("ready", flush=True)
    rounds = 0
    while True:
        rounds += 1
        try:
            for table in state.types.values():
                for row in table: table.get(row.id)
                for key in table.keys.values():
                    if key.is_ordered: list(table.range(key.name))
                table.columns()
            with state.at_block() as block:
                for table in block.types.values(): table.columns()
        except chainbase.Error as problem:
            print(type(problem).__name__, problem, flush=True)
            if sys.argv[2] == "once": break
        if rounds == int(sys.argv[3]): break
    print("end", flush=True)
"""


def reader(state, until="on", rounds=100000):
    made = subprocess.Popen([sys.executable, "-X", "faulthandler", "-c", READ, str(state), until,
                             str(rounds)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert made.stdout.readline() == "ready\n"
    return made


@pytest.mark.parametrize("kills", (8,))
def test_a_writer_that_is_killed_again_and_again(scratch, kills):
    state = make("sample", scratch / "state")
    readers = [reader(state) for _ in range(2)]
    try:
        for _ in range(kills):
            # What a reader holds, a writer waits for: as any program does.
            for _ in range(100):
                try:
                    writer = Writer(state)
                    break
                except (AssertionError, Exception):
                    time.sleep(0.05)
            time.sleep(0.2)
            writer.kill()
            assert all(one.poll() is None for one in readers)
    finally:
        for one in readers:
            one.terminate()
        outs = [one.communicate()[0] for one in readers]
    assert all(one.returncode == -signal.SIGTERM for one in readers), outs
    assert not any("Fatal" in out or "Traceback" in out for out in outs), outs


def test_a_state_that_is_removed(scratch):
    state = make("sample", scratch / "state")
    with Writer(state) as writer:
        beside = reader(state, rounds=50)
        time.sleep(0.3)
        writer.kill()
        shutil.rmtree(state)
        out, _ = beside.communicate(timeout=120)
    assert beside.returncode == 0 and out.endswith("end\n") and "Traceback" not in out, out


def test_damaged_files(sample, rng):
    """Bits are flipped where objects, ids and keys are."""
    state = sample("damageable")
    names = (".objects", ".ids", ".hash", ".btree")
    files = [path for path in Segment(state).folder.iterdir() if path.suffix in names]
    assert len(files) > 8
    for _ in range(20):
        for _ in range(30):
            path = rng.choice(files)
            flip_bit(path, 8 * rng.randrange(4096, max(4097, path.stat().st_size)) + rng.randrange(8))
        made = reader_of_damage(state)
        assert made.returncode == 0, made.stdout


def reader_of_damage(state):
    call = f"""
import sys
sys.path.insert(0, {FOLDER!r})
import chainbase
try:
    with chainbase.open(sys.argv[1]) as state:
        for table in state.types.values():
            for key in ["id", *(k.name for k in table.keys.values() if k.is_ordered)]:
                try:
                    for row in table.range(key): table.get(row.id)
                except chainbase.Error: pass
            try: table.columns()
            except chainbase.Error: pass
except chainbase.Error: pass
"""
    return subprocess.run([sys.executable, "-X", "faulthandler", "-c", call, str(state)], timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_beside_a_node_that_pops_blocks(driver, inspect, scratch, seed):
    node = forked_node(driver, inspect, scratch, seed, 500)
    whole = gone = 0
    end = time.monotonic() + 12
    while time.monotonic() < end or whole < 3:
        node.be_at_work()
        try:
            with chainbase.open(node.state) as state, state.at_block() as block:
                accounts = block["account"]
                columns = accounts.columns(["id", "name", "balance"])
                rows = list(accounts)
                if not rows:
                    continue
                assert [row.id for row in rows] == columns["id"].tolist()
                assert [row.balance for row in rows] == columns["balance"].tolist()
                proof = block.prove("account", rows[0].id)
                assert proof.verify(block.root.digest) == "included"
                whole += 1
        except chainbase.TooOldError:
            gone += 1
        except (chainbase.BusyError, chainbase.UncleanError, chainbase.FormatError, chainbase.UsageError,
                chainbase.ReplacedError):
            pass
    node.finish()
    assert whole >= 3, (whole, gone)


# --- Python beside it ---


def test_threads_read_side_by_side(scratch):
    state = make("sample", scratch / "state")
    problems = []
    with Writer(state), chainbase.open(state) as opened:
        end = time.monotonic() + 3

        def read():
            while time.monotonic() < end:
                try:
                    read_everything(opened)
                except chainbase.Error:
                    pass
                except BaseException as problem:  # noqa: BLE001
                    problems.append(problem)
                    return

        threads = [threading.Thread(target=read) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert not problems


def test_one_iterator_in_two_threads_says_so_or_reads_each_row_once(scratch):
    state = scratch / "state"
    change(state, "account", "session", "create account 2000", "push", "commit")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with chainbase.open(state) as opened:
            for _ in range(20):
                rows, found = iter(opened["account"]), []

                def read():
                    while True:
                        try:
                            found.append(next(rows).id)
                        except StopIteration:
                            return
                        except chainbase.UsageError as problem:
                            assert "one iterator" in str(problem)

                threads = [threading.Thread(target=read) for _ in range(4)]
                for one in threads:
                    one.start()
                for one in threads:
                    one.join()
                assert sorted(found) == list(range(2000))
    finally:
        sys.setswitchinterval(before)


def test_the_gil_is_free_during_a_scan(scratch):
    state = scratch / "state"
    change(state, "account", "session", "create account 200000", "push", "commit")
    with chainbase.open(state) as opened:
        ticks, end = 0, threading.Event()

        def scan():
            for _ in range(5):
                opened["account"].columns()
            end.set()

        thread = threading.Thread(target=scan)
        thread.start()
        while not end.is_set():
            ticks += 1
            time.sleep(0.0005)
        thread.join()
    assert ticks > 5


def test_a_signal_ends_a_long_scan(scratch):
    state = scratch / "state"
    change(state, "account", "session", "create account 300000", "push", "commit")

    def raise_interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raise_interrupt)
    try:
        with chainbase.open(state) as opened:
            accounts, copies, whole = opened["account"], 25, 0
            while whole < 1 and copies < 1000:  # of one column, so that it takes a second
                copies *= 2
                begin = time.monotonic()
                accounts.columns(["id"] * copies, archive=True)
                whole = time.monotonic() - begin
            times = []
            for _ in range(3):
                begin = time.monotonic()
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                with pytest.raises(KeyboardInterrupt):
                    accounts.columns(["id"] * copies, archive=True)
                times.append(time.monotonic() - begin)
            assert min(times) < whole / 2, (times, whole)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("is_written", (False, True))
def test_a_fork_opens_its_own(scratch, is_written):
    state = make("sample", scratch / "state")
    with contextlib.ExitStack() as beside:
        if is_written:
            beside.enter_context(Stay(state, "account"))
        opened = beside.enter_context(chainbase.open(state))
        accounts = opened["account"]
        first = accounts.get(0)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                accounts.get(0)
            except chainbase.UsageError:
                with chainbase.open(state) as own:
                    code = 0 if own["account"].get(0) == first else 2
                opened.close()
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert accounts.get(0) == first


def test_faulthandler_that_comes_later(scratch):
    state = make("sample", scratch / "state")
    call = f"""
import sys, faulthandler
sys.path.insert(0, {FOLDER!r})
import chainbase
with chainbase.open(sys.argv[1]) as state:
    len(state["account"])
    faulthandler.enable()
    for table in state.types.values():
        list(table); table.columns()
    print("end")
"""
    with Writer(state):
        made = subprocess.run([sys.executable, "-c", call, str(state)], timeout=60, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert made.stdout == "end\n" and made.returncode == 0


def test_a_copy_can_be_made_of_what_was_read(sample, scratch):
    state = sample("sample")
    with chainbase.open(state) as opened:
        before = list(opened["account"])
    copy = copy_of(state, scratch / "copy")
    with chainbase.open(copy) as opened:
        assert list(opened["account"]) == before
