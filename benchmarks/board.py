"""A leaderboard of 200 bundles: each is checked whole, all pairs are compared, and every result gets its page."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.engine.collect import collect
from worldgauge.engine.run import run as perform
from worldgauge.tools.bundle import Archive, write_archive, write_bundles
from worldgauge.tools.leaderboard import write_board

BUNDLES, LOOPS = 200, 8
GOAL_S = 10


def run() -> dict[str, Any]:
    """Seconds of processor time for the site; the reference reads every file of every bundle once and hashes it.

    The bundles are of one run of `loopnav`, whose scores are changed in each, so that no two are equal.
    """
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        collect("loopnav", root / "data", settlements=LOOPS, ranges=(5,), per_combination=1, seed=1, size=(160, 90))
        result = perform("loopnav", model="freeze", data=root / "data", out=root / "runs")
        folder = next(one.directory for one in result.folders if one.directory.name == "freeze")
        (made,) = write_bundles([folder], root / "one", whole=0)
        with Archive(made.path) as archive:
            files = {name: archive.read(name) for name in archive.files}
        for number in range(BUNDLES):
            write_archive(root / "bundles" / f"{number:03d}.zip", _others(files, number))
        size = sum(one.stat().st_size for one in (root / "bundles").iterdir())
        hashing = time.process_time()
        for path in (root / "bundles").iterdir():
            with Archive(path) as archive:
                for name in archive.files:
                    hashlib.sha256(archive.read(name)).hexdigest()
        hashing = time.process_time() - hashing
        clock, before = time.perf_counter(), time.process_time()
        board = write_board(root / "bundles", root / "site")
        ours, clock = time.process_time() - before, time.perf_counter() - clock
        assert (board.shown, len(board.left_out)) == (BUNDLES, 0), board.left_out[:1]
    return {
        "name": "board",
        "unit": f"s of processor time, {BUNDLES} bundles of {made.tasks} tasks",
        "ours": round(ours, 1),
        "reference": round(hashing, 1),
        "reference_name": "their files read and hashed",
        "ratio": round(hashing / ours, 2),
        "goal": GOAL_S,
        "met": ours < GOAL_S,
        "clock_s": round(clock, 1),
        "kb_a_bundle": round(size / BUNDLES / 1e3),
    }


def _others(files: dict[str, bytes], number: int) -> dict[str, bytes]:
    """The files of a bundle with other scores, the same in the records and in the table of all."""
    rng = np.random.default_rng(number)
    factors = {name: float(factor) for name, factor in zip(sorted(files), rng.uniform(0.9, 1, len(files)), strict=True)}
    changed = dict(files)
    table = []
    for name in sorted(files):
        if name.endswith("/scores.json"):
            first, *lines, last = files[name].split(b"\n")[:-1]
            lines = [_scaled(line.rstrip(b","), factors[name]) for line in lines]
            table += lines
            changed[name] = b"\n".join([first, b",\n".join(lines), last]) + b"\n"
    changed["scores.jsonl"] = b"\n".join(table) + b"\n"
    return changed


def _scaled(line: bytes, factor: float) -> bytes:
    score = json.loads(line)
    if isinstance(score["value"], float):
        score["value"] *= factor
    return json.dumps(score, sort_keys=True).encode()
