"""The logs of real data that the project carries, what is known of them, and replays of them."""

import shutil
from pathlib import Path

from programs import TREE


class Chain(str):
    """The name of a chain whose log the project carries, with what is known of it.

    The digest of the state at its end and the root of all types are the same from every compiler
    and every history. They change with the fields of a chain's objects (the root also with what
    chainbase/state_root/FORMAT.md says), and only then.
    """

    def __new__(cls, name, **known):
        one = super().__new__(cls, name)
        vars(one).update(known)
        return one

    @property
    def path(self):
        return TREE / "tools/chains" / self.folder / "data" / f"{self}.blocks"


STEEM = Chain(
    "steem-2016",
    folder="social",
    blocks=162689,
    operations=274113,
    middle=100000,  # a number of a block in the middle
    digest="a3dea985aee2a5dc5a62fe8c57a785fd292c02e51a9a1efe5262101b582939f2",
    root="65f119054a6389c91d9877587dcda0fc598e71529e7ce7674648ddebbc4c1e0e",
)
EOS = Chain(
    "eos-swap-2022",
    folder="swap",
    blocks=81069,
    operations=146145,
    middle=270000000,
    digest="427b12463a16e65a7c50b589ce482966bfb8dc4e4620aa8b8400c722f83d5abf",
    root="3d2173d93241f0d95d65db3ffbce2364e82f7f98d2cc1367c4b1c0ad10c05467",
)
CHAINS = [STEEM, EOS]


def carried_log(chain, folder, name=None):
    """A copy of a chain's log, so that no index appears among the sources."""
    return Path(shutil.copy(chain.path, Path(folder) / (name or f"{chain}.blocks")))


class Replays:
    """A copy of a chain's log and states beside it, in a folder of a test."""

    def __init__(self, driver, folder, chain, log=None):
        self.driver, self.folder, self.chain = driver, folder, chain
        self.log = log or carried_log(chain, folder)

    def state(self, name="state"):
        return self.folder / name

    def call(self, *more, state="state"):
        return ["replay", "--block-log", self.log, "--state", self.state(state), *more, "--json"]

    def __call__(self, *more, state="state", **how):
        """Replays; the report as JSON when it ends with 0, else the Result."""
        result = self.run(*more, state=state, **how)
        return result.json if result.code == 0 else result

    def run(self, *more, state="state", **how):
        return self.driver(*self.call(*more, state=state), **how)

    def start(self, *more, state="state", **how):
        return self.driver.start(*self.call(*more, state=state), **how)
