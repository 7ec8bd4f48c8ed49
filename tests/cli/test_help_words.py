"""The help of every command: short texts in plain words, and nothing is cut at 80 columns."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from worldgauge.cli.main import app
from worldgauge.terminal.commands import HELP_CONTEXT, summary_of

MOST_WORDS = 12
BANNED = re.compile(
    r"\b(told|tells?|asked|asking|kept|drawn|stands|anew|whoever|mended|at hand|in place of|but for|of ours|by default"
    r"|several times)\b|pip install \"worldgauge",
    re.IGNORECASE,
)
SHARED = ("json", "csv", "verbose", "dry_run", "limit", "label", "deadline", "sandbox")
"""Options whose help is the same in every command that evaluates models."""


def commands_of(command: Any, context: Any) -> Iterator[tuple[str, Any, Any]]:
    """Path, command and context of each command."""
    yield context.command_path, command, context
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        inner = command.get_command(context, name)
        yield from commands_of(inner, HELP_CONTEXT(inner, info_name=name, parent=context))


@pytest.fixture(scope="module")
def found() -> list[tuple[str, Any, Any]]:
    root = typer.main.get_command(app)
    return list(commands_of(root, HELP_CONTEXT(root, info_name="worldgauge")))


def test_summaries_and_options_are_short_and_in_plain_words(found: list[tuple[str, Any, Any]]) -> None:
    texts = {path: summary_of(command) for path, command, _ in found}
    for path, command, _ in found:
        helps = {one.name: one.help for one in command.params if getattr(one, "help", None)}
        texts |= {f"{path} {name}": text.partition(" One of: ")[0] for name, text in helps.items()}
    assert len(texts) > 400
    assert not {place: text for place, text in texts.items() if len(text.split()) > MOST_WORDS or BANNED.search(text)}


def test_nothing_is_cut_at_80_columns(found: list[tuple[str, Any, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for path, command, context in found:
        lines = command.get_help(context).splitlines()
        squeezed = "".join("".join(lines).split())
        assert all(len(line) <= 80 and "…" not in line for line in lines), path
        for one in command.params:
            assert all(name in squeezed for name in one.opts if one.param_type_name == "option"), path
            assert "".join((getattr(one, "help", None) or "").split()) in squeezed, (path, one.name)
        if hasattr(command, "list_commands"):
            inner = [command.get_command(context, name) for name in command.list_commands(context)]
            assert all("".join(one.short_help.split()) in squeezed for one in inner if not one.hidden), path


def test_shared_options_have_one_help(found: list[tuple[str, Any, Any]]) -> None:
    helps: dict[str, set[str]] = {}
    for path, command, _ in found:
        for one in command.params:
            if one.name in SHARED and path != "worldgauge check-model":
                helps.setdefault(one.name, set()).add(one.help)
            if one.name == "seed" and one.default is not None:
                helps.setdefault("seed", set()).add(one.help)
    assert {name: texts for name, texts in helps.items() if len(texts) > 1} == {}
