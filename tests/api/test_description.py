"""What tools that describe an interface find in the views."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.support.api.described import described

ADDRESSES = {
    "/api/checkouts/": {"get", "post"},
    "/api/checkouts/{reference}/": {"get"},
    "/api/orders/": {"get"},
    "/api/orders/{order_id}/": {"get"},
    "/api/owned/": {"get"},
    "/server/owned/": {"get"},
    "/server/grants/": {"get"},
    "/server/grants/{key}/acknowledge/": {"post"},
}


@pytest.fixture(scope="module")
def description() -> Any:
    """The OpenAPI document that drf-spectacular, an extra, makes of the views."""
    return described()


@pytest.mark.filterwarnings("default")
def test_every_view_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    """Addresses and verbs, without a complaint."""
    found = {path: set(verbs) for path, verbs in described()["paths"].items()}
    assert found == ADDRESSES
    assert "warning" not in capsys.readouterr().err.lower()


@pytest.mark.spec("HTT-01", "HTT-05", "ERR-01", "ERR-02", "ERR-03")
def test_refusals_are_described(description: Any) -> None:
    """With their body, so that a generated client can tell them apart; a sale is a 201, of any object."""
    sale = description["paths"]["/api/checkouts/"]["post"]
    refused = "400 401 403 406 409 413 415 422 429 502".split()
    assert set(sale["responses"]) == {"201", *refused}
    assert "Idempotency-Key" in {each["name"] for each in sale["parameters"]}
    schemas = [each["content"]["application/json"]["schema"]["$ref"] for each in sale["responses"].values()]
    assert schemas == ["#/components/schemas/Checkout"] + ["#/components/schemas/Error"] * len(refused)
    assert sale["requestBody"]["content"]["application/json"]["schema"]["type"] == "object"
    assert "404" in description["paths"]["/api/orders/{order_id}/"]["get"]["responses"]


@pytest.mark.spec(
    "LST-01", "LST-02", "LST-03", "LST-04", "LST-05", "EP4-01", "EP4-02", "EP4-03", "EP4-04", "LIM-01"
)
def test_the_envelope_and_the_parameters_are_described(description: Any) -> None:
    """Cursors, limit and the filter, and the total as a number."""
    listing = description["paths"]["/api/orders/"]["get"]
    assert {each["name"] for each in listing["parameters"]} == {
        "limit",
        "starting_after",
        "ending_before",
        "status",
    }
    envelope = description["components"]["schemas"]["PaginatedOrderList"]
    assert envelope["properties"]["total_count"]["type"] == "integer"
    assert envelope["properties"]["data"]["items"] == {"$ref": "#/components/schemas/Order"}


@pytest.mark.spec("EP4-01", "EP4-02", "EP4-03", "LIM-01")
def test_each_parameter_of_a_list_is_described(description: Any) -> None:
    """With its type and limits for generated clients, and a description for readers."""
    listing = description["paths"]["/api/orders/"]["get"]["parameters"]
    parameters = {each["name"]: each for each in listing}
    assert parameters["limit"] == {
        "name": "limit",
        "in": "query",
        "required": False,
        "description": "Objects on a page.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
    }
    assert parameters["starting_after"]["schema"] == {"type": "string"}
    assert all(each["description"] for each in listing)


def test_amounts_are_described_as_text_that_may_be_missing(description: Any) -> None:
    """As they are sent."""
    amount = description["components"]["schemas"]["Order"]["properties"]["amount"]
    assert (amount["type"], amount.get("nullable"), amount["readOnly"]) == ("string", True, True)


A_SHOP = """
import sys, django
from django.conf import settings
settings.configure(
    SECRET_KEY="x", ROOT_URLCONF="tests.api.urls", ALLOWED_HOSTS=["*"], USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions",
        "checkout_integration", *sys.argv[1:]],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware"],
    CHECKOUT_INTEGRATION={"PROJECTS": {"default": {"PROJECT_ID": "p", "SECRET_KEY": "sandbox_test_secret"}},
        "BASE_URL": "https://service.invalid", "CHECKOUT_URL": "https://service.invalid"},
)
django.setup()
"""


def output_of(code: str, *apps: str) -> list[str]:
    """What a program prints in a shop with these apps more."""
    command = [sys.executable, "-c", A_SHOP + code, *apps]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.slow
def test_rest_framework_need_not_be_installed_as_an_app() -> None:
    """The README's five steps do not name it; drf-spectacular is not imported either."""
    code = """
from django.core.management import call_command
from django.test import Client
from django.contrib.auth.models import User
call_command("migrate", verbosity=0)
client = Client(headers={"accept": "text/html"})
anonymous = client.get("/api/orders/").status_code
client.force_login(User.objects.create_user("buyer"))
answer = client.get("/api/orders/", headers={"accept": "application/json"})
print(anonymous in (401, 403, 406), answer.status_code, answer.json()["object"], "drf_spectacular" in sys.modules)
"""
    assert output_of(code) == ["True", "200", "list", "False"]


@pytest.mark.slow
def test_an_installed_drf_spectacular_describes_the_interface() -> None:
    """No setting is needed: the addresses bring the description with them."""
    code = """
from drf_spectacular.generators import SchemaGenerator
document = SchemaGenerator().get_schema(request=None, public=True)
print("502" in document["paths"]["/api/checkouts/"]["post"]["responses"])
"""
    assert output_of(code, "rest_framework", "drf_spectacular") == ["True"]
