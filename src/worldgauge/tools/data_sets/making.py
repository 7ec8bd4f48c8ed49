"""Make a named set: collect each suite, write the card and the licence, and compare every file with its digest."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldgauge.core.errors import RunError
from worldgauge.engine.collection.kernel import CollectProgress, collect, count
from worldgauge.engine.sets import NamedSet
from worldgauge.tools.data_sets.card import write_card
from worldgauge.tools.data_sets.checking import Progress, SetCheck, check_set

STEADY = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL",
    "OPENBLAS_CORETYPE": "Haswell",
}
"""Variables under which workers make a set on x86-64. For processors with AVX-512 numpy and OpenBLAS have other code,
which rounds the last digits of a pose another way. Names of older and newer numpys stand together: one that a version
does not know, it passes over. What is set already stays."""


@dataclass(frozen=True)
class MadeSet:
    """A set on disk.

    Attributes:
        check: Whether its files are as they were frozen.
        card: The data card that was written beside them.
    """

    check: SetCheck
    card: Path


def make_set(
    named: NamedSet,
    root: Path,
    *,
    only: Sequence[str] = (),
    workers: int = 1,
    progress: Callable[[str, CollectProgress], None] = lambda suite, step: None,
    checking: Progress = lambda suite, done, total: None,
) -> MadeSet:
    """Make a set, or continue one that was stopped. What is done is kept.

    Args:
        named: The set.
        root: Its folder; each suite gets its own in it.
        only: Suites to make. By default all.
        workers: Number of parallel processes.
        progress: Called with the suite and its progress after every item.
        checking: Called while the files are compared.

    Returns:
        The set.

    Raises:
        UnknownNameError: The set has no such suite.
        RunError: An item could not be made, or the folder holds something else.
        DataError: A file cannot be read or written.
    """
    for part in _parts(named, only):
        with _steady():
            made = collect(
                part.suite,
                root / part.suite,
                workers=workers,
                on="local",  # this process has loaded numpy, which chose its code then
                progress=lambda step, suite=part.suite: progress(suite, step),  # type: ignore[misc]
                **part.options,
            )
        if made.failures:
            raise RunError(f"{named.name}: {part.suite}: {made.failures[0]}")
    return MadeSet(check_set(named, root, checking, only), write_card(named, root))


def planned(named: NamedSet, root: Path, only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What `make_set` would make: for each suite the number of things and how many of them are there.

    Args:
        named: The set.
        root: Its folder.
        only: Suites to make. By default all.

    Returns:
        One row a suite.
    """
    rows = []
    for part in _parts(named, only):
        expected, done = count(part.suite, root / part.suite, **part.options)
        rows.append(
            {"suite": part.suite, "items": expected, "done": done, "minutes": part.minutes, "frozen": part.is_frozen}
        )
    return rows


@contextmanager
def _steady() -> Iterator[None]:
    """Context whose child processes round alike on all processors."""
    added = {name: value for name, value in STEADY.items() if name not in os.environ}
    if platform.machine() not in ("x86_64", "AMD64"):
        added = {}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _parts(named: NamedSet, only: Sequence[str]) -> list[Any]:
    return [named.part(suite) for suite in dict.fromkeys(only)] if only else list(named.parts)
