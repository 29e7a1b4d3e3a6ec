"""Settings of the shop that is killed. Where its servers are comes from the environment (`tests.stress.chaos.places`)."""

from __future__ import annotations

import os

from tests.stress.chaos.names import (
    ABANDONED_SECONDS,
    BULK,
    BULK_SECRET,
    SANDBOX,
    SANDBOX_RETRY_SECONDS,
    SANDBOX_SECRET,
)

SECRET_KEY = "only for this trial"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "tests.stress.chaos.shop.urls"
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "checkout_integration",
    "tests.stress.chaos.shop.apps.ChaosShop",
]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]

# The harder configuration: connections outlive requests, and are not checked before use.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "postgres",
        "USER": "postgres",
        "HOST": "127.0.0.1",
        "PORT": os.environ["CHAOS_POSTGRES_PORT"],
        "CONN_MAX_AGE": None,
        # Statements are prepared by the server, and prepared again after each of its restarts.
        "OPTIONS": {"connect_timeout": 5, "server_side_binding": True, "prepare_threshold": 5},
    },
}

CELERY_BROKER_URL = f"redis://127.0.0.1:{os.environ['CHAOS_REDIS_PORT']}/0"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_DB_REUSE_MAX = 1_000_000  # here too
CELERY_BEAT_SCHEDULE_FILENAME = f"{os.environ['CHAOS_FOLDER']}/beat"

_SERVICE = os.environ["CHAOS_SERVICE"]
CHECKOUT_INTEGRATION = {
    "PROJECTS": {
        BULK: {"PROJECT_ID": "chaos-bulk", "SECRET_KEY": BULK_SECRET},
        SANDBOX: {
            "PROJECT_ID": "chaos-sandbox",
            "SECRET_KEY": SANDBOX_SECRET,
            "RETRY_INTERVAL": SANDBOX_RETRY_SECONDS,
            "ACCEPT_TEST_PAYMENTS": True,
            "ABANDONED_AFTER": ABANDONED_SECONDS / 3600,
        },
    },
    "BASE_URL": _SERVICE,
    "CHECKOUT_URL": _SERVICE,
    "ORDER_FORM_URL": f"{_SERVICE}/form",
    "RUNNER": "celery",
    "ALLOW_HTTP_LOOPBACK": True,
}
