"""The service as a scenario uses it: over HTTP, by its public API and by the sandbox's control API."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import requests

from checkout_integration.protocol import vocabulary
from checkout_integration.protocol.vocabulary import Event

_PATIENCE: Final = 120.0


class Unreachable(Exception):
    """An address does not respond."""


class Refused(Exception):
    """The service, or the shop, answered with another status than success."""


class ScenarioService:
    """One project of a running sandbox.

    Attributes:
        url: address of the sandbox.
        secret_key: the project's secret, for calls of the API.
    """

    def __init__(self, url: str, project_id: str, secret_key: str) -> None:
        """Drive the sandbox at `url`."""
        self.url = url
        self.secret_key = secret_key
        self._project_id = project_id
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy and no .netrc

    def control(self, method: str, path: str, document: Any = None) -> dict[str, Any]:
        """Call the control API below `/_sandbox/`."""
        return self.ask(method, f"{self.url}/_sandbox/{path}", json=document)

    def project(self, method: str = "GET", settings: dict[str, Any] | None = None) -> dict[str, Any]:
        """Read the project's settings, or change them by PATCH."""
        return self.control(method, f"project/{self._project_id}", settings)

    def create_order(self, purchase: dict[str, Any]) -> str:
        """Create an order and return its id (EP2-01); signed, as it may have a user."""
        document = self._api("order", {"project": self._project_id, **purchase})
        return str(document["id"])

    def create_by_token(self, purchase: dict[str, Any]) -> str:
        """Create a token, and an order from it (EP1-01, EP2-12)."""
        user = purchase.pop("user", None)
        document: dict[str, Any] = {"settings": {"project_id": self._project_id, **purchase}}
        if user is not None:
            document["user"] = user
        return str(self._api("order", {"token": self._api("tokens", document)["token"]})["id"])

    def try_again(self, order_id: str) -> str:
        """Post "try again" of the form, and return the id of the new order."""
        response = self._send(
            "POST", f"{self.url}/form/again", data={"order_id": order_id}, allow_redirects=False
        )
        (made,) = parse_qs(urlsplit(response.headers.get("Location", "")).query).get("order_id", [""])
        if made in {"", order_id}:
            raise Refused("the form made no new order")
        return made

    def listed(self, reference: str) -> list[str]:
        """Return the listed statuses of a reference in the metadata, oldest first."""
        document = self.ask(
            "GET",
            f"{self.url}{vocabulary.TRANSACTIONS_PATH}",
            params={"invoice_id": reference},
            auth=(self._project_id, self.secret_key),
        )
        return [str(item["status"]) for item in document["items"] or []]

    def sent(self, since: int) -> list[dict[str, Any]]:
        """Return the log entries of what the service sent after that number, each with its `message`, the document."""
        entries = self.control("GET", "log")["entries"]
        sent = [entry for entry in entries if entry["direction"] == "out" and entry["number"] > since]
        return [{**entry, "message": _document_of(entry["request"])} for entry in sent]

    def validation_responses(self, since: int) -> list[int]:
        """Return the statuses of the shop's responses to user.validate after that number; 0 is none."""
        sent = [entry for entry in self.sent(since) if entry["message"].get("event") == Event.USER_VALIDATE]
        return [int(entry["status"]) for entry in sent]

    def last_number(self) -> int:
        """Return the number of the newest entry of the log."""
        return max((int(entry["number"]) for entry in self.control("GET", "log")["entries"]), default=0)

    def ask(self, method: str, url: str, **more: Any) -> dict[str, Any]:
        """Send a request and return the JSON object of the response.

        Raises:
            Unreachable: the address does not respond.
            Refused: the status is not success.
        """
        response = self._send(method, url, **more)
        document = _document_of(response.text)
        if not response.ok:
            reason = " ".join(str(document.get(name) or "") for name in ("message", "details"))
            raise Refused(
                f"{method} {urlsplit(url).path} was answered {response.status_code} {reason}".rstrip()
            )
        return document

    def _api(self, name: str, document: dict[str, Any]) -> dict[str, Any]:
        path = vocabulary.TOKENS_PATH if name == "tokens" else vocabulary.ORDER_PATH
        headers = {vocabulary.API_SIGNATURE_HEADER: self.secret_key}
        return self.ask("POST", self.url + path, json=document, headers=headers)

    def _send(self, method: str, url: str, **more: Any) -> requests.Response:
        try:
            return self._session.request(method, url, timeout=_PATIENCE, **{"allow_redirects": False, **more})
        except requests.RequestException as error:
            parts = urlsplit(url)
            raise Unreachable(
                f"nobody answers at {parts.scheme}://{parts.netloc} ({type(error).__name__})"
            ) from None


def _document_of(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
