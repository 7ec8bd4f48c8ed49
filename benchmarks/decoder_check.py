"""Does a second decoder know when the first is wrong? `sfm-global` on spoilt clips, checked by `klt-vo`.

`python -m benchmarks.decoder_check` prints the tables and takes some minutes (48 clips); add a file name to keep every
single result, one JSON object a line.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from benchmarks._decoder_clips import CONDITIONS, Case, cases
from worldgauge.core.geometry import relative
from worldgauge.perception.decoders import DecodedPath, decoders
from worldgauge.perception.decoders.crosscheck import FLAGGED, align_path, disagreement

ROOMS = (("curve", 1), ("turn", 1), ("straight", 1), ("turn", 2))
WRONG_ATE, WRONG_FDE_M = 0.05, 0.25
GOAL_RECALL = 0.8

Row = dict[str, Any]


def run() -> dict[str, Any]:
    """Share of wrong paths given out as right that are doubted. Reference: share of right ones that are."""
    rows = study()
    wrong, right = _judged(rows)
    recall, alarms = _share(wrong, _doubted), _share(right, _doubted)
    return {
        "name": "decoder_check",
        "unit": "share of wrong paths noticed",
        "ours": recall["share"],
        "ours_of": recall,
        "reference": alarms["share"],
        "reference_name": "right paths doubted",
        "reference_of": alarms,
        "ratio": None,
        "goal": GOAL_RECALL,
        "met": recall["share"] is None or recall["share"] >= GOAL_RECALL,
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
    first, second = decoders.get("sfm-global")(cross_check="never", fallback=False), decoders.get("klt-vo")()
    rows = []
    for case in cases(walk, seed):
        a, b = first.decode(case.request), second.decode(case.request)
        row: Row = {"walk": walk, "seed": seed, "condition": case.condition}
        row |= {"sfm": measured(a, case), "klt": measured(b, case), **_compared(a, b)}
        rows.append(row)
        if kept is not None:
            with open(kept, "a") as file:
                file.write(json.dumps(row, sort_keys=True) + "\n")
    return rows


def _compared(a: DecodedPath, b: DecodedPath) -> Row:
    """disagreement; the same with the root of the mean square; and of metres, as both have them, without alignment."""
    none: Row = {"disagreement": None, "rms": None, "metric": None}
    if a.positions is None or b.positions is None:
        return none
    shared, here, there = np.intersect1d(a.frame_indices, b.frame_indices, return_indices=True)
    if len(shared) < 3:
        return none
    one, other = a.positions[here], b.positions[there]
    length = float(np.linalg.norm(np.diff(one, axis=0), axis=1).sum())
    rms = float(np.sqrt(((align_path(other, one).apply(other) - one) ** 2).sum(1).mean())) / max(length, 1e-9)
    sized = None
    if a.xy is not None and b.xy is not None:
        sized = float(np.linalg.norm(a.xy[here] - b.xy[there], axis=1).max()) / max(length, 1e-9)
    return {"disagreement": disagreement(one, other), "rms": rms, "metric": sized}


def _confident(row: Row) -> bool:
    return row["sfm"]["status"] in ("ok", "partial") and row["sfm"]["wrong"] is not None


def _judged(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    confident = [row for row in rows if _confident(row)]
    return [row for row in confident if row["sfm"]["wrong"]], [row for row in confident if not row["sfm"]["wrong"]]


def _flagged(row: Row) -> bool:
    return row["disagreement"] is not None and row["disagreement"] > FLAGGED


def _sized(row: Row) -> bool:
    return row["metric"] is not None and row["metric"] > FLAGGED


def _alone(row: Row) -> bool:
    return row["disagreement"] is None


def _doubted(row: Row) -> bool:
    """Another shape, another size, or nothing that the second decoder would say."""
    return _flagged(row) or _sized(row) or _alone(row)


def _share(rows: list[Row], test: Callable[[Row], bool]) -> Row:
    count = sum(map(test, rows))
    low, high = wilson(count, len(rows))
    share = round(count / len(rows), 3) if rows else None
    return {"share": share, "count": count, "of": len(rows), "low": round(low, 3), "high": round(high, 3)}


def _tables(rows: list[Row]) -> str:
    lines = [
        "| condition | clips | `sfm-global`: ok, partial, no scale, failed | ATE %, FDE m (median) | wrong |"
        " wrong doubted | right doubted | `klt-vo`: ok, partial, no scale, failed | ATE %, FDE m (median) | wrong |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for condition in CONDITIONS:
        own = [row for row in rows if row["condition"] == condition]
        wrong, right = _judged(own)
        klt = [row["klt"] for row in own if row["klt"]["status"] in ("ok", "partial")]
        lines.append(
            f"| {condition} | {len(own)} | {_statuses(own, 'sfm')} | {_medians(own, 'sfm')} | {len(wrong)} |"
            f" {sum(map(_doubted, wrong))} | {sum(map(_doubted, right))} of {len(right)} | {_statuses(own, 'klt')} |"
            f" {_medians(own, 'klt')} | {sum(bool(one['wrong']) for one in klt)} |"
        )
    wrong, right = _judged(rows)
    lines += [
        "",
        "| a path is doubted when the second decoder | wrong ones doubted | right ones doubted |",
        "|---|---|---|",
    ]
    checks: dict[str, Callable[[Row], bool]] = {
        "gives another shape: more than 10 % apart, aligned": _flagged,
        "gives another size: more than 10 % apart in metres, not aligned": _sized,
        "gives no path": _alone,
        "does any of these": _doubted,
    }
    for name, test in checks.items():
        noticed, doubted = (
            f"{one['count']} of {one['of']} ({one['low']:.2f} to {one['high']:.2f})"
            for one in (_share(wrong, test), _share(right, test))
        )
        lines.append(f"| {name} | {noticed} | {doubted} |")
    return "\n".join(lines)


def _statuses(rows: list[Row], decoder: str) -> str:
    found = [row[decoder]["status"] for row in rows]
    return ", ".join(str(found.count(status)) for status in ("ok", "partial", "no_scale", "failed"))


def _medians(rows: list[Row], decoder: str) -> str:
    confident = [row[decoder] for row in rows if row[decoder]["status"] in ("ok", "partial")]
    ate = [100 * one["ate"] for one in confident if one["ate"] is not None]
    fde = [one["fde_m"] for one in confident if one["fde_m"] is not None]
    return f"{np.median(ate):.2f}, {np.median(fde):.3f}" if ate and fde else "-"


if __name__ == "__main__":
    print(_tables(study(*sys.argv[1:2])))
