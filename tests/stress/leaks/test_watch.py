"""The eye that watches every run sees: each way of telling something is found."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

import pytest
from celery import Celery
from django.core.signals import got_request_exception
from django.test import RequestFactory

from tests.stress.leaks import plugin
from tests.stress.leaks.watch import PERSONAL, SECRETS, Listener, Watch


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """An eye of the test's own: what it finds fails nothing."""
    own = Watch()
    monkeypatch.setattr(plugin, "WATCH", own)
    return own


def fail(word: str) -> None:
    """A line that knows too much, and an error that says it."""
    raise ValueError(word)


def by_message(watch: Watch, word: str) -> None:
    """As a log line."""
    _logger(watch).error("It was %s", word)


def by_argument(watch: Watch, word: str) -> None:
    """As an argument that the line does not show, for instance to an APM."""
    _logger(watch).error("It was %.1s", word)


def by_extra(watch: Watch, word: str) -> None:
    """As something added to the record."""
    _logger(watch).error("It was", extra={"customer": {"told": word}})


def by_traceback(watch: Watch, word: str) -> None:
    """As the text of an exception."""
    try:
        fail(word)
    except ValueError:
        _logger(watch).exception("It failed")


def by_request(watch: Watch, word: str) -> None:
    """As the error of a request: its text, the page with DEBUG on, the report to the administrators."""
    try:
        fail(word)
    except ValueError:
        assert sys.exc_info()[0] is ValueError
        got_request_exception.send(sender=None, request=RequestFactory().get("/"))


def by_task(watch: Watch, word: str) -> None:
    """As an argument of a task."""
    app = Celery("watched", broker="memory://", backend="cache+memory://")
    app.send_task("watched.task", args=[word])


WAYS: list[Callable[[Watch, str], None]] = [
    by_message,
    by_argument,
    by_extra,
    by_traceback,
    by_request,
    by_task,
]


@pytest.mark.parametrize("word", [SECRETS[0], PERSONAL[0], PERSONAL[1], "player-77@example.com"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way.__name__))
def test_what_is_leaked_is_found(watch: Watch, way: Callable[[Watch, str], None], word: str) -> None:
    """A secret, a name, a number and an address, leaked in each way."""
    way(watch, word)
    assert watch.seen.total() > 0
    assert watch.take()


def test_pages_may_show_personal_data_but_no_secret(watch: Watch) -> None:
    """To staff who may see it."""
    watch.look("page", PERSONAL[0], personal=False)
    assert watch.take() == []
    watch.look("page", SECRETS[0], personal=False)
    assert watch.take()


def _logger(watch: Watch) -> logging.Logger:
    logger = logging.getLogger("watched.by.a.test")
    logger.handlers, logger.propagate = [Listener(watch)], False
    return logger
