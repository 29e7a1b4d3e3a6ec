"""The shop in a worker process."""

from __future__ import annotations

import os
from pathlib import Path

from django.apps import AppConfig

FUSE = "CHECKOUT_WORKER_FUSE"


class ConnectionsShop(AppConfig):
    """Connects the receivers, and lets all connections of the process pass the fuse."""

    name = "tests.stress.connections"
    label = "connections_shop"

    def ready(self) -> None:
        """Connect and install."""
        from tests.stress.connections import shop
        from tests.stress.connections.killing import Fuse, install

        fuse = Fuse(Path(os.environ[FUSE]))
        install(fuse)
        shop.connect(fuse)
