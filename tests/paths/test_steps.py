"""How the check of the example tells what it saw."""

from __future__ import annotations

import io
import json

import pytest

from example_project.check import steps
from example_project.check.steps import Failed, Report, await_value, expect
from example_project.ports import PortInUse, free_or_raise, free_pair


def test_a_failed_step_fails_the_report_and_stops_nothing() -> None:
    """The next journey is made all the same, and the exit code is told by `ok`."""
    report = Report(stream=io.StringIO())
    report.run("first", fails)
    report.run("second", lambda: "seen")
    told = json.loads(report.as_json())
    assert told["ok"] is False
    assert [(step["name"], step["ok"]) for step in told["steps"]] == [("first", False), ("second", True)]
    assert told["steps"][0]["detail"] == "Failed: the answer is 41, not 42"


def fails() -> str:
    """A journey that does not see what it expects."""
    expect("the answer", 41, 42)
    return "never told"


def test_what_never_happens_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting ends at a deadline, and says what was awaited."""
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
