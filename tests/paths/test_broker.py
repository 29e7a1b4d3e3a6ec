"""The example's broker of files: a worker sees a message when all of it is there, and not before."""

from __future__ import annotations

from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection

import example_project.broker  # noqa: F401  # registers the transport


def test_message_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader during the write finds nothing yet."""
    looked: list[str] = []
    write_text = Path.write_text
    options = {"data_folder_in": tmp_path, "data_folder_out": tmp_path, "control_folder": tmp_path}
    with Connection("whole-files://", transport_options=options) as connection:
        channel: Any = connection.channel()

        def write_and_look(path: Path, *arguments: Any, **named: Any) -> int:
            written = write_text(path, "")
            with pytest.raises(Empty):
                channel._get("celery")
            looked.append(path.name)
            return written + write_text(path, *arguments, **named)

        monkeypatch.setattr(Path, "write_text", write_and_look)
        channel._put("celery", {"body": "goods"})
        assert (channel._get("celery"), len(looked)) == ({"body": "goods"}, 1)
