"""Paths of the vector files' recipe, and an implementation of the path scores of plain loops."""

import math
from typing import Any

import numpy as np

from worldgauge.suites.target.metrics import Mode, Profile

Points = list[list[float]]


def path_of_recipe(r: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Decoded path and truth of a recipe (target_metrics.json, `recipe_steps`)."""
    rng = np.random.default_rng(r["seed"])
    rows = r["n_hist"] + r["n_future"]
    turn = rng.normal(0.0, r["turn_sd"], rows - 1)
    step = rng.uniform(r["step_lo"], r["step_hi"], rows - 1)
    head = np.cumsum(turn)
    head = head - head[min(r["n_hist"], rows - 2)] + np.pi / 2
    truth = np.concatenate([[[0.0, 0.0]], np.cumsum(np.stack([step * np.cos(head), step * np.sin(head)], 1), 0)])
    truth = truth - truth[r["n_hist"]]
    at = np.linspace(r["n_hist"], rows - 1, r["m"])
    base = np.stack([np.interp(at, np.arange(rows), truth[:, k]) for k in (0, 1)], 1)
    cos, sin = np.cos(r["yaw"]), np.sin(r["yaw"])
    turned = r["scale"] * base @ np.array([[cos, sin], [-sin, cos]])
    noise = rng.normal(0.0, r["noise"], (r["m"], 2))
    return turned + np.linspace(0, 1, r["m"])[:, None] * noise + np.array(r["offset"]), truth


def loop_scores(path: np.ndarray, truth: np.ndarray, profile: Profile, mode: Mode = "gt") -> list[float]:
    """ADE, FDE, miss rate, soft endpoint, approach consistency and overall; no history is cut."""
    p, g = path.tolist(), truth.tolist()
    if mode == "min":
        rows = min(len(p), len(g))
        a, b = p[:rows], g[:rows]
    else:
        rows = {"gt": len(g), "pred": len(p), "max": max(len(p), len(g))}[mode]
        a, b = _stretched(p, rows), _stretched(g, rows)
    apart = [math.dist(one, other) for one, other in zip(a, b, strict=True)]
    ade = math.fsum(apart) / rows
    fde = math.dist(p[-1], g[-1])
    missed = 100 * sum(d > profile.miss_m for d in apart) / rows
    endpoint = math.exp(-(fde**2) / (2 * profile.sigma_m**2))
    outside = sum(not _covered(point, g, profile) for point in p)
    approach = math.exp(-profile.gamma * outside / len(p)) if outside else 1.0
    w = profile.weights
    near = w.ade * math.exp(-ade / profile.tau_ade_m) + w.fde * math.exp(-fde / profile.tau_fde_m)
    whole = near + w.miss_rate * (1 - missed / 100) + (w.endpoint + w.approach) * endpoint * approach
    return [ade, fde, missed, endpoint, approach, whole]


def _stretched(points: Points, rows: int) -> Points:
    if len(points) == rows:
        return points
    out = []
    for i in range(rows):
        at = i / (rows - 1) * (len(points) - 1) if rows > 1 else 0.0
        low = min(int(at), len(points) - 2)
        share = at - low
        out.append([(1 - share) * x + share * y for x, y in zip(points[low], points[low + 1], strict=True)])
    return out


def _covered(point: list[float], truth: Points, profile: Profile) -> bool:
    last = len(truth) - 1
    rows = list(range(len(truth)))
    if len(truth) >= profile.references:
        step = last / (profile.references - 1)
        rows = [*(int(i * step) for i in range(profile.references - 1)), last]
    for row in rows:
        off = row / max(last, 1) - 0.5
        widening = math.exp(-(off**2) / (2 * profile.beta**2))
        radius = profile.radius_min_m + (profile.radius_max_m - profile.radius_min_m) * widening
        if math.dist(point, truth[row]) <= radius:
            return True
    return False
