"""The sandbox behind a real socket: a threaded HTTP server for tests, the example shop and the command line."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Self

from werkzeug.serving import WSGIRequestHandler, make_server

from checkout_integration.sandbox.app import SandboxApp
from checkout_integration.sandbox.sandbox import Sandbox


class _QuietHandler(WSGIRequestHandler):
    """Keeps the terminal quiet, since exchanges are in the run log, and leaves `Date` to the virtual clock."""

    def send_response(self, code: int, message: str | None = None) -> None:
        """Send the status line alone: the inherited method would add a second Date."""
        self.send_response_only(code, message)

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing."""


class SandboxServer:
    """Serves a sandbox while its `with` block runs.

    Attributes:
        sandbox: what is served.
        url: the address, without a slash at the end; also base, checkout and list address.
    """

    def __init__(
        self, sandbox: Sandbox, host: str = "127.0.0.1", port: int = 0, *, public_url: str | None = None
    ) -> None:
        """Bind `host` and `port` (0 picks a free one); `public_url` is told to buyers instead of the bound one."""
        self.sandbox = sandbox
        self._server = make_server(
            host, port, SandboxApp(sandbox), threaded=True, request_handler=_QuietHandler
        )
        named = f"[{host}]" if ":" in host else host
        self.url = f"http://{named}:{self._server.server_port}"
        sandbox.public_url = public_url or self.url
        self._thread = threading.Thread(target=self._serve, name="sandbox-server", daemon=True)

    def __enter__(self) -> Self:
        """Start serving and delivering."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving and delivering."""
        self.stop()

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=0.05)  # WHY: the default makes every stop take half a second

    def start(self) -> None:
        """Start serving and delivering."""
        self.sandbox.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and delivering, and release the port; the sandbox's state stays readable."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self.sandbox.stop()
