"""How far metrics agree with people: on public verdicts about pairs of videos, or on votes held in the viewer.

WorldReward-Bench (CodeGoat24/WorldReward, read in its public code): `bench.jsonl`, a JSON object a line with `pair_id`,
`input_image`, `left.video`, `right.video` and `label`, which holds "left", "right" or "tie" for each of the axes
action, appearance and motion. The true continuation is not known there, so only metrics that need none can be asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from worldgauge.core.errors import DataError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.io import check_inside, read_text
from worldgauge.core.statistics import rate_interval
from worldgauge.core.video import Clip, resize
from worldgauge.metrics.colour import colour_change
from worldgauge.metrics.pixel import mse, sharpness, ssim_uniform
from worldgauge.tools.validate_metrics.ratings import (
    VERDICTS,
    RatedVideo,
    axes_of,
    between_people,
    compared,
    read_ratings,
)
from worldgauge.tools.viewer.library import Library
from worldgauge.tools.viewer.votes import FILE, Votes, agreements

BENCH = "bench.jsonl"
AXES = ("action", "appearance", "motion")
SIDES = ("left", "right", "tie")
SAMPLED = 16
"""Frames of each video that are looked at, evenly over it."""
PEOPLE = "people"
"""Name of the row that tells how far people agree with each other."""


@dataclass(frozen=True)
class PairVerdict:
    """Two videos of one question, and which one people preferred.

    Attributes:
        pair: Id of the pair.
        left: Video on the left.
        right: Video on the right.
        source: Picture that both began with. None where it is not there.
        label: "left", "right" or "tie" by axis.
    """

    pair: str
    left: Path
    right: Path
    source: Path | None
    label: Mapping[str, str]


@dataclass(frozen=True)
class PeopleRow:
    """How far one metric agrees with people on one axis.

    Attributes:
        data: Where the verdicts are from.
        axis: What people judged.
        metric: The metric, or "people" for the agreement between people, which no metric can pass by much.
        better: Direction in which the metric was taken to prefer.
        share: Share of comparisons that agree. None without one.
        low: Lower end of its 95 % interval.
        high: Upper end.
        n: Number of comparisons.
        left_out: Comparisons that one side does not decide.
    """

    data: str
    axis: str
    metric: str
    better: str
    share: float | None
    low: float | None
    high: float | None
    n: int
    left_out: int


@dataclass(frozen=True)
class PeopleStudy:
    """All rows of a study.

    Attributes:
        rows: The rows.
        notes: What a reader must know.
    """

    rows: tuple[PeopleRow, ...]
    notes: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Always: agreement with people is told, no bound is demanded."""
        return True

    def table(self) -> str:
        """The rows as text."""
        lines = [f"{'axis':<12} {'metric':<18} {'agrees':>7}  {'95 % interval':<14} {'n':>6} {'left out':>9}"]
        for row in self.rows:
            share = "-" if row.share is None else f"{row.share:.0%}"
            interval = "" if row.low is None or row.high is None else f"{row.low:.0%} to {row.high:.0%}"
            lines.append(f"{row.axis:<12} {row.metric:<18} {share:>7}  {interval:<14} {row.n:>6} {row.left_out:>9}")
        return "\n".join([*lines, *self.notes])

    def to_rows(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The numbers as a header and rows."""
        names = tuple(PeopleRow.__dataclass_fields__)
        return names, [tuple(getattr(row, name) for name in names) for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"rows": [asdict(row) for row in self.rows], "notes": list(self.notes)}


def people_study(data: Path, progress: Callable[[int, int], None] = lambda done, total: None) -> PeopleStudy:
    """Compare metrics with people.

    Args:
        data: Folder with `bench.jsonl` (WorldReward-Bench), with `verdicts.csv` (people on single videos), or of runs
            with votes that were held in the viewer.
        progress: Called with the number of pairs done and the total.

    Returns:
        Agreement of each metric on each axis, with intervals.

    Raises:
        DataError: The folder holds neither, or a file is damaged.
    """
    if (data / BENCH).is_file():
        return _of_pairs(read_worldreward(data), progress)
    if (data / VERDICTS).is_file():
        return _of_ratings(read_ratings(data), progress)
    if (data / FILE).is_file():
        return _of_votes(data)
    raise DataError(
        f"{data}: holds neither {BENCH} (WorldReward-Bench) nor {VERDICTS} (verdicts on single videos) nor {FILE} "
        "(votes of worldgauge view); give a folder with one of them"
    )


def read_worldreward(folder: Path) -> list[PairVerdict]:
    """Read the pairs of WorldReward-Bench, or of a set in its form.

    Args:
        folder: Folder of `bench.jsonl`; videos lie below it.

    Returns:
        The pairs.

    Raises:
        DataError: A line is damaged, or a path leads out of the folder.
    """
    path = folder / BENCH
    pairs = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
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
        if unknown := set(label.values()) - set(SIDES):
            raise DataError(f"{path}: line {number}: verdict {min(unknown)!r} is none of {', '.join(SIDES)}")
        pairs.append(PairVerdict(pair, left, right, source, label))
    if not pairs:
        raise DataError(f"{path}: holds no pairs")
    return pairs


def _of_pairs(pairs: Sequence[PairVerdict], progress: Callable[[int, int], None]) -> PeopleStudy:
    values: list[tuple[PairVerdict, dict[str, float], dict[str, float]]] = []
    unread = []
    for done, pair in enumerate(pairs):
        progress(done, len(pairs))
        try:
            source = _picture(pair.source)
            values.append((pair, measures(Clip.open(pair.left), source), measures(Clip.open(pair.right), source)))
        except WorldgaugeError as error:
            unread.append(str(error))
    rows = [_row_of(values, axis, metric) for axis in AXES for metric in MEASURES]
    notes = [
        f"{len(values)} pairs; a coin agrees half of the time. One verdict a pair is published, so that how far people "
        "agree with each other is not known."
    ]
    if unread:
        notes.append(f"{len(unread)} pairs could not be read (first: {unread[0]}).")
    return PeopleStudy(tuple(rows), tuple(notes))


def _of_ratings(videos: Sequence[RatedVideo], progress: Callable[[int, int], None]) -> PeopleStudy:
    known: dict[tuple[str, Path], dict[str, float]] = {}
    unread = []
    for done, video in enumerate(videos):
        progress(done, len(videos))
        try:
            known[video.question, video.path] = measures(Clip.open(video.path), _picture(video.source))
        except WorldgaugeError as error:
            unread.append(str(error))
    pairs = list(compared(videos))
    rows = []
    for axis in axes_of(videos):
        people = [(same, a.question) for a, b in pairs for same in between_people(a, b, axis)]
        rows.append(_people_row(axis, PEOPLE, "", people))
        for metric, better in MEASURES.items():
            said: list[tuple[bool | None, str]] = []
            for a, b in pairs:
                x, y = (known.get((one.question, one.path), {}).get(metric) for one in (a, b))
                mean_a, mean_b = a.mean(axis), b.mean(axis)
                if mean_a is None or mean_b is None:
                    continue
                open_ = x is None or y is None or x == y or mean_a == mean_b
                said.append((None if open_ else ((x > y) == (better == "higher")) == (mean_a > mean_b), a.question))  # type: ignore[operator]
            rows.append(_people_row(axis, metric, better, said))
    judges = {who for video in videos for scores in video.said.values() for who in scores}
    notes = [
        f"{len(videos)} videos of {len({v.question for v in videos})} questions, {len(judges)} people; a coin agrees "
        "half of the time. Intervals take videos of one question as one."
    ]
    if unread:
        notes.append(f"{len(unread)} videos could not be read (first: {unread[0]}).")
    return PeopleStudy(tuple(rows), tuple(notes))


def _people_row(axis: str, metric: str, better: str, said: Sequence[tuple[bool | None, str]]) -> PeopleRow:
    same = [one for one, _ in said if one is not None]
    interval = rate_interval(same, [question for one, question in said if one is not None])
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    share = sum(same) / len(same) if same else None
    return PeopleRow(VERDICTS, axis, metric, better, share, low, high, len(same), len(said) - len(same))


def _row_of(
    values: Sequence[tuple[PairVerdict, Mapping[str, float], Mapping[str, float]]], axis: str, metric: str
) -> PeopleRow:
    better = MEASURES[metric]
    same, open_ = [], 0
    for pair, left, right in values:
        said = pair.label.get(axis)
        if said in (None, "tie") or metric not in left or metric not in right or left[metric] == right[metric]:
            open_ += 1
            continue
        preferred = "left" if (left[metric] > right[metric]) == (better == "higher") else "right"
        same.append(preferred == said)
    interval = rate_interval(same)
    share = sum(same) / len(same) if same else None
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return PeopleRow("WorldReward-Bench", axis, metric, better, share, low, high, len(same), open_)


MEASURES: Mapping[str, str] = {
    "sharpness": "higher",
    "sharpness_kept": "higher",
    "colour_change": "lower",
    "motion": "higher",
    "first_ssim": "higher",
}
"""What can be measured of a video without its truth, and the direction that is taken to be preferred."""


def measures(clip: Clip, source: Image | None) -> dict[str, float]:
    """Measures of a video that need no truth.

    Args:
        clip: The video.
        source: The picture that it began with, (H, W, 3) uint8.

    Returns:
        By name: `sharpness`, mean over frames; `sharpness_kept`, last quarter by first quarter; `colour_change` of
        frames from the first, mean; `motion`, root mean squared change between sampled frames in grey levels;
        `first_ssim`, of the first frame to the source. Without what cannot be told.
    """
    wanted = np.unique(np.linspace(0, len(clip) - 1, min(SAMPLED, len(clip))).round().astype(int))
    frames = list(clip.take(wanted.tolist()))
    found = {"sharpness": float(np.mean([sharpness(frame) for frame in frames]))}
    quarter = max(1, len(frames) // 4)
    before, after = (float(np.mean([sharpness(one) for one in part])) for part in (frames[:quarter], frames[-quarter:]))
    if before > 0:
        found["sharpness_kept"] = after / before
    if len(frames) > 1:
        found["colour_change"] = float(np.mean([colour_change(frame, frames[0]) for frame in frames[1:]]))
        found["motion"] = float(np.sqrt(np.mean([mse(a, b) for a, b in pairwise(frames)])))
    if source is not None:
        found["first_ssim"] = ssim_uniform(frames[0], resize(source, clip.width, clip.height))
    return found


def _picture(path: Path | None) -> Image | None:
    if path is None or not path.is_file():
        return None
    read = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if read is None:
        raise DataError(f"{path}: not a picture")
    return np.ascontiguousarray(read[:, :, ::-1]).astype(np.uint8)


def _of_votes(data: Path) -> PeopleStudy:
    library = Library(data.resolve())
    votes = Votes(data.resolve()).read()
    rows = list(_vote_rows(library, votes))
    known = {(group.suite.name, group.place) for group in library.refresh()}
    lost = sum((one.suite, one.place) not in known for one in votes)
    notes = [f"{len(votes)} votes of {len({one.voter for one in votes})} voters; a coin agrees half of the time."]
    if lost:
        notes.append(f"{lost} votes are on runs that are not in this folder.")
    return PeopleStudy(tuple(rows), tuple(notes))


def _vote_rows(library: Library, votes: Sequence[Any]) -> Iterator[PeopleRow]:
    for group in library.refresh():
        better = {metric.name: metric.better for metric in group.metrics}
        for one in agreements(group, votes):
            low, high = (None, None) if one.interval is None else (one.interval.low, one.interval.high)
            name = PEOPLE if one.name == "voters" else one.name
            direction = better.get(one.name, "")
            axis = f"{group.suite.name} {group.place}".removesuffix(" .")
            yield PeopleRow(FILE, axis, name, direction, one.share, low, high, one.n, one.left_out)
