"""The one kill harness: a program is started, ended at a random or an announced moment, and started
again; the test checks each end."""

import signal
import time


def until_killed(running, seconds, by=signal.SIGKILL):
    """Ends a running program after so many seconds, if it has not ended by itself; its Result."""
    time.sleep(seconds)
    running.signal(by)
    return running.wait(None)


def until(condition, running, code=None):
    """Waits until a condition holds or the program has ended; whether it still runs."""
    while running.is_running and not condition():
        time.sleep(0.001)
    return running.is_running


def killed_at_random(replay, enough, rng, *options, state="state", by=signal.SIGKILL):
    """Results of replays into one state, each ended at a random moment, until so many were ended and
    one came to the end. One that was ended by the signal goes on in the next; one that came to its
    end is followed by one into a new state. Each ends by SIGKILL, or with 0, or as the test allows.
    """
    longest = replay(*options, state=f"{state}-undisturbed")["seconds"] * 1.1
    ended = 0
    while True:
        result = until_killed(replay.start(*options, state=state), rng.uniform(0, longest), by)
        if by == signal.SIGKILL:
            result.expect((0, -signal.SIGKILL))
        yield result
        if result.code != 0:
            ended += 1
            continue
        if ended >= enough:
            return
        state += "."  # too few yet: once more from the begin
