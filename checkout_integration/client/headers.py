"""The headers of a request: how it is signed (AUT-02, AUT-03), the version (VER-02), and what is accepted (SVC-07)."""

from __future__ import annotations

from collections.abc import Callable

import requests
from requests.auth import AuthBase, HTTPBasicAuth

from checkout_integration.client.config import ClientConfig
from checkout_integration.protocol.endpoints import Endpoint
from checkout_integration.protocol.values import Secret
from checkout_integration.protocol.vocabulary import API_SIGNATURE_HEADER


def request_with_headers(config: ClientConfig, endpoint: Endpoint, key: Secret) -> requests.Request:
    """Return a request to an endpoint with all its headers, signed with this key, and without content."""
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "gzip",  # SVC-07
        "User-Agent": "checkout-integration",
        config.version_header: config.api_version,  # VER-02
    }
    auth = (
        SecretKeyHeader(API_SIGNATURE_HEADER, key.reveal)  # AUT-02
        if endpoint.auth == "signature"
        else HTTPBasicAuth(config.project_id.encode(), key.reveal().encode())  # AUT-03
    )
    address = getattr(config, endpoint.base) + endpoint.path
    return requests.Request(endpoint.method, address, headers=headers, auth=auth)


class SecretKeyHeader(AuthBase):
    """Sets a header to the secret key. An object, so that no variable on the way has the text."""

    def __init__(self, header: str, reveal: Callable[[], str]) -> None:
        self._header = header
        self._reveal = reveal

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Sign the request."""
        request.headers[self._header] = self._reveal()
        return request
