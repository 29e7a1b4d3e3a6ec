"""The static files: the pages' style and script, the client-side object, and the description of the API."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

from checkout_integration.sandbox.wire import Case, RefusedError

_CLASS: Final = "CheckoutClient"
_CLASS_FORM: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,63}")
_TYPES: Final = {"css": "text/css", "js": "text/javascript", "yaml": "application/yaml"}


@cache
def _content(name: str) -> bytes:
    return files("checkout_integration.sandbox").joinpath(name).read_bytes()


def _answer(name: str) -> Response:
    return Response(_content(name), mimetype=_TYPES[name.rpartition(".")[2]])


def _client_script(request: Request) -> Response:
    """Return the client-side object under the name that ?class= asks for (EP6-03)."""
    name = request.args.get("class", _CLASS)
    if not _CLASS_FORM.fullmatch(name):
        raise RefusedError(
            400, Case.INVALID_DATA, "invalid request data", "class: must be the name of a class"
        )
    script = _content("pages/assets/client.js").replace(b"CLIENT_CLASS", name.encode())
    return Response(script, mimetype=_TYPES["js"])


def asset_rules() -> list[Rule]:
    """Return the routes; each endpoint is a callable of the request."""

    def style(request: Request) -> Response:
        return _answer("pages/assets/style.css")

    def form_script(request: Request) -> Response:
        return _answer("pages/assets/form.js")

    def description(request: Request) -> Response:
        return _answer("openapi.yaml")

    return [
        Rule("/assets/style.css", methods=["GET"], endpoint=style),
        Rule("/assets/form.js", methods=["GET"], endpoint=form_script),
        Rule("/client.js", methods=["GET"], endpoint=_client_script),
        Rule("/openapi.yaml", methods=["GET"], endpoint=description),
    ]
