"""chainbase-sink through kills of node, sink and servers with forks under way, and faults on purpose that
this finds. More kills: tests/run.sh --all, sink_kills.py."""

import time

import pytest
import sink_kills
from postgres_servers import Servers, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


def test_rows_and_histories_are_those_of_the_state_through_kills(scratch, seed):
    kills = sink_kills.run(60, seed, scratch)
    assert kills.total() >= 60 and all(kills[name] for name in sink_kills.Pipeline.PARTS)


@pytest.mark.parametrize("fault, found", [
    ("row", '"what":"balance'), ("cursor", '"same":false|is ahead of the cursor'), ("twice", "history_pkey|of the history|has begun")])
def test_a_fault_on_purpose_is_found(scratch, seed, fault, found):
    with pytest.raises(AssertionError, match=found):
        sink_kills.run(40, seed, scratch, broken=fault)


def test_rows_that_move_are_compared_where_one_shard_is_behind(scratch):
    by_balance = ["--distribute", "account:balance"]
    with Servers(sink_kills.SHARDS + 1) as servers:
        it = sink_kills.Pipeline(scratch, servers, by_balance)
        it.serve_chain(["--operations", 200000, "--accounts", 100, "--mix", "transfer=100"],
                       ["--blocks-per-second", 60])
        it.begin()
        for number in range(3):
            it.wait_until_ready()
            it.kill(number)  # the others have one transaction more
            time.sleep(1)
            it.rest()
            it.start(number)
            assert it.verify()["told_since"] > 0
            it.start("node")
            it.start("sink")
