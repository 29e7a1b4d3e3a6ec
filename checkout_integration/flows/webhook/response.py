"""Responses of the webhook: an empty 200, or another status with the service's error object."""

from __future__ import annotations

from dataclasses import dataclass

from checkout_integration.models import Notification
from checkout_integration.protocol.vocabulary import INVALID_SIGNATURE_CODE


@dataclass(frozen=True)
class WebhookResponse:
    """A status; if it is not 200, also the error object's code and message (ERR-01, ERR-02).

    ``stored``: something was committed, so receivers may be due. ``notification``: the one to be applied.
    """

    status: int = 200
    code: str = ""
    message: str = ""
    stored: bool = False
    notification: Notification | None = None


ACKNOWLEDGED = WebhookResponse(stored=True)
UNSIGNED = WebhookResponse(401, INVALID_SIGNATURE_CODE, "The signature does not match.")
NOT_JSON = WebhookResponse(400, "INVALID_JSON", "The body is not JSON in UTF-8.")
UNREADABLE = WebhookResponse(400, "INVALID_BODY", "The body cannot be decompressed within the limits.")
CUT_SHORT = WebhookResponse(400, "INVALID_BODY", "The body cannot be read to its end.")
NO_LENGTH = WebhookResponse(411, "LENGTH_REQUIRED", "The body's length is not known. Send a Content-Length.")
TOO_LARGE = WebhookResponse(413, "TOO_LARGE", "The body is larger than a notification can be.")
UNKNOWN_PROJECT = WebhookResponse(404, "UNKNOWN_PROJECT", "There is no such project here.")
UNAVAILABLE = WebhookResponse(503, "UNAVAILABLE", "The notification could not be stored. Send it again.")
