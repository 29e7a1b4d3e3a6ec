"""The sandbox behind a real socket: a threaded HTTP server for tests, the example shop and the command line."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from typing import Any, Final, Self

from werkzeug.serving import WSGIRequestHandler, make_server

from checkout_integration.sandbox.sandbox import Sandbox
from checkout_integration.sandbox.server.app import SandboxApp

_QUEUE: Final = 128


class _QuietHandler(WSGIRequestHandler):
    """A handler that prints nothing, since exchanges are in the run log, and leaves `Date` to the virtual clock."""

    def send_response(self, code: int, message: str | None = None) -> None:
        """Send the status line only: the inherited method would add a second Date header."""
        self.send_response_only(code, message)

    def log(self, type: str, message: str, *args: Any) -> None:
        """Print nothing."""


def _listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; werkzeug's own ends the process when it cannot listen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_QUEUE)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OSError(
            f"the sandbox cannot listen: {reason}; give an address of this machine and a free port"
        ) from None


class SandboxServer:
    """A server of one sandbox, for a `with` block.

    Attributes:
        sandbox: what is served.
        url: the address, without a slash at the end; also base, checkout and list address.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        public_url: str | None = None,
        allowed_hosts: Iterable[str] = (),
    ) -> None:
        """Bind `host` and `port` (0 picks a free one); customers get `public_url` instead of the bound address.

        Allowed host names are the loopback, `host`, the host of `public_url` or one of `allowed_hosts`; where
        `host` stands for every address of the machine (0.0.0.0), any IP address too.

        Raises:
            OSError: it cannot listen there; the message says why.
        """
        self.sandbox = sandbox
        with _listening(host, port) as listening:
            self._server = make_server(
                host,
                port,
                SandboxApp(sandbox),
                threaded=True,
                request_handler=_QuietHandler,
                fd=listening.fileno(),
            )
        named = f"[{host}]" if ":" in host else host
        self.url = f"http://{named}:{self._server.port}"
        sandbox.public_url = public_url or self.url
        for name in (host, *allowed_hosts):
            sandbox.own_hosts.add(name)
        self._thread = threading.Thread(target=self._serve, name="sandbox-server", daemon=True)

    def __enter__(self) -> Self:
        """Start serving and delivering."""
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop serving and delivering."""
        self.stop()

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=0.01)  # by default every stop takes half a second

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
