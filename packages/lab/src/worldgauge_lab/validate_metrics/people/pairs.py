"""Verdicts of people on pairs of videos, with one verdict or several for each pair.

Two forms are read. `bench.jsonl` is that of WorldReward-Bench (CodeGoat24/WorldReward, read in its public code): a JSON
object a line with `pair_id`, `input_image`, `left.video`, `right.video` and `label`, which holds "left", "right" or
"tie" for each of the axes action, appearance and motion; one verdict a pair. `pairs.csv` is our own, for sets with
several annotators: a row for each verdict with `pair`, `video_a`, `video_b` (below the folder), `annotator` and
`verdict` (a, b or tie), and, if wanted, `axis` (what was judged), `source` (the picture that both began with) and
`question` (what both answer: in intervals, pairs of one question are taken as one).
"""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from worldgauge.core.errors import DataError
from worldgauge.core.io import check_inside, read_csv, read_text

BENCH = "bench.jsonl"
PAIRS = "pairs.csv"
AXES = ("action", "appearance", "motion")
"""Of WorldReward-Bench."""
COLUMNS = ("pair", "video_a", "video_b", "annotator", "verdict")
OVERALL = "overall"
"""Axis of verdicts that name none."""

Side = Literal["a", "b", "tie"]
_SIDES: Mapping[str, Side] = {"left": "a", "right": "b", "tie": "tie"}
_VERDICTS: tuple[Side, ...] = ("a", "b", "tie")


@dataclass(frozen=True)
class JudgedPair:
    """Two videos, and which of them people preferred.

    Attributes:
        pair: Id of the pair.
        a: One video.
        b: The other.
        source: Picture that both began with. None where it is not there.
        question: What both answer.
        said: Verdict by annotator, by axis.
    """

    pair: str
    a: Path
    b: Path
    source: Path | None
    question: str
    said: Mapping[str, Mapping[str, Side]]

    def most(self, axis: str) -> tuple[int, int] | None:
        """How many decided verdicts a video can meet at most, and how many there are; None without one."""
        counts = Counter(side for side in self.said.get(axis, {}).values() if side != "tie")
        return (max(counts.values()), counts.total()) if counts else None


def read_worldreward(folder: Path) -> list[JudgedPair]:
    """Read the pairs of WorldReward-Bench, or of a set in its form.

    Args:
        folder: Folder of `bench.jsonl`; videos lie below it.

    Returns:
        The pairs, each with one annotator.

    Raises:
        DataError: A line is damaged, or a path leads out of the folder.
    """
    path = folder / BENCH
    pairs = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            left, right = (check_inside(folder / str(row[side]["video"]), folder) for side in ("left", "right"))
            image = row.get("input_image")
            source = None if image is None else check_inside(folder / str(image), folder)
            label = {axis: str(row["label"][axis]) for axis in AXES if row["label"].get(axis) is not None}
            pair = str(row["pair_id"])
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: line {number} is no pair with verdicts ({error})") from error
        if unknown := set(label.values()) - _SIDES.keys():
            raise DataError(f"{path}: line {number}: verdict {min(unknown)!r} is none of {', '.join(_SIDES)}")
        said = {axis: {"": _SIDES[side]} for axis, side in label.items()}
        pairs.append(JudgedPair(pair, left, right, source, pair, said))
    if not pairs:
        raise DataError(f"{path}: holds no pairs")
    return pairs


def read_pairs(folder: Path) -> list[JudgedPair]:
    """Read pairs with the verdicts of several annotators.

    Args:
        folder: Folder of `pairs.csv`; videos lie below it.

    Returns:
        The pairs, in the order of the table.

    Raises:
        DataError: A column is missing, a row is damaged, a path leads out of the folder, rows of one pair name other
            videos, or an annotator judges a pair twice on one axis.
    """
    path = folder / PAIRS
    rows = csv.DictReader(read_csv(path))
    if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
        raise DataError(f"{path}: no column '{missing[0]}'; it needs {', '.join(COLUMNS)}")
    said: dict[str, dict[str, dict[str, Side]]] = defaultdict(lambda: defaultdict(dict))
    shown: dict[str, tuple[Path, Path, Path | None, str]] = {}
    for number, row in enumerate(rows, 2):
        where = f"{path}: line {number}"
        if not all(row[name] for name in COLUMNS):
            raise DataError(f"{where} is no verdict: {', '.join(COLUMNS)} need a value each")
        if row["verdict"] not in _VERDICTS:
            raise DataError(f"{where}: verdict {row['verdict']!r} is none of {', '.join(_VERDICTS)}")
        pair, who, axis = row["pair"], row["annotator"], row.get("axis") or OVERALL
        try:
            a, b = (check_inside(folder / row[name], folder) for name in ("video_a", "video_b"))
            source = check_inside(folder / row["source"], folder) if row.get("source") else None
        except (DataError, ValueError) as error:
            raise DataError(f"{where} names a file that cannot be: {error}") from None
        seen = a, b, source, row.get("question") or pair
        if shown.setdefault(pair, seen) != seen:
            raise DataError(f"{where}: pair '{pair}' has other videos, another source or question than before")
        if who in said[pair][axis]:
            raise DataError(f"{where}: '{who}' has judged pair '{pair}' on {axis} before; keep one verdict")
        said[pair][axis][who] = cast(Side, row["verdict"])
    if not said:
        raise DataError(f"{path}: holds no verdicts")
    return [JudgedPair(pair, *shown[pair], axes) for pair, axes in said.items()]


def axes_of_pairs(pairs: Sequence[JudgedPair]) -> list[str]:
    """All axes, in the order in which they come."""
    return list(dict.fromkeys(axis for pair in pairs for axis in pair.said))


def two_annotators(pair: JudgedPair, axis: str) -> Iterator[bool | None]:
    """Whether two people prefer the same video, for each two who judged the pair; None where one is undecided."""
    said = pair.said.get(axis, {})
    for first, second in itertools.combinations(sorted(said), 2):
        both = said[first], said[second]
        yield None if "tie" in both else both[0] == both[1]
