"""Django settings for the tests: one file, the database chosen by `CHECKOUT_TEST_DATABASE` (sqlite, postgres, mariadb)."""

from __future__ import annotations

import os
from typing import Any

from tests.support.databases import databases_for

SECRET_KEY = "only-for-tests-and-never-told"
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
ROOT_URLCONF = "tests.urls"
STATIC_URL = "/static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.admin",
    "django.contrib.staticfiles",
    "rest_framework",
    "checkout_integration",
    "tests.support.emptied",
    "tests.support.goods",
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

DATABASES = databases_for(os.environ)

# Django 6.1 warns without it, also where the tests of Django replace the backend. Earlier ones do not know the setting.
MAILERS = {"default": {"BACKEND": "django.core.mail.backends.locmem.EmailBackend"}}

# The addresses cannot be reached (RFC 2606): a test that talks to the service points these at a sandbox.
CHECKOUT_INTEGRATION: dict[str, Any] = {
    "PROJECTS": {"default": {"PROJECT_ID": "test-project", "SECRET_KEY": "sandbox_test_secret"}},
    "BASE_URL": "https://service.invalid",
    "CHECKOUT_URL": "https://service.invalid",
    "ORDER_FORM_URL": "https://service.invalid/form",
    "ACCEPT_TEST_PAYMENTS": True,
    "ALLOW_HTTP_LOOPBACK": True,
}
