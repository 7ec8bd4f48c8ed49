"""`worldgauge doctor`: check whether the installation, or one part of it, works, and say what to install where not."""

from __future__ import annotations

import csv as csv_files
import io
import textwrap
from collections.abc import Iterable
from json import dumps  # not ours, which needs numpy: this command has something to say where that is broken
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.options import FAILED, Csv, Json, print_result

if TYPE_CHECKING:
    from worldgauge.tools.doctor import Requirement

PARTS = ("minecraft",)
WIDTH = 80


def doctor(
    part: Annotated[
        str | None,
        typer.Argument(metavar="PART", help="Check only minecraft: Node, packages, server. Default: all other parts."),
    ] = None,
    server: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="With minecraft: also check a Java server of yours.")
    ] = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Check whether the installation works.

    Say what to install where something is missing. Exit with 1 if something that is needed is missing.
    """
    if json and csv:
        raise UsageError("--json and --csv: give one of them")
    if part is None:
        from worldgauge.tools.doctor import examine_installation

        if server is not None:
            raise UsageError("--server goes with: worldgauge doctor minecraft")
        found: Iterable[Requirement] = examine_installation()
    elif part in PARTS:
        from worldgauge.tools.doctor_minecraft import examine

        found = examine(server)
    else:
        raise UnknownNameError("part to check", part, PARTS)
    if not _show(found, "json" if json else "csv" if csv else "text"):
        raise typer.Exit(FAILED)


def _show(found: Iterable[Requirement], form: Literal["text", "json", "csv"]) -> bool:
    """Print each requirement once it is known. Returns whether all that is needed works."""
    from worldgauge.tools.doctor import Requirement

    listed: list[Requirement] = []
    for one in found:
        listed.append(one)
        if form == "text":
            state = "ok" if one.well else "FAILED" if one.needed else "optional"
            # A path is cut only where it is wider than the terminal.
            lines = textwrap.wrap(
                f"{state:8} {one.part}: {one.told}", WIDTH, subsequent_indent=" " * 9, break_on_hyphens=False
            )
            print("\n".join(lines), flush=True)
    ok = all(one.well or not one.needed for one in listed)
    if form == "csv":
        text = io.StringIO()
        csv_files.writer(text, lineterminator="\n").writerows([Requirement._fields, *listed])
        print_result(text.getvalue())
    if form == "json":
        print_result(dumps({"ok": ok, "findings": [one._asdict() for one in listed]}, indent=2) + "\n")
    return ok
