"""Settings of a process: the environment names the database of the test run, the broker and the release."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403
from tests.settings import CHECKOUT_INTEGRATION, DATABASES, INSTALLED_APPS

DATABASES["default"]["NAME"] = os.environ["CHECKOUT_WORKER_DATABASE"]
INSTALLED_APPS = [*INSTALLED_APPS, "tests.stress.releases.apps.ReleasesShop"]
CHECKOUT_INTEGRATION = {**CHECKOUT_INTEGRATION, "RUNNER": "celery"}
CELERY_BROKER_URL = os.environ["CHECKOUT_WORKER_BROKER"]
CELERY_TASK_DEFAULT_QUEUE = os.environ["CHECKOUT_WORKER_DATABASE"]
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
