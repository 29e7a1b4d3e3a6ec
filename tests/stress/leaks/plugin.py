"""The pytest plug-in that watches every run: a test that leaks a secret or personal data fails."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest

from tests.stress.leaks.watch import Listener, Watch, as_text

LOUD = ("checkout_integration", "celery", "kombu", "rest_framework", "urllib3")
"""Loggers of which the finest records are looked at too."""
WATCH = Watch()
SUM: Counter[str] = Counter()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to listen at every place of a possible leak."""
    logging.getLogger().addHandler(Listener(WATCH))
    for name in LOUD:
        logging.getLogger(name).setLevel(logging.DEBUG)
    _watch_errors()
    _watch_answers()
    _watch_commands()
    _watch_tasks()


def pytest_warning_recorded(warning_message: warnings.WarningMessage) -> None:
    """Look at a warning."""
    WATCH.look("warning", str(warning_message.message))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail the test that was running during a leak."""
    yield
    if found := WATCH.take():
        pytest.fail("a secret or personal data leaked\n" + "\n".join(found[:5]), pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the counts over to the process that began the run."""
    if WATCH.take() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    output = getattr(session.config, "workeroutput", None)
    if output is None:
        SUM.update(WATCH.seen)
    else:
        output["leaks"] = dict(WATCH.seen)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the counts of one of the run's processes."""
    SUM.update(getattr(node, "workeroutput", {}).get("leaks", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much was looked at."""
    looked = ", ".join(f"{number:,} {kind}s" for kind, number in sorted(SUM.items()))
    terminalreporter.write_line(f"Looked for secrets and personal data in {looked or 'nothing'}.")


def _watch_errors() -> None:
    from django.core.signals import got_request_exception

    def look(request: Any = None, **_: object) -> None:
        WATCH.look_at_error(request)

    got_request_exception.connect(look, weak=False)


def _watch_answers() -> None:
    """Watch responses: the webhook and the REST interface must show no personal data; other pages may, to staff."""
    from django.core.handlers.base import BaseHandler

    answer = BaseHandler.get_response

    @wraps(answer)
    def watched(self: BaseHandler, request: Any) -> Any:
        given = answer(self, request)
        received = "/webhook/" in request.path
        WATCH.look("answer to the service" if received else "page", as_text(given), personal=received)
        return given

    BaseHandler.get_response = watched  # type: ignore[method-assign]


def _watch_commands() -> None:
    from django.core.management.base import OutputWrapper

    write = OutputWrapper.write

    @wraps(write)
    def watched(self: OutputWrapper, msg: str = "", *arguments: Any, **options: Any) -> None:
        WATCH.look("line of a command", str(msg))
        write(self, msg, *arguments, **options)

    OutputWrapper.write = watched  # type: ignore[method-assign]


def _watch_tasks() -> None:
    from celery.signals import before_task_publish, task_prerun

    def look(**arguments: object) -> None:
        WATCH.look(
            "task", repr({name: each for name, each in arguments.items() if name not in ("signal", "sender")})
        )

    before_task_publish.connect(look, weak=False)
    task_prerun.connect(look, weak=False)
