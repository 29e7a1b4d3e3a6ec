"""The service as a scenario drives it: over HTTP, by the API that everybody has and by the sandbox's control API."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import requests

from checkout_integration.protocol import vocabulary
from checkout_integration.protocol.vocabulary import Event

_PATIENCE: Final = 120.0


class Unreachable(Exception):
    """Nobody answers at an address."""


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
        self._session.trust_env = False  # WHY: no proxy and no .netrc may stand between

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def control(self, method: str, path: str, document: Any = None) -> dict[str, Any]:
        """Ask the control API below `/_sandbox/`."""
        return self.ask(method, f"{self.url}/_sandbox/{path}", json=document)

    def project(self, method: str = "GET", settings: dict[str, Any] | None = None) -> dict[str, Any]:
        """Read the project's settings, or change them by PATCH."""
        return self.control(method, f"project/{self._project_id}", settings)

    def create_order(self, wanted: dict[str, Any]) -> str:
        """Create an order and return its id (EP2-01); signed, as it may bring a user."""
        told = self._api("order", {"project": self._project_id, **wanted})
        return str(told["id"])

    def create_by_token(self, wanted: dict[str, Any]) -> str:
        """Create a token, and an order from it (EP1-01, EP2-12)."""
        user = wanted.pop("user", None)
        document: dict[str, Any] = {"settings": {"project_id": self._project_id, **wanted}}
        if user is not None:
            document["user"] = user
        return str(self._api("order", {"token": self._api("tokens", document)["token"]})["id"])

    def try_again(self, order_id: str) -> str:
        """Press "try again" on the form, and return the id of the new order."""
        answer = self._send(
            "POST", f"{self.url}/form/again", data={"order_id": order_id}, allow_redirects=False
        )
        (made,) = parse_qs(urlsplit(answer.headers.get("Location", "")).query).get("order_id", [""])
        if made in {"", order_id}:
            raise Refused("the form made no new order")
        return made

    def listed(self, reference: str) -> list[str]:
        """Return the statuses that the transactions list tells for a reference in the metadata, oldest first."""
        told = self.ask(
            "GET",
            f"{self.url}{vocabulary.TRANSACTIONS_PATH}",
            params={"invoice_id": reference},
            auth=(self._project_id, self.secret_key),
        )
        return [str(item["status"]) for item in told["items"] or []]

    def sent(self, since: int) -> list[dict[str, Any]]:
        """Return what the service sent after the log entry of that number: status, note and `message`, the document."""
        entries = self.control("GET", "log")["entries"]
        sent = [entry for entry in entries if entry["direction"] == "out" and entry["number"] > since]
        return [{**entry, "message": _document_of(entry["request"])} for entry in sent]

    def asked(self, since: int) -> list[int]:
        """Return the shop's answers to user.validate after the log entry of that number; 0 is none."""
        sent = [each for each in self.sent(since) if each["message"].get("event") == Event.USER_VALIDATE]
        return [int(each["status"]) for each in sent]

    def last_number(self) -> int:
        """Return the number of the newest entry of the log."""
        return max((int(entry["number"]) for entry in self.control("GET", "log")["entries"]), default=0)

    def ask(self, method: str, url: str, **more: Any) -> dict[str, Any]:
        """Send a request and return the JSON object that answers it.

        Raises:
            Unreachable: nobody answers.
            Refused: the answer is none of success, or no JSON object.
        """
        answer = self._send(method, url, **more)
        told = _document_of(answer.text)
        if not answer.ok:
            reason = " ".join(str(told.get(name) or "") for name in ("message", "details"))
            raise Refused(
                f"{method} {urlsplit(url).path} was answered {answer.status_code} {reason}".rstrip()
            )
        return told

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
