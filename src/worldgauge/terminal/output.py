"""Final output of commands: one JSON object, the path of a page, and how items ended."""

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
    """Print one JSON object on stdout."""
    sys.stdout.write(dumps(facts) + "\n")


def endings(status: str, listed: Sequence[tuple[str, str]]) -> None:
    """Print how items ended, the first of them by name.

    Args:
        status: How they ended.
        listed: Name and reason of each item. A name may be empty.
    """
    for name, why in listed[:SHOWN]:
        out.print(f"  {status} {name}: {why}" if name else f"  {status} {why}", markup=False, soft_wrap=True)
    if len(listed) > SHOWN:
        out.print(f"  and {len(listed) - SHOWN} more {status}")


def written(page: Path, json: bool) -> None:
    """Print the path of the report."""
    if json:
        print_json(page=str(page))
    else:
        print(f"{page}: open it in a browser")
