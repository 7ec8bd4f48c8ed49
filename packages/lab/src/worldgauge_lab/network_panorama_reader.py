"""Trains the network that reads panoramas: homes of the training split, gradients by hand, and Adam. Numpy only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray, Panorama
from worldgauge.models.baselines.truth import noise_of_all_scales
from worldgauge.suites.worldinworld.home_strips import Array, Strip, Weights, panorama_strip
from worldgauge.suites.worldinworld.questions.forms import NAMES
from worldgauge.suites.worldinworld.questions.panorama_reader import (
    FINER,
    KINDS,
    THINGS,
    VERSION,
    PanoramaReader,
    look,
    shapes,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Stance
from worldgauge_lab.network_layers import as_imagined, initial_weights, through_dense, through_patches, trained_on_homes

HOMES, HELD_OUT, EPOCHS = 120, 15, 10
NOISY, MOST_NOISE = 0.4, 0.6
"""Share of panoramas that are shown under noise, and its greatest level: what cannot be read must not seem sure."""
_NOISE = 0.5
"""Standard deviation of the noise in the units of strips: that of the reference `degraded`."""

IN_ROOM, ANYWHERE = 2, 4
"""Panoramas about the middle of each room, and at random places."""
NEAR_MIDDLE_M = 0.5
SHOWN_SHARE = 0.0002
"""Least share of the whole sphere at which a thing is shown: a thousandth of a view, as of answers."""
_PANORAMA = Panorama(256, 144)


class HomePanoramas(NamedTuple):
    """Strips (n, 48, 256, 3) of one home, with the index in KINDS of each room and what is shown (n, THINGS)."""

    strips: Strip
    room: NDArray[np.int64]
    shown: NDArray[np.bool_]


def sample(home: Home, rng: np.random.Generator) -> HomePanoramas:
    """Take panoramas in a home."""
    geodesic = Geodesic(home.floor)
    middles = [(np.array(room.low) + np.array(room.high)) / 2 for room in home.plan.rooms]
    places = [
        geodesic.nearest(middle + rng.uniform(-NEAR_MIDDLE_M, NEAR_MIDDLE_M, 2))
        for middle in middles
        for _ in range(IN_ROOM)
    ]
    places += [geodesic.random_point(rng) for _ in range(ANYWHERE)]
    names = np.array([-1] + [THINGS.index(one.name) if one.name in NAMES else -1 for one in home.objects])
    angle = ((np.arange(_PANORAMA.height) + 0.5) / _PANORAMA.height - 0.5) * np.pi
    sphere = np.repeat(np.cos(angle)[:, None], _PANORAMA.width, axis=1)
    sphere /= sphere.sum()
    strips, rooms, shown = [], [], []
    for x, y in places:
        view = home.view(Stance(float(x), float(y), float(rng.uniform(-np.pi, np.pi))).eye(), _PANORAMA)
        share = np.bincount(view.instance.ravel(), sphere.ravel(), len(names))
        strips.append(panorama_strip(view.rgb, FINER))
        rooms.append(KINDS.index(home.room_at((x, y))))
        seen = np.zeros(len(THINGS), np.bool_)
        seen[names[(share >= SHOWN_SHARE) & (names >= 0)]] = True
        shown.append(seen)
    return HomePanoramas(np.array(strips), np.array(rooms), np.array(shown))


def train(
    homes: int = HOMES,
    *,
    held_out: int = HELD_OUT,
    epochs: int = EPOCHS,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> PanoramaReader:
    """Train a network; 120 homes take about five minutes on one core."""
    return PanoramaReader(
        *trained_on_homes(
            homes,
            held_out,
            epochs,
            progress,
            salt=0x9A3E,
            version=VERSION,
            sample=sample,
            initial=partial(initial_weights, shapes()),
            gradients=_gradients,
            quality=quality,
        )
    )


def _gradients(weights: Weights, one: HomePanoramas, rng: np.random.Generator) -> Weights:
    # The same home at other headings, half the time in a mirror, as models show it, some panoramas under noise.
    strips = np.roll(as_imagined(one.strips, rng), int(rng.integers(one.strips.shape[2])), axis=2)
    if rng.random() < 0.5:
        strips = np.ascontiguousarray(strips[:, :, ::-1])
    for place in np.flatnonzero(rng.random(len(strips)) < NOISY):
        level = np.float32(rng.uniform(0, MOST_NOISE))
        noise = noise_of_all_scales(strips.shape[1], strips.shape[2], rng)
        strips[place] = np.clip((1 - level) * strips[place] + level * np.float32(_NOISE) * noise, -1, 1)
    return loss_and_gradients(weights, one._replace(strips=strips))[1]


def quality(weights: Weights, samples: Sequence[HomePanoramas]) -> dict[str, float]:
    """How well a network reads panoramas."""
    found = [look(weights, one.strips) for one in samples]
    named = np.concatenate([seen.rooms.argmax(1) == one.room for seen, one in zip(found, samples, strict=True)])
    things = np.concatenate([seen.things for seen in found])
    shown = np.concatenate([one.shown for one in samples])
    often = shown.sum(axis=0)
    precision = [_average_precision(things[:, k], shown[:, k]) for k in range(shown.shape[1]) if often[k]]
    return {
        "room_accuracy": round(float(named.mean()), 4),
        "things_precision": round(float(np.average(precision, weights=often[often > 0])), 4),
    }


def loss_and_gradients(weights: Weights, one: HomePanoramas) -> tuple[float, dict[str, Array]]:
    """Cross entropy of the room, and of all things together, in a home; and its gradient by every weight."""
    seen = look(weights, one.strips)
    n, kinds = len(one.room), len(KINDS)
    truth = np.concatenate([np.eye(kinds)[one.room], one.shown], axis=1)
    given = np.concatenate([seen.rooms, seen.things], axis=1)
    by_logits = ((given - truth) / n).astype(one.strips.dtype)
    sure = np.clip(given, 1e-12, 1 - 1e-12)
    each = np.where(np.arange(given.shape[1]) < kinds, -truth * np.log(sure), 0.0)
    each[:, kinds:] = -(truth * np.log(sure) + (1 - truth) * np.log1p(-sure))[:, kinds:]
    gradients: dict[str, Array] = {name: np.zeros_like(array) for name, array in weights.items()}
    _backwards(weights, seen.kept, by_logits, gradients)
    return float(each.sum() / n), gradients


def _backwards(weights: Weights, kept: Mapping[str, Array], by_logits: Array, gradients: dict[str, Array]) -> None:
    """Add to the gradients of all layers."""
    hidden = kept["hidden"]
    units, columns = hidden.shape[-1], hidden.shape[1]
    by_last = through_dense("6", weights, kept["last"], by_logits, gradients) * (kept["last"] > 0)
    by_pooled = through_dense("5", weights, kept["pooled"], by_last, gradients)
    by_hidden: Array = np.array(np.broadcast_to(by_pooled[:, None, units:], hidden.shape)) / columns
    largest = hidden.argmax(axis=1)[:, None]
    more = np.take_along_axis(by_hidden, largest, 1) + by_pooled[:, None, :units]
    np.put_along_axis(by_hidden, largest, more, 1)
    by_threes = through_dense("4", weights, kept["threes"], by_hidden * (hidden > 0), gradients)
    before, same, after = np.split(by_threes, 3, axis=2)
    by_upright = same + np.roll(before, -1, axis=1) + np.roll(after, 1, axis=1)
    values = kept["values3"]
    n, rows, _, width = values.shape
    by_values = by_upright.reshape(n, columns, rows, width).transpose(0, 2, 1, 3) * (values > 0)
    for layer in ("3", "2"):
        by_patches = through_dense(layer, weights, kept[f"patches{layer}"], by_values, gradients)
        values = kept[f"values{int(layer) - 1}"]
        by_values = through_patches(by_patches, values, True) * (values > 0)
    through_dense("1", weights, kept["patches1"], by_values, gradients)


def _average_precision(scores: FloatArray, shown: NDArray[np.bool_]) -> float:
    """Mean over what is shown of the share of right ones among all that score as high."""
    order = np.argsort(-scores, kind="stable")
    hits = shown[order]
    return float((np.cumsum(hits)[hits] / (np.flatnonzero(hits) + 1)).mean())
