"""Fixtures of the tests of programs. README.md says how to run them and what they need."""

import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import programs  # noqa: E402
from programs import TREE, program  # noqa: E402
from segment import claim  # noqa: E402

GIB = 1 << 30


# --- pytest itself ---


def pytest_configure(config):
    config.option.reportchars = config.option.reportchars or "fEs"  # skips are told, with reasons
    config.seed = int(os.environ.get("CHAINBASE_TEST_SEED") or str(random.randrange(10**9)), 0)


def pytest_report_header(config):
    return f"CHAINBASE_TEST_SEED={config.seed}  programs: {':'.join(map(str, programs.folders()))}"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Under CTest a file of which a test was skipped is shown as skipped, if nothing failed."""
    code = os.environ.get("CHAINBASE_SKIP_CODE")
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if code and exitstatus == 0 and reporter and reporter.stats.get("skipped"):
        session.exitstatus = int(code)


# --- programs ---


@pytest.fixture(scope="session")
def inspect():
    return program("chainbase-inspect")


@pytest.fixture(scope="session")
def driver():
    return program("chainbase-driver")


@pytest.fixture(scope="session")
def sink():
    return program("chainbase-sink")


@pytest.fixture(scope="session")
def bench():
    return program("chainbase-bench")


@pytest.fixture(scope="session")
def run():
    return programs.run


@pytest.fixture(scope="session")
def tree():
    """The folder of the sources."""
    return TREE


@pytest.fixture(autouse=True)
def nothing_left_running():
    before = programs.number_started()
    yield
    programs.reap(before)


# --- folders ---


def _scratch_parent():
    """TMPDIR if it is set; else memory, which syncs at no cost, where a GiB of it is free."""
    if os.environ.get("TMPDIR"):
        return os.environ["TMPDIR"]
    shm = Path("/dev/shm")
    if os.access(shm, os.W_OK) and shutil.disk_usage(shm).free >= GIB:
        return str(shm)
    return tempfile.gettempdir()


def _scratch():
    folder = Path(tempfile.mkdtemp(prefix="chainbase-test-", dir=_scratch_parent()))
    yield folder
    if os.environ.get("CHAINBASE_KEEP_SCRATCH"):
        print(f"kept {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


scratch = pytest.fixture(_scratch, name="scratch")
session_scratch = pytest.fixture(_scratch, scope="session", name="session_scratch")


@pytest.fixture
def on_disk():
    """A folder on a disk: in memory there are no holes among ids, since reading them would fill
    them, and nothing is ever cold."""
    for place in (os.environ.get("TMPDIR"), "/tmp", "/var/tmp", os.getcwd()):
        if not place or not os.access(place, os.W_OK):
            continue
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
        kind = max(
            (one for one in mounts if os.path.realpath(place).startswith(one[1])),
            key=lambda one: len(one[1]),
        )[2]
        if kind != "tmpfs":
            folder = Path(tempfile.mkdtemp(prefix="chainbase-test-", dir=place))
            yield folder
            shutil.rmtree(folder)
            return
    pytest.skip("no disk to write to, all is tmpfs")


def copy_of(source, target):
    """Copies a file or folder; holes stay holes, times stay. A state whose writer died stays so."""
    subprocess.run(["cp", "-a", "--sparse=auto", str(source), str(target)], check=True)
    claim(target)
    return Path(target)


@pytest.fixture(scope="session")
def samples(session_scratch):
    """samples("rooted") is the state that `sample_state make rooted` made, once in a session.

    It is not to be changed; sample() below copies it."""
    made = {}

    def of(what):
        if what not in made:
            made[what] = session_scratch / what
            program("sample_state")("make", what, made[what])
        return made[what]

    return of


@pytest.fixture
def sample(samples, scratch):
    """sample("rooted") is a copy of that state, to be changed as one likes."""

    def of(what, name="state"):
        return copy_of(samples(what), scratch / name)

    return of


# --- randomness and ports ---


@pytest.fixture
def seed(request):
    """Of this test: the printed one and the test's name make it, so a test repeats alone, too."""
    return (request.config.seed + zlib.crc32(request.node.nodeid.split("/")[-1].encode())) % 2**32


@pytest.fixture
def rng(seed):
    return random.Random(seed)


@pytest.fixture
def free_port():
    """A port of 127.0.0.1 that nobody listens at. Prefer port 0 where a program prints its own."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
