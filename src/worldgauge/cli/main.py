"""The command line. Each command imports its heavy parts itself, so help is shown at once."""

from __future__ import annotations

import signal
import sys
from types import TracebackType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from worldgauge.cli.collect import check, collect_app
from worldgauge.cli.data import app as data_app
from worldgauge.cli.demo import demo
from worldgauge.cli.doctor import doctor
from worldgauge.cli.minecraft import minecraft_app
from worldgauge.cli.models import adapters, check_model, list_
from worldgauge.cli.report import board, bundle, export, replay, report, verify, view
from worldgauge.cli.run import WithSettings, questions, run, score
from worldgauge.cli.weights import app as weights_app
from worldgauge.cli.world import app as world_app
from worldgauge.core.errors import WorldgaugeError, check_neighbour
from worldgauge.terminal.commands import Command, commands
from worldgauge.terminal.options import HELP_STYLE, INTERRUPTED, KNOWN_ERROR
from worldgauge.version import __version__

COLLECT_EXAMPLE = "worldgauge collect loopnav --out data --settlements 2 --ranges 5,15 --per-combination 1"
COMMANDS = (
    Command(demo, "Measure", "worldgauge demo"),
    Command(run, "Measure", "worldgauge run loopnav --data data --model freeze --references", cls=WithSettings),
    Command(report, "Measure", "worldgauge report runs/loopnav --out report.html"),
    Command(view, "Measure", "worldgauge view runs"),
    Command(check, "Measure", "worldgauge check loopnav --data data"),
    Command(
        run,
        "Models and data",
        "worldgauge generate mind --data data --model memory --out runs/memory",
        name="generate",
        help="The first half of run: ask the models and keep their answers. The command score does the other half.",
        cls=WithSettings,
    ),
    Command(score, "Models and data", "worldgauge score runs/loopnav --set stride=1"),
    Command(questions, "Models and data", "worldgauge questions mind --data data --out questions"),
    Command(check_model, "Models and data", "worldgauge check-model --model ./my_model.py:MyModel", name="check-model"),
    Command(adapters, "Models and data", "worldgauge adapters diamond --out diamond"),
    Command(list_, "Models and data", "worldgauge list models", name="list"),
    Command(bundle, "Publish", "worldgauge bundle runs/mind/my-model --licence Apache-2.0"),
    Command(verify, "Publish", "worldgauge verify bundles/mind-my-model.zip --data data"),
    Command(board, "Publish", "worldgauge board bundles --out site"),
    Command(export, "Publish", "worldgauge export runs/mind --out results"),
    Command(replay, "Tools", "worldgauge replay runs/closedloop/oracle navigation/goal-0000 --out replay.mp4"),
    Command(doctor, "Tools", "worldgauge doctor"),
)


class _FirstThingsFirst(TyperGroup):
    """Lists `demo`, then `collect`, before the commands that use the data. Says where a missing command comes from."""

    def get_command(self, context: Any, name: str) -> Any:
        """The command of this name."""
        found = super().get_command(context, name)
        if found is None:
            check_neighbour("command", name)
        return found

    def list_commands(self, context: Any) -> list[str]:
        """Commands in the order in which they were added, but `demo` and `collect` first."""
        return sorted(super().list_commands(context), key=lambda name: (name != "demo", name != "collect"))


app = typer.Typer(
    cls=_FirstThingsFirst,
    name="worldgauge",
    help="Measure what a world model is worth: memory, control, planning, use.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=HELP_STYLE,
)


_GROUPS = {
    "study": typer.Typer(help="Compare models under one setting after another, and conclude.", no_args_is_help=True)
}
"""Commands that others are subcommands of; other packages add to them."""


def main() -> None:
    """Entry point. Known errors give one line and exit code 2; unknown ones keep their traceback."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        _check_no_secret(sys.argv[1:])
        sys.exit(app(standalone_mode=False))
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


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback, whose last lines may be the words of a model or of a file, as plain text."""
    from traceback import format_exception

    from worldgauge.core.errors import without_controls

    print(without_controls("".join(format_exception(kind, error, trace))), end="", file=sys.stderr)


def _check_no_secret(words: list[str]) -> None:
    """Refuse a secret in what was typed; what checks it is not light, and most command lines can hold none."""
    if any("=" in word or ":/" in word for word in words):
        from worldgauge.serving.isolation import check_command_line

        check_command_line(words)


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
    return f"error: {text.rstrip('.')}{where}"


def add(command: Command) -> None:
    """Add a command to the app."""
    if isinstance(command.run, typer.Typer):
        app.add_typer(command.run, name=command.name, rich_help_panel=command.panel)
        return
    settings = {} if command.cls is None else {"cls": command.cls}
    (_GROUPS[command.group] if command.group else app).command(
        command.name,
        help=command.help,
        epilog=f"Example: {command.example}",
        rich_help_panel=None if command.group else command.panel,
        **settings,  # type: ignore[arg-type]
    )(command.run)


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


app.add_typer(collect_app, name="collect", rich_help_panel="Measure", epilog=f"Example: {COLLECT_EXAMPLE}")
for _command in COMMANDS:
    add(_command)
app.add_typer(data_app, name="data", rich_help_panel="Models and data")
app.add_typer(minecraft_app, name="minecraft", rich_help_panel="Models and data")
app.add_typer(weights_app, name="weights", rich_help_panel="Models and data")
app.add_typer(world_app, name="world", rich_help_panel="Models and data")
for _command in commands():
    add(_command)
for _name, _group in _GROUPS.items():
    if _group.registered_commands:
        app.add_typer(_group, name=_name, rich_help_panel="Tools")

if __name__ == "__main__":
    main()
