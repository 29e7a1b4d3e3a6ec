"""The receiver that ALERTS connects to ``health_changed``: it sends a mail, or calls a function of the shop's."""

from __future__ import annotations

from typing import Unpack

from django.conf import settings
from django.core.mail import mail_admins, send_mail
from django.utils.module_loading import import_string

from checkout_integration.conf import MAIL_ADMINS, app_settings
from checkout_integration.signals import HealthChangedArguments, health_changed


def send_alert(**kwargs: Unpack[HealthChangedArguments]) -> None:
    """Send one alert to those whom ALERTS names. If that fails, the run is retried like that of any receiver."""
    to = app_settings().alerts
    project = f" ({kwargs['project']})" if kwargs["project"] else ""
    subject = f"{kwargs['severity']}: {kwargs['title']}{project}"
    text = "\n\n".join(filter(None, (kwargs["text"], kwargs["link"])))
    if to == MAIL_ADMINS:
        mail_admins(subject, text)
    elif isinstance(to, str):
        if to:
            import_string(to)(subject, text)
    elif callable(to):
        to(subject, text)
    else:
        send_mail(f"{settings.EMAIL_SUBJECT_PREFIX}{subject}", text, settings.SERVER_EMAIL, to)


def connect() -> None:
    """Connect it: once, when the apps are ready and ALERTS is set."""
    health_changed.connect(send_alert, weak=False)
