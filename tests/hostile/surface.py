"""What the surfaces share: the promise that is broken, and calls of programs that any promise of
which is looked at."""

from pathlib import Path

import kills
import programs

# Of the programs: done, failed, wrong call, needs a decision, damaged, different, moved.
CODES = range(7)
PATIENCE = 90  # seconds: a program that takes longer hangs
MOST_SAID = 1 << 20  # bytes of messages, whatever came in


class Broken(Exception):
    """A promise does not hold; the text says which, and what was seen."""


def require(holds, what):
    if not holds:
        raise Broken(what)


def orderly(result):
    """What holds for every end of a program: no signal, a documented code, a reason in words when it
    is not 0, and no flood of them. Returns the result."""
    require(result.code in CODES, f"ended by {result.code}\n{result}")
    require(result.code == 0 or result.both.strip(), f"failed without a word\n{result}")
    messages = result.both if result.code else result.err
    require(len(messages) <= MOST_SAID, f"{len(messages)} bytes of messages\n{result}")
    return result


def call(program, *arguments, patience=PATIENCE, **how):
    """Runs a program to its end, whatever its exit code, and looks whether the end is orderly."""
    try:
        return orderly(program(*arguments, code=None, timeout=patience, **how))
    except AssertionError as late:
        raise Broken(str(late)) from None


def orderly_wait(running, signal, patience=PATIENCE):
    """Sends a program a signal, and waits for an end that is orderly."""
    running.signal(signal)
    try:
        return running.wait(None, patience)
    except AssertionError as late:
        raise Broken(str(late)) from None


def driver():
    return programs.program("chainbase-driver")


def inspect():
    return programs.program("chainbase-inspect")


class Chain:
    """A generated chain whose finished objects are archived, runs of it into states, and the digest
    that an undisturbed one comes to."""

    def __init__(self, folder, operations=40_000):
        self.log = Path(folder) / "log"
        mix = "comment=30,comment_delete=10,vote=20,custom=30,transfer=10"
        paid = ("--paid-percent", 100, "--cash-out-percent", 1, "--transactions-per-block", 20)
        driver()("generate", "--operations", operations, "--to", self.log, "--mix", mix, *paid)
        said = self.run("replay", Path(folder) / "undisturbed").expect(0).json
        self.blocks, self.digest = said["blocks"], said["state_digest"]

    def call(self, verb, state, *more):
        once = ["--once"] if verb == "sync" else []
        return [verb, *once, "--block-log", self.log, "--state", state, *more, "--json"]

    def run(self, verb, state, *more, **how):
        return call(driver(), *self.call(verb, state, *more), **how)

    def start(self, verb, state, *more):
        return driver().start(*self.call(verb, state, *more))

    def kill(self, verb, state, seconds, *more):
        """Begins to apply the chain, and is killed after so long; its Result."""
        return kills.until_killed(self.start(verb, state, *more), seconds)

    def require_whole(self, result):
        """It came to the end of the chain, and to the digest."""
        require(result.code == 0, f"does not go on\n{result}")
        require(result.json["state_digest"] == self.digest, f"another digest\n{result}")
