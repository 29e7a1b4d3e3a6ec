"""Documents written by hand from the specification, as bytes and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from checkout_integration.protocol.strict_json import loads

FOLDER = Path(__file__).parent / "vectors"


def vector_bytes(name: str) -> bytes:
    """The bytes of one document."""
    return (FOLDER / f"{name}.json").read_bytes()


def vector(name: str) -> dict[str, Any]:
    """One document, read exactly."""
    document = loads(vector_bytes(name))
    assert isinstance(document, dict)
    return document
