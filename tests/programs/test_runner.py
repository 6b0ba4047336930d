"""What the other tests rely on: a runner that tells what went wrong, and leaves nothing behind."""

import signal
import subprocess

import pytest
from programs import Program


def test_a_run_tells_code_and_outputs(run):
    result = run("/bin/sh", "-c", "echo '{\"a\": 1}'; echo oh >&2; exit 4", code=4)
    assert result.json == {"a": 1}
    assert result.err == "oh\n"
    result.says("OH")


def test_a_wrong_code_is_told_with_all_that_was_said(run):
    with pytest.raises(AssertionError, match=r"expected exit code 0(.|\n)*exit code 3(.|\n)*oh"):
        run("/bin/sh", "-c", "echo oh >&2; exit 3")


def test_what_does_not_end_is_killed(run):
    with pytest.raises(AssertionError, match="still runs after 0.2 s"):
        run("/bin/sleep", "60", timeout=0.2)


def test_stdin_is_sent_and_closed(run):
    assert run("/bin/cat", stdin="x" * 200000).out == "x" * 200000


def test_a_program_beside_a_test_is_waited_for_and_killed():
    shell = Program("/bin/sh").start("-c", "echo port 7; exec cat", stdin=subprocess.PIPE)
    assert shell.wait_for(r"port (\d+)").group(1) == "7"
    shell.send("more\n")
    shell.wait_for("^more$")
    assert shell.kill().code == -signal.SIGKILL


def test_one_that_ends_early_is_told():
    with pytest.raises(AssertionError, match="ended without 'port'(.|\n)*exit code 5"):
        Program("/bin/sh").start("-c", "exit 5").wait_for("port")


def test_scratch_goes_with_its_test(scratch):
    (scratch / "file").write_text("x")
    test_scratch_goes_with_its_test.path = scratch


def test_and_has_gone():
    assert not test_scratch_goes_with_its_test.path.exists()
