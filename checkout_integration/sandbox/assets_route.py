"""The static files: the pages' style and script, the client-side object, and the description of the API."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from werkzeug.routing import Rule
from werkzeug.wrappers import Request, Response

_TYPES: Final = {"css": "text/css", "js": "text/javascript", "yaml": "application/yaml"}


@cache
def _content(name: str) -> bytes:
    return files(__package__).joinpath(name).read_bytes()


def _answer(name: str) -> Response:
    return Response(_content(name), mimetype=_TYPES[name.rpartition(".")[2]])


def asset_rules() -> list[Rule]:
    """Return the routes; each endpoint is a callable of the request."""

    def style(request: Request) -> Response:
        return _answer("assets/style.css")

    def form_script(request: Request) -> Response:
        return _answer("assets/form.js")

    def client_script(request: Request) -> Response:
        return _answer("assets/client.js")

    def description(request: Request) -> Response:
        return _answer("openapi.yaml")

    return [
        Rule("/assets/style.css", methods=["GET"], endpoint=style),
        Rule("/assets/form.js", methods=["GET"], endpoint=form_script),
        Rule("/client.js", methods=["GET"], endpoint=client_script),
        Rule("/openapi.yaml", methods=["GET"], endpoint=description),
    ]
