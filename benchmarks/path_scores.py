"""Path scores of 125 decoded paths (9 points, 250 rows) under every profile: ours beside plain loops."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from worldgauge.suites.targetbench.metrics import PROFILES, Profile, evaluate

PATHS, POINTS, ROWS, HISTORY = 125, 9, 250, 50
GOAL_S = 1.0
ROUNDS = 5


def run() -> dict[str, Any]:
    pairs = [_pair(seed) for seed in range(PATHS)]
    ours = _best_s(lambda: _all(pairs, _ours))
    reference = _best_s(lambda: _all(pairs, _loops), rounds=1)
    difference = float(np.abs(np.array(_all(pairs, _ours)) - np.array(_all(pairs, _loops))).max())
    return {
        "name": "path_scores",
        "unit": f"s for {PATHS} paths of {POINTS} points and {ROWS} rows under {len(PROFILES)} profiles",
        "ours": round(ours, 4),
        "reference": round(reference, 4),
        "reference_name": "plain Python loops",
        "ratio": round(reference / ours, 2),
        "difference": difference,
        "goal": GOAL_S,
        "met": ours <= GOAL_S and difference < 1e-9,
    }


def _all(pairs: list[tuple[np.ndarray, np.ndarray]], score: Callable[..., list[float]]) -> list[list[float]]:
    return [score(path, truth, profile) for profile in PROFILES.values() for path, truth in pairs]


def _ours(path: np.ndarray, truth: np.ndarray, profile: Profile) -> list[float]:
    return list(evaluate(path, truth, profile, history_rows=HISTORY)[:6])


def _loops(path: np.ndarray, truth: np.ndarray, profile: Profile) -> list[float]:
    """The definitions, a point at a time."""
    points = [tuple(point) for point in path]
    rows = [tuple(row) for row in (truth[HISTORY:] if profile.cut_history else truth)]
    last = len(rows) - 1
    total, missed = 0.0, 0
    for index, row in enumerate(rows):
        at = index / last * (len(points) - 1)
        low = min(int(at), len(points) - 2)
        share = at - low
        near = [(1 - share) * points[low][k] + share * points[low + 1][k] for k in (0, 1)]
        apart = ((near[0] - row[0]) ** 2 + (near[1] - row[1]) ** 2) ** 0.5
        total, missed = total + apart, missed + (apart > profile.miss_m)
    ade, miss = total / len(rows), 100 * missed / len(rows)
    fde = ((points[-1][0] - rows[-1][0]) ** 2 + (points[-1][1] - rows[-1][1]) ** 2) ** 0.5
    endpoint = np.exp(-(fde**2) / (2 * profile.sigma_m**2))
    outside = sum(not _covered(point, rows, profile) for point in points)
    approach = np.exp(-profile.gamma * outside / len(points))
    w = profile.weights
    value = w.ade * np.exp(-ade / profile.tau_ade_m) + w.fde * np.exp(-fde / profile.tau_fde_m)
    value += w.miss_rate * (1 - miss / 100) + (w.endpoint + w.approach) * endpoint * approach
    return [ade, fde, miss, float(endpoint), float(approach), float(value)]


def _covered(point: tuple[float, ...], rows: list[tuple[float, ...]], profile: Profile) -> bool:
    last = len(rows) - 1
    for row in np.linspace(0, last, profile.baselines).astype(int):
        widening = np.exp(-((row / last - 0.5) ** 2) / (2 * profile.beta**2))
        radius = profile.radius_min_m + (profile.radius_max_m - profile.radius_min_m) * widening
        if ((point[0] - rows[row][0]) ** 2 + (point[1] - rows[row][1]) ** 2) ** 0.5 <= radius:
            return True
    return False


def _pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A walk of 8 s after 2 s of history, and nine points near it."""
    rng = np.random.default_rng(seed)
    heading = np.pi / 2 + np.cumsum(rng.normal(0, 0.01, ROWS))
    truth = np.cumsum(0.0216 * np.stack([np.cos(heading), np.sin(heading)], 1), axis=0)
    truth -= truth[HISTORY]
    at = np.linspace(HISTORY, ROWS - 1, POINTS).astype(int)
    return truth[at] + np.linspace(0, 1, POINTS)[:, None] * rng.normal(0, 0.4, (POINTS, 2)), truth


def _best_s(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    # The best of several: a busy machine only ever adds to it.
    return min(times)
