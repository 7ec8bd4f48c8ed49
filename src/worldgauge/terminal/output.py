"""What commands print in the end: one JSON object, a page's place, how items ended."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldgauge.core.io import dumps
from worldgauge.terminal.tables import out

SHOWN = 5
"""Failures and skips printed in full; the rest is counted."""


def print_json(**facts: Any) -> None:
    """One JSON object on stdout."""
    sys.stdout.write(dumps(facts) + "\n")


def endings(status: str, listed: Sequence[tuple[str, str]]) -> None:
    """How items ended, (name, why) each, the first of them by name; a name may be empty."""
    for name, why in listed[:SHOWN]:
        out.print(f"  {status} {name}: {why}" if name else f"  {status} {why}", markup=False, soft_wrap=True)
    if len(listed) > SHOWN:
        out.print(f"  and {len(listed) - SHOWN} more {status}")


def written(page: Path, json: bool) -> None:
    """Where the report is."""
    if json:
        print_json(page=str(page))
    else:
        print(f"{page}: open it in a browser")
