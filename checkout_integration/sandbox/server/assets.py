"""The static files: the operator's page, style and scripts, the client-side object, and the description of the API."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

from werkzeug.exceptions import NotFound
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.wire.errors import invalid
from checkout_integration.sandbox.wire.http import page_response

_FILES: Final = files("checkout_integration.sandbox")
_CLASS: Final = "CheckoutClient"
_CLASS_FORM: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,63}")
_SCRIPT: Final = "text/javascript"
_ASSETS: Final = {"style.css": "text/css", "form.js": _SCRIPT, "operator.js": _SCRIPT}


def home(request: Request) -> Response:
    """Redirect to the operator's page."""
    return redirect("/_sandbox/", 303)


def operator_page(request: Request) -> Response:
    """Return the operator's page: its script reads the control API, and writes to it."""
    return page_response(_content("pages/assets/operator.html").decode())


def asset(request: Request, name: str) -> Response:
    """Return the style or a script of the pages."""
    if name not in _ASSETS:
        raise NotFound
    return Response(_content(f"pages/assets/{name}"), mimetype=_ASSETS[name])


def client_script(request: Request) -> Response:
    """Return the client-side object under the name that ?class= asks for (EP6-03)."""
    name = request.args.get("class", _CLASS)
    if not _CLASS_FORM.fullmatch(name):
        raise invalid("class: must be the name of a class")
    script = _content("pages/assets/client.js").replace(b"CLIENT_CLASS", name.encode())
    return Response(script, mimetype=_SCRIPT)


def description(request: Request) -> Response:
    """Return the description of the API."""
    return Response(_content("openapi.yaml"), mimetype="application/yaml")


def _content(name: str) -> bytes:
    return _FILES.joinpath(name).read_bytes()
