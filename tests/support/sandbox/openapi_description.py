"""Reading openapi.yaml, as written or as one profile of the sandbox behaves."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

import yaml

SOURCE: Final = files("checkout_integration.sandbox") / "openapi.yaml"
PROFILES: Final = ("spec", "field")
_PATCH: Final = "x-profile-"


def read_description(profile: str | None = None) -> dict[str, Any]:
    """Return the description; for a profile, with its patches applied."""
    document: dict[str, Any] = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    if profile is not None:
        document = _patched(document, _PATCH + profile)
    return document


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a document."""
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(inner)


def _patched(node: Any, name: str) -> Any:
    if isinstance(node, list):
        return [_patched(element, name) for element in node]
    if not isinstance(node, dict):
        return node
    plain = {key: _patched(value, name) for key, value in node.items() if not key.startswith(_PATCH)}
    return _merged(plain, node.get(name, {}))


def _merged(target: Any, patch: Any) -> Any:
    """Return `target` after the merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
