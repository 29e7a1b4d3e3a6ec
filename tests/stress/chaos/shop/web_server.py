"""Gunicorn's own settings, as a file: unlike its command line it passes over what an older version does not know."""

from __future__ import annotations

import os

from tests.stress.chaos.names import WEB_WORKERS

bind = f"127.0.0.1:{os.environ['CHAOS_WEB_PORT']}"
workers = WEB_WORKERS
preload_app = True
"""A killed worker's successor is a fork: it serves at once."""
reuse_port = True
"""A killed parent's successor can listen while orphaned workers still do."""
control_socket_disable = True
