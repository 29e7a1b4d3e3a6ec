"""A broker for Celery without a server: kombu's folder of files, in which a message appears only when it is complete."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """kombu opens a message under its final name and then writes it: a worker that looks in between ends at an empty one."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]  # the stubs differ among themselves
        name = f"{round(monotonic() * 1000)}_{uuid4()}.{queue}.msg"
        part = Path(self.data_folder_out) / f"{name}.part"
        part.write_text(dumps(payload), encoding="utf-8")
        part.replace(part.with_name(name))


class Transport(filesystem.Transport):
    """The same as ``whole-files://``."""

    Channel = Channel


TRANSPORT_ALIASES["whole-files"] = "example_project.broker:Transport"
