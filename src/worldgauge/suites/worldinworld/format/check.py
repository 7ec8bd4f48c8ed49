"""Checks of closed-loop episodes: counts by task, and findings."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.intervals import Sample
from worldgauge.core.paired_tests import minimum_detectable_effect
from worldgauge.engine.collection import DataReport, DataTable, Finding, Spread, grouped, mean_text
from worldgauge.suites.worldinworld.format.contract import EpisodeFormat, EpisodeSet
from worldgauge.suites.worldinworld.format.files import lacks_navmesh, scene_missing
from worldgauge.suites.worldinworld.format.load import episode_formats, load

WANTED = 10.0
"""Percentage points that a set should resolve; of one that does not, it is told how many episodes would. Also how far
apart the models are of which a discordance is measured."""
DRAWS = 200
"""Ways in which episodes that end differently are spread over the scenes."""
_SEED = 20251018


def resolvable_points(scenes: Sequence[Hashable], discordance: float, *, draws: int = DRAWS) -> float | None:
    """Least difference in success, percentage points, that a run shows (80 % power, 5 %); None for under two scenes.

    `minimum_detectable_effect` gets paired differences of 0 and 100 points to either side, as often as measured and ten
    in the mean, clustered by scene.
    """
    if len(set(scenes)) < 2:
        return None
    n, apart = len(scenes), WANTED / 100
    ended = max(1, round(discordance * n))
    better = min(ended, max(1, round((discordance + apart) / 2 * n)))
    worse = ended - better
    differences = np.zeros(n)
    differences[:better], differences[better : better + worse] = 100.0, -100.0
    rng = np.random.default_rng(_SEED)
    spread = [rng.permutation(differences).tolist() for _ in range(draws)]
    found = [Sample.of([one], [scenes]).estimate() for one in spread]
    errors, degrees = (np.array(column) for column in zip(*((one.error, one.degrees) for one in found), strict=True))
    return min(100.0, float(np.sqrt(np.mean(minimum_detectable_effect(errors, degrees) ** 2))))


def episodes_wanted(episodes: int, resolves: float | None, *, wanted: float = WANTED) -> int | None:
    """Episodes, rounded up to tens, that would resolve `wanted` points (square root law); None if these do."""
    if resolves is None or resolves <= wanted:
        return None
    return 10 * math.ceil(episodes * (resolves / wanted) ** 2 / 10)


_SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class TaskStatistics:
    """The episodes of one task; means are over usable ones.

    Attributes:
        published: Number in the benchmark; None if it has none.
        resolves: `resolvable_points` of a run of them, percentage points; None if unknown.
        wanted: Episodes whose run would resolve `resolution.WANTED` points; None if these do, or unknown.
        means: By name; None if this task has none, or no value.
    """

    kind: str
    episodes: int
    published: int | None
    usable: int
    scenes: int
    known: int
    resolves: float | None
    wanted: int | None
    means: Mapping[str, Spread | None]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        facts = asdict(self)
        means = facts.pop("means")
        return {**facts, **means}


@dataclass(frozen=True)
class EpisodeStatistics:
    """What `check` found."""

    n_episodes: int
    n_valid: int
    n_frames: int
    tallies: Mapping[str, Mapping[str, int]]
    rows: tuple[TaskStatistics, ...]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        facts = {**asdict(self), "rows": [row.to_dict() for row in self.rows]}
        tallies = facts.pop("tallies")
        return {**facts, **tallies}

    def report(self) -> DataReport:
        """The same statistics in the form that every check returns."""
        formats = episode_formats()
        measures = {name: title for one in formats for name, title in one.measures.items()}
        columns = ("", "epi-\nsodes", "paper", "usable", "scenes", "known", *measures.values())
        rows = tuple(
            (
                row.kind,
                str(row.episodes),
                "-" if row.published is None else str(row.published),
                *map(str, (row.usable, row.scenes, row.known)),
                *(mean_text(row.means[name]) for name in measures),
            )
            for row in self.rows
        )
        terms = ["paper: episodes of the published data", "known: scenes that can be entered here"]
        notes = ["; ".join([*terms, *(one.measures_note for one in formats if one.measures_note)])]
        for name, words in ((name, words) for one in formats for name, words in one.tallied.items() if words):
            if counts := self.tallies[name]:
                notes.append(f"by {words}: {', '.join(f'{one} {count}' for one, count in counts.items())}")
        if told := [
            f"{row.kind} {row.resolves:.0f} points (episodes: {row.usable}, scenes: {row.scenes}"
            + (f"; {row.wanted} would tell {WANTED:.0f})" if row.wanted else ")")
            for row in self.rows
            if row.resolves is not None
        ]:
            notes.append(
                f"minimum detectable difference of two models: {', '.join(told)}; with 80 % power at the 5 % level, "
                "the default policies, and episodes that end differently as often as measured"
            )
        table = DataTable("means over usable episodes", columns, rows, tuple(notes))
        return DataReport(
            "episodes", self.n_valid, self.n_episodes, self.n_frames, self.findings, table, self.to_dict()
        )


def check(root: Path, *, decode: bool = False) -> EpisodeStatistics:
    """Statistics and findings of a folder of episodes.

    `decode` reads whole pictures, rebuilds every world and places agents: about a second per world.
    """
    data = load(root)
    formats = {one.kind: one for one in episode_formats()}
    own = {kind: one.check(data.episodes[kind], data.scenes, decode=decode) for kind, one in formats.items()}
    measures = list(dict.fromkeys(name for one in formats.values() for name in one.measures))
    findings = sorted(
        [
            *grouped("error", "not usable", ((fault.id, fault.text) for fault in data.faults), "episode"),
            *(Finding("warning", note) for note in data.notes),
            *_of_scenes(data),
            *_of_scans(data, formats),
            *(finding for one in own.values() for finding in one.findings),
            *(grouped("error", "cannot be entered", _of_worlds(data), "episode") if decode else ()),
        ],
        key=lambda finding: _SEVERITIES.index(finding.severity),
    )
    rows = []
    for kind, one in formats.items():
        usable, faults = data.episodes[kind], sum(fault.kind == kind for fault in data.faults)
        if not usable and not faults:
            continue
        scenes = {episode.scene for episode in usable}
        resolves = None
        if one.discordance is not None:
            resolves = resolvable_points([episode.scene for episode in usable], one.discordance)
        rows.append(
            TaskStatistics(
                kind=kind,
                episodes=len(usable) + faults,
                published=one.published,
                usable=len(usable),
                scenes=len(scenes),
                known=sum(data.scenes[scene] is not None for scene in scenes),
                resolves=resolves,
                wanted=episodes_wanted(len(usable), resolves),
                means={name: own[kind].means.get(name) for name in measures},
            )
        )
    return EpisodeStatistics(
        n_episodes=len(data) + len(data.faults),
        n_valid=len(data),
        n_frames=sum(one.pictures for one in own.values()),
        tallies={name: own[kind].tallies.get(name, {}) for kind, one in formats.items() for name in one.tallied},
        rows=tuple(rows),
        findings=tuple(findings),
    )


def _of_scenes(data: EpisodeSet) -> Iterator[Finding]:
    """One finding a reason for which scenes have no world."""
    missing = [scene for scene, world in data.scenes.items() if world is None]
    reasons: dict[str, list[str]] = {}
    for scene in missing:
        reasons.setdefault(scene_missing(scene).split(" is ", 1)[1], []).append(scene)
    for reason, scenes in reasons.items():
        many = "1 scene has" if len(scenes) == 1 else f"{len(scenes)} of {len(data.scenes)} scenes have"
        yield Finding("warning", f"{many} no world, their episodes are skipped (first: {scenes[0]}): it is {reason}")


def _of_scans(data: EpisodeSet, formats: Mapping[str, EpisodeFormat[Any]]) -> Iterator[Finding]:
    """Of each task in scans: how many of its episodes can run with the scans at hand, and why not more."""
    for kind, one in formats.items():
        asked = [episode.scene for episode in data.episodes[kind]]
        worlds = {scene: data.scenes[scene] for scene in asked}
        lacking = {scene: facts and one.lacks(facts) for scene, facts in worlds.items()}
        if not any(facts is not None and facts.name == "scan" for facts in worlds.values()):
            continue
        run = sum(worlds[scene] is not None and lacking[scene] is None for scene in asked)
        why = next((text for text in lacking.values() if text), None)
        yield Finding(
            "warning" if why else "info",
            f"{kind}: {run} of {len(asked)} episodes can run with the scans at hand" + (f"; {why}" if why else ""),
        )
    bare = [scene for scene, facts in data.scenes.items() if facts is not None and lacks_navmesh(facts)]
    if bare:
        many = "1 scan has" if len(bare) == 1 else f"{len(bare)} scans have"
        yield Finding(
            "warning",
            f"{many} no navmesh (first: {bare[0]}): floors are found in the mesh, and distances and success there are "
            "not comparable with published ones",
        )


def _of_worlds(data: EpisodeSet) -> Iterator[tuple[str, str]]:
    """Every world built again, and what of the episodes does not fit it; scene by scene, since one is kept."""
    pairs = [(episode, one) for one in episode_formats() for episode in data.episodes[one.kind]]
    for episode, one in sorted(pairs, key=lambda pair: str(pair[0].scene)):
        facts = data.scenes[episode.scene]
        if facts is None:
            continue
        try:
            yield from ((episode.id, text) for text in one.check_in_world(episode, facts))
        except WorldgaugeError as error:
            yield episode.id, str(error)
