"""Settings of the shop, as a merchant would write them. What concerns payments stands at the end."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = Path(os.environ.get("EXAMPLE_FOLDER", HERE.parent / ".example"))
SHOP = os.environ.get("EXAMPLE_SHOP", "http://127.0.0.1:8000")
SERVICE = os.environ.get("EXAMPLE_SERVICE", "http://localhost:8001")

SECRET_KEY = "for this demonstration only: the shop listens on this machine alone"
DEBUG = True
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "example_project.urls"
WSGI_APPLICATION = "example_project.wsgi.application"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("es", "Español")]
LOCALE_PATHS = [HERE / "locale"]
STATIC_URL = "/static/"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "shop"
LOGOUT_REDIRECT_URL = "shop"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "checkout_integration",
    "example_project.shop",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "example_project.shop.policy.ContentPolicyMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [HERE / "templates"],
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

# SQLite takes several processes at once when it writes ahead and when a transaction says at its start that it will write.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": FOLDER / "shop.sqlite3",
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# A broker that needs no server: messages are files. A real shop names its Redis or RabbitMQ here.
CELERY_BROKER_URL = "whole-files://"
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "data_folder_in": FOLDER / "queue",
    "data_folder_out": FOLDER / "queue",
    "control_folder": FOLDER / "queue",
    "polling_interval": 0.1,
}
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_BEAT_SCHEDULE_FILENAME = str(FOLDER / "beat")

FORM, SCRIPT = f"{SERVICE}/form", f"{SERVICE}/client.js"

# Nothing but our own, and what showing the form needs.
CONTENT_POLICY = {
    "default-src": ["'self'"],
    "script-src": ["'self'", SERVICE],
    "frame-src": ["'self'", SERVICE],
    "connect-src": ["'self'", SERVICE],
    "form-action": ["'self'", SERVICE],
    "object-src": ["'none'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'self'"],
}

CHECKOUT_INTEGRATION = {
    "PROJECTS": {
        "default": {
            "PROJECT_ID": "brightwick",
            "SECRET_KEY": os.environ.get("CHECKOUT_SECRET_KEY", "sandbox_brightwick_secret"),
        },
    },
    "BASE_URL": SERVICE,
    "CHECKOUT_URL": SERVICE,
    "ORDER_FORM_URL": FORM,
    "CLIENT_SCRIPT_URL": SCRIPT,
    "ORDER_URL": f"{SERVICE}/_sandbox/#/order/{{order_id}}",
    "HOOKS": "example_project.shop.hooks.ShopHooks",
    "RUNNER": "celery",
    "DYNAMIC_URLS": True,
    "RETURN_URL": f"{SHOP}/purchase/{{reference}}/",  # customers come back to the page of their purchase
    "ACCEPT_TEST_PAYMENTS": DEBUG,
    "ALLOW_HTTP_LOOPBACK": DEBUG,
}
