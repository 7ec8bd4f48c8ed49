"""Trains the network that judges how near a place is: homes of the training split, gradients by hand. Numpy only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.suites.worldinworld.home_strips import Array, Strip, Weights, panorama_strip, view_strip
from worldgauge.suites.worldinworld.navigation.nearness import (
    AROUND,
    ASIDE,
    FAR_M,
    GROUP,
    GROUPS,
    SEEN,
    VERSION,
    Encoded,
    MatchEstimates,
    Nearness,
    encode,
    match,
    shapes,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Stance
from worldgauge_lab.network_layers import as_imagined, initial_weights, through_dense, through_patches, trained_on_homes

PANORAMAS, VIEWS = 6, 64
"""Of each home."""
_PANORAMA = Panorama(256, 144)
_CAMERAS = tuple(Camera.from_horizontal_fov(size, size, 90.0) for size in (64, 128))
_WITHIN_M = (1.0, 2.0, 3.5, 5.0)
"""Three of four views are within one of these of a panorama: that is where an agent has to choose."""
_GOAL_ROOM_M = 0.2


class HomeSample(NamedTuple):
    """Views (n, 24, 32, 3), panoramas (m, 24, 128, 3) of one home, and path lengths (n, m) in metres."""

    views: Strip
    panoramas: Strip
    metres: NDArray[np.float32]


def sample(home: Home, rng: np.random.Generator) -> HomeSample:
    """Draw panoramas and views of a home."""
    geodesic, floor = Geodesic(home.floor), home.floor
    cells = np.argwhere(geodesic.main)
    places = floor.points_of(cells)
    panoramas: list[Strip] = []
    fields: list[FloatArray] = []
    while len(panoramas) < PANORAMAS:
        place = geodesic.random_point(rng)
        if floor.clearance_at(place) >= _GOAL_ROOM_M:
            stance = Stance(float(place[0]), float(place[1]), float(rng.uniform(-np.pi, np.pi)))
            panoramas.append(panorama_strip(home.view(stance.eye(), _PANORAMA).rgb))
            fields.append(geodesic.field(place)[tuple(cells.T)])
    views: list[Strip] = []
    metres: list[list[float]] = []
    for number in range(VIEWS):
        near = fields[number % PANORAMAS] < (rng.choice(_WITHIN_M) if number % 8 < 6 else np.inf)
        cell = int(rng.choice(np.flatnonzero(near)))
        x, y = places[cell] + rng.uniform(-0.4, 0.4, 2) * floor.cell_m
        camera = _CAMERAS[number % len(_CAMERAS)]
        eye = Stance(float(x), float(y), float(rng.uniform(-np.pi, np.pi))).eye()
        views.append(view_strip(home.view(eye, camera).rgb, camera))
        metres.append([float(field[cell]) for field in fields])
    return HomeSample(np.array(views), np.array(panoramas), np.array(metres, np.float32))


HOMES, HELD_OUT, EPOCHS = 120, 12, 25
_FAR_WEIGHT = 0.3
"""Of pairs beyond FAR_M, which are most: that they are far is all that can be learned of them."""
_NEAR_M = 3.0


def train(
    homes: int = HOMES,
    *,
    held_out: int = HELD_OUT,
    epochs: int = EPOCHS,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Nearness:
    """Train a network; 120 homes take less than five minutes on one core."""
    return Nearness(
        *trained_on_homes(
            homes,
            held_out,
            epochs,
            progress,
            salt=0x9EA7,
            version=VERSION,
            sample=sample,
            initial=initial,
            gradients=_gradients,
            quality=quality,
        )
    )


def quality(weights: Weights, samples: Sequence[HomeSample]) -> dict[str, float]:
    """Spearman's correlation of estimates with metres to walk, over all views and over those within 3 m."""
    everywhere, nearby = [], []
    for one in samples:
        views, panoramas = encode(weights, one.views, wraps=False), encode(weights, one.panoramas, wraps=True)
        for estimates, metres in zip(match(weights, views, panoramas).estimates.T, one.metres.T, strict=True):
            everywhere.append(_rank_correlation(estimates, metres))
            near = metres < _NEAR_M
            if near.sum() > 5:
                nearby.append(_rank_correlation(estimates[near], metres[near]))
    return {"rank_correlation": _mean(everywhere), "rank_correlation_within_3_m": _mean(nearby)}


def loss_and_gradients(weights: Weights, one: HomeSample) -> tuple[float, dict[str, Array]]:
    """Mean squared error of the root of the metres over all pairs of a home, and its gradient by every weight."""
    views, panoramas = encode(weights, one.views, wraps=False), encode(weights, one.panoramas, wraps=True)
    found = match(weights, views, panoramas)
    error = found.estimates - np.sqrt(np.minimum(one.metres, FAR_M))
    share = np.where(one.metres < FAR_M, 1.0, _FAR_WEIGHT)
    share = (share / share.sum()).astype(error.dtype)
    gradients: dict[str, Array] = {name: np.zeros_like(array) for name, array in weights.items()}
    by_views, by_panoramas = _through_match(weights, found, 2 * share * error, gradients)
    _through_encode(weights, views, by_views, gradients)
    _through_encode(weights, panoramas, by_panoramas, gradients)
    return float((share * error**2).sum()), gradients


def _gradients(weights: Weights, one: HomeSample, rng: np.random.Generator) -> Weights:
    # The same home with panoramas at another heading, half the time in a mirror, and views as models show them.
    views = as_imagined(one.views, rng)
    panoramas = np.roll(one.panoramas, int(rng.integers(one.panoramas.shape[2])), axis=2)
    if rng.random() < 0.5:
        views, panoramas = np.ascontiguousarray(views[:, :, ::-1]), np.ascontiguousarray(panoramas[:, :, ::-1])
    return loss_and_gradients(weights, HomeSample(views, panoramas, one.metres))[1]


def initial(rng: np.random.Generator) -> dict[str, Array]:
    """Weights before training."""
    made = initial_weights(shapes(), rng)
    made["b6"] += 1.5  # most places are about so far
    return made


def _through_match(
    weights: Weights, found: MatchEstimates, by_estimates: Array, gradients: dict[str, Array]
) -> tuple[Array, Array]:
    """Add to the gradients of the matching layers, and return those of the descriptors of views and panoramas."""
    kept = found.kept
    v, p = found.estimates.shape
    hidden = kept["hidden"]
    units = hidden.shape[-1]
    by_last = through_dense("6", weights, kept["last"], by_estimates[..., None], gradients) * (kept["last"] > 0)
    by_pooled = through_dense("5", weights, kept["pooled"], by_last, gradients)
    by_hidden: Array = np.array(np.broadcast_to(by_pooled[:, :, None, units:], hidden.shape))
    by_hidden /= AROUND
    largest = hidden.argmax(axis=2)[:, :, None]
    more = np.take_along_axis(by_hidden, largest, 2) + by_pooled[:, :, None, :units]
    np.put_along_axis(by_hidden, largest, more, 2)
    flat = through_dense("4", weights, kept["matches"], by_hidden * (hidden > 0), gradients)
    by_matches = flat.reshape(v, p, AROUND, SEEN, len(ASIDE), GROUPS)
    by_alike: Array = np.zeros((v, p, SEEN, AROUND, GROUPS), by_matches.dtype)
    seen, around = np.arange(SEEN)[:, None], np.arange(AROUND)[None]
    for place, aside in enumerate(ASIDE):
        by_alike += by_matches[:, :, (around - seen - aside) % AROUND, seen, place]
    by_group = by_alike.transpose(4, 0, 2, 1, 3).reshape(GROUPS, v * SEEN, p * AROUND)
    by_seen = (by_group @ kept["around"]).reshape(GROUPS, v, SEEN, GROUP)
    by_around = (by_group.transpose(0, 2, 1) @ kept["seen"]).reshape(GROUPS, p, AROUND, GROUP)
    return by_seen.transpose(1, 2, 0, 3), by_around.transpose(1, 2, 0, 3)


def _through_encode(weights: Weights, found: Encoded, by_descriptors: Array, gradients: dict[str, Array]) -> None:
    """Add to the gradients of the encoder."""
    kept, unit = found.kept, found.descriptors
    along = (by_descriptors * unit).sum(-1, keepdims=True)
    by_raw = (by_descriptors - unit * along) / kept["length"]
    n, columns = by_raw.shape[:2]
    by_threes = through_dense("3", weights, kept["threes"], by_raw.reshape(n, columns, -1), gradients)
    width = by_threes.shape[-1] // 3
    by_wide = np.zeros((n, columns + 2, width), by_threes.dtype)
    for place in range(3):
        by_wide[:, place : place + columns] += by_threes[..., place * width : (place + 1) * width]
    before, after = (-2, 1) if found.wraps else (1, -2)
    by_wide[:, before] += by_wide[:, 0]
    by_wide[:, after] += by_wide[:, -1]
    second, first = kept["second"], kept["first"]
    by_second = by_wide[:, 1:-1].reshape(n, columns, second.shape[1], -1).transpose(0, 2, 1, 3) * (second > 0)
    by_patches = through_dense("2", weights, kept["patches2"], by_second, gradients)
    by_first = through_patches(by_patches, first, found.wraps) * (first > 0)
    through_dense("1", weights, kept["patches1"], by_first, gradients)


def _rank_correlation(one: FloatArray, other: FloatArray) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic)


def _mean(values: Sequence[float]) -> float:
    return round(float(np.nanmean(values)), 4)
