"""Which configurations a client accepts."""

from __future__ import annotations

from typing import Any

import pytest

from checkout_integration.client.errors import InsecureAddress
from checkout_integration.protocol.values import Secret
from tests.client.conftest import SECRET, config_for


@pytest.mark.parametrize("name", ["base_url", "checkout_url", "list_url"])
@pytest.mark.parametrize(
    "address",
    [
        "http://service.example",
        "http://10.0.0.1",
        "http://localhost.example",
        "http://127.0.0.1.example",
        "ftp://service.example",
        "service.example",
        "",
        "https://",
        "https://user:pass@service.example",
        "https://service.example?a=b",
        "https://service.example#a",
        "https://service.example:port",
        "https://[bad",
    ],
)
@pytest.mark.spec("AUT-01", "SVC-05")
def test_addresses_are_https(name: str, address: str) -> None:
    """Plain HTTP to another machine is refused even where loopback is allowed; the message names the setting."""
    with pytest.raises(InsecureAddress, match=name) as caught:
        config_for("https://service.example", **{name: address})
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8001",
        "http://127.1.2.3",
        "http://[::1]:8001",
        "http://localhost",
        "http://sandbox.localhost:1",
    ],
)
@pytest.mark.spec("AUT-01")
def test_plain_http_is_for_this_machine_and_only_when_allowed(address: str) -> None:
    """The sandbox runs there."""
    assert config_for(address).base_url == address
    with pytest.raises(InsecureAddress):
        config_for(address, allow_http_loopback=False)


@pytest.mark.spec("AUT-01")
def test_a_named_host_may_be_plain_http() -> None:
    """As the name of a container is, in development: that host, and no other."""
    changes = {"allow_http_loopback": False, "allow_http_hosts": ("sandbox",)}
    assert config_for("http://sandbox:8090", **changes).base_url == "http://sandbox:8090"
    with pytest.raises(InsecureAddress):
        config_for("http://other:8090", **changes)


@pytest.mark.spec("EP1-01", "EP2-01", "EP3-01")
def test_a_slash_at_the_end_of_an_address_does_no_harm() -> None:
    """A path is appended to it."""
    assert config_for("https://service.example/api/").base_url == "https://service.example/api"


@pytest.mark.spec("AUT-02")
@pytest.mark.parametrize(
    "secret", ["", " ", " sk-canary", "sk-canary ", "sk-\r\nX-Evil: 1", "sk-é-canary", "sk-\x00"]
)
def test_a_secret_must_fit_into_a_header(secret: str) -> None:
    """Refused here, not at the first checkout, and not repeated in the message."""
    with pytest.raises(ValueError, match="printable ASCII") as caught:
        config_for("https://service.example", secret_key=Secret(secret))
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("timeout", [0, -1.0])
def test_the_deadline_is_positive(timeout: Any) -> None:
    """Zero would refuse every call."""
    with pytest.raises(ValueError, match="positive"):
        config_for("https://service.example", timeout=timeout)


@pytest.mark.spec("AUT-02")
def test_repr_shows_no_secret() -> None:
    """A configuration ends up in tracebacks."""
    assert SECRET not in repr(config_for("https://service.example"))
