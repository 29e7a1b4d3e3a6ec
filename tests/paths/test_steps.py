"""Reports of the example's commands, and their messages about obstacles."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from example_project.check import steps
from example_project.check.steps import Failed, Report, await_value, expect
from example_project.ports import PortInUse, free_or_raise, free_pair
from tests.support.paths.example import ROOT, START, environment


def test_a_failed_step_fails_the_report_and_stops_nothing() -> None:
    """The next journey is made all the same, and `ok` is false."""
    report = Report(stream=io.StringIO())
    report.run("first", fails)
    report.run("second", lambda: "seen")
    written = json.loads(report.as_json())
    assert written["ok"] is False
    assert [(step["name"], step["ok"]) for step in written["steps"]] == [("first", False), ("second", True)]
    assert written["steps"][0]["detail"] == "Failed: the answer is 41, not 42"


def fails() -> str:
    """A journey that does not see what it expects."""
    expect("the answer", 41, 42)
    return "never reached"


def test_what_never_happens_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting ends at a deadline, with a message that names the awaited thing."""
    monkeypatch.setattr(steps, "PATIENCE", 0)
    with pytest.raises(Failed, match="the goods"):
        await_value("the goods", lambda: None)


def test_a_port_in_use_is_named_with_a_way_out() -> None:
    """The message names the port and another one."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=rf"Port {port} cannot be used.*--port \d+"):
            free_or_raise(free_pair(), port)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Python, which looks for modules in that folder or beside its script, and nowhere else."""
    inherited = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=cwd, env=inherited, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_folder_that_cannot_be_made_is_named_with_a_way_out(tmp_path: Path) -> None:
    """In one line, and with the exit code 1."""
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "folder"
    done = run("-c", START, str(folder), str(free_pair()), str(False), cwd=ROOT)
    assert done.returncode == 1
    said = f"The folder {folder} cannot be made (Not a directory). Name another one with --folder.\n"
    assert done.stderr == said


@pytest.mark.slow
def test_the_shop_can_be_managed_by_its_path(tmp_path: Path) -> None:
    """As every project of Django can, from any folder."""
    done = run(str(ROOT / "example_project" / "manage.py"), "check", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
