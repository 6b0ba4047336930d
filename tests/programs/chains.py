"""The logs that the project carries, what is known of them, and replays of them."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from programs import TREE


@dataclass(frozen=True)
class Chain:
    """A log of the project. The digests and roots are the same from every compiler and history: they
    change with the fields of a chain's objects, and only then."""

    name: str
    folder: str
    blocks: int
    operations: int
    digest: str  # of the state at the end
    root: str  # of all types at the end
    middle: int  # the number of a block in the middle

    @property
    def path(self):
        return TREE / "tools/chains" / self.folder / "data" / f"{self.name}.blocks"

    def __str__(self):
        return self.name


CHAINS = {
    one.name: one
    for one in (
        Chain(
            "steem-2016",
            "social",
            162689,
            274113,
            "a3dea985aee2a5dc5a62fe8c57a785fd292c02e51a9a1efe5262101b582939f2",
            "d9a58fb5d0805e1de2f4501a5970fccf8096cba5aad1c7096dfe6564f3ed7290",
            100000,
        ),
        Chain(
            "eos-swap-2022",
            "swap",
            81069,
            146145,
            "427b12463a16e65a7c50b589ce482966bfb8dc4e4620aa8b8400c722f83d5abf",
            "fb68cc37391f63460afad49a14e76453792bf824299f7338d4442ceb8d5607d9",
            270000000,
        ),
    )
}
STEEM = CHAINS["steem-2016"]
EOS = CHAINS["eos-swap-2022"]


def copied_log(chain, folder, name="log"):
    """A copy of a log, so that no index appears among the sources."""
    return Path(shutil.copy(chain.path, folder / name))


class Replays:
    """A copy of a chain's log and states beside it, in a folder of a test."""

    def __init__(self, driver, folder, chain, log=None):
        self.driver, self.folder, self.chain = driver, folder, chain
        self.log = log or copied_log(chain, folder)

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
