"""The one way in which tests run a program: to its end (run), or beside the test (start).

A program that is started is killed when its test ends, and with pytest at the latest. Failures are
AssertionErrors that show the whole call, the exit code and both outputs.
"""

import atexit
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]

# The folders of tests go away, and segments of their states in memory would stay.
os.environ.setdefault("CHAINBASE_MEMORY_FOLDER", "none")

# Against hangs only: no test says how fast a program is.
PATIENCE = 300

_libc = ctypes.CDLL(None)
_started = []  # programs that run beside a test


def _die_with_pytest():
    _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _environment(changes):
    """The environment with changes; a value of None takes a name out."""
    all_of_it = {**os.environ, **(changes or {})}
    return {name: str(value) for name, value in all_of_it.items() if value is not None}


def _excerpt(text, most=6000):
    return text if len(text) <= most else text[: most // 2] + "\n[...]\n" + text[-most // 2 :]


class Result:
    """How a program ended and what it wrote. code is negative for a signal, as subprocess has it."""

    def __init__(self, call, code, out, err):
        self.call, self.code, self.bytes = call, code, out
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"stdout is not one JSON document ({error})\n{self}") from None

    @property
    def json_lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def both(self):
        return self.out + self.err

    def expect(self, code):
        """Requires an exit code."""
        codes = code if isinstance(code, (tuple, list, set)) else (code,)
        if self.code not in codes:
            raise AssertionError(f"expected exit code {code}\n{self}")
        return self

    def says(self, *words):
        """Requires each word, in any case, in one of the outputs."""
        missing = [word for word in words if word.lower() not in self.both.lower()]
        if missing:
            raise AssertionError(f"does not say {missing}\n{self}")
        return self

    def __str__(self):
        return (
            f"$ {shlex.join(self.call)}\nexit code {self.code}\n"
            f"--- stdout\n{_excerpt(self.out)}\n--- stderr\n{_excerpt(self.err)}"
        )

    __repr__ = __str__


class Running:
    """A program beside the test. Both its outputs are read all the time."""

    def __init__(self, call, *, stdin=None, env=None, cwd=None, preexec=None):
        def before():
            _die_with_pytest()
            if preexec:
                preexec()

        self.call = [str(part) for part in call]
        self._stdin = stdin
        self.process = subprocess.Popen(
            self.call,
            stdin=stdin if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(env),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=before,
        )
        _started.append(self)
        self._changed = threading.Condition()
        self._bytes = {"out": bytearray(), "err": bytearray()}
        self._readers = [
            threading.Thread(target=self._read, args=(name, pipe), daemon=True)
            for name, pipe in (("out", self.process.stdout), ("err", self.process.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, name, pipe):
        while piece := os.read(pipe.fileno(), 1 << 16):
            with self._changed:
                self._bytes[name] += piece
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    @property
    def pid(self):
        return self.process.pid

    @property
    def out(self):
        return self._bytes["out"].decode("utf-8", "replace")

    @property
    def err(self):
        return self._bytes["err"].decode("utf-8", "replace")

    @property
    def is_running(self):
        return self.process.poll() is None

    def wait_for(self, pattern, stream="out", since=0, timeout=PATIENCE):
        """Waits until an output matches a regular expression; returns the match.

        since: where in the output to begin. Fails when the program ends before.
        """
        end = time.monotonic() + timeout
        while True:
            with self._changed:
                over = not any(reader.is_alive() for reader in self._readers)
                found = re.search(pattern, getattr(self, stream)[since:], re.MULTILINE)
                if found:
                    return found
                if not over:
                    self._changed.wait(0.2)
            if over:
                raise AssertionError(f"ended without {pattern!r}\n{self.wait(None)}")
            if time.monotonic() > end:
                raise AssertionError(f"no {pattern!r} in {timeout} s\n{self.kill()}")

    def first_json(self, timeout=PATIENCE):
        """The first line of stdout, which is JSON."""
        return json.loads(self.wait_for(r"^(.*)\n", timeout=timeout).group(1))

    def send(self, text):
        """Writes to its stdin, which was started with PIPE."""
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def close_stdin(self):
        self.process.stdin.close()

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, code=0, timeout=PATIENCE):
        """Waits for the end, requires the exit code (None: any) and returns the Result."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {timeout} s\n{self.kill()}") from None
        for reader in self._readers:
            reader.join(5)  # a grandchild may keep a pipe open
        result = Result(
            self.call, self.process.returncode, bytes(self._bytes["out"]), bytes(self._bytes["err"])
        )
        return result if code is None else result.expect(code)

    def interrupt(self, code=None):
        self.signal(signal.SIGINT)
        return self.wait(code)

    def kill(self):
        """kill -9, of the program and whatever it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        return self.wait(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


class Program:
    """A program of the build. `env`, `cwd`, `stdin` (bytes or text) and `timeout` are of one run."""

    def __init__(self, path):
        self.path = Path(path)

    def start(self, *args, stdin=None, env=None, cwd=None, preexec=None):
        """Runs it beside the test. stdin: subprocess.PIPE for send()."""
        return Running([self.path, *args], stdin=stdin, env=env, cwd=cwd, preexec=preexec)

    def __call__(
        self, *args, code=0, stdin=None, env=None, cwd=None, preexec=None, timeout=PATIENCE
    ):
        """Runs it to its end and requires the exit code (None: any)."""
        running = self.start(
            *args,
            stdin=None if stdin is None else subprocess.PIPE,
            env=env,
            cwd=cwd,
            preexec=preexec,
        )
        if stdin is not None:
            try:
                data = stdin if isinstance(stdin, bytes) else stdin.encode()
                running.process.stdin.write(data)
                running.process.stdin.close()
            except BrokenPipeError:
                pass  # it does not read all of it
        result = running.wait(None, timeout)
        _started.remove(running)
        return result if code is None else result.expect(code)

    def json(self, *args, **how):
        """What it prints with --json."""
        return self(*args, "--json", **how).json

    def __str__(self):
        return str(self.path)

    __fspath__ = __str__


def run(program, *args, **how):
    """Runs any program, by path or by name, to its end. As Program.__call__."""
    return Program(program)(*args, **how)


def folders():
    """Where programs are: CHAINBASE_BIN, folders separated by colons, or the release build."""
    named = os.environ.get("CHAINBASE_BIN")
    return [Path(one) for one in named.split(":")] if named else [TREE / "build/release/bin"]


def program(name):
    """A program of the build by its name. It is a failure, not a skip, if it is not built."""
    for folder in folders():
        if os.access(folder / name, os.X_OK):
            return Program((folder / name).absolute())
    pytest.fail(
        f"{name} is not in {':'.join(map(str, folders()))}: build it, or set CHAINBASE_BIN",
        pytrace=False,
    )


def need(*names):
    """Skips the test, visibly, when a program of the machine is not installed."""
    missing = [name for name in names if not shutil.which(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (tools/setup.sh installs it)")


def operations(usual):
    """How many operations a randomized test does: CHAINBASE_TEST_OPERATIONS, if that is less."""
    return min(usual, int(os.environ.get("CHAINBASE_TEST_OPERATIONS") or usual))


def reap(since=0):
    """Kills what was started after the first `since` programs and still runs."""
    while len(_started) > since:
        _started.pop().kill()


def number_started():
    return len(_started)


atexit.register(reap)
