"""Answers of the receiver: an empty 200, or a status with the service's error object."""

from __future__ import annotations

from dataclasses import dataclass

from checkout_integration.models import Notification
from checkout_integration.protocol.vocabulary import INVALID_SIGNATURE_CODE


@dataclass(frozen=True)
class Answer:
    """A status, and outside of 200 the error object's code and message (ERR-01, ERR-02).

    ``stored`` says that something was committed, so that receivers may be due; ``notification`` is what is to be applied.
    """

    status: int = 200
    code: str = ""
    message: str = ""
    stored: bool = False
    notification: Notification | None = None


ACKNOWLEDGED = Answer(stored=True)
UNSIGNED = Answer(401, INVALID_SIGNATURE_CODE, "The signature does not match.")
NOT_JSON = Answer(400, "INVALID_JSON", "The body is not JSON in UTF-8.")
UNREADABLE = Answer(400, "INVALID_BODY", "The body cannot be decompressed within the limits.")
CUT_SHORT = Answer(400, "INVALID_BODY", "The body cannot be read to its end.")
NO_LENGTH = Answer(411, "LENGTH_REQUIRED", "The body's length is not known. Send a Content-Length.")
TOO_LARGE = Answer(413, "TOO_LARGE", "The body is larger than a notification can be.")
UNKNOWN_PROJECT = Answer(404, "UNKNOWN_PROJECT", "There is no such project here.")
UNAVAILABLE = Answer(503, "UNAVAILABLE", "The notification could not be stored. Send it again.")
