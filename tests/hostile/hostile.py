#!/usr/bin/env python3
"""Hostile sequences from a seed, played against the real programs, a surface at a time (README.md).

    tests/hostile/hostile.py                                  every surface, 3 sequences each
    tests/hostile/hostile.py --seconds 60 peer segment        these surfaces, a minute each
    tests/hostile/hostile.py --repeat peer:7.12               one sequence again

A surface that breaks a promise is printed with its seed and the shortest steps that still break it;
the exit code is then 1. CHAINBASE_BIN names the folders of the programs (build/release/bin).
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "programs"))

import programs  # noqa: E402
from surface import Broken  # noqa: E402

SURFACES = {
    "block-log": "block_log_surface.BlockLog",
    "segment": "segment_surface.Segment",
    "checkpoint": "checkpoint_surface.Checkpoint",
    "redo": "checkpoint_surface.Redo",
    "snapshot": "snapshot_surface.Snapshot",
    "dump": "dump_surface.Dump",
    "archive": "archive_surface.Archive",
    "peer": "peer_surface.Peer",
    "http": "http_surface.Http",
    "keys": "keys_surface.Keys",
}
SHRINKING = 120  # seconds, at most, for one sequence


def surface_of(name, folder):
    module, kind = SURFACES[name].split(".")
    return getattr(__import__(module), kind)(folder)


def failure_of(surface, steps, folder):
    """What is broken when the steps are played in a folder of their own; None: nothing."""
    folder.mkdir()
    before = programs.number_started()
    try:
        surface.play(steps, folder)
    except (Broken, AssertionError) as broken:
        return str(broken) or traceback.format_exc(limit=-3)
    except Exception:
        return traceback.format_exc()
    finally:
        programs.reap(before)
        shutil.rmtree(folder, ignore_errors=True)
    return None


def shrunk(surface, steps, what, folder):
    """The shortest steps found that still break something, and what they break: runs of steps are
    left out, half of them first, as long as there is time."""
    until = time.monotonic() + SHRINKING
    length = len(steps) // 2
    while length:
        at = 0
        while at < len(steps) and time.monotonic() < until:
            fewer = steps[:at] + steps[at + length :]
            again = failure_of(surface, fewer, folder)
            if again is None:
                at += length
            else:
                steps, what = fewer, again
        length //= 2
    return steps, what


def sequence_of(surface, seed):
    return surface.sequence(random.Random(seed))


def attack(name, seed, enough, folder, shrink):
    """Plays sequences until `enough(how many)`; whether every promise held."""
    surface = surface_of(name, folder)
    played, steps = 0, 0
    began = time.monotonic()
    while not enough(played, time.monotonic() - began):
        own = f"{name}:{seed}.{played}"
        sequence = sequence_of(surface, own)
        what = failure_of(surface, sequence, folder / "sequence")
        if what is not None:
            if shrink:
                sequence, what = shrunk(surface, sequence, what, folder / "sequence")
            show(own, sequence, what)
            return False
        played += 1
        steps += len(sequence)
    print(f"{name}: {played} sequences, {steps} steps, nothing broken", flush=True)
    return True


def show(seed, steps, what):
    print(f"{seed.split(':')[0]}: BROKEN; again: tests/hostile/hostile.py --repeat {seed}")
    for number, step in enumerate(steps, 1):
        print(f"  {number}. {step}")
    print("  " + what.replace("\n", "\n  "), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("surfaces", nargs="*", metavar="SURFACE", help=", ".join(SURFACES))
    parser.add_argument("--seed", default=os.environ.get("CHAINBASE_TEST_SEED"))
    parser.add_argument(
        "--seconds",
        type=float,
        default=os.environ.get("CHAINBASE_HOSTILE_SECONDS"),
        help="of each surface, in place of a number of sequences (CHAINBASE_HOSTILE_SECONDS)",
    )
    parser.add_argument("--sequences", type=int, default=3, help="of each surface (3)")
    parser.add_argument("--as-is", action="store_true", help="what fails is not made shorter")
    parser.add_argument("--repeat", metavar="SURFACE:SEED", help="plays this one sequence")
    options = parser.parse_args()
    unknown = [one for one in options.surfaces if one not in SURFACES]
    if unknown:
        parser.error(f"no surface {unknown[0]!r}; there are {', '.join(SURFACES)}")
    seed = options.seed or str(random.randrange(10**9))

    def enough(played, seconds):
        if options.seconds is not None:
            return played > 0 and seconds >= options.seconds
        return played >= options.sequences

    folder = Path(tempfile.mkdtemp(prefix="chainbase-hostile-"))
    try:
        if options.repeat:
            name = options.repeat.split(":")[0]
            surface = surface_of(name, folder)
            steps = sequence_of(surface, options.repeat)
            what = failure_of(surface, steps, folder / "sequence")
            if what:
                show(options.repeat, steps, what)
            else:
                print(f"{options.repeat}: {len(steps)} steps, nothing broken")
            return 1 if what else 0
        print(f"seed: CHAINBASE_TEST_SEED={seed}", flush=True)
        held = []
        for name in options.surfaces or SURFACES:
            own = folder / name
            own.mkdir()
            held.append(attack(name, seed, enough, own, not options.as_is))
            shutil.rmtree(own, ignore_errors=True)
        return 0 if all(held) else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
