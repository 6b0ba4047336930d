"""A program with a terminal of its own, and what is on its screen (pyte, Debian's python3-pyte)."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import programs
import pytest


class Terminal:
    """TERM is vt100 and characters are UTF-8 unless `env` says otherwise; None takes a name out."""

    def __init__(self, program, *args, columns=100, lines=30, env=None):
        pyte = pytest.importorskip("pyte", reason="python3-pyte is not installed (tools/setup.sh)")
        self.master, end = pty.openpty()
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self._set_size(columns, lines)
        self.before = termios.tcgetattr(end)
        self.raw = b""
        usual = {"TERM": "vt100", "LC_ALL": "C.UTF-8"}
        unset = dict.fromkeys(("NO_COLOR", "LC_CTYPE", "LINES", "COLUMNS"))

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [str(program), *map(str, args)],
            stdin=end,
            stdout=end,
            stderr=end,
            env=programs._environment({**unset, **usual, **(env or {})}),
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(end)

    def _set_size(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def pid(self):
        return self.process.pid

    @property
    def sent(self):
        """Everything that it sent."""
        return self.raw.decode("utf-8", "replace")

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def line(self, number):
        return self.screen.display[number].rstrip()

    def _read_some(self, seconds):
        """False: nobody has the other end open any more."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += piece
        self.stream.feed(piece)
        return bool(piece)

    def until(self, condition, patience=60):
        end = time.monotonic() + patience
        while not condition(self.text):
            if time.monotonic() > end or not self._read_some(0.02):
                return condition(self.text)
        return True

    def shows(self, text):
        """Reads until a text is on the screen; a failure shows the screen instead."""
        assert self.until(lambda shown: text in shown), f"no {text!r} on\n{self.text}"

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._read_some(0.01):
            pass

    def type(self, keys):
        os.write(self.master, keys.encode())

    def resize(self, columns, lines):
        self.screen.resize(lines, columns)
        self.screen.reset()
        self._set_size(columns, lines)

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Waits for the end; the exit code, negative for a signal."""
        deadline = time.monotonic() + programs.PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"does not end; it shows\n{self.text}"
            self._read_some(0.02)
        self.read_for(0.05)
        return self.process.returncode

    @property
    def is_restored(self):
        """Whether lines are read, echoed and signals made as when it began."""
        now = termios.tcgetattr(self.master)
        return all(now[n] == self.before[n] for n in (0, 1, 3))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
