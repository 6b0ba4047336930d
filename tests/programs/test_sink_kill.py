"""chainbase-sink through kills of node, sink and servers with forks under way, and faults on purpose that
this finds. More kills: tests/run.sh --all, sink_kills.py."""

import pytest
import sink_kills
from postgres_servers import missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


def test_rows_and_histories_are_those_of_the_state_through_kills(scratch, seed):
    kills = sink_kills.run(60, seed, scratch)
    assert kills.total() >= 60 and all(kills[name] for name in sink_kills.Pipeline.PARTS)


@pytest.mark.parametrize("fault, found", [
    ("row", "balance"), ("cursor", "expected exit code 0"), ("twice", "account.history")])
def test_a_fault_on_purpose_is_found(scratch, seed, fault, found):
    with pytest.raises(AssertionError, match=found):
        sink_kills.run(40, seed, scratch, broken=fault)
