"""What can be fuzzed: a format is a small sound example, the files of it that are changed, and what reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from random import Random

from fuzz.mutators import damaged
from worldgauge.core.errors import WorldgaugeError

Mutator = Callable[[str, bytes, Random], bytes]


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
        name: Its name in tables and in the corpus.
        make: Writes a sound example into an empty folder.
        read: Reads the folder. What it returns is of no interest.
        files: Glob patterns of the files that are changed.
        refusals: Errors that are meant: each with one line. Others, hangs and large allocations are crashes.
        mutate: Makes other bytes of a file: (name, bytes, randomness) -> bytes.
        most_s: Processor seconds that one case may take.
        most_mb: Megabytes that reading one case may add to the process.
        video: Whether videos are decoded, for which 200 cases a second are too many to ask.
        weight: Share of the time of a long run.
        needs: Packages of extras that it is read with.
    """

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]
    files: tuple[str, ...] = ("**/*",)
    refusals: tuple[type[Exception], ...] = field(default=(WorldgaugeError,))
    mutate: Mutator = damaged
    most_s: float = 2.0
    most_mb: int = 500
    video: bool = False
    weight: float = 1.0
    needs: tuple[str, ...] = ()

    def lacks(self) -> str:
        """What is missing to read it here; empty where nothing is."""
        missing = [name for name in self.needs if find_spec(name) is None]
        return f"without {', '.join(missing)}" if missing else ""
