"""A stand-in for the hosted checkout service: a second, independent reading of the specification.

It imports nothing of ours but the vocabulary, and neither Django nor Celery.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checkout_integration.sandbox.catalogue import Product
    from checkout_integration.sandbox.clock import VirtualClock
    from checkout_integration.sandbox.faults import Fault
    from checkout_integration.sandbox.faults_catalogue import FaultKind, FaultPoint
    from checkout_integration.sandbox.project import SandboxProject
    from checkout_integration.sandbox.sandbox import Sandbox
    from checkout_integration.sandbox.server import SandboxServer

__all__ = [
    "Fault",
    "FaultKind",
    "FaultPoint",
    "Product",
    "Sandbox",
    "SandboxProject",
    "SandboxServer",
    "VirtualClock",
]
_HOMES: Final = {
    "Fault": "faults",
    "FaultKind": "faults_catalogue",
    "FaultPoint": "faults_catalogue",
    "Product": "catalogue",
    "Sandbox": "sandbox",
    "SandboxProject": "project",
    "SandboxServer": "server",
    "VirtualClock": "clock",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for.

    WHY not sooner: `python -m` comes by here before it can say that the extra is not installed.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
