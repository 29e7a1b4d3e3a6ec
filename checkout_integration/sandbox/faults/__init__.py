"""Faults that are switched on by request.

- `catalogue`: every kind of fault, and where it strikes
- `switchboard`: the rules, and which of them strikes a request
- `api_faults`: responses of the API that are late, cut, garbled or missing
- `list_faults`: a transactions list that shifts, lies or falls behind
- `old_shape`: notifications in the shape of older messages
"""

from __future__ import annotations

from checkout_integration.sandbox.faults.api_faults import respond_with_fault, spoil_response
from checkout_integration.sandbox.faults.catalogue import KINDS, LONGEST_WAIT, SUBJECTS, FaultKind, FaultPoint
from checkout_integration.sandbox.faults.list_faults import FaultyLedger
from checkout_integration.sandbox.faults.old_shape import in_old_shape
from checkout_integration.sandbox.faults.switchboard import Fault, FaultSwitchboard

__all__ = [
    "KINDS",
    "LONGEST_WAIT",
    "SUBJECTS",
    "Fault",
    "FaultKind",
    "FaultPoint",
    "FaultSwitchboard",
    "FaultyLedger",
    "in_old_shape",
    "respond_with_fault",
    "spoil_response",
]
