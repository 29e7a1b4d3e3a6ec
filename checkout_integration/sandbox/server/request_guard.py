"""Protect a developer's machine: no page of another site may use the sandbox through the developer's browser.

Every request must name a host that the sandbox was started for (DNS rebinding). Below /_sandbox/ a change needs JSON, which
no page of another site can send, and nothing is shown in a frame. Only the hosted form may be framed by any site (EP6-02).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.wire.addresses import OwnHosts, host_name
from checkout_integration.sandbox.wire.errors import RefusedError

_CONTROL: Final = "/_sandbox/"
_FRAMED_BY_ANYBODY: Final = "/form/"
_CHANGES_NOTHING: Final = {"GET", "HEAD", "OPTIONS"}
_FRAMES: Final = {"iframe", "frame", "embed", "object", "fencedframe"}
_OWN_SITES: Final = {"", "same-origin", "none"}


def check_request(request: Request, hosts: OwnHosts, public_url: str) -> None:
    """Refuse a request that a page of another site could have sent.

    Raises:
        RefusedError: 421 a foreign host name, 403 a frame or another site, 415 a change that is not JSON.
    """
    if not hosts.answers_to(request.host):
        raise RefusedError(
            421,
            "sb000008",
            "not a host name of this sandbox",
            _advice(host_name(request.host)[:255], public_url),
        )
    if not request.path.startswith(_CONTROL):
        return
    if request.headers.get("Sec-Fetch-Dest") in _FRAMES:
        raise RefusedError(403, "sb000009", "not shown in a frame", "open it in a window of its own")
    if request.method not in _CHANGES_NOTHING:
        _check_change(request, public_url)


def _advice(name: str, public_url: str) -> str:
    start = f"start it with --allowed-hosts {name}" if name else "send a Host header"
    return f"{start}, or call it at {public_url or 'http://localhost'}"


def _check_change(request: Request, public_url: str) -> None:
    if not _is_of_this_site(request, public_url):
        raise RefusedError(
            403, "sb000010", "sent by a page of another site", "use the operator's page, or a program"
        )
    if request.mimetype != "application/json":
        raise RefusedError(
            415, "sb000011", "a change must be JSON", "send Content-Type: application/json, {} for nothing"
        )


def _is_of_this_site(request: Request, public_url: str) -> bool:
    """Return whether the request comes from one of our own pages, or from no browser."""
    if request.headers.get("Sec-Fetch-Site", "") not in _OWN_SITES:
        return False
    origin = request.headers.get("Origin")
    if origin is None:
        return True
    _, _, place = origin.lower().partition("://")  # "null", the origin of a page that hides it, has no host
    return bool(place) and place in {request.host.lower(), urlsplit(public_url).netloc.lower()}


def forbid_frames(request: Request, response: Response) -> None:
    """Add the headers that forbid frames for everything but the hosted form."""
    policy = response.headers.get("Content-Security-Policy", "default-src 'none'")
    if request.path.startswith(_FRAMED_BY_ANYBODY):
        response.headers["Content-Security-Policy"] = f"{policy}; frame-ancestors *"
        return
    response.headers["Content-Security-Policy"] = f"{policy}; frame-ancestors 'none'"
    response.headers["X-Frame-Options"] = "DENY"
