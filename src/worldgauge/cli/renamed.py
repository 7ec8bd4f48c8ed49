"""Commands and options by their names of the last version. They still work, and one line names the new ones."""

from __future__ import annotations

import sys

COMMANDS = {
    "adapters": "list adapters",  # without a name
    "curate": "mineanybuild curate",
    "data check": "check",
    "data list": "list data",
    "minecraft read": "mineanybuild structure",
    "structure": "mineanybuild structure",
    "vote": "mineanybuild vote",
    "weights adopt": "weights pull --from",
    "weights list": "list weights",
    "weights verify": "list weights --verify",
    "weights where": "list weights",
    "world forget": "world remove --cache",
    "world list": "list scans",
    "world starter": "world export starter",
}
OPTIONS = {
    "--films": "--videos",
    "--no-references": "--no-baselines",
    "--references": "--baselines",
    "--root": "--content-hash",
}


def with_new_names(words: list[str]) -> list[str]:
    """The words of a command line with the new names in place of the old."""
    copies_adapter = words[:1] == ["adapters"] and not {*words[1:]} <= {"--json", "--csv"}
    for length in (2, 1):
        old = " ".join(words[:length])
        if old in COMMANDS and not copies_adapter:
            new = COMMANDS[old]
            print_new_name(f"worldgauge {old}", f"worldgauge {new}")
            # The folder of `adopt` follows --from, so options go behind it.
            rest = sorted(words[length:], key=lambda word: new.endswith("--from") and word.startswith("--"))
            words = [*new.split(), *rest]
            break
    renamed = []
    for word in words:
        option, equals, value = word.partition("=")
        if option in OPTIONS:
            print_new_name(option, OPTIONS[option])
            option = OPTIONS[option]
        renamed.append(f"{option}{equals}{value}")
    return renamed


def print_new_name(old: str, new: str) -> None:
    """Print one line about a name that has changed."""
    print(f"note: '{old}' is now '{new}'", file=sys.stderr)
