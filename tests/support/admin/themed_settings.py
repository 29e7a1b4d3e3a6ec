"""The tests' settings with a theme of the admin, which stands before Django's own admin."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = ["unfold", *INSTALLED_APPS]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
