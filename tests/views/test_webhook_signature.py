"""Authentication of the webhook: refusals over a raw socket, without statements and rows."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from checkout_integration.models import Notification, Order
from checkout_integration.protocol.signature import Encoding
from tests.support.flows.shop import statements
from tests.support.wire import SECRET, body_of, post, signature

pytestmark = pytest.mark.usefixtures("transactional_db")

BODY = body_of()
HEX = signature(BODY).split()[1]
FORGED: dict[str, str | bytes | None] = {
    "missing": None,
    "empty": "",
    "of an empty secret": "Signature " + hashlib.sha256(BODY).hexdigest(),
    "of another secret": signature(BODY, "sandbox_another_secret"),
    "of another body": signature(BODY + b" "),
    "base64 where hex is set": signature(BODY, encoding=Encoding.BASE64),
    "base64 of the hex text": "Signature " + base64.b64encode(HEX.encode()).decode(),
    "one bit flipped": "Signature " + f"{int(HEX[0], 16) ^ 1:x}" + HEX[1:],
    "cut": "Signature " + HEX[:-1],
    "longer": "Signature " + HEX + "0",
    "another scheme": f"Bearer {HEX}",
    "no scheme": HEX,
    "twice": f"Signature {HEX}, Signature {HEX}",
    "the secret itself": f"Signature {SECRET}",
    "not ASCII": b"Signature " + "\u00e9".encode("latin-1") * 64,
    "full-width digits": b"Signature " + ("\uff10" * 64).encode(),
    "a NUL": b"Signature \x00" + HEX.encode(),
}


def settle(settings: Any, **changes: Any) -> None:
    """Change the settings of the project."""
    project = {**settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"], **changes}
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "PROJECTS": {"default": project}}


@pytest.mark.spec("AUT-04", "AUT-05", "ERR-01", "ERR-02", "ERR-03")
def test_forged_signature_is_refused_without_a_statement(live_server: LiveServer) -> None:
    """A stranger gets 401 with the error object, stores nothing, and costs no SQL."""
    with statements() as seen:
        answers = {case: post(live_server.url, BODY, authorization=forged) for case, forged in FORGED.items()}
    refused = {"code": "INVALID_SIGNATURE", "message": "The signature does not match.", "details": ""}
    assert {case: (each.status, each.error) for case, each in answers.items()} == dict.fromkeys(
        FORGED, (401, refused)
    )
    assert seen == []
    assert not Notification.objects.exists()
    assert not Order.objects.exists()


def test_statements_of_other_threads_are_seen(live_server: LiveServer) -> None:
    """The test above would notice: a true notification does cost statements."""
    with statements() as seen:
        assert post(live_server.url, BODY, authorization=signature(BODY)).status == 200
    assert any("INSERT" in each for each in seen)


@pytest.mark.spec("AUT-04")
@pytest.mark.parametrize("source", ["", "   "])
def test_empty_secret_lets_nobody_in(live_server: LiveServer, settings: Any, source: str) -> None:
    """A secret that a callable leaves empty matches no signature, the one over the bare body least of all."""
    settle(settings, SECRET_KEY=lambda: source)
    over_body_alone = hashlib.sha256(BODY + source.encode()).hexdigest()
    assert post(live_server.url, BODY, authorization=f"Signature {over_body_alone}").status == 401


@pytest.mark.spec("AUT-04")
def test_older_secret_is_accepted_and_its_position_stored(live_server: LiveServer, settings: Any) -> None:
    """A refund months later is signed with the secret of the order's day."""
    settle(settings, SECRET_KEY="sandbox_new_secret", PREVIOUS_SECRET_KEYS=["sandbox_older_one", SECRET])
    assert post(live_server.url, BODY, authorization=signature(BODY)).status == 200
    assert Notification.objects.get().secret_position == 2


@pytest.mark.spec("AUT-04")
def test_removed_secret_is_refused(live_server: LiveServer, settings: Any) -> None:
    """A previous secret is valid until it is removed from the list."""
    settle(settings, SECRET_KEY="sandbox_new_secret", PREVIOUS_SECRET_KEYS=[])
    assert post(live_server.url, BODY, authorization=signature(BODY)).status == 401


@pytest.mark.spec("AUT-07")
@pytest.mark.parametrize(
    ("encodings", "status"), [(["hex"], 401), (["base64"], 200), (["hex", "base64"], 200)]
)
def test_base64_is_accepted_where_it_is_set(
    live_server: LiveServer, settings: Any, encodings: list[str], status: int
) -> None:
    """The encoding of the hash is not shown, so it is a setting."""
    settings.CHECKOUT_INTEGRATION = {**settings.CHECKOUT_INTEGRATION, "SIGNATURE_ENCODINGS": encodings}
    sent = signature(BODY, encoding=Encoding.BASE64)
    assert post(live_server.url, BODY, authorization=sent).status == status


@pytest.mark.spec("AUT-07", "EP5-01")
@pytest.mark.parametrize(
    "authorization",
    [f"signature {HEX}", f"Signature {HEX.upper()}", f"SIGNATURE  {HEX}"],
    # The hash differs in each process, and processes that share the tests must call them by one name.
    ids=["lower", "upper", "spaced"],
)
def test_case_of_scheme_and_hash_does_not_matter(live_server: LiveServer, authorization: str) -> None:
    """HTTP's schemes have no case, and neither has hex."""
    assert post(live_server.url, BODY, authorization=authorization).status == 200


@pytest.mark.spec("AUT-04")
def test_projects_are_apart(live_server: LiveServer, settings: Any) -> None:
    """Each project's address accepts its own secret alone: of ten by ten only the diagonal passes."""
    own = settings.CHECKOUT_INTEGRATION["PROJECTS"]["default"]
    secrets = {"default": SECRET} | {f"shop-{number}": f"sandbox_secret_of_{number}" for number in range(9)}
    projects = {alias: {"PROJECT_ID": f"id-{alias}", "SECRET_KEY": key} for alias, key in secrets.items()}
    settings.CHECKOUT_INTEGRATION = {
        **settings.CHECKOUT_INTEGRATION,
        "PROJECTS": {**projects, "default": own},
    }
    answers = {
        (project, alias): post(
            live_server.url,
            BODY,
            authorization=signature(BODY, secret),
            path=f"/checkout/webhook/{project}/",
        ).status
        for project in secrets
        for alias, secret in secrets.items()
    }
    assert answers == {(one, other): 200 if one == other else 401 for one in secrets for other in secrets}
    assert set(Order.objects.values_list("project", flat=True)) == set(secrets)
