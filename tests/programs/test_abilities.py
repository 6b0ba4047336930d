"""Whatever a program could do it still can: verbs, arguments, options, members of JSON, exit codes."""

import os

import abilities

HERE = os.path.dirname(os.path.abspath(__file__))


def test_nothing_is_lost_and_what_is_new_is_listed(driver):
    with open(os.path.join(HERE, "abilities.txt"), encoding="utf-8") as kept:
        before = set(kept.read().splitlines())
    now = set(abilities.listed(os.path.dirname(str(driver)), os.path.join(HERE, "../../tools/chains")))
    lost = sorted(before - now)
    # What a report has may depend on the machine; what can be called does not.
    added = sorted(line for line in now - before if line.startswith("chainbase-"))
    how = "if that is meant: tests/programs/abilities.py build/release/bin > tests/programs/abilities.txt"
    assert not lost, f"lost: {lost}; {how}"
    assert not added, f"new: {added}; {how}"
