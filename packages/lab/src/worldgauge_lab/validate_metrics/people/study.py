"""How far metrics agree with people: on verdicts about pairs or single videos, or on votes held in the viewer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from worldgauge.core.errors import DataError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.statistics import rate_interval
from worldgauge.core.video import Clip
from worldgauge.tools.viewer.library import Library
from worldgauge.tools.viewer.votes import FILE, Votes, agreements
from worldgauge_lab.validate_metrics.people.measures import Measures
from worldgauge_lab.validate_metrics.people.pairs import (
    BENCH,
    PAIRS,
    JudgedPair,
    axes_of_pairs,
    read_pairs,
    read_worldreward,
    two_annotators,
)
from worldgauge_lab.validate_metrics.people.ratings import (
    VERDICTS,
    RatedVideo,
    axes_of,
    between_people,
    compared,
    read_ratings,
)

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
        axis: What people judged.
        metric: The metric; "people" for the agreement of two people with each other; "ceiling" for that of the
            majority of a pair with each of its verdicts, which no metric can pass.
        better: Direction in which the metric was taken to prefer; empty for people.
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
    """Compare metrics with people.

    Args:
        data: Folder with `bench.jsonl` (WorldReward-Bench), `pairs.csv` (several annotators on pairs) or `verdicts.csv`
            (people on single videos), or of runs with votes that were held in the viewer.
        progress: Called with the number of videos done and the total.
        networks: Network by learned metric, instead of its own.

    Returns:
        Agreement of each metric on each axis, with intervals.

    Raises:
        DataError: The folder holds none of them, or a file is damaged.
    """
    if (data / BENCH).is_file():
        return _of_bench(read_worldreward(data), progress, networks)
    if (data / PAIRS).is_file():
        return _of_pairs(read_pairs(data), progress, networks)
    if (data / VERDICTS).is_file():
        return _of_ratings(read_ratings(data), progress, networks)
    if (data / FILE).is_file():
        return _of_votes(data)
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
        notes.append(f"{alone} pairs were judged by one person only and tell nothing of {PEOPLE}.")
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
    """What was measured.

    Attributes:
        values: By video and source.
        better: Preferred direction by measure.
        notes: What could not be read, and which metrics stood aside.
    """

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
