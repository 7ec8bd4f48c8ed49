"""`panorama-reader`: a network reads the answer off real and imagined panoramas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.home_strips import (
    ROWS,
    Array,
    Strip,
    StripNetwork,
    Weights,
    layer_shapes,
    padded,
    panorama_strip,
    patches_of,
    read_network,
    view_strip,
)
from worldgauge.suites.worldinworld.policies.contract import (
    Candidates,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
    Rollout,
    revisers,
)
from worldgauge.suites.worldinworld.questions.answering import ParsedQuestion, SeenThings
from worldgauge.suites.worldinworld.questions.forms import NAMES, ROOMS
from worldgauge.worlds.walking.primitives import QUARTER_TURN

FINER = 2
"""Strips have 256 columns, 1.4 degrees each: at 2.8 a bowl on a table is one pixel."""
KINDS, THINGS = tuple(ROOMS), tuple(NAMES)
VERSION = 2
FILE = "panorama_reader.npz"
"""The shipped one, beside this module."""
FIRST, SECOND, THIRD, HIDDEN, LAST = 16, 24, 32, 64, 96
"""Units of the layers."""


def shapes() -> dict[str, tuple[int, ...]]:
    """Shape of every array of weights."""
    convolved = (27, FIRST), (9 * FIRST, SECOND), (9 * SECOND, THIRD)
    upright = 3 * (ROWS * FINER // 8) * THIRD
    return layer_shapes(*convolved, (upright, HIDDEN), (2 * HIDDEN, LAST), (LAST, len(KINDS) + len(THINGS)))


@dataclass(frozen=True)
class Activations:
    """What the network makes of strips. `logits`: (n, kinds of rooms and then things)."""

    logits: Array
    kept: Mapping[str, Array]

    @property
    def rooms(self) -> FloatArray:
        """(n, KINDS), probabilities; each row sums to 1."""
        raw = self.logits[:, : len(KINDS)].astype(np.float64)
        grown = np.exp(raw - raw.max(axis=1, keepdims=True))
        shares: FloatArray = grown / grown.sum(axis=1, keepdims=True)
        return shares

    @property
    def things(self) -> FloatArray:
        """(n, THINGS), the probability that a panorama shows each."""
        shares: FloatArray = 1 / (1 + np.exp(-np.clip(self.logits[:, len(KINDS) :].astype(np.float64), -30, 30)))
        return shares


def look(weights: Weights, strips: Strip) -> Activations:
    """Look at strips (n, 48, columns, 3) that go all around."""
    kept: dict[str, Array] = {}
    values = strips
    for layer in ("1", "2", "3"):
        kept[f"patches{layer}"] = patches_of(padded(values, True))
        values = np.maximum(kept[f"patches{layer}"] @ weights[f"w{layer}"] + weights[f"b{layer}"], 0)
        kept[f"values{layer}"] = values
    n, rows, columns, units = values.shape
    upright = values.transpose(0, 2, 1, 3).reshape(n, columns, rows * units)
    kept["threes"] = np.concatenate([np.roll(upright, 1, axis=1), upright, np.roll(upright, -1, axis=1)], axis=2)
    kept["hidden"] = np.maximum(kept["threes"] @ weights["w4"] + weights["b4"], 0)
    kept["pooled"] = np.concatenate([kept["hidden"].max(axis=1), kept["hidden"].mean(axis=1)], axis=-1)
    kept["last"] = np.maximum(kept["pooled"] @ weights["w5"] + weights["b5"], 0)
    return Activations(kept["last"] @ weights["w6"] + weights["b6"], kept)


@dataclass(frozen=True)
class PanoramaReading:
    """What is read of one panorama."""

    rooms: Mapping[str, float]
    things: Mapping[str, float]


class PanoramaReader(StripNetwork):
    """A trained network."""

    def read(self, strip: Strip) -> PanoramaReading:
        """Read a strip (48, columns, 3) that goes all around."""
        found = look(self.weights, strip[None])
        rooms = dict(zip(KINDS, found.rooms[0].tolist(), strict=True))
        return PanoramaReading(rooms, dict(zip(THINGS, found.things[0].tolist(), strict=True)))


@lru_cache(maxsize=1)
def shipped() -> PanoramaReader:
    """The network that comes with worldgauge."""
    return read(files(__package__).joinpath(FILE).read_bytes(), FILE)


def identity() -> str:
    """What the answers of the shipped network depend on."""
    facts = shipped().facts
    return f"panorama-reader-{facts['version']}-{facts['trained_on']['digest'][:16]}"


def read(content: bytes, name: str) -> PanoramaReader:
    """Read the bytes that `save_network` wrote."""
    return PanoramaReader(*read_network(content, name, "reader of panoramas", VERSION, shapes()))


MARGIN = 0.02
"""Least advantage over the first way for another to be taken; less is noise."""
_DIGITS = 4
"""Of a score: sums of a matrix product may differ in the last ones from one processor to another."""


@revisers.register("panorama-answerer", tasks=("questions",), chat=False, imagines=True, identity=identity)
class PanoramaAnswerer:
    """Answers from what was really seen (`SeenThings`); what is imagined only chooses the way.

    A way is worth the probability that a network sees the wanted thing at its imagined end, less that of the last real
    frame, so that nothing new adds nothing. Others replace the first way only by MARGIN.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._seen: SeenThings | None = None

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Return the answer if it is known, else the most promising way; see `Reviser.revise`."""
        if not history or self._seen is None:
            self._seen = SeenThings(goal.text or "")
        self._seen.look(observation)
        answered = self._seen.answer()
        if answered is not None:
            return answered
        scores = tuple(_score(each.rollout, self._seen.asked) for each in candidates)
        known = [score for score in scores if score is not None]
        if not known:
            return Decision(candidates[0].plan, 0)
        first, top = scores[0], max(known)
        chosen = scores.index(top) if first is None or top > first + MARGIN else 0
        return Decision(candidates[chosen].plan, chosen, scores=scores)


def promise(reading: PanoramaReading, asked: ParsedQuestion) -> float:
    """How likely a panorama shows what would answer a question."""
    room = reading.rooms.get(asked.room, 0.0) if asked.room else 1.0
    shown = [reading.things.get(name, 0.0) for name in sorted(asked.names)]
    if not shown:
        return room
    needed = asked.form is not None and asked.form.about
    return room * (sum(shown) / len(shown) if needed else max(shown))


def _score(rollout: Rollout | None, asked: ParsedQuestion) -> float | None:
    """Return what the end of a rollout promises beyond its last real frame; None where nothing was imagined."""
    if rollout is None or rollout.valid_len <= rollout.exact:
        return None
    end, real = rollout.valid_len - 1, rollout.exact - 1
    if rollout.view == "panorama":
        then, now = (panorama_strip(rollout.frames[frame], FINER) for frame in (end, real))
    else:
        # A model of single views turns left after the plan: what is to the right comes last.
        turned = [end, *(end + (4 - quarter) * QUARTER_TURN for quarter in (1, 2, 3))]
        views = [rollout.frames[min(frame, len(rollout.frames) - 1)] for frame in turned]
        then, now = _around(views, rollout.camera), _around([rollout.frames[real]] * 4, rollout.camera)
    gain = promise(shipped().read(then), asked) - promise(shipped().read(now), asked)
    return round(gain, _DIGITS)


def _around(views: Sequence[Image], camera: Camera) -> Strip:
    """Return the strip all around of views to the front, right, back and left."""
    strips: Strip = np.concatenate([view_strip(view, camera, FINER) for view in views], axis=1)
    return strips
