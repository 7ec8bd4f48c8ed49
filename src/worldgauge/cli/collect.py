"""`worldgauge collect NAME`, made from what collections declare."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from worldgauge.terminal.commands import with_help
from worldgauge.terminal.options import FAILED, Device, DryRun, Json, On, Out, Sealed, Verbose, Workers, resumable

if TYPE_CHECKING:
    from worldgauge.engine.collect import CollectProgress
    from worldgauge.engine.collection import Collection


class _Flags(NamedTuple):
    """Options of every collection; `device` only of those that draw in batches."""

    out: Path
    workers: int
    on: str | None
    dry_run: bool
    verbose: bool
    json: bool
    sealed: Path | None = None
    device: str | None = None


class _Collections(TyperGroup):
    """One command per data set that can be collected. Commands are looked up on demand."""

    def list_commands(self, context: Any) -> list[str]:
        """Names of all collections."""
        from worldgauge.engine.collection import collections

        return collections.names()

    def get_command(self, context: Any, name: str) -> Any:
        """The command of a collection, by its name or file; for an unknown name, an error that lists the known ones."""
        from worldgauge.engine.collection import collections

        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        entry = collections.named(name)
        app.command(name)(command_of(entry.name, entry.load()))
        return with_help(typer.main.get_command(app))


collect_app = typer.Typer(cls=_Collections, help="Make a data set in embedded worlds.", no_args_is_help=True)


@collect_app.callback()
def _collect() -> None:
    pass


def command_of(name: str, kind: type[Collection]) -> Callable[..., None]:
    """The command for a collection, with one option per field of its `Options`."""
    from worldgauge.engine.options import given_fields, is_typed_as_text, parse

    hints = get_type_hints(kind.Options)
    fields = {one.name: one for one in given_fields(kind.Options)}

    def collect(**given: Any) -> None:
        from worldgauge.engine.collect import open_collection
        from worldgauge.engine.sealed import open_seal

        flags = _Flags(**{key: given.pop(key) for key in _Flags._fields if key in given})
        options = {
            key: parse(hints[key], value, flag_of(fields[key]))
            if is_typed_as_text(hints[key]) and value is not None
            else value
            for key, value in given.items()
        }
        if flags.sealed is not None:
            seal = open_seal(flags.sealed, name, options)
            options = seal.all_options
            typer.echo(f"sealed, SHA-256 {seal.commitment}: publish it, and keep {flags.sealed} secret", err=True)
        _run(open_collection(name, flags.out, options), flags)

    own = [_parameter(one, hints[one.name]) for one in fields.values()]
    shared = [
        *([_keyword("sealed", Sealed, None)] if "seed" in fields else []),
        _keyword("workers", Workers, 1),
        _keyword("on", On, None),
        *([_keyword("device", Device, None)] if kind.batched else []),
        _keyword("dry_run", DryRun, False),
        _keyword("verbose", Verbose, False),
        _keyword("json", Json, False),
    ]
    parameters = [_keyword("out", Out), *own, *shared]
    collect.__doc__ = inspect.getdoc(kind)
    collect.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    collect.__annotations__ = {one.name: one.annotation for one in parameters}
    return collect


def flag_of(one: Field[Any]) -> str:
    """Name of a field's option on the command line, such as --per-scene."""
    from worldgauge.engine.options import facts_of

    return "--" + (facts_of(one).flag or one.name).replace("_", "-")


def _run(collection: Collection, flags: _Flags) -> None:
    from worldgauge.cli import show
    from worldgauge.engine.collect import complete
    from worldgauge.terminal.progress import ProgressBar, counted_of

    for warning in collection.warnings():
        typer.echo(f"warning: {warning}", err=True)
    if flags.dry_run:
        collection.check_same()
        show.collection_plan(collection, flags.json)
        return
    with resumable(), ProgressBar(flags.verbose) as bar:

        def tell(step: CollectProgress) -> None:
            bar.show(collection.items_noun, step.done, step.total)
            bar.note(f"[{counted_of(step.done, step.total)}] {step.last}")

        collected = complete(collection, workers=flags.workers, on=flags.on, device=flags.device, progress=tell)
    show.collected(collection, collected, flags.json)
    if collected.failures:
        raise typer.Exit(FAILED)


def _parameter(one: Field[Any], hint: Any) -> inspect.Parameter:
    from worldgauge.engine.options import core_type, facts_of, is_typed_as_text, typed

    facts, default = facts_of(one), None if one.default is MISSING else one.default
    shown = typed(default) if default is not None and is_typed_as_text(hint) else default
    kind: Any = core_type(hint)
    words = _help(facts.help, hint, facts.words() if not callable(facts.choices) else ())
    if kind is bool:
        return _keyword(one.name, Annotated[bool, typer.Option(flag_of(one), help=words)], bool(default))
    if type(None) in get_args(hint):
        kind = kind | None
    extra: dict[str, Any] = {"metavar": facts.metavar} if facts.metavar else {}
    return _keyword(one.name, Annotated[kind, typer.Option(flag_of(one), help=words, **extra)], shown)


def _help(text: str, hint: Any, choices: tuple[str, ...]) -> str:
    literal = next((part for part in (hint, *get_args(hint)) if get_origin(part) is Literal), None)
    known = choices or (get_args(literal) if literal is not None else ())
    return f"{text} One of: {', '.join(map(str, known))}." if known and str(known[0]) not in text else text


def _keyword(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
