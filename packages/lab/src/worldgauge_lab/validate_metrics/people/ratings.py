"""Verdicts of people on single videos, in a table: what several people said of a video on a scale.

`verdicts.csv` has a row for each verdict: `question` (what the video answers: only videos of one question are
compared), `video` (below the folder), `axis` (what was judged), `annotator`, `score` (higher is better), and, if
wanted, `source`, the picture that the video began with. Two videos are compared on an axis by their mean scores.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.core.io import check_inside, read_csv

VERDICTS = "verdicts.csv"
COLUMNS = ("question", "video", "axis", "annotator", "score")


@dataclass(frozen=True)
class RatedVideo:
    """A video with what people said of it.

    Attributes:
        question: What it answers.
        path: The file.
        source: Picture that it began with. None where it is not told.
        said: Score by annotator, by axis.
    """

    question: str
    path: Path
    source: Path | None
    said: Mapping[str, Mapping[str, float]]

    def mean(self, axis: str) -> float | None:
        """Mean score on an axis; None where nobody has judged it."""
        scores = self.said.get(axis, {}).values()
        return sum(scores) / len(scores) if scores else None


def read_ratings(folder: Path) -> list[RatedVideo]:
    """Read the verdicts.

    Args:
        folder: Folder of `verdicts.csv`; videos lie below it.

    Returns:
        The videos, in the order of the table.

    Raises:
        DataError: A column is missing, a row is damaged, or a path leads out of the folder.
    """
    path = folder / VERDICTS
    rows = csv.DictReader(read_csv(path))
    if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
        raise DataError(f"{path}: no column '{missing[0]}'; it needs {', '.join(COLUMNS)}")
    said: dict[tuple[str, Path], dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    sources: dict[tuple[str, Path], Path | None] = {}
    for number, row in enumerate(rows, 2):
        try:
            score = float(row["score"])
            video = check_inside(folder / row["video"], folder)
            source = check_inside(folder / row["source"], folder) if row.get("source") else None
        except (TypeError, ValueError) as error:
            raise DataError(f"{path}: line {number} is no verdict ({error})") from error
        if not math.isfinite(score) or not all(row[name] for name in COLUMNS):
            raise DataError(f"{path}: line {number} is no verdict: every column needs a value, a score a finite one")
        key = row["question"], video
        said[key][row["axis"]][row["annotator"]] = score
        sources[key] = sources.get(key) or source
    if not said:
        raise DataError(f"{path}: holds no verdicts")
    return [RatedVideo(question, video, sources[question, video], axes) for (question, video), axes in said.items()]


def axes_of(videos: Sequence[RatedVideo]) -> list[str]:
    """All axes, in the order in which they come."""
    return list(dict.fromkeys(axis for video in videos for axis in video.said))


def compared(videos: Sequence[RatedVideo]) -> Iterator[tuple[RatedVideo, RatedVideo]]:
    """All pairs of videos of one question."""
    by_question: dict[str, list[RatedVideo]] = defaultdict(list)
    for video in videos:
        by_question[video.question].append(video)
    for theirs in by_question.values():
        yield from itertools.combinations(theirs, 2)


def between_people(a: RatedVideo, b: RatedVideo, axis: str) -> Iterator[bool | None]:
    """Whether two people put a pair in the same order, for each two who judged both; None where one is undecided."""
    one, other = a.said.get(axis, {}), b.said.get(axis, {})
    both = sorted(one.keys() & other.keys())
    for first, second in itertools.combinations(both, 2):
        x, y = one[first] - other[first], one[second] - other[second]
        yield (x > 0) == (y > 0) if x and y else None
