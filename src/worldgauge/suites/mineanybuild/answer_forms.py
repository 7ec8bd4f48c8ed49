"""Forms of an answer besides the published matrix: builds written in them, and prompts that request them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

import numpy as np

from worldgauge.chat.prompts import PromptTemplate
from worldgauge.core.io import digest_of
from worldgauge.worlds.blocks.blueprint import AIR, Cells


@cache
def form_texts() -> Mapping[str, Any]:
    """Our words on each form, on limits of boxes, and on answering again."""
    texts: dict[str, Any] = json.loads(_source())
    return texts


def form_digest() -> str:
    """SHA-256 of `form_texts`."""
    return digest_of(_source())


def _source() -> str:
    return (files(__package__) / "answer_forms.json").read_text("utf-8")


def fenced(cells: Cells, form: str = "matrix") -> str:
    """Return a build [y][z][x] in a fenced block, as an answer of this form."""
    if form in ("", "matrix"):
        layers = (json.dumps(layer, separators=(",", ":")) for layer in cells.tolist())
        return "```json\n[" + ",\n".join(layers) + "]\n```"
    lines = _fills(cells) if form == "fills" else _layers(cells, runs=form == "runs")
    return "```\n" + "\n".join(lines) + "\n```"


def _layers(cells: Cells, *, runs: bool) -> Iterator[str]:
    height = 0
    for layer, equal in groupby(cells.tolist()):
        first, height = height + 1, height + len(list(equal))
        yield f"Layer {first}" if first == height else f"Layer {first}-{height}"
        for row in layer:
            equals = [(_symbol(number), len(list(same))) for number, same in groupby(row)]
            yield " ".join(
                " ".join(count * [symbol]) if not runs or count == 1 else f"{count}x{symbol}"
                for symbol, count in equals
            )


def _fills(cells: Cells) -> Iterator[str]:
    """Boxes of equal cells, each grown along x, then z, then y; first one of air where no other reaches the corner."""
    left = cells != AIR
    if not left.any(axis=(1, 2))[-1] or not left.any(axis=(0, 2))[-1] or not left.any(axis=(0, 1))[-1]:
        height, depth, width = cells.shape
        yield f"0 0 0 {width - 1} {height - 1} {depth - 1} ."
    for y, z, x in np.argwhere(left).tolist():
        if not left[y, z, x]:
            continue
        same = left & (cells == cells[y, z, x])
        ends = [y + 1, z + 1, x + 1]
        for axis in (2, 1, 0):
            while ends[axis] < cells.shape[axis]:
                box = [slice(a, b) for a, b in zip((y, z, x), ends, strict=True)]
                box[axis] = slice(ends[axis], ends[axis] + 1)
                if not same[tuple(box)].all():
                    break
                ends[axis] += 1
        left[y : ends[0], z : ends[1], x : ends[2]] = False
        yield f"{x} {y} {z} {ends[2] - 1} {ends[0] - 1} {ends[1] - 1} {cells[y, z, x]}"


def _symbol(number: int) -> str:
    return "." if number == AIR else str(number)


def template_in(template: PromptTemplate, form: str, *, again: bool) -> PromptTemplate:
    """Return a prompt for a matrix as one for another form, and for another round; a user's own form stays."""
    text, name = template.text, template.name
    if form not in ("", "matrix") and not template.own:
        name, own = f"{name}-{form}", form_texts()[form]
        for old, new in (
            (r"The blueprint is a matrix with.*?the materials say\.", own["form"]),
            (r"\(2,0\) in layer 1 is .*?layer\.", own["place"]),
            (r"nothing but whole numbers in it", own["only"]),
            (r"Air is the whole number -1\. No cell is left out\.", own["air"]),
        ):
            text = re.sub(old, new, text, flags=re.DOTALL)
        text = re.sub(
            r"```json\n(.*?)```", lambda found: fenced(np.array(json.loads(found[1])), form), text, flags=re.DOTALL
        )
        text = text.replace("matrix", "blueprint")
    if again:
        name, text = f"{name}-again", f"{text}\n\n{form_texts()['again']}"
    return replace(template, name=name, text=text)
