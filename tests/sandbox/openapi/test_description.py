"""openapi.yaml is sound by itself: valid, resolvable, complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from importlib.resources import files
from itertools import product
from string import ascii_uppercase
from typing import Any, Final

import jsonschema_rs
import pytest
import requests
import yaml
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from checkout_integration.protocol import vocabulary
from tests.specification.mapping import statements
from tests.support.sandbox.openapi_description import PROFILES, nodes, read_description
from tests.support.sandbox.service import Service

# About the wire: everything of these chapters, RFD-07 included, which says what products look like there.
_ON_THE_WIRE: Final = (
    *("TOK", "ORD", "USR", "MTH", "ITM", "RFD", "WHK", "LST", "ERR"),
    *("EP1", "EP2", "EP3", "EP4", "EP5", "AUT", "EVT", "HTT", "LIM", "VER"),
)
_BOTH: Final = (None, *PROFILES)


@pytest.mark.parametrize("profile", _BOTH)
def test_it_is_openapi_3_1(profile: str | None) -> None:
    """The document obeys the meta-schema of OpenAPI 3.1, with and without the patches of a profile."""
    document = read_description(profile)
    assert document["openapi"].startswith("3.1.")
    assert [error.message for error in OPENAPI_31_VALIDATOR.iter_errors(document)] == []


@pytest.mark.parametrize("profile", _BOTH)
def test_its_schemas_are_json_schemas(profile: str | None) -> None:
    """Every schema obeys the meta-schema of JSON Schema 2020-12, and all its references lead somewhere."""
    document = read_description(profile)
    registry = jsonschema_rs.Registry([("urn:openapi", document)], draft=jsonschema_rs.Draft202012)
    for name, schema in document["components"]["schemas"].items():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
        jsonschema_rs.Draft202012Validator(
            {"$ref": f"urn:openapi#/components/schemas/{name}"}, registry=registry
        )


def test_every_reference_leads_somewhere() -> None:
    """A reference outside the schemas is followed by no validator."""
    document = read_description()
    lost = [node["$ref"] for node in nodes(document) if "$ref" in node and not found(document, node["$ref"])]
    assert [reference for reference in lost if reference is not None] == []


def found(document: dict[str, Any], reference: str | None) -> bool:
    """Tell whether a local reference has a target; the patches' null is none."""
    target: Any = document
    for part in (reference or "#/nowhere").removeprefix("#/").split("/"):
        target = target.get(part) if isinstance(target, dict) else None
    return target is not None


def test_it_names_every_statement_about_the_wire() -> None:
    """Each statement about fields, rules, headers and statuses stands at the part that describes it."""
    named = {id_ for node in nodes(read_description()) for id_ in node.get("x-statements", [])}
    known = {statement.id for statement in statements()}
    assert named <= known
    assert [id_ for id_ in sorted(known - named) if id_.startswith(_ON_THE_WIRE)] == []


@pytest.mark.parametrize(
    ("schema", "chapters"),
    [
        ("Order", ["ORD"]),
        ("User", ["USR"]),
        ("Method", ["MTH"]),
        ("OrderItem", ["ITM"]),
        ("Refund", ["RFD"]),
        ("Notification", ["WHK"]),
        ("ListEnvelope", ["LST"]),
        ("Error", ["ERR"]),
        ("Token", ["TOK"]),
    ],
)
def test_every_field_of_a_resource_names_its_statement(schema: str, chapters: list[str]) -> None:
    """The table of a resource and its schema have the same fields, each with its own statement."""
    fields = read_description()["components"]["schemas"][schema]["properties"]
    described = {name: field["x-statements"][0] for name, field in fields.items()}
    listed = {
        statement.text.partition(" — ")[0]: statement.id
        for statement in statements()
        if statement.id[:3] in chapters and " — " in statement.text
    }
    assert described == listed


def test_its_paths_are_those_of_the_vocabulary() -> None:
    """The three operations of the specification stand at their addresses."""
    paths = read_description()["paths"]
    assert "post" in paths[vocabulary.TOKENS_PATH]
    assert "post" in paths[vocabulary.ORDER_PATH]
    assert "get" in paths[vocabulary.TRANSACTIONS_PATH]


def examples() -> Iterator[tuple[str, Any]]:
    """Yield the name of a request's schema with each example of it."""
    for path in read_description()["paths"].values():
        for operation in path.values():
            content = operation.get("requestBody", {}).get("content", {})
            for media in content.values():
                yield from (
                    (media["schema"]["$ref"], example["value"]) for example in media["examples"].values()
                )


def test_its_examples_are_valid() -> None:
    """An example that its own schema refuses would teach the wrong thing."""
    registry = jsonschema_rs.Registry([("urn:openapi", read_description())], draft=jsonschema_rs.Draft202012)
    for reference, value in examples():
        jsonschema_rs.validate({"$ref": f"urn:openapi{reference}"}, value, registry=registry)


def test_the_sandbox_serves_it(field: Service) -> None:
    """Tools find the description at the address of the sandbox itself."""
    answer = requests.get(f"{field.url}/openapi.yaml", timeout=10)
    assert answer.headers["Content-Type"].startswith("application/yaml")
    assert yaml.safe_load(answer.content) == read_description()
    assert json.dumps(read_description())  # nothing in it is more than JSON: no dates, no numbers as keys


@pytest.mark.parametrize("profile", PROFILES)
def test_the_sandbox_s_currencies_are_listed(profile: str) -> None:
    """The currencies of requests are those that the sandbox sells in, with their decimals."""
    from checkout_integration.sandbox.merchant import currencies

    schemas = read_description(profile)["components"]["schemas"]
    listed = set(schemas["RequestedCurrency"]["enum"]) - {None, ""}
    assert listed == {
        code for code in map("".join, product(ascii_uppercase, repeat=3)) if currencies.is_currency(code)
    }
    for rule in schemas["AmountInCurrency"]["allOf"][:3]:
        smallest = rule["then"]["properties"]["amount"]["multipleOf"]
        codes = set(rule["if"]["properties"]["currency"]["enum"])
        assert codes == {code for code in listed if currencies.smallest_unit(code) == Decimal(str(smallest))}


@pytest.mark.spec("VER-01", "VER-02", "VER-03")
def test_each_request_may_name_the_version() -> None:
    """In the one header of the specification, which none has to send."""
    document = read_description(None)
    version = document["components"]["parameters"]["Version"]
    assert (version["name"], version["in"]) == ("x-service-api-version", "header")
    assert version["schema"] == {"type": "string", "default": "1.0"}
    assert not version.get("required")
    reference = {"$ref": "#/components/parameters/Version"}
    for path, item in document["paths"].items():
        for method in {"get", "post"} & item.keys():
            named = item.get("parameters", []) + item[method].get("parameters", [])
            assert reference in named, (method, path)


@pytest.mark.spec("VER-01", "VER-02")
def test_the_version_is_major_and_minor() -> None:
    """The description has the version that requests carry: two numbers, as a text."""
    description = yaml.safe_load(
        files("checkout_integration.sandbox").joinpath("openapi.yaml").read_text("utf-8")
    )
    assert description["info"]["version"] == "1.0" == vocabulary.API_VERSION
