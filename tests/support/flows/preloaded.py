"""What each process of `tests.support.flows.suspended_processes` has loaded before it is forked: loading takes far longer."""

from __future__ import annotations

from importlib import import_module

import django

django.setup()
import_module("tests.support.flows.suspended_processes")
import_module("tests.urls")
