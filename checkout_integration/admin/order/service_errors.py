"""Failures of calls of the service, in words for staff. The text of an exception is for engineers and their logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from checkout_integration import errors

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

WORDS: Final[Mapping[type[errors.CheckoutError], StrOrPromise]] = {
    errors.InsecureAddress: gettext_lazy("The address of the service in the settings is not secure."),
    errors.ServiceUnreachable: gettext_lazy("There was no connection to the service."),
    errors.DeadlineExceeded: gettext_lazy("The service did not respond in time."),
    errors.ResponseUnreadable: gettext_lazy("The response of the service could not be read."),
    errors.BadCredentials: gettext_lazy("The service refused the project's credentials. Check the settings."),
    errors.TooManyRequests: gettext_lazy("The service refuses further requests for now. Try again later."),
    errors.ServiceFailed: gettext_lazy("The service failed. Try again later."),
}


def failure_in_words(error: errors.CheckoutError) -> StrOrPromise:
    """Return what went wrong, in a sentence, with the status of the response where there is one."""
    if isinstance(error, errors.ErrorResponse) and not isinstance(error, tuple(WORDS)):
        return _("The service responded with status %(status)d.") % {"status": error.status}
    for kind, sentence in WORDS.items():
        if isinstance(error, kind):
            return sentence
    return _("The request failed (%(error)s).") % {"error": type(error).__name__}
