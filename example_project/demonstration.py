"""The shop for people: start everything, say where to go, and stop everything at Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path

from example_project.ports import PortInUse, free_or_raise
from example_project.processes import FolderUnusable, Places, ProcessDied, Running, running

STAGED = """
Some of the earlier sales went wrong, so that the desk has something to decide: "staged" in their descriptions says so.
"""


def run(folder: Path, port: int, profile: str = "field", *, earlier_sales: bool = True) -> int:
    """Run until interrupted; returns the exit code."""
    started_at = time.monotonic()
    places = Places(
        folder=folder, shop_port=port, service_port=port + 1, profile=profile, earlier_sales=earlier_sales
    )
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        free_or_raise(places.shop_port, places.service_port)
        if places.begins:
            print(
                "The first start makes three months of earlier sales, so that the admin has something to show;"
                " --empty starts without them.",
                flush=True,
            )
        with running(places) as started:
            _welcome(places, time.monotonic() - started_at)
            _watch(started, ended)
            print("\nStopping ...", file=sys.stderr)
    except (PortInUse, FolderUnusable, ProcessDied) as failed:
        print(failed, file=sys.stderr)
        return 1
    return 0


def _watch(started: Running, ended: threading.Event) -> None:
    """Wait for the end. Raises ProcessDied when one of the processes ends before."""
    while not ended.wait(0.5):
        started.raise_if_one_died()


def _welcome(places: Places, seconds: float) -> None:
    from example_project.shop.demo import BUYER, STAFF

    staged = STAGED if places.earlier_sales else ""
    print(
        f"""
Brightwick Games is open (after {seconds:.1f} s). Payments go to a sandbox; no money moves.

  Shop       {places.shop}/             log in as {BUYER.username}, password {BUYER.password}
  Admin      {places.shop}/admin/checkout_integration/    log in as {STAFF.username}, password {STAFF.password}
  Service    {places.service}/_sandbox/    its operator's page: orders, refunds, chargebacks
{staged}
Three things to try:

  1. As {BUYER.username}, buy the game Lanternfall with the card 4242 4242 4242 4242: you come back to its activation code.
  2. On the service's page press Refund: the key leaves your inventory, and the order in the admin tells the whole story.
  3. Pay with the card 4000 0000 0000 0002, which is declined, and try again on the form: two orders, one payment.

Logs are in {places.folder}. Stop with Ctrl-C.
""",
        flush=True,
    )
