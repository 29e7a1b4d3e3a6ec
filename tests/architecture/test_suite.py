"""The summary at the end of `python3 -m tests` tells the truth, and so does its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.__main__ import is_path, recipe
from tests.support import services, suite
from tests.support.services import Server
from tests.support.suite import NOTHING_COLLECTED, ROOT, Job, Run

HERE = Server(name="Redis", url="redis://127.0.0.1/0", origin="from its wheel")
NOT_HERE = Server(name="PostgreSQL", url=None, origin="no wheel fits this Python")


def ended(*codes: int) -> list[Run]:
    """Return runs that ended with these exit codes."""
    return [Run(name=f"run {code}", code=code, counts="3 passed") for code in codes]


def fails(folder: Path, condition: str) -> Job:
    """Return a run of one test that fails on this condition, and of a plug-in that fails the run once it has ended."""
    (folder / "test_one.py").write_text(
        "from pathlib import Path\nmarker = Path(__file__).with_name('marker')\n"
        f"def test_one():\n    assert not ({condition})"
    )
    (folder / "conftest.py").write_text(
        "from pathlib import Path\ndef pytest_sessionfinish(session):\n"
        "    if Path(__file__).with_name('ended').exists():\n        session.exitstatus = 1"
    )
    return Job(name=folder.name, environment=dict(os.environ), arguments=[str(folder), "-p", "no:randomly"])


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
    assert suite._summary(ended(*codes), [HERE], []) == expected


def test_a_missing_server_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """What was not tested is said, and is no failure by itself."""
    assert suite._summary(ended(0), [HERE], [NOT_HERE]) == 0
    assert "LEFT OUT PostgreSQL" in capsys.readouterr().out


def test_a_missing_server_can_be_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where servers are required, a missing one fails the command although every test passed."""
    monkeypatch.setenv(services.REQUIRED, "1")
    assert suite._summary(ended(0), [HERE], [NOT_HERE]) == 1


def test_a_failed_run_is_not_called_passed(capsys: pytest.CaptureFixture[str]) -> None:
    """The last line and the exit code agree."""
    suite._summary(ended(0, 1), [HERE], [])
    assert capsys.readouterr().out.splitlines()[-1] == "FAILED."


def test_a_broker_that_was_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """What was tested is said too."""
    suite._summary(ended(0), [HERE, NOT_HERE], [NOT_HERE])
    said = capsys.readouterr().out
    assert "with     Redis" in said
    assert "with     PostgreSQL" not in said


def test_runs_side_by_side_are_shown_one_after_the_other(capfd: pytest.CaptureFixture[str]) -> None:
    """Each under its own heading, whichever ends first."""
    jobs = [
        Job(name=name, environment=dict(os.environ), arguments=["--version"])
        for name in ("PostgreSQL", "MariaDB")
    ]
    assert [(run.name, run.code) for run in suite._run(jobs)] == [("PostgreSQL", 0), ("MariaDB", 0)]
    said = [line for line in capfd.readouterr().out.splitlines() if line]
    assert said[0] == "== PostgreSQL, side by side with MariaDB =="
    assert said[1::2] == ["== PostgreSQL ==", "== MariaDB =="]


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "code"), [(True, 0), (False, 1)])
def test_what_failed_is_run_once_more_on_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: bool, code: int
) -> None:
    """With the name of being unsteady; elsewhere it is a failure at once."""
    monkeypatch.setenv("CI", "true")
    if not ci:
        monkeypatch.delenv("CI")
    [done] = suite._steady([fails(tmp_path, "not marker.exists() and not marker.touch()")])
    assert (done.code, "UNSTEADY: 1 passed" in done.counts) == (code, ci)


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["True", "marker.parent.joinpath('ended').touch()"])
def test_what_fails_again_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, condition: str
) -> None:
    """And so is a run that fails although none of its tests did."""
    monkeypatch.setenv("CI", "true")
    [done] = suite._steady([fails(tmp_path, condition)])
    assert (done.code, "UNSTEADY" in done.counts) == (1, False)


@pytest.mark.parametrize(
    ("give", "variable"), [(services.mariadb, services.MARIADB), (services.rabbitmq, services.RABBITMQ)]
)
def test_a_server_without_a_wheel_is_there_when_it_is_named(
    monkeypatch: pytest.MonkeyPatch, give: Callable[[], AbstractContextManager[Server]], variable: str
) -> None:
    """And its absence says which variable would name it."""
    monkeypatch.setattr(services, "_has_driver", lambda: True)
    monkeypatch.setenv(variable, "name://of.a.server")
    with give() as server:
        assert server.url == "name://of.a.server"
    monkeypatch.delenv(variable)
    with give() as server:
        assert (server.url, variable in server.origin) == (None, True)


def test_a_mariadb_without_its_driver_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install is said."""
    monkeypatch.setattr(services, "_has_driver", lambda: False)
    monkeypatch.setenv(services.MARIADB, "mysql://of.a.server")
    with services.mariadb() as server:
        assert (server.url, "libmariadb-dev" in server.origin) == (None, True)


def test_the_driver_is_needed_where_there_is_a_mariadb() -> None:
    """Elsewhere nothing has to be compiled."""
    assert recipe({services.MARIADB: "mysql://of.a.server"}).compiled == ("mariadb",)
    assert recipe({}).compiled == ()


@pytest.mark.slow
@pytest.mark.parametrize(("required", "code"), [("", 0), ("1", 1)])
def test_browser_tests_where_playwright_is_missing(required: str, code: int) -> None:
    """Plain pytest in an environment without the group `browser` skips them and says why, or fails."""
    files = [
        str(file.relative_to(ROOT))
        for file in (ROOT / "tests").rglob("test_*.py")
        if "pytest.mark.browser" in file.read_text(encoding="utf-8") and file != Path(__file__)
    ]
    options = ["-q", "-p", "no:playwright", "-p", "no:cacheprovider", "-m", "browser", *files]
    missing = f"import sys, pytest; sys.modules['playwright'] = None; sys.exit(pytest.main({options}))"
    done = subprocess.run(
        [sys.executable, "-c", missing],
        cwd=ROOT,
        env={**os.environ, services.REQUIRED: required},
        capture_output=True,
        text=True,
        check=False,
    )
    assert bool(done.returncode) == bool(code), done.stdout
    assert ("needs playwright" if not required else "playwright") in done.stdout


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        ("tests/protocol", True),
        ("tests/architecture/test_suite.py::test_exit_code", True),
        ("-k", False),
        ("money", False),
        ("--durations=30", False),
    ],
)
def test_what_is_named_is_run_whole(argument: str, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, a folder or a test, not an option and its value."""
    monkeypatch.chdir(ROOT)
    assert is_path(argument) is named


def test_the_everyday_run_says_what_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody takes it for everything."""
    suite._summary(ended(0), [HERE], [], everyday=True)
    assert "every other test, on every database: python3 -m tests --rest" in capsys.readouterr().out
