"""The app as Django sees it."""

from __future__ import annotations

from django.apps import AppConfig


class MembersConfig(AppConfig):
    """Keeps its label whatever folder it lies in."""

    name = "tests.stress.hosts.members"
    label = "members"
