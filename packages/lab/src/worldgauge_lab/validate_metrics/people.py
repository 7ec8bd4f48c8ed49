"""How far metrics agree with people: on verdicts about pairs or single videos, or on votes held in the viewer."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

import cv2
import numpy as np

from worldgauge.core.errors import DataError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.intervals import rate_interval
from worldgauge.core.io import check_inside, read_csv, read_text
from worldgauge.core.video import Clip
from worldgauge.tools.viewer import FILE, Votes, agreements
from worldgauge.tools.viewer_runs import Library
from worldgauge_lab.validate_metrics.people_measures import Measures

VERDICTS = "verdicts.csv"
COLUMNS = ("question", "video", "axis", "annotator", "score")


@dataclass(frozen=True)
class RatedVideo:
    """A video with scores (`said`) by axis and annotator; `source` is the image that it began with, if known."""

    question: str
    path: Path
    source: Path | None
    said: Mapping[str, Mapping[str, float]]

    def mean(self, axis: str) -> float | None:
        """Mean score on an axis; None where nobody has judged it."""
        scores = self.said.get(axis, {}).values()
        return sum(scores) / len(scores) if scores else None


def read_ratings(folder: Path) -> list[RatedVideo]:
    """Read the verdicts."""
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


BENCH = "bench.jsonl"
PAIRS = "pairs.csv"
AXES = ("action", "appearance", "motion")
"""Of WorldReward-Bench."""
PAIR_COLUMNS = ("pair", "video_a", "video_b", "annotator", "verdict")
OVERALL = "overall"
"""Axis of verdicts that name none."""

Side = Literal["a", "b", "tie"]
_SIDES: Mapping[str, Side] = {"left": "a", "right": "b", "tie": "tie"}
_VERDICTS: tuple[Side, ...] = ("a", "b", "tie")


@dataclass(frozen=True)
class JudgedPair:
    """Two videos that answer one question, and people's verdicts (`said`); `source` is their start image."""

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
    """Read the pairs of WorldReward-Bench, or of a set in its form."""
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
    """Read pairs with the verdicts of several annotators."""
    path = folder / PAIRS
    rows = csv.DictReader(read_csv(path))
    if missing := [name for name in PAIR_COLUMNS if name not in (rows.fieldnames or ())]:
        raise DataError(f"{path}: no column '{missing[0]}'; it needs {', '.join(PAIR_COLUMNS)}")
    said: dict[str, dict[str, dict[str, Side]]] = defaultdict(lambda: defaultdict(dict))
    shown: dict[str, tuple[Path, Path, Path | None, str]] = {}
    for number, row in enumerate(rows, 2):
        where = f"{path}: line {number}"
        if not all(row[name] for name in PAIR_COLUMNS):
            raise DataError(f"{where} is no verdict: {', '.join(PAIR_COLUMNS)} need a value each")
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


PEOPLE = "people"
"""Name of the row that tells how far people agree with each other."""
CEILING = "ceiling"
"""Name of the row that tells how far a metric can agree at most that always prefers what most people do."""

_Said = list[tuple[bool | None, Hashable]]
"""Whether a comparison agrees, None where it is open, and what it is of."""
_Measured = Mapping[tuple[Path, Path | None], Mapping[str, float]]


@dataclass(frozen=True)
class PeopleRow:
    """How far one metric agrees with people on one axis.

    Attributes:
        data: Where the verdicts are from.
        metric: "people" for agreement between two people; "ceiling" for that of majorities with verdicts.
        better: Preferred direction of the metric; empty for people.
        share: Share of comparisons that agree. None without any.
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
    """All rows of a study."""

    rows: tuple[PeopleRow, ...]
    notes: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Always: agreement with people is told, no bound is demanded."""
        return True

    def table(self) -> str:
        """The rows as text."""
        width = max([4, *(len(row.axis) for row in self.rows)])
        lines = [
            f"{'axis':<{width}} {'metric':<18} {'prefers':<7} {'agrees':>7}  {'95 % interval':<14} {'n':>6} "
            f"{'left out':>9}"
        ]
        for row in self.rows:
            share = "-" if row.share is None else f"{row.share:.0%}"
            interval = "" if row.low is None or row.high is None else f"{row.low:.0%} to {row.high:.0%}"
            lines.append(
                f"{row.axis:<{width}} {row.metric:<18} {row.better:<7} {share:>7}  {interval:<14} {row.n:>6} "
                f"{row.left_out:>9}"
            )
        return "\n".join([*lines, *self.notes])

    def to_rows(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The numbers as a header and rows."""
        names = tuple(PeopleRow.__dataclass_fields__)
        return names, [tuple(getattr(row, name) for name in names) for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"rows": [asdict(row) for row in self.rows], "notes": list(self.notes)}


def people_study(
    data: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    networks: Mapping[str, str] | None = None,
) -> PeopleStudy:
    """Agreement of each metric with people on each axis, with intervals; the files of `data` select its format."""
    if (data / BENCH).is_file():
        return _of_bench(read_worldreward(data), progress, networks)
    if (data / PAIRS).is_file():
        return _of_pairs(read_pairs(data), progress, networks)
    if (data / VERDICTS).is_file():
        return _of_ratings(read_ratings(data), progress, networks)
    if (data / FILE).is_file():
        library = Library(data.resolve())
        votes = Votes(data.resolve()).read()
        rows = list(_vote_rows(library, votes))
        known = {(group.suite.name, group.place) for group in library.refresh()}
        lost = sum((one.suite, one.place) not in known for one in votes)
        notes = [f"{len(votes)} votes of {len({one.voter for one in votes})} voters; a coin agrees half of the time."]
        if lost:
            notes.append(f"{lost} votes are on runs that are not in this folder.")
        return PeopleStudy(tuple(rows), tuple(notes))
    raise DataError(
        f"{data}: holds neither {BENCH} (WorldReward-Bench) nor {PAIRS} (verdicts on pairs) nor {VERDICTS} (verdicts "
        f"on single videos) nor {FILE} (votes of worldgauge view); give a folder with one of them"
    )


def _of_bench(
    pairs: Sequence[JudgedPair], progress: Callable[[int, int], None], networks: Mapping[str, str] | None
) -> PeopleStudy:
    found = _asked([(side, pair.source) for pair in pairs for side in (pair.a, pair.b)], progress, networks)
    rows = [
        _row("WorldReward-Bench", axis, metric, better, _agreeing(pairs, axis, metric, better, found))
        for axis in axes_of_pairs(pairs)
        for metric, better in found.better.items()
    ]
    note = (
        f"{len(pairs)} pairs; a coin agrees half of the time. One verdict a pair is published, so how far people agree "
        "with each other is not known: there is no ceiling to compare with."
    )
    return PeopleStudy(tuple(rows), (note, *found.notes))


def _of_pairs(
    pairs: Sequence[JudgedPair], progress: Callable[[int, int], None], networks: Mapping[str, str] | None
) -> PeopleStudy:
    found = _asked([(side, pair.source) for pair in pairs for side in (pair.a, pair.b)], progress, networks)
    rows = []
    for axis in axes_of_pairs(pairs):
        people: _Said = [(same, pair.question) for pair in pairs for same in two_annotators(pair, axis)]
        rows += [_row(PAIRS, axis, PEOPLE, "", people), _row(PAIRS, axis, CEILING, "", _most(pairs, axis))]
        for metric, better in found.better.items():
            rows.append(_row(PAIRS, axis, metric, better, _agreeing(pairs, axis, metric, better, found)))
    judges = {who for pair in pairs for said in pair.said.values() for who in said}
    alone = sum(all(len(said) < 2 for said in pair.said.values()) for pair in pairs)
    questions = len({pair.question for pair in pairs})
    notes = [
        f"{len(pairs)} pairs of {questions} questions, {len(judges)} people, each verdict a comparison; a coin agrees "
        "half of the time. Intervals take pairs of one question as one. "
        f"{PEOPLE}: two people on one pair. {CEILING}: what a metric reaches that always prefers what most people of "
        "a pair prefer."
    ]
    if alone:
        notes.append(f"{alone} pairs were judged by one person only and say nothing about {PEOPLE}.")
    return PeopleStudy(tuple(rows), (*notes, *found.notes))


def _of_ratings(
    videos: Sequence[RatedVideo], progress: Callable[[int, int], None], networks: Mapping[str, str] | None
) -> PeopleStudy:
    found = _asked([(video.path, video.source) for video in videos], progress, networks)
    pairs = list(compared(videos))
    rows = []
    for axis in axes_of(videos):
        people: _Said = [(same, a.question) for a, b in pairs for same in between_people(a, b, axis)]
        rows.append(_row(VERDICTS, axis, PEOPLE, "", people))
        for metric, better in found.better.items():
            said: _Said = []
            for a, b in pairs:
                x, y = (found.value(one.path, one.source, metric) for one in (a, b))
                mean_a, mean_b = a.mean(axis), b.mean(axis)
                if mean_a is None or mean_b is None:
                    continue
                open_ = x is None or y is None or x == y or mean_a == mean_b
                said.append((None if open_ else ((x > y) == (better == "higher")) == (mean_a > mean_b), a.question))  # type: ignore[operator]
            rows.append(_row(VERDICTS, axis, metric, better, said))
    judges = {who for video in videos for scores in video.said.values() for who in scores}
    note = (
        f"{len(videos)} videos of {len({v.question for v in videos})} questions, {len(judges)} people; a coin agrees "
        "half of the time. Intervals take videos of one question as one. Metrics are compared with mean scores, people "
        "with each other one by one."
    )
    return PeopleStudy(tuple(rows), (note, *found.notes))


@dataclass(frozen=True)
class _Found:
    """Measured values by video and source, with the preferred direction by measure; `notes` states failures."""

    values: _Measured
    better: Mapping[str, str]
    notes: tuple[str, ...]

    def value(self, video: Path, source: Path | None, metric: str) -> float | None:
        return self.values.get((video, source), {}).get(metric)


def _asked(
    videos: Sequence[tuple[Path, Path | None]], progress: Callable[[int, int], None], networks: Mapping[str, str] | None
) -> _Found:
    """Measure every video once, however many pairs it is in."""
    known: dict[tuple[Path, Path | None], Mapping[str, float]] = {}
    unread = []
    each = list(dict.fromkeys(videos))
    with Measures.open(networks) as measures:
        for done, (video, source) in enumerate(each):
            progress(done, len(each))
            try:
                known[video, source] = measures.of(Clip.open(video), _picture(source))
            except WorldgaugeError as error:
                unread.append(str(error))
        notes = [f"{len(unread)} videos could not be read (first: {unread[0]})."] if unread else []
        if measures.aside:
            first = next(iter(measures.aside.values())).rstrip(".")
            notes.append(f"Aside for want of a network: {', '.join(measures.aside)} ({first}).")
        return _Found(known, measures.better, tuple(notes))


def _agreeing(pairs: Sequence[JudgedPair], axis: str, metric: str, better: str, found: _Found) -> _Said:
    """A metric against each verdict."""
    said: _Said = []
    for pair in pairs:
        a, b = (found.value(side, pair.source, metric) for side in (pair.a, pair.b))
        is_open = a is None or b is None or a == b
        preferred = None if is_open else "a" if (a > b) == (better == "higher") else "b"  # type: ignore[operator]
        for side in pair.said.get(axis, {}).values():
            said.append((None if preferred is None or side == "tie" else preferred == side, pair.question))
    return said


def _most(pairs: Sequence[JudgedPair], axis: str) -> _Said:
    """The verdicts of which most were met by one answer for each pair."""
    said: _Said = []
    for pair in pairs:
        met, of = pair.most(axis) or (0, 0)
        ties = len(pair.said.get(axis, {})) - of
        said += [(one, pair.question) for one in (*[True] * met, *[False] * (of - met), *[None] * ties)]
    return said


def _row(data: str, axis: str, metric: str, better: str, said: _Said) -> PeopleRow:
    same = [one for one, _ in said if one is not None]
    interval = rate_interval(same, [cluster for one, cluster in said if one is not None])
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    share = sum(same) / len(same) if same else None
    return PeopleRow(data, axis, metric, better, share, low, high, len(same), len(said) - len(same))


def _picture(path: Path | None) -> Image | None:
    if path is None or not path.is_file():
        return None
    read = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if read is None:
        raise DataError(f"{path}: not an image")
    return np.ascontiguousarray(read[:, :, ::-1]).astype(np.uint8)


def _vote_rows(library: Library, votes: Sequence[Any]) -> Iterator[PeopleRow]:
    for group in library.refresh():
        better = {metric.name: metric.better for metric in group.metrics}
        for one in agreements(group, votes):
            low, high = (None, None) if one.interval is None else (one.interval.low, one.interval.high)
            name = PEOPLE if one.name == "voters" else one.name
            direction = better.get(one.name, "")
            axis = f"{group.suite.name} {group.place}".removesuffix(" .")
            yield PeopleRow(FILE, axis, name, direction, one.share, low, high, one.n, one.left_out)
