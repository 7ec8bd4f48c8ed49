"""What an agent learns of a build before it answers again: pictures of it, or differences from the true build.

Differences name few places, and never the material that belongs to one: guessing by them gains little.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.core.image import Image
from worldgauge.suites.mineanybuild.format import BuildTask
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import REASONS, WARNINGS, BlueprintReading, read_blueprint
from worldgauge.suites.mineanybuild.settings import BuildSettings
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, Blueprint, Cells, base_name
from worldgauge.worlds.blocks.views import contact_sheet

MOST_PLACES, PLACES_SHARE = 20, 0.05
"""Errors that are named by place: at most so many, and at most this share of the true blocks, but one."""


def reading_of(row: BuildTask, text: str, settings: BuildSettings) -> BlueprintReading:
    """Read the build in an answer as the settings demand."""
    return read_blueprint(text, row.materials, most=settings.limits, parser=settings.parser, form=settings.answer)


def feedback_on(row: BuildTask, truth: Blueprint | None, text: str, settings: BuildSettings) -> tuple[str | Image, ...]:
    """Return what became of an answer. Creativity has no right answer, so that it has no differences either."""
    reading = reading_of(row, text, settings)
    if reading.blueprint is None or reading.reason is not None:
        return (f"It cannot be built: {REASONS[str(reading.reason)]}.",)
    built = reading.blueprint
    height, depth, width = built.cells.shape
    lines = [f"It was built: {built.blocks} blocks, {width} wide (x), {depth} deep (z) and {height} high (y)."]
    lines += [f"Repaired: {WARNINGS[name]}." for name in reading.warnings]
    if settings.feedback == "pictures":
        return ("\n".join([*lines, "Eight views of it:"]), contact_sheet(built))
    if truth is not None and row.kind != "creativity":
        lines += differences(truth, built)
    return ("\n".join(lines),)


def differences(truth: Blueprint, built: Blueprint) -> Iterator[str]:
    """Counts of right and wrong blocks, then errors spread over the build. Materials of the truth are not named."""
    names = list(dict.fromkeys(map(base_name, (*truth.materials, *built.materials))))
    shape = tuple(map(max, truth.cells.shape, built.cells.shape))
    want, got = (_numbers(one, names, shape) for one in (truth, built))
    wrong, extra, missing = (want > 0) & (got > 0) & (want != got), (want == 0) & (got > 0), (want > 0) & (got == 0)
    right = int(((want == got) & (want > 0)).sum())
    yield (
        f"Right blocks: {right} of {int((want > 0).sum())}. Of a wrong material: {int(wrong.sum())}. "
        f"Where air belongs: {int(extra.sum())}. Missing: {int(missing.sum())}."
    )
    places = np.argwhere(wrong | extra | missing)
    count = min(MOST_PLACES, max(1, int(PLACES_SHARE * truth.blocks)), len(places))
    shown = places[np.linspace(0, len(places) - 1, count).astype(int)]
    for y, z, x in shown.tolist():
        what = "wrong material" if wrong[y, z, x] else "air belongs here" if extra[y, z, x] else "a block is missing"
        yield f"x={x}, y={y}, z={z}: {what}."


def _numbers(build: Blueprint, names: list[str], shape: tuple[int, ...]) -> Cells:
    """Numbers of base names, from 1, in a box of `shape`; 0 for air."""
    known = (base_name(name) for name in build.materials)
    table = np.array([0, *(0 if name in AIR_NAMES else names.index(name) + 1 for name in known)], np.int32)
    cells = np.zeros(shape, np.int32)
    cells[tuple(map(slice, build.cells.shape))] = table[np.maximum(build.cells, 0)]
    return cells
