"""The summary at the end of `python3 -m tests` tells the truth, and so does its exit code."""

from __future__ import annotations

import pytest

from tests import services, suite
from tests.services import Server
from tests.suite import NOTHING_COLLECTED, Run

HERE = Server(name="Redis", url="redis://127.0.0.1/0", origin="from its wheel")
NOT_HERE = Server(name="PostgreSQL", url=None, origin="no wheel fits this Python")


def ended(*codes: int) -> list[Run]:
    """Return runs that ended with these exit codes."""
    return [Run(name=f"run {code}", code=code, counts="3 passed") for code in codes]


@pytest.fixture(autouse=True)
def not_required(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with servers that may be missing, whatever this machine says."""
    monkeypatch.delenv(services.REQUIRED, raising=False)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ((0, 0), 0),
        ((1, 0), 1),
        ((0, 1), 1),
        ((0, 3), 3),
        ((0, NOTHING_COLLECTED), 0),
        ((NOTHING_COLLECTED, NOTHING_COLLECTED), NOTHING_COLLECTED),
        ((-9, 0), -9),
    ],
)
def test_exit_code(codes: tuple[int, ...], expected: int) -> None:
    """One failed run fails the whole; a run that had nothing to do does not."""
    assert suite._summary(ended(*codes), HERE, []) == expected


def test_a_missing_server_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """What was not tested is said, and is no failure by itself."""
    assert suite._summary(ended(0), HERE, [NOT_HERE]) == 0
    assert "LEFT OUT PostgreSQL" in capsys.readouterr().out


def test_a_missing_server_can_be_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where servers are required, a missing one fails the command although every test passed."""
    monkeypatch.setenv(services.REQUIRED, "1")
    assert suite._summary(ended(0), HERE, [NOT_HERE]) == 1


def test_a_failed_run_is_not_called_passed(capsys: pytest.CaptureFixture[str]) -> None:
    """The last line and the exit code agree."""
    suite._summary(ended(0, 1), HERE, [])
    assert capsys.readouterr().out.splitlines()[-1] == "FAILED."
