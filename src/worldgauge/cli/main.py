"""The command line. Each command imports its heavy parts itself, so help is shown at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Collection
from copy import copy
from types import TracebackType
from typing import Annotated, Any, NoReturn, get_args

import typer
from typer.models import CommandInfo

from worldgauge.cli.collect import collect_app
from worldgauge.cli.data import app as data_app
from worldgauge.cli.data import check
from worldgauge.cli.demo import demo
from worldgauge.cli.doctor import doctor
from worldgauge.cli.evaluate import evaluate
from worldgauge.cli.listing import list_
from worldgauge.cli.minecraft import minecraft_app
from worldgauge.cli.models import adapters, check_model, check_world
from worldgauge.cli.renamed import with_new_names
from worldgauge.cli.report import board, bundle, export, replay, report, verify, view
from worldgauge.cli.run import WithSettings, questions, run, score
from worldgauge.cli.weights import app as weights_app
from worldgauge.cli.world import app as world_app
from worldgauge.core.errors import WorldgaugeError
from worldgauge.terminal.commands import Command, CommandGroup, Panel, commands
from worldgauge.terminal.options import INTERRUPTED, KNOWN_ERROR
from worldgauge.version import __version__

COLLECT_EXAMPLE = "worldgauge collect loopnav --out data --settlements 2 --ranges 5,15 --per-combination 1"
COMMANDS = (
    Command(demo, "Measure", "worldgauge demo"),
    Command(evaluate, "Measure", "worldgauge evaluate --model ./my_model.py:MyModel --budget 1h"),
    Command(run, "Measure", "worldgauge run loopnav --data data --model freeze --baselines", cls=WithSettings),
    Command(report, "Measure", "worldgauge report runs/loopnav --out report.html"),
    Command(view, "Measure", "worldgauge view runs"),
    Command(check, "Measure", "worldgauge check loopnav --data data"),
    Command(
        run,
        "Models and data",
        "worldgauge generate mind --data data --model memory --out runs/memory",
        name="generate",
        help="Query models and store their rollouts. Then use: worldgauge score",
        cls=WithSettings,
    ),
    Command(score, "Models and data", "worldgauge score runs/loopnav --set stride=1"),
    Command(questions, "Models and data", "worldgauge questions mind --data data --out questions"),
    Command(check_model, "Models and data", "worldgauge check-model --model ./my_model.py:MyModel", name="check-model"),
    Command(
        check_world,
        "Models and data",
        'worldgauge check-world "cmd:python -m worldgauge_serve robosuite_table.py:RobosuiteTables"',
        name="check-world",
    ),
    Command(adapters, "Models and data", "worldgauge adapters diamond --out diamond"),
    Command(list_, "Models and data", "worldgauge list models", name="list"),
    Command(bundle, "Publish", "worldgauge bundle runs/mind/my-model --licence Apache-2.0"),
    Command(verify, "Publish", "worldgauge verify bundles/mind-my-model.zip --data data"),
    Command(board, "Publish", "worldgauge board bundles --out site"),
    Command(export, "Publish", "worldgauge export runs/mind --out results"),
    Command(replay, "Tools", "worldgauge replay runs/worldinworld/oracle navigation/goal-0000 --out replay.mp4"),
    Command(doctor, "Tools", "worldgauge doctor"),
)


FIRST_PAGE = {
    *("demo", "evaluate", "collect", "run", "report", "view"),
    *("check-model", "score", "list", "data", "bundle", "doctor"),
}
"""Commands of `worldgauge --help`, at most 12. `worldgauge list commands` shows all."""


class _Commands(CommandGroup):
    """Lists `demo`, then `collect`, before the commands that use the data. Accepts old names."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Read a command line, in which commands and options may have their old names."""
        return super().parse_args(context, with_new_names(args))

    def list_commands(self, context: Any) -> list[str]:
        """Commands in the order in which they were added, but `demo` and `collect` first."""
        return sorted(super().list_commands(context), key=lambda name: (name != "demo", name != "collect"))

    def format_commands(self, context: Any, formatter: Any) -> None:
        """Write the commands of the first page under the headings of their panels."""
        found = [self.get_command(context, name) for name in self.list_commands(context)]
        for panel in get_args(Panel):
            with formatter.section(panel):
                shown = [one for one in found if not one.hidden and one.rich_help_panel == panel]
                formatter.write_dl([(one.name, one.short_help) for one in shown])


app = typer.Typer(
    cls=_Commands,
    name="worldgauge",
    help="Measure what a world model is worth: memory, control, planning, use.",
    epilog="All commands: worldgauge list commands",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


_GROUPS = {
    "minecraft": minecraft_app,
    "study": typer.Typer(help="Compare models under one setting after another, and conclude.", no_args_is_help=True),
}
"""Commands that others are subcommands of; other packages add to them."""


def main() -> None:
    """Entry point. Known errors give one line and exit code 2; unknown ones keep their traceback."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        # What refuses a secret that was typed is not light, and most command lines can hold none.
        if any("=" in word or ":/" in word for word in sys.argv[1:]):
            from worldgauge.serving.isolation import check_command_line

            check_command_line(sys.argv[1:])
        sys.exit(_app_for(with_new_names(sys.argv[1:]))(standalone_mode=False))
    except WorldgaugeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(KNOWN_ERROR)
    except Exception as error:
        if type(error).__name__ == "Abort":
            sys.exit(INTERRUPTED)
        if (line := _command_line_error(error)) is not None:
            print(line, file=sys.stderr)
            sys.exit(KNOWN_ERROR)
        error.add_note("This is a fault of worldgauge or of code you gave it; please report it with the lines above.")
        sys.excepthook = _tell
        raise


def _app_for(words: Collection[str]) -> typer.Typer:
    """The app, in which only commands that are named have options: to read those of all takes as long as all else."""
    if "list" in words:  # it walks through all commands
        return app
    light = copy(app)
    light.registered_commands = [one if one.name in words else _bare(one) for one in app.registered_commands]
    light.registered_groups = [one if one.name in words else copy(one) for one in app.registered_groups]
    for group in light.registered_groups:
        if group.name not in words and group.typer_instance is not None:
            group.typer_instance = inner = copy(group.typer_instance)
            inner.registered_commands, inner.registered_groups = [], []
    return light


def _bare(command: CommandInfo) -> CommandInfo:
    """A command that has nothing but its name and its help."""

    def callback() -> None: ...

    callback.__doc__ = command.callback.__doc__
    command = copy(command)
    command.callback = callback
    return command


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback, whose last lines may be the words of a model or of a file, as plain text."""
    from traceback import format_exception

    from worldgauge.core.errors import without_controls

    print(without_controls("".join(format_exception(kind, error, trace))), end="", file=sys.stderr)


def _command_line_error(error: Exception) -> str | None:
    """One line on a command line that cannot be read; None for any other error."""
    tell = getattr(error, "format_message", None)
    if tell is None:
        return None
    text = " ".join(str(tell()).split())
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(tell())
    where = f"; see: {context.command_path} --help" if context is not None else ""
    such = ", such as --data worldgauge-small" if text.startswith("Missing option '--data'") else ""
    return f"error: {text.rstrip('.')}{such}{where}"


def add(command: Command) -> None:
    """Add a command to the app."""
    if isinstance(command.run, typer.Typer):
        _add_group(command.run, command.name or "", command.panel)
        return
    name = command.name or command.run.__name__
    settings: dict[str, Any] = {} if command.cls is None else {"cls": command.cls}
    if not command.group:
        settings |= {"rich_help_panel": command.panel, "hidden": name not in FIRST_PAGE}
    (_GROUPS[command.group] if command.group else app).command(
        name, help=command.help, epilog=f"Example: {command.example}", **settings
    )(command.run)


def _add_group(group: typer.Typer, name: str, panel: Panel, epilog: str | None = None) -> None:
    app.add_typer(group, name=name, rich_help_panel=panel, epilog=epilog, hidden=name not in FIRST_PAGE)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass


def _interrupt(number: int, frame: object) -> NoReturn:
    """Handle SIGTERM like Ctrl-C: workers end, and nothing is left half done."""
    raise KeyboardInterrupt


_add_group(collect_app, "collect", "Measure", f"Example: {COLLECT_EXAMPLE}")
for _command in (*COMMANDS, *commands()):
    add(_command)
_add_group(data_app, "data", "Models and data")
_add_group(weights_app, "weights", "Models and data")
_add_group(world_app, "world", "Models and data")
for _name, _group in _GROUPS.items():
    if _group.registered_commands:
        _add_group(_group, _name, "Tools")

if __name__ == "__main__":
    main()
