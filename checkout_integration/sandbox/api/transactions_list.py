"""The transactions list (chapter 3): who may read it, and its response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from werkzeug.datastructures import Authorization, MultiDict

from checkout_integration.sandbox.api.list_filters import read_search
from checkout_integration.sandbox.faults.list_faults import FaultyLedger
from checkout_integration.sandbox.merchant.project import SandboxProject
from checkout_integration.sandbox.merchant.projects import Projects
from checkout_integration.sandbox.orders.documents import Context, Documents
from checkout_integration.sandbox.profile import Profile
from checkout_integration.sandbox.wire.errors import RefusedError
from checkout_integration.sandbox.wire.signing import same_secret


@dataclass(frozen=True)
class TransactionsList:
    """The transactions list."""

    ledger: FaultyLedger
    projects: Projects
    documents: Documents
    profile: Profile

    def page(self, authorization: str | None, query: MultiDict[str, str]) -> dict[str, Any]:
        """Return the requested page, oldest first; `items` is null when it is empty (EP3-12).

        Raises:
            RefusedError: bad credentials, or a filter that cannot be read.
        """
        project = self.authenticate(authorization)
        visible = self.projects.of_merchant(project.merchant)
        count, orders = self.ledger.search(read_search(query, visible, self.profile))
        items = [self.documents.order(order, Context.LIST) for order in orders]
        return {"count": count, "items": items or None}

    def authenticate(self, authorization: str | None) -> SandboxProject:
        """Return the project whose id and secret are HTTP Basic's login and password (AUT-03).

        Raises:
            RefusedError: bad credentials.
        """
        given = Authorization.from_header(authorization)
        basic = given if given and given.type == "basic" else None
        login, password = (basic.username or "", basic.password or "") if basic else ("", "")
        project = self.projects.find(login)
        if project is None:
            raise self._refusal(self.profile.list_unknown_project_status if login else 401)
        if not same_secret(password, project.secret_key):
            raise self._refusal(401)
        return project

    def _refusal(self, status: int) -> RefusedError:
        """Return the refusal of bad credentials; at deployed services it has a message only (ERR-01)."""
        code = "" if self.profile.framework_errors_short else f"fm000{status}"
        return RefusedError(status, code, "Internal Server Error" if status >= 500 else "Unauthorized")
