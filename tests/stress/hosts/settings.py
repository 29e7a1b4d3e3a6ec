"""Settings of the host that `CHECKOUT_HOST` names."""

from __future__ import annotations

import os
from typing import Any

from tests.settings import *  # noqa: F403
from tests.settings import CHECKOUT_INTEGRATION, DATABASES
from tests.stress.hosts.table import HOSTS

HOST = HOSTS[os.environ["CHECKOUT_HOST"]]
FOLDER = os.environ["CHECKOUT_HOST_FOLDER"]
CHANGES: dict[str, Any] = dict(HOST.changes)

ROOT_URLCONF = "tests.stress.hosts.urls"
AUTH_USER_MODEL = "auth.User"
DATABASES["default"]["NAME"] = os.environ["CHECKOUT_HOST_DATABASE"]
DATABASES["default"]["ATOMIC_REQUESTS"] = CHANGES.pop("ATOMIC_REQUESTS", False)
if "DATABASE_ROUTERS" in CHANGES:
    DATABASES["replica"] = {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{FOLDER}/replica.sqlite3"}
SERVICE = os.environ["CHECKOUT_HOST_SERVICE"]
CHECKOUT_INTEGRATION = {
    **CHECKOUT_INTEGRATION,
    **CHANGES.pop("CHECKOUT_INTEGRATION", {}),
    **dict.fromkeys(["BASE_URL", "CHECKOUT_URL", "ORDER_FORM_URL"], SERVICE),
    "HOOKS": "tests.stress.hosts.shop.HostHooks",
    "RUNNER": "request",
}
globals().update(CHANGES)
