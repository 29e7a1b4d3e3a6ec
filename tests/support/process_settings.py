"""Settings of a process on the database of a running test, whose name and settings of the app are in the environment."""

from __future__ import annotations

import json
import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES

DATABASES["default"]["NAME"] = os.environ["CHECKOUT_WORKER_DATABASE"]
CHECKOUT_INTEGRATION = json.loads(os.environ["CHECKOUT_WORKER_SETTINGS"])
