"""Cards of tasks with answers: the picture, the text and the verdict of each answer, and a mesh that can be turned."""

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
from worldgauge.engine.suite.base import AnsweredSuite
from worldgauge.engine.suite.contract import AnswerCard, Record, Task
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.evidence import Evidence
from worldgauge.worlds.blocks.fittings import UNITS
from worldgauge.worlds.blocks.mesh import Mesh

SHOWN_PX, PLATE_PX = 560, 320
"""Longest sides of what was shown with a task, and of an answer's picture."""
QUALITY = 86
"""Of the pictures, WebP."""
PAGE_SOLIDS_BYTES = 6_000_000
"""All solids of a page together, as they stand in it."""
MOST_QUADS = 60_000
"""Of one solid: more would not turn smoothly, nor be read at that size."""

EXPECTED = SeriesStyle("truth", "k0", "expected")
NOTHING = Markup("")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EncodedPicture:
    """A picture as a data URL."""

    encoded: str
    size: tuple[int, int]
    caption: str = ""


@dataclass(frozen=True)
class AnswerPlate:
    """One answer on a card."""

    style: SeriesStyle
    picture: EncodedPicture | None
    text: str
    verdict: str
    reasons: tuple[str, ...]
    solid: Markup = NOTHING
    note: str = ""


@dataclass(frozen=True)
class AnswerCardView:
    """Content of the card of a task with answers."""

    asked: str = ""
    shown: tuple[EncodedPicture, ...] = ()
    answers: tuple[AnswerPlate, ...] = ()
    problem: str = ""

    @property
    def solid_bytes(self) -> int:
        """Number of characters that its meshes take on the page."""
        return sum(len(answer.solid) for answer in self.answers)


def view_answer_card(
    name: str, evidence: Evidence, suite: AnsweredSuite, task: Task | None, styles: Mapping[str, SeriesStyle]
) -> AnswerCardView:
    """The card of a task, as the suite makes it. A card without data explains why."""
    if task is None:
        return AnswerCardView(problem="no record of this task can be read; run again to make it")
    scores = {
        e.label: [own[name] for own in e.by_metric.values() if name in own]
        for e in evidence.runs
        if any(name in own for own in e.by_metric.values())
    }
    records = {}
    for run in evidence.runs:
        if run.label in scores and (record := _record(task, run.directory, name)) is not None:
            records[run.label] = record
    try:
        card: AnswerCard = suite.answer_card(task, records, scores)
    except WorldgaugeError as error:
        log.warning("%s: no card (%s)", name, error)
        return AnswerCardView(problem=str(error))
    shown = tuple(_encode(picture, SHOWN_PX, caption) for caption, picture in card.shown)
    return AnswerCardView(card.asked, shown, tuple(_plates(card, styles)))


def without_solids(card_view: AnswerCardView, left: int) -> AnswerCardView:
    """Remove the meshes of a card where they do not fit, with a note."""
    if card_view.solid_bytes <= left:
        return card_view
    answers = tuple(
        replace(answer, solid=NOTHING, note="Too large to be turned on this page.") if answer.solid else answer
        for answer in card_view.answers
    )
    return replace(card_view, answers=answers)


def packed(mesh: Mesh) -> Markup:
    """A mesh as text: deflated little-endian int16 corners, then RGBA bytes, face by face."""
    count = len(mesh.quads)
    if not 0 < count <= MOST_QUADS:
        return NOTHING
    data = mesh.quads.astype("<i2").tobytes() + mesh.colours.tobytes()
    # Digits and base64: nothing in it can end the element that it stands in.
    return Markup(json.dumps({"n": count, "units": UNITS, "data": base64.b64encode(zlib.compress(data)).decode()}))


def _plates(card: AnswerCard, styles: Mapping[str, SeriesStyle]) -> Iterator[AnswerPlate]:
    for label, plate in card.plates.items():
        picture = None if plate.picture is None else _encode(plate.picture, PLATE_PX, label)
        solid = NOTHING if plate.solid is None else packed(plate.solid)
        note = "Too many faces to be turned on this page." if plate.solid is not None and not solid else ""
        style = styles.get(label, EXPECTED)
        yield AnswerPlate(style, picture, plate.text, plate.verdict, plate.reasons, solid, note)


def _record(task: Task, directory: Path, name: str) -> Record | None:
    """The record of a model; None when it is damaged: its scores are known all the same."""
    folder = RunFolder(directory).record(name)
    try:
        entry = record_entry(folder)
    except WorldgaugeError as error:
        log.warning("%s", error)
        return None
    return Record(task, entry["model"], folder, entry["facts"], entry["rollout"])


def _encode(picture: Image, most_px: int, caption: str) -> EncodedPicture:
    height, width = picture.shape[:2]
    scale = min(1.0, most_px / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA) if scale < 1 else picture
    _, coded = cv2.imencode(".webp", np.ascontiguousarray(small[:, :, ::-1]), [cv2.IMWRITE_WEBP_QUALITY, QUALITY])
    return EncodedPicture(f"data:image/webp;base64,{base64.b64encode(coded.tobytes()).decode()}", size, caption)
