"""The client of a project, as its settings say."""

from __future__ import annotations

from typing import cast

from checkout_integration.client import Client, ClientConfig
from checkout_integration.conf import Project, app_settings
from checkout_integration.protocol.listing import ArrayStyle


def service_client(project: str = "default") -> Client:
    """Return a client for calls that no flow makes, for instance of lists. Use it as a context manager: it holds connections.

    Args:
        project: alias of the project in the settings.

    """
    return client_for(app_settings().project(project))


def client_for(project: Project) -> Client:
    """A client with the project's secrets. Use it as a context manager: it holds connections."""
    secret_key, *other_keys = project.secrets
    return Client(
        ClientConfig(
            project_id=project.project_id,
            secret_key=secret_key,
            other_keys=tuple(other_keys),
            base_url=project.base_url,
            checkout_url=project.checkout_url,
            list_url=project.list_url,
            api_version=project.api_version,
            version_header=project.version_header,
            timeout=project.timeout,
            allow_http_loopback=project.allow_http_loopback,
            list_end_parameter=project.list_end_parameter,
            list_array_style=cast("ArrayStyle", project.list_array_style),
        )
    )
