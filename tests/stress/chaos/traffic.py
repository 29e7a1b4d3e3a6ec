"""Delivering stories as the service does: signed, several at a time, each message again until it is answered 200."""

from __future__ import annotations

import hashlib
import http.client
import queue
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from tests.stress.chaos.stories import Message, Story

SENDERS = 12
LONGEST_WAIT = 30.0
"""Seconds for one response; a later one means that the process hangs."""
AHEAD = 24
"""Messages that may wait for a sender."""


@dataclass
class Ledger:
    """The truth: what was sent, what was acknowledged, and every status that came back (0: no response)."""

    stories: list[Story] = field(default_factory=list)
    acknowledged: dict[str, Message] = field(default_factory=dict)
    answers: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    """Seconds from the first attempt of a message to its acknowledgement."""
    longest_answer: float = 0.0
    hung: int = 0


class _Telling:
    """A story in progress: its current wave, and the part not acknowledged yet."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.waves = iter(story.waves)
        self.left = 0


class Traffic:
    """Senders in threads; `flowing` makes new stories at a pace, and ends when all that was begun is acknowledged."""

    def __init__(self, url: str, secret: str, stories: Iterator[Story], rate: float) -> None:
        """Send to `url`, signed with `secret`, at most `rate` new messages a second."""
        self.ledger = Ledger()
        parts = urlsplit(url)
        self._host, self._port, self._path = parts.hostname or "", parts.port or 80, parts.path
        self._secret = secret.encode()
        self._stories = stories
        self._rate = rate
        self._queue: queue.Queue[tuple[_Telling, Message, int]] = queue.Queue()
        self._lock = threading.Lock()
        self._sent = 0
        self._unfinished = 0
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._send_on, name=f"sender {number}", daemon=True)
            for number in range(SENDERS)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(LONGEST_WAIT)

    @contextmanager
    def flowing(self, finish_within: float = 60.0) -> Iterator[None]:
        """Make and send stories meanwhile. Raises TimeoutError when something stays unacknowledged afterwards."""
        stopped = threading.Event()
        maker = threading.Thread(target=self._make, args=(stopped,), name="maker", daemon=True)
        maker.start()
        try:
            yield
        finally:
            stopped.set()
            maker.join()
        self.await_acknowledged(finish_within)

    def tell(self, story: Story) -> None:
        """Send one story."""
        telling = _Telling(story)
        with self._lock:
            self.ledger.stories.append(story)
            self._sent += len(story.messages)
            self._unfinished += 1
        self._next_wave(telling)

    def await_acknowledged(self, seconds: float) -> None:
        """Return when every message was answered 200. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while self._unfinished:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._unfinished} stories are not acknowledged after {seconds:.0f} s")
            time.sleep(0.05)

    def tally(self) -> Counter[int]:
        """Return the responses by status so far."""
        with self._lock:
            return Counter(self.ledger.answers)

    def _make(self, stopped: threading.Event) -> None:
        begun, before = time.monotonic(), self._sent
        while not stopped.wait(0.01):
            due = (time.monotonic() - begun) * self._rate
            while self._sent - before < due and self._queue.qsize() < AHEAD:
                story = next(self._stories, None)
                if story is None:
                    return
                self.tell(story)

    def _next_wave(self, telling: _Telling) -> None:
        wave = next(telling.waves, None)
        if wave is None:
            with self._lock:
                self._unfinished -= 1
            return
        telling.left = len(wave)
        for message, attempt in wave:
            self._queue.put((telling, message, attempt))

    def _send_on(self) -> None:
        while not self._ended.is_set():
            with suppress(queue.Empty):
                telling, message, attempt = self._queue.get(timeout=0.2)
                self._deliver(message, attempt)
                with self._lock:
                    telling.left -= 1
                    is_last = telling.left == 0
                if is_last:
                    self._next_wave(telling)

    def _deliver(self, message: Message, attempt: int) -> None:
        begun, pause = time.monotonic(), 0.05
        while not self._ended.is_set():
            sent = time.monotonic()
            status = self._post(message.body(attempt))
            with self._lock:
                self.ledger.longest_answer = max(self.ledger.longest_answer, time.monotonic() - sent)
                self.ledger.answers[status] += 1
                if status == 200:
                    self.ledger.acknowledged[message.id] = message
                    self.ledger.slowest = max(self.ledger.slowest, time.monotonic() - begun)
                    return
            attempt += 1
            time.sleep(random.uniform(0, pause))
            pause = min(pause * 2, 0.5)

    def _post(self, body: bytes) -> int:
        """Send one attempt and return the response's status; 0 when the connection was cut."""
        signature = hashlib.sha256(body + self._secret).hexdigest()
        headers = {"Authorization": f"Signature {signature}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self._host, self._port, timeout=LONGEST_WAIT)
        try:
            connection.request("POST", self._path, body, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except TimeoutError:
            with self._lock:
                self.ledger.hung += 1
            return 0
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()
