"""Settings of a worker process whose connections pass a fuse: a file in the environment arms it."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403
from tests.settings import CHECKOUT_INTEGRATION, DATABASES, INSTALLED_APPS

DATABASES["default"]["NAME"] = os.environ["CHECKOUT_WORKER_DATABASE"]
DATABASES["default"]["CONN_MAX_AGE"] = None
INSTALLED_APPS = [*INSTALLED_APPS, "tests.stress.connections.apps.ConnectionsShop"]
CHECKOUT_INTEGRATION = {**CHECKOUT_INTEGRATION, "RUNNER": os.environ["CHECKOUT_WORKER_RUN"]}
CELERY_BROKER_URL = os.environ.get("CHECKOUT_WORKER_BROKER", "")
CELERY_TASK_DEFAULT_QUEUE = os.environ["CHECKOUT_WORKER_DATABASE"]
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
