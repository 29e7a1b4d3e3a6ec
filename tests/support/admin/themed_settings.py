"""The tests' settings with a theme of the admin, added as docs/support-desk.md says."""

from tests.settings import *  # noqa: F403
from tests.support.documents import block

DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
exec(block("docs/support-desk.md", "# mysite/settings.py, with a theme"))
