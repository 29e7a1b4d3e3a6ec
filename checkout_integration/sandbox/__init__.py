"""A stand-in for the hosted checkout service: a second, independent reading of the specification.

It imports nothing of ours but the vocabulary, and neither Django nor Celery.
"""

from __future__ import annotations

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
