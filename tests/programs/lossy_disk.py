"""A machine that can lose power, with a disk that can fail at a call (lossy_disk.cpp), for real
programs. All of it is mounted in the mount table of the test process's own, as in disks.py."""

import ctypes
import json
import os
import signal
import subprocess
import uuid
from pathlib import Path

import pytest
from disks import BIND, mount, own_mounts, unmount
from programs import Program, folders, program

_libc = ctypes.CDLL(None)

BOOT = Path("/proc/sys/kernel/random/boot_id")
POLICIES = ("none", "some", "all")  # of what was not synced is there after a loss of power


def sync_folder(folder):
    """What was made and removed in it stays so."""
    opened = os.open(folder, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)


class OnMachine(Program):
    """A program whose syncfs() reaches the disk."""

    def start(self, *args, env=None, **how):
        shim = next(one / "lossy_disk.syncfs.so" for one in folders()
                    if (one / "lossy_disk.syncfs.so").exists())  # fmt: skip
        before = os.environ.get("LD_PRELOAD", "")
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        loaded = {"LD_PRELOAD": f"{before} {shim}".strip(), "ASAN_OPTIONS": sanitizer}
        return super().start(*args, env={**loaded, **(env or {})}, **how)


class Machine:
    """`disk` keeps what was synced, `memory` nothing; each loss of power ends a boot."""

    def __init__(self, folder, rng):
        self.disk, self.memory, self.rng = folder / "disk", folder / "memory", rng
        self._boot, self._witness, self._mounted = folder / "boot_id", folder / "logs", []
        self.disk.mkdir(mode=0o700)
        self.memory.mkdir()
        self._process = program("lossy_disk").start(self.disk, stdin=subprocess.PIPE)
        self._read = 0
        if (said := self._line()) != "mounted":
            pytest.skip(f"no FUSE here: {said}")
        self.losses = 0
        self._new_memory()
        self._boot.write_text(f"{uuid.uuid4()}\n")
        self._bind(self._boot, BOOT)
        # How far the logs of running states came, which the engine remembers until the machine stops.
        witness = Path(f"/dev/shm/chainbase-logs-{os.geteuid()}")
        self._of_nobody = None if witness.exists() else witness
        witness.touch(0o600)
        self._bind(self._witness, witness)

    def _bind(self, what, at):
        mount(what, at, None, BIND)
        self._mounted.append(at)

    def _new_memory(self):
        mount("none", self.memory, "tmpfs", 0, "size=1g,mode=0700")
        self._witness.touch(0o600)
        os.truncate(self._witness, 0)

    def _line(self):
        found = self._process.wait_for(r"(.*)\n", since=self._read)
        self._read += found.end()
        return found.group(1)

    def _ask(self, *words):
        self._process.send(" ".join(map(str, words)) + "\n")
        while (line := self._line()).startswith("stopped "):
            pass
        return line

    # --- calls to the disk ---

    def fail(self, kinds, nth, error, times=1):
        """The nth call of these kinds from now on fails, and so many in all."""
        self._ask("fail", kinds, nth, error, times)

    def stop(self, kinds, nth):
        """Power goes at the nth call of these kinds: see has_stopped() and lose_power()."""
        self._ask("stop", kinds, nth)

    def work(self):
        self._ask("work")

    def calls(self):
        """Of each kind since fail, stop or work; how many failed; the first that did."""
        return json.loads(self._ask("calls"))

    def has_stopped(self):
        return "stopped " in self._process.out[self._read :]

    # --- power ---

    def lose_writes(self, running):
        """The program dies, and of what was not synced nothing is there, though the machine goes on: a
        file system that was mounted again."""
        os.killpg(running.pid, signal.SIGKILL)
        assert self._ask("lose", 0, "none", "none") == "lost"
        return running.kill()

    def lose_power(self, running=None, content=None, names=None):
        """The program dies, memory is empty, and of what was not synced on the disk is there what
        the policies say, by chance if they are not given. Returns the program's Result."""
        policies = [content or self.rng.choice(POLICIES), names or self.rng.choice(POLICIES)]
        if running and running.is_running:
            os.killpg(running.pid, signal.SIGKILL)  # it may wait for the disk, and so not die yet
            if not self.has_stopped() and self.rng.random() < 0.5:
                self._write_back()
        assert self._ask("lose", self.rng.randrange(2**32), *policies) == "lost"
        result = running.kill() if running else None
        unmount(self.memory)
        self._new_memory()
        self._boot.write_text(f"{uuid.uuid4()}\n")
        self.losses += 1
        return result

    def _write_back(self):
        """Dirty pages of mapped files go to the disk, as they may at any time. Not a promise: this
        process's syncfs() is the kernel's, of which the disk does not hear."""
        folder = os.open(self.disk, os.O_RDONLY)
        _libc.syncfs(folder)
        os.close(folder)

    def close(self):
        for at in reversed(self._mounted):
            unmount(at)
        if self._of_nobody:
            self._of_nobody.unlink()
        unmount(self.memory)
        self._process.close_stdin()
        self._process.wait()


@pytest.fixture
def machine(scratch, rng):
    """Skipped, visibly, where there is no FUSE or nobody may mount."""
    if why := own_mounts():
        pytest.skip(f"may not mount: {why}")
    one = Machine(scratch, rng)
    yield one
    one.close()
