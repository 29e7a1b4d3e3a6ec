"""The shop as gunicorn loads it."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.stress.chaos.shop.settings")
application = get_wsgi_application()
