"""Settings of the site. The database is the one that the run has made; `BENCHMARKS_RUNNER` says who does our work."""

from __future__ import annotations

import os
from importlib.util import find_spec

from benchmarks import product
from benchmarks.processes import DATABASE, LIST, RUNNER, STUB
from benchmarks.stub import API_KEY
from tests.support.databases import databases_for

SECRET_KEY = "only-for-benchmarks"
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
ROOT_URLCONF = "benchmarks.site.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    *(["djstripe"] if find_spec("djstripe") else []),
    "checkout_integration",
    "benchmarks.site.apps.BenchmarksSite",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
STATIC_URL = "static/"
# No row for a session: the pages of two databases are read with one login.
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"

DATABASES = databases_for(os.environ)
DATABASES["default"]["CONN_MAX_AGE"] = 600
# Tables as the models are now: the way through all migrations of the peer takes half a minute.
DATABASES["default"]["TEST"]["MIGRATE"] = False
DATABASES["default"]["NAME"] = os.environ.get(DATABASE) or DATABASES["default"]["NAME"]
# An unbound payment says what to set, each time; nothing here is unbound but by mistake, which the counts show.
LOGGING = {"version": 1, "disable_existing_loggers": False, "root": {"level": "ERROR"}}

CHECKOUT_INTEGRATION = product.settings(
    os.environ.get(RUNNER, "worker"), os.environ.get(LIST, "https://service.invalid")
)

STRIPE_TEST_SECRET_KEY = API_KEY
STRIPE_LIVE_MODE = False
STRIPE_API_HOST = os.environ.get(STUB, "http://127.0.0.1:9")
DJSTRIPE_FOREIGN_KEY_TO_FIELD = "id"
