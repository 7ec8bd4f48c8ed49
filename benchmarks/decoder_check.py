"""Which wrong paths do the decoders give out as right, on spoilt clips? `sfm-global` as it is, and `klt-vo` alone.

`python -m benchmarks.decoder_check` prints the table and takes some minutes (48 clips); add a file name to keep every
single result, one JSON object a line.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from benchmarks._decoder_clips import CONDITIONS, Case, cases
from worldgauge.core.geometry import relative
from worldgauge.perception.decoders import DecodedPath, decoders
from worldgauge.perception.decoders.crosscheck import align_path

ROOMS = (("curve", 1), ("turn", 1), ("straight", 1), ("turn", 2))
WRONG_ATE, WRONG_FDE_M = 0.05, 0.25
DECODERS = {"sfm": "sfm-global", "klt": "klt-vo"}

Row = dict[str, Any]


def run() -> dict[str, Any]:
    """Share of paths given out as right that are wrong. Reference: the same of `klt-vo` alone."""
    rows = study()
    shares = {key: _share([row[key]["wrong"] for row in rows if _accepted(row[key])]) for key in DECODERS}
    return {
        "name": "decoder_check",
        "unit": "share of accepted paths that are wrong",
        "ours": shares["sfm"]["share"],
        "ours_of": shares["sfm"],
        "reference": shares["klt"]["share"],
        "reference_name": "klt-vo alone",
        "reference_of": shares["klt"],
        "ratio": None,
        "goal": 0.0,
        "met": not shares["sfm"]["count"],
        "clips": len(rows),
        "rows": rows,
    }


def study(kept: str | None = None) -> list[Row]:
    """One row a clip; appended to the file `kept` as they come."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return [row for rows in pool.map(_walked, *zip(*ROOMS, strict=True), [kept] * len(ROOMS)) for row in rows]


def wilson(count: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    if of == 0:
        return 0.0, 1.0
    share, weight = count / of, z * z / of
    middle = (share + weight / 2) / (1 + weight)
    reach = z * math.sqrt(share * (1 - share) / of + weight / (4 * of)) / (1 + weight)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def measured(path: DecodedPath, case: Case) -> Row:
    """Errors of a path: ATE as a share of the true length after similarity alignment, FDE in metres; None without."""
    row: Row = {"status": path.status, "reason": path.reason, "ate": None, "fde_m": None, "wrong": None}
    row |= {name: path.diagnostics.get(name) for name in ("points_per_frame", "reprojection_px", "starts_difference")}
    if path.positions is None or len(path.positions) < 3:
        return row
    truth = relative(case.poses[0], case.poses)[path.frame_indices][:, :3, 3]
    length = float(np.linalg.norm(np.diff(truth, axis=0), axis=1).sum())
    apart = align_path(path.positions, truth).apply(path.positions) - truth
    row["ate"] = float(np.sqrt((apart**2).sum(1).mean())) / length
    if path.xy is not None:
        row["fde_m"] = float(np.linalg.norm(path.xy[-1] - truth[-1, [0, 2]]))
    invented = bool((path.frame_indices >= case.valid).any())
    row["wrong"] = invented or row["ate"] > WRONG_ATE or (row["fde_m"] or 0.0) > WRONG_FDE_M
    return row


def _walked(walk: str, seed: int, kept: str | None) -> list[Row]:
    rows = []
    for case in cases(walk, seed):
        row: Row = {"walk": walk, "seed": seed, "condition": case.condition}
        row |= {key: measured(decoders.get(name)().decode(case.request), case) for key, name in DECODERS.items()}
        rows.append(row)
        if kept is not None:
            with open(kept, "a") as file:
                file.write(json.dumps(row, sort_keys=True) + "\n")
    return rows


def _accepted(row: Row) -> bool:
    return row["status"] in ("ok", "partial") and row["wrong"] is not None


def _share(wrong: Iterable[bool]) -> Row:
    found = list(wrong)
    low, high = wilson(sum(found), len(found))
    share = round(sum(found) / len(found), 3) if found else None
    return {"share": share, "count": sum(found), "of": len(found), "low": round(low, 3), "high": round(high, 3)}


def _table(rows: list[Row]) -> str:
    each = " | ".join(
        f"`{name}`: ok, partial, no scale, failed | ATE %, FDE m (median) | wrong" for name in DECODERS.values()
    )
    lines = [f"| condition | {each} |", "|---" * 7 + "|"]
    for condition in CONDITIONS:
        own = [row for row in rows if row["condition"] == condition]
        cells = (cell for key in DECODERS for cell in _cells([row[key] for row in own]))
        lines.append(f"| {condition} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(rows: list[Row]) -> tuple[str, str, str]:
    """Statuses, median errors of accepted paths, and how many of these are wrong."""
    found = [row["status"] for row in rows]
    statuses = ", ".join(str(found.count(status)) for status in ("ok", "partial", "no_scale", "failed"))
    accepted = [row for row in rows if _accepted(row)]
    if not accepted:
        return statuses, "-", "0"
    ate, fde = (float(np.median([row[key] for row in accepted])) for key in ("ate", "fde_m"))
    return statuses, f"{100 * ate:.2f}, {fde:.3f}", str(sum(row["wrong"] for row in accepted))


if __name__ == "__main__":
    print(_table(study(*sys.argv[1:2])))
