"""`worldgauge list`: what there is of one kind, here and in other installed packages."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import typer

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.commands import listed_kinds, summary_of
from worldgauge.terminal.options import FAILED, Csv, Json

REGISTRIES = {
    "suites": "suites",
    "collections": "engine.collection",
    "models": "models",
    "agents": "core.agent",
    "metrics": "metrics",
    "worlds": "worlds",
    "estimators": "perception",
    "decoders": "perception.decoders",
    **listed_kinds(),
}
"""Kinds of components: name of the registry, and its module."""
KINDS = (*REGISTRIES, "adapters", "commands", "data", "scans", "settings", "weights")


class Listing(NamedTuple):
    """One list; `text` is its other form for a terminal, and `ok` means that all verified values are as published."""

    metadata: dict[str, Any]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None
    notes: Sequence[str] = ()
    ok: bool = True


def list_(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(help="Kind, such as suites, models, metrics, data or settings.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="With weights: sets or metrics. With settings: the suite."),
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="With weights: read all installed files again.")] = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List what this and other installed packages offer."""
    from worldgauge.terminal.output import form_of, out, print_csv, print_json, print_listing

    form = form_of(json, csv)
    if kind not in KINDS:
        raise UnknownNameError("kind to list", kind, KINDS)
    if kind == "settings" and len(names or ()) != 1:
        raise UsageError("settings are listed per suite: worldgauge list settings loopnav")
    if ((names and kind != "settings") or verify) and kind != "weights":
        raise UsageError("names and --verify go with: worldgauge list weights")
    others: dict[str, Callable[[], Listing]] = {
        "adapters": _adapters,
        "commands": lambda: _commands(context),
        "data": _benchmark_sets,
        "scans": _scans,
        "settings": lambda: _settings((names or [""])[0]),
        "weights": lambda: _weights(names, verify),
    }
    found = others[kind]() if kind in others else _registry(kind)
    if form == "json":
        print_json(**found.metadata)
    elif form == "csv":
        print_csv(found.columns, found.rows)
    elif kind == "settings":
        out.print(settings_text(found.metadata["suite"]), markup=False, soft_wrap=True)
    else:
        print_listing(*(found.text or (found.columns, found.rows)))
    for note in found.notes if form != "json" else ():
        out.print(note, markup=False, soft_wrap=True)
    if not found.ok:
        raise typer.Exit(FAILED)


def _registry(kind: str) -> Listing:
    entries = list(getattr(importlib.import_module(f"worldgauge.{REGISTRIES[kind]}"), kind))
    return Listing(
        {kind: [{"name": e.name, "summary": e.summary, "origin": e.origin, "facts": dict(e.facts)} for e in entries]},
        ("name", "summary", "origin"),
        [(e.name, e.summary, e.origin) for e in entries],
        # An origin is one long word, so it is below the summary.
        text=(("name", "summary"), [(e.name, f"{e.summary}\n{e.origin}") for e in entries]),
    )


def _settings(suite: str) -> Listing:
    from worldgauge.engine.options import option_rows
    from worldgauge.engine.suite.base import suites

    columns = ("name", "default", "values", "what it does")
    rows = option_rows(suites.named(suite).load().Settings)
    metadata = {"suite": suite, "settings": [dict(zip((*columns[:3], "help"), row, strict=True)) for row in rows]}
    return Listing(metadata, columns, rows)


def settings_text(suite: str) -> str:
    """The settings of a suite: default and bounds on a line, then what each does."""
    from worldgauge.engine.options import option_rows
    from worldgauge.engine.suite.base import suites
    from worldgauge.terminal.layout import terminal_width, wrap

    kind = suites.named(suite).load()
    lines = [f"Settings of {kind.name}: --set NAME=VALUE"]
    for name, default, values, help in option_rows(kind.Settings):
        lines += wrap(f"{name}={default}  {values}" if default else f"{name}  {values}", terminal_width(), "  ")
        lines += wrap(help, terminal_width(), "      ")
    return "\n".join(lines)


def _adapters() -> Listing:
    from worldgauge.cli.models import known_adapters

    known = known_adapters()
    copy = "copy one: worldgauge adapters NAME --out DIR"
    return Listing({"adapters": known}, ("name", "what it serves"), list(known.items()), notes=[copy])


def _commands(context: typer.Context) -> Listing:
    root = context.find_root()
    rows = list(command_rows(root.command, root))
    metadata = [{"name": name, "summary": summary} for name, summary in rows]
    return Listing({"commands": metadata}, ("command", "what it does"), rows)


def command_rows(group: Any, context: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Full name and summary of each command of a group, and of the groups in it."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            inner = type(command).context_class(command, info_name=name, parent=context)
            yield from command_rows(command, inner, f"{path}{name} ")
        else:
            yield f"{path}{name}", summary_of(command)


def _benchmark_sets() -> Listing:
    from worldgauge.cli.data import minutes_text
    from worldgauge.engine.sets import named_sets

    metadata, rows, notes = [], [], ["use one: --data worldgauge-small"]
    for known in named_sets().values():
        suites = {}
        for part in known.parts:
            tasks, files = len(part.tasks) or part.tasks_count or None, len(part.files) or None
            suites[part.suite] = {
                "options": dict(part.options),
                "frozen": part.is_frozen,
                "tasks": tasks,
                "files": files,
                "minutes": part.minutes,
                "clusters": part.clusters or None,
                "megabytes": part.megabytes or None,
                "baselines": list(part.baselines),
            }
            frozen = "frozen" if part.is_frozen else "not frozen"
            if part.baselines:
                of = f" for {part.baseline_tasks} of {tasks} tasks" if part.baseline_tasks else ""
                notes.append(f"{known.name}: scores of {len(part.baselines)} baselines of {part.suite} ship{of}")
            size = f"{part.megabytes:.0f} MB" if part.megabytes else "-"
            cells = (str(tasks or "-"), str(part.clusters or "-"), size, minutes_text(part.minutes), frozen)
            rows.append((f"{known.name} {known.version}", part.suite, *cells))
        metadata.append(
            {
                "name": known.name,
                "version": known.version,
                "title": known.title,
                "frozen": known.is_frozen,
                "made_with": dict(known.made_with),
                "suites": suites,
            }
        )
    columns = ("set", "suite", "tasks", "clusters", "size", "CPU time", "digests")
    return Listing({"sets": metadata}, columns, rows, notes=notes)


def _scans() -> Listing:
    from worldgauge.worlds.scan import sources

    metadata, rows = [], []
    for name, source in sources.sources().items():
        keys = [scene.key for scene in sources.scenes_of(source)]
        folder = str(source.folder)
        metadata.append({"name": name, "folder": folder, "kind": source.kind, "scenes": keys})
        rows += [(key, source.kind, folder) for key in keys or [name]]
    return Listing({"folders": metadata}, ("scene", "layout", "folder"), rows)


def _weights(names: list[str] | None, verify: bool) -> Listing:
    from worldgauge import weights
    from worldgauge.cli.weights import metadata_of, size_text

    chosen = weights.sets_for(names) if names else list(weights.catalogue)
    found = [weights.standing(name, afresh=verify) for name in chosen]
    if verify and not names:
        found = [one for one in found if one.state != "absent"]
    rows = []
    for one in found:
        gate = "; needs the owner's permission" if one.set.gated else ""
        size, licence = size_text(one.set.bytes), one.set.licence + gate + ("; comes by pip" if one.set.pip else "")
        rows.append((one.set.name, ", ".join(one.set.serves), size, licence, one.state, str(one.folder)))
    columns = ("name", "needed by", "size", "licence", "state", "folder")
    store = weights.store_folder()
    notes = [f"{one.folder / name}: {fault}" for one in found for name, fault in one.faults.items()]
    notes.append(f"each in {store}/NAME; download one: worldgauge weights pull NAME")
    ok = not verify or all(one.state == "here" for one in found)
    metadata = {"folder": str(store), "sets": [metadata_of(one) for one in found], **({"ok": ok} if verify else {})}
    return Listing(metadata, columns, rows, (columns[:-1], [row[:-1] for row in rows]), notes, ok)
