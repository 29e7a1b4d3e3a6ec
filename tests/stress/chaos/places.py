"""Places of a trial: its folder, its ports, and the environment of the shop's processes."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, kw_only=True)
class Places:
    """Free ports of the loopback, and one throwaway folder."""

    folder: Path
    shop: int
    service: int
    postgres: int
    redis: int

    @classmethod
    def free(cls, folder: Path) -> Places:
        """Return places in this folder, at ports that are free now."""
        shop, service, postgres, redis = _free_ports(4)
        return cls(folder=folder, shop=shop, service=service, postgres=postgres, redis=redis)

    @property
    def fuses(self) -> Path:
        """Folder whose files arm crash points."""
        return self.folder / "fuses"

    @property
    def service_url(self) -> str:
        """Address of the sandbox; another host name than the shop's, as in the world."""
        return f"http://localhost:{self.service}"

    def webhook_url(self, project: str) -> str:
        """Address of the shop's receiver for a project."""
        return f"http://127.0.0.1:{self.shop}/checkout/webhook/{project}/"

    def environment(self, *, armed: bool) -> dict[str, str]:
        """Return the environment of a process of the shop; an armed one obeys fuses."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CHAOS_")}
        mine = {
            "DJANGO_SETTINGS_MODULE": "tests.stress.chaos.shop.settings",
            "PYTHONUNBUFFERED": "1",
            "CHAOS_FOLDER": str(self.folder),
            "CHAOS_POSTGRES_PORT": str(self.postgres),
            "CHAOS_REDIS_PORT": str(self.redis),
            "CHAOS_SERVICE": self.service_url,
            "CHAOS_WEB_PORT": str(self.shop),
        }
        return {**inherited, **mine, **({"CHAOS_FUSES": str(self.fuses)} if armed else {})}


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
