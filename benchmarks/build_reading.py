"""The largest build read from an answer on one core: ours beside json.loads and a numpy array of it, turn by turn."""

import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint

SHAPE, MATERIALS = (50, 80, 80), tuple(f"block_{number}" for number in range(1, 60))
GOAL_MS = 50.0
ROUNDS = 25


def run() -> dict[str, Any]:
    """The reference takes the bare matrix, ours the fenced answer with all checks. worst: of hostile texts."""
    cells = np.random.default_rng(0).choice([-1, *range(1, len(MATERIALS) + 1)], SHAPE)
    text = json.dumps(cells.tolist())
    answer = f"```json\n{text}\n```"
    reading = read_blueprint(answer, MATERIALS)
    same = reading.blueprint is not None and np.array_equal(reading.blueprint.cells, np.array(json.loads(text)))
    ours, reference, released = [], [], []
    for _ in range(ROUNDS):
        ours.append(_ms(lambda: read_blueprint(answer, MATERIALS)))
        reference.append(_ms(lambda: np.array(json.loads(text))))
        released.append(_ms(lambda: read_blueprint(answer, MATERIALS, parser="released")))
    one, two = statistics.median(ours), statistics.median(reference)
    worst = {
        name: statistics.median(_ms(partial(read_blueprint, other, MATERIALS)) for _ in range(5))
        for name, other in hostile().items()
    }
    return {
        "name": "build_reading",
        "unit": f"processor ms an answer of {len(answer):,} characters, {'x'.join(map(str, SHAPE))} blocks, median",
        "ours": round(one, 1),
        "reference": round(two, 1),
        "reference_name": "json.loads and numpy.array of the bare matrix",
        "ratio": round(two / one, 2),
        "as_released": round(statistics.median(released), 1),
        "worst": {name: round(ms, 1) for name, ms in worst.items()},
        "same": same,
        "goal": f"<= {GOAL_MS:g} ms",
        "met": one <= GOAL_MS and same,
    }


def hostile() -> dict[str, str]:
    """The slowest texts known, up to the limits of characters."""
    inside = {
        "rows without cells": f"[[{'[],' * 466_000}[]]]",
        "rows of one cell": f"[[{'[1],' * 349_000}[1]]]",
        "cells of one digit": f"[[[{'1,' * 699_000}1]]]",
        "rows of one cell, not plain": f"[[[1e0],{'[1],' * 37_000}[1]]]",
        "layers without rows": f"[[[1e0]],{'[],' * 49_000}[]]",
    }
    return {name: f"```json\n{matrix}\n```" for name, matrix in inside.items()}


def _ms(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)
