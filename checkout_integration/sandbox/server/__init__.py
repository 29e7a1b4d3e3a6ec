"""The sandbox behind a socket: the WSGI application, its guards, the command line.

- `app`: the routes of all rooms in one application; errors become responses
- `server`: a threaded HTTP server
- `request_guard`: no page of another site may use the sandbox
- `assets`: static files and the description of the API
- `command_line`: `python -m checkout_integration.sandbox`
- `options`: options, from the command line or the environment
"""

from __future__ import annotations

from checkout_integration.sandbox.server.app import SandboxApp
from checkout_integration.sandbox.server.command_line import main
from checkout_integration.sandbox.server.options import EXAMPLE_SECRET, PROFILES, Options, port, web_address
from checkout_integration.sandbox.server.server import SandboxServer

__all__ = [
    "EXAMPLE_SECRET",
    "PROFILES",
    "Options",
    "SandboxApp",
    "SandboxServer",
    "main",
    "port",
    "web_address",
]
