"""Gallery: answers side by side, each with its picture, its words, what came of it, and a build that can be turned."""

from __future__ import annotations

import base64
import json
import logging
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from markupsafe import Markup

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.engine.store import RunFolder, record_entry
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import AnswerCard, AnswerView, Record, Task
from worldgauge.report.charts.curves import Look
from worldgauge.report.evidence import Evidence
from worldgauge.worlds.blocks.mesh import UNITS, Mesh

SHOWN_PX, PLATE_PX = 560, 320
"""Longest sides of what was shown with a task, and of an answer's picture."""
QUALITY = 86
"""Of the pictures, WebP."""
PAGE_SOLIDS_BYTES = 6_000_000
"""All solids of a page together, as they stand in it."""
MOST_QUADS = 60_000
"""Of one solid: more would not turn smoothly, nor be read at that size."""

EXPECTED = Look("truth", "k0", "expected")
NOTHING = Markup("")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shown:
    """A picture as an address that holds it; size (width, height) px."""

    encoded: str
    size: tuple[int, int]
    caption: str = ""


@dataclass(frozen=True)
class Answered:
    """One answer. picture: None where there is none. solid: what the viewer turns, as text; empty without any."""

    look: Look
    picture: Shown | None
    text: str
    verdict: str
    reasons: tuple[str, ...]
    solid: Markup = NOTHING
    note: str = ""


@dataclass(frozen=True)
class Gallery:
    """What a card shows of a task with answers. problem: why nothing can be shown."""

    asked: str = ""
    shown: tuple[Shown, ...] = ()
    answers: tuple[Answered, ...] = ()
    problem: str = ""

    @property
    def solid_bytes(self) -> int:
        """What its solids take of the page."""
        return sum(len(answer.solid) for answer in self.answers)


def gallery_of(name: str, evidence: Evidence, suite: Suite, task: Task | None, looks: Mapping[str, Look]) -> Gallery:
    """The card of task `name` by the suite's own hand; one whose data are gone says so."""
    if task is None:
        return Gallery(problem="no record of this task can be read; run again to make it anew")
    scores = {
        e.label: [own[name] for own in e.by_metric.values() if name in own]
        for e in evidence.entrants
        if any(name in own for own in e.by_metric.values())
    }
    records = {}
    for entrant in evidence.entrants:
        if entrant.label in scores and (record := _record(task, entrant.directory, name)) is not None:
            records[entrant.label] = record
    try:
        card: AnswerCard = suite.answer_card(task, records, scores)
    except WorldgaugeError as error:
        log.warning("%s: no card (%s)", name, error)
        return Gallery(problem=str(error))
    shown = tuple(_shown(picture, SHOWN_PX, caption) for caption, picture in card.shown)
    return Gallery(card.asked, shown, tuple(_answers(card, looks)))


def without_solids(gallery: Gallery, left: int) -> Gallery:
    """The same where its solids fit into `left` bytes; else without, and saying so."""
    if gallery.solid_bytes <= left:
        return gallery
    answers = tuple(
        replace(answer, solid=NOTHING, note="Too large to be turned on this page.") if answer.solid else answer
        for answer in gallery.answers
    )
    return replace(gallery, answers=answers)


def packed(mesh: Mesh) -> Markup:
    """A solid as text: deflated little-endian int16 corners, then RGBA bytes, a face after another.

    Empty for a mesh of no faces, or of too many.
    """
    count = len(mesh.quads)
    if not 0 < count <= MOST_QUADS:
        return NOTHING
    data = mesh.quads.astype("<i2").tobytes() + mesh.colours.tobytes()
    # Digits and base64: nothing in it can end the element that it stands in.
    return Markup(json.dumps({"n": count, "units": UNITS, "data": base64.b64encode(zlib.compress(data, 9)).decode()}))


def _answers(card: AnswerCard, looks: Mapping[str, Look]) -> Iterator[Answered]:
    for label, plate in card.plates.items():
        picture = None if plate.picture is None else _shown(plate.picture, PLATE_PX, label)
        solid = NOTHING if plate.solid is None else packed(plate.solid)
        yield Answered(
            looks.get(label, EXPECTED), picture, plate.text, plate.verdict, plate.reasons, solid, _note(plate, solid)
        )


def _note(plate: AnswerView, solid: str) -> str:
    return "Too many faces to be turned on this page." if plate.solid is not None and not solid else ""


def _record(task: Task, directory: Path, name: str) -> Record | None:
    """The record of a subject; None when it is damaged: its scores are known all the same."""
    folder = RunFolder(directory).record(name)
    try:
        entry = record_entry(folder)
    except WorldgaugeError as error:
        log.warning("%s", error)
        return None
    return Record(task, entry["subject"], folder, entry["facts"], entry["rollout"])


def _shown(picture: Image, most_px: int, caption: str) -> Shown:
    height, width = picture.shape[:2]
    scale = min(1.0, most_px / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA) if scale < 1 else picture
    _, coded = cv2.imencode(".webp", np.ascontiguousarray(small[:, :, ::-1]), [cv2.IMWRITE_WEBP_QUALITY, QUALITY])
    return Shown(f"data:image/webp;base64,{base64.b64encode(coded.tobytes()).decode()}", size, caption)
