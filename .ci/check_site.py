"""Look at the site: ask its search what newcomers ask, in Chromium.

`python3 .ci/check_site.py build/site`, after `python3 -m docs`: each answer is among the first five results, and axe finds
nothing on some pages. Needs the environment of the browser tests.
"""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlencode

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

FIRST = 5
LOOKED_AT = (
    "docs/README",
    "docs/quickstart",
    "docs/receivers",
    "docs/desk-handbook",
    "docs/reference/flows",
    "search",
)
QUESTIONS = {
    "stop a receiver for a while": "docs/receivers",
    "service_away": "docs/reference/commands",
    "customer paid and got nothing": "docs/desk-handbook",
    "rotate secret key": "SECURITY",
    "test receiver TestCase": "docs/reference/testing",
    "refund in part": "docs/fulfilment",
    "without celery": "docs/celery",
    "size database 100 payments a second": "docs/sizing",
    "user.validate all customers refused": "docs/validation",
    "show the form in an iframe": "docs/shop-pages",
    "tunnel sandbox notifications laptop": "docs/tunnel",
    "which django and python versions": "docs/public",
    "add a second project": "docs/several-projects",
    "sell from an async view": "docs/async",
    "sales by country sql": "docs/analysis",
    "delete customer data GDPR": "docs/personal-data",
    "what is a grant": "docs/fulfilment",
    "webhook down for an hour": "docs/sync",
    "order in review what to do": "docs/desk-handbook",
    "docker kubernetes probes": "docs/containers",
    "give something for free": "docs/free-items",
    "gift to a friend": "docs/selling",
    "subscription ends": "docs/renewals",
    "prometheus metrics": "docs/metrics",
    "move from sqlite to postgresql": "docs/move-database",
    "checkout_doctor exit code": "docs/reference/commands",
    "try a chargeback": "docs/sandbox",
    "language german": "docs/languages",
    "replay failed receiver shell": "docs/debugging",
    "upgrade migrations safe": "docs/upgrading",
    "webhook answers 401": "docs/troubleshooting",
    "move from dj-stripe": "docs/moving",
    "guest buys without account": "docs/shop-pages",
    "restore a backup": "docs/reconciliation",
    "pgbouncer": "docs/postgresql",
}


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without a line for each."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def results(page: Page, site: str, query: str) -> list[str]:
    """Return the pages that the search finds first, by their paths."""
    page.goto(f"{site}/search.html?{urlencode({'q': query})}")
    page.wait_for_selector("#search-results h2")
    page.wait_for_function(
        "!document.querySelector('#search-summary, .search-summary')?.textContent.includes('…')"
    )
    page.wait_for_timeout(50)
    links = page.locator("#search-results ul.search li > a")
    addresses = links.evaluate_all("links => links.map(link => link.getAttribute('href'))")
    return list(
        dict.fromkeys(each.partition("?")[0].partition("#")[0].removesuffix(".html") for each in addresses)
    )


def main(folder: str) -> int:
    """Look at everything; return how much is wrong."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    missed, site = 0, f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        for query, answer in QUESTIONS.items():
            found = results(page, site, query)
            rank = found.index(answer) + 1 if answer in found else 0
            if not 1 <= rank <= FIRST:
                missed += 1
                print(f"{query!r} finds first: {', '.join(found[:FIRST])}; the answer is in {answer}.")
        for path in LOOKED_AT:
            page.goto(f"{site}/{path}.html")
            page.wait_for_load_state("networkidle")
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                for each in Axe().run(page).response["violations"]:
                    missed += 1
                    print(
                        f"{path}, {scheme}: axe, {each['id']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
                    )
        browser.close()
    server.shutdown()
    if not missed:
        print(f"The search answers {len(QUESTIONS)} questions; axe finds nothing on {len(LOOKED_AT)} pages.")
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
