"""The webhook: receive one notification, verify, parse and store it, and respond. user.validate is decided at once.

`receiving` is the path of every request, `response` is its result. `validation` decides about a customer; `validators` calls
the shop's validators for it.
"""

from checkout_integration.flows.webhook.receiving import LARGEST_BODY, WebhookRequest, receive
from checkout_integration.flows.webhook.response import (
    CUT_SHORT,
    NO_LENGTH,
    TOO_LARGE,
    UNKNOWN_PROJECT,
    WebhookResponse,
)
