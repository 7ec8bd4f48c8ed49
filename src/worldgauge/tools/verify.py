"""Verify a bundle: is it what its root names, does it agree with itself, and do its scores come out again?

verify(Path("mind-my-model.zip"), data=Path("data/mind"))
"""

from __future__ import annotations

import hashlib
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.errors import DataError, RunError, UsageError, WorldgaugeError
from worldgauge.core.io import loads, parse_json
from worldgauge.engine.collection import counted
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.result import read_current_lines
from worldgauge.engine.resume import RunKeys, metric_versions, task_seed
from worldgauge.engine.run_manifest import data_fingerprint
from worldgauge.engine.sets import data_notes, digits_of, known_tasks, named_sets
from worldgauge.engine.store import (
    SCORES_END,
    DamagedLineError,
    RunFolder,
    file_slug,
    read_record_entry,
    read_score,
    read_scores_key,
    record_entry,
    score_from_json,
)
from worldgauge.engine.subject_run import LocalTaskContext, perform_and_score
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Score, Task, mean_of_known
from worldgauge.engine.suite.scores import DIGEST, SETTING
from worldgauge.tools.bundle import ABOUT, MAX_DEFLATED_BYTES, VIDEO, About, Archive, ContentsError, tasks_kept_whole

RECORDS, RECORD, SCORES = "records", "record.json", "scores.json"
_PLAIN = re.compile(r"[A-Za-z0-9_.,?=&+ -]{0,200}")
"""Text of a setting that names no program, file, address or module."""


@dataclass(frozen=True)
class OpenBundle:
    """What a bundle holds, without its videos.

    Attributes:
        folder: The run folder. It has no records, unless they are put there.
        records: The files record.json and scores.json of each record, by path in the bundle.
        facts: Content of run.json.
        lines: Journal line of each task, None where it has none.
        about: What the author says of the model.
        whole: Tasks whose videos are in the bundle as they were made.
        whole_asked: How many there should be.
        left_out: Digests of the videos that are in it only as films, by path.
    """

    folder: RunFolder
    records: Mapping[str, bytes]
    facts: Mapping[str, Any]
    lines: Mapping[str, Mapping[str, Any] | None]
    about: About
    whole: tuple[str, ...]
    whole_asked: int
    left_out: Mapping[str, str]

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """All scores of the run, read once; none where a line is damaged."""
        return self._read[0]

    @property
    def damage(self) -> str:
        """Which line of the scores is damaged, and why; empty where none is."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[tuple[Score, ...], str]:
        try:
            return tuple(score for _, score in self.folder.scores()), ""
        except DamagedLineError as error:
            return (), f"{self.folder.scores_path.name}: {error.told}"
        except OSError as error:
            return (), f"{self.folder.scores_path.name}: cannot be read ({error.strerror})"

    def entry(self, task: str) -> dict[str, Any]:
        """Content of the record.json of a task, with its fields checked."""
        folder = f"{RECORDS}/{file_slug(task)}"
        if f"{folder}/{RECORD}" not in self.records:
            raise RunError(f"{folder}: no {RECORD}; run again to make it")
        return read_record_entry(self.records[f"{folder}/{RECORD}"], folder)

    def put_records(self) -> None:
        """Put the records into the run folder that tables look into: of tasks that failed, or were asked at a rate."""
        rate = self.facts["subject"]["identity"].get("fps")
        for task, line in self.lines.items():
            data = self.records.get(f"{RECORDS}/{file_slug(task)}/{RECORD}")
            if line is not None and data is not None and (line["status"] == "failed" or rate is not None):
                self.folder.record(task).mkdir(parents=True, exist_ok=True)
                (self.folder.record(task) / RECORD).write_bytes(data)

    def videos(self, files: Mapping[str, Any]) -> dict[str, list[str]]:
        """Paths of the videos of each task, those in `files` and those that were left out."""
        found: dict[str, list[str]] = {file_slug(task): [] for task, line in self.lines.items() if line is not None}
        for name in [*files, *self.left_out]:
            part = name.split("/")
            if part[0] == RECORDS and name.endswith(VIDEO) and len(part) > 2 and part[1] in found:
                found[part[1]].append(name)
        return {task: found[file_slug(task)] for task, line in self.lines.items() if line is not None}


def unpack(archive: Archive, folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """Read each file of a bundle once.

    Two files for each of many tasks are held, since making and removing them would take longer than all else.
    """
    text = [name for name in archive.files if not name.endswith(VIDEO)]
    if sum(archive.files[name].size for name in text) > MAX_DEFLATED_BYTES:
        raise DataError(f"{archive.path}: holds more text than {MAX_DEFLATED_BYTES} bytes")
    records, changed = {}, []
    for name in archive.files:
        try:
            if name.startswith(f"{RECORDS}/") and name.endswith((f"/{RECORD}", f"/{SCORES}")):
                records[name] = archive.read(name)
            elif name.startswith(f"{RECORDS}/") or name.endswith(VIDEO):
                archive.check(name)
            else:
                archive.extract(name, folder / name)
        except ContentsError:
            changed.append(name)
    return records, changed


def open_bundle(archive: Archive, folder: Path, records: Mapping[str, bytes]) -> OpenBundle:
    """Read what a bundle says about its run."""
    told = parse_json(archive.read(ABOUT), f"{archive.path}: {ABOUT}")
    run = RunFolder(folder)
    try:
        facts = run.facts()
        if not all(isinstance(key, str) for key in facts["task_keys"].values()):
            raise ValueError("'task_keys' of run.json are no digests")
        for task in facts["task_keys"]:
            file_slug(task)
        about = About(**told["about"])
        whole, left_out, asked = told["whole"], told["left_out"], told["whole_asked"]
        if not (
            isinstance(asked, int)
            and all(isinstance(one, str) for one in (*whole, *left_out.values(), about.licence, about.link, about.by))
            and all(len(bytes.fromhex(digest)) == 32 for digest in left_out.values())
        ):
            raise ValueError(f"{ABOUT} holds values of other types")
        return OpenBundle(run, records, facts, read_current_lines(run), about, tuple(whole), asked, left_out)
    except (RunError, UsageError, OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        said = str(error).replace(f"{folder}/", "").replace(str(folder), "its run") or type(error).__name__
        raise DataError(f"{archive.path}: {said.splitlines()[0][:200]}; get the bundle again") from error


def open_plain_suite(facts: Mapping[str, Any]) -> Suite:
    """The suite of a run that somebody else has made: no program, file or address that its settings name is used.

    Metrics of the author's own are left out, since their code would have to run.
    """
    settings = {name: value for name, value in facts["settings"].items() if name not in (SETTING, DIGEST)}
    for name, value in settings.items():
        if not _is_plain(value):
            raise UsageError(
                f"its setting '{name}' may name a program, a file or an address, which nobody else should use: "
                f"{value!r:.60}"
            )
    return open_suite(str(facts["suite"]), settings)


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _PLAIN.fullmatch(value) is not None
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float))


RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""How far a score that is made again may lie from the first: other processors round in another way."""

Status = Literal["ok", "violated", "not looked"]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: Its name.
        status: How it ended.
        told: What was found, in one line.
    """

    name: str
    status: Status
    told: str


@dataclass(frozen=True)
class Number:
    """The scores of one metric.

    Attributes:
        metric: Name of the metric.
        tasks: Number of tasks with a score of it.
        mean: Mean over those with a finite value; None where there is none.
        again: Number of tasks that were scored again.
        same: Number of them whose score came out the same.
        largest: Largest difference among finite values; None where nothing was compared.
        valued: Number of the tasks that were scored again whose score had a value at first.
    """

    metric: str
    tasks: int
    mean: float | None
    again: int = 0
    same: int = 0
    largest: float | None = None
    valued: int = 0

    @property
    def verdict(self) -> str:
        """ "stands" where each score that was made again is the same, "differs", "no value" or "not scored again"."""
        if self.again and self.same == self.again and not self.valued:
            return "no value"  # missing then as now, which confirms no number
        return "not scored again" if not self.again else "stands" if self.same == self.again else "differs"


@dataclass(frozen=True)
class Verification:
    """What is known of a bundle after a look at it.

    Attributes:
        path: The bundle.
        root: Root of its hash tree.
        label: Label of the model.
        suite: Name of the suite.
        checks: What was looked at.
        numbers: The scores by metric.
        rescored: Tasks that were scored again.
        by: Who looked.
    """

    path: Path
    root: str
    label: str
    suite: str
    checks: tuple[Check, ...]
    numbers: tuple[Number, ...]
    rescored: tuple[str, ...] = ()
    by: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is violated and no number differs."""
        return all(check.status != "violated" for check in self.checks) and all(
            number.verdict != "differs" for number in self.numbers
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return {
            **asdict(self),
            "path": str(self.path),
            "ok": self.ok,
            "numbers": [{**asdict(number), "verdict": number.verdict} for number in self.numbers],
        }


def verify(
    path: Path,
    *,
    data: Path | None = None,
    rescore: int | None = None,
    root: str | None = None,
    by: str = "",
    progress: Progress = lambda doing, done, total: None,
) -> Verification:
    """Look a bundle over, and score a sample of its tasks again where the data set is at hand.

    No code, program or address that the bundle names is used.

    Args:
        path: The bundle.
        data: Folder of the data set that the run was made on. Where it is not given and `rescore` is, that of the named
            set of the run, `sets/SET/SUITE` below the current folder.
        rescore: Largest number of tasks to score again. By default all whose videos are in the bundle.
        root: Root that the author has published.
        by: Who verifies it; a board shows the name.
        progress: Called with a task, how many tasks are scored, and how many will be.

    Returns:
        What was found.

    Raises:
        DataError: For a file that is no bundle, or one that cannot be unpacked.
        UsageError: When `rescore` is given without `data`, and the data set is not at its usual place.
    """
    with Archive(path) as archive, tempfile.TemporaryDirectory(prefix="worldgauge-verify-") as scratch:
        found, bundle = look_over(archive, Path(scratch) / "run", root=root)
        if bundle is not None and data is None and rescore:
            data = _usual_place(bundle.facts)
        if bundle is None or data is None:
            return replace(found, by=by)
        checks, pairs = _score_again(archive, bundle, data, rescore, progress)
        numbers = _numbers(bundle.scores, pairs)
        return replace(found, checks=(*found.checks, *checks), numbers=numbers, rescored=tuple(pairs), by=by)


def _usual_place(facts: Mapping[str, Any]) -> Path:
    """Where `data make` puts the named set of a run."""
    told, wanted = facts.get("set"), "scores are made again from the data set: give its folder with --data"
    named = named_sets().get(str(told.get("name"))) if isinstance(told, Mapping) else None
    part = None if named is None else next((one for one in named.parts if one.suite == facts["suite"]), None)
    if named is None or part is None:
        raise UsageError(wanted)
    place = Path("sets", named.short, part.suite)
    if not place.is_dir():
        raise UsageError(f"{wanted}, or make it ({place}): worldgauge data make {named.short} --only {part.suite}")
    return place


def look_over(archive: Archive, folder: Path, *, root: str | None = None) -> tuple[Verification, OpenBundle | None]:
    """Check all that can be checked without the data set."""
    records, changed = unpack(archive, folder)
    contents = _contents(archive, changed)
    checks = [*_published(archive, root), contents]
    if contents.status == "violated":
        return Verification(archive.path, archive.root, "", "", tuple(checks), ()), None
    bundle = open_bundle(archive, folder, records)
    checks += [_sample(archive, bundle), *_agreement(bundle)]
    numbers = _numbers(bundle.scores, {})
    name, suite = bundle.facts["subject"]["name"], bundle.facts["suite"]
    return Verification(archive.path, archive.root, name, suite, tuple(checks), numbers), bundle


def _published(archive: Archive, root: str | None) -> Iterator[Check]:
    if root is None:
        return
    if root.lower() == archive.root:
        yield Check("root", "ok", "it is the root that was published")
    else:
        yield Check("root", "violated", f"the root is {archive.root}, not the one that was published")


def _contents(archive: Archive, changed: Sequence[str]) -> Check:
    if changed:
        told = f"{counted(len(changed), 'file')} changed or damaged (first: {changed[0]})"
        return Check("contents", "violated", told)
    return Check("contents", "ok", f"{counted(len(archive.files), 'file')}, each as the root names it")


def _sample(archive: Archive, bundle: OpenBundle) -> Check:
    """Whether the videos that were kept whole are those that the digests choose."""
    made = {
        name: one.sha256 for name, one in archive.files.items() if name.split("/")[0] not in ("films", "bundle.json")
    }
    videos = bundle.videos(made)
    chosen = tasks_kept_whole({**made, **bundle.left_out}, videos, bundle.whole_asked)
    whole = [task for task, names in videos.items() if names and not bundle.left_out.keys() & set(names)]
    if sorted(whole) != chosen or sorted(bundle.whole) != chosen:
        return Check("sample", "violated", "the videos kept whole are not those that the digests choose")
    return Check(
        "sample", "ok", f"{counted(len(whole), 'task')} with whole videos, chosen by the digests of all answers"
    )


def _agreement(bundle: OpenBundle) -> Iterator[Check]:
    """Whether run.json, journal, records and scores tell of the same run."""
    facts, lines = bundle.facts, bundle.lines
    lacking = [task for task, line in lines.items() if line is None]
    if lacking or facts.get("tasks") != len(lines):
        yield Check("tasks", "violated", f"the journal does not tell of all {facts.get('tasks')} tasks of run.json")
    else:
        yield Check("tasks", "ok", f"{counted(len(lines), 'task')}, each with an end")
    yield _scores_of_records(bundle)
    if facts.get("set") is not None:
        yield _named_set(bundle)
    try:
        suite = open_plain_suite(facts)
    except WorldgaugeError as error:
        yield Check("identity", "not looked", str(error))
        return
    yield _identity(bundle, suite)


def _scores_of_records(bundle: OpenBundle) -> Check:
    told = bundle.damage or _first_difference(bundle)
    if told:
        return Check("scores", "violated", told)
    return Check("scores", "ok", f"{counted(len(bundle.scores), 'score')}, those of the records")


def _first_difference(bundle: OpenBundle) -> str:
    """The first line of scores.jsonl that is not that of the records; empty where all are."""
    table = bundle.folder.scores_path
    whole = table.read_bytes().splitlines() if table.exists() else []
    place = 0
    for task, line in sorted(bundle.lines.items()):
        if line is None or line["status"] != "done":
            continue
        name = f"{RECORDS}/{file_slug(task)}/{SCORES}"
        lines = bundle.records.get(name, b"").splitlines() or [b""]
        if line["scores"] is None or read_scores_key(lines[0]) != line["scores"]:
            return f"{task}: its scores are not those that the journal tells of"
        found = [one.rstrip(b",") for one in lines[1:-1]]
        if found != whole[place : place + len(found)]:
            pairs = zip_longest(found, whole[place : place + len(found)])
            number = next(number for number, (one, other) in enumerate(pairs) if one != other)
            try:
                read_score(found[number], number + 2)
            except DamagedLineError as error:
                return f"{name}: {error.told}"
            return f"{name}: line {number + 2} is not line {place + number + 1} of {table.name}"
        if lines[-1] != SCORES_END.encode():
            return f"{name}: line {len(lines)} is damaged (not the end of scores)"
        place += len(found)
    return f"{table.name}: line {place + 1} is of no record" if place < len(whole) else ""


def _named_set(bundle: OpenBundle) -> Check:
    """Whether the tasks are those of the set that run.json names."""
    told = bundle.facts["set"]
    words = data_notes({"": bundle.facts})[0].removeprefix("Data: ").rstrip(".") if isinstance(told, dict) else ""
    known = known_tasks(bundle.facts["suite"], told)
    if known is None:
        return Check("set", "not looked", f"{words or 'a set'}: this version of worldgauge does not know it")
    if (told["tasks"], told["of"]) != (len(bundle.lines), len(known)):
        return Check("set", "violated", f"{words}: the run has {len(bundle.lines)} tasks, the set {len(known)}")
    for task, line in bundle.lines.items():
        try:
            found = None if line is None or line["status"] == "skipped" else bundle.entry(task)
        except RunError as error:
            return Check("set", "violated", str(error))
        if task not in known or (found is not None and digits_of(found["fingerprint"]) != known[task]):
            return Check("set", "violated", f"{words}: task {task} is not of it")
    return Check("set", "ok", words)


def _identity(bundle: OpenBundle, suite: Suite) -> Check:
    """Whether records and scores were made with the settings, the model and the seed that run.json tells."""
    facts = bundle.facts
    if SETTING in facts["settings"]:
        return Check("identity", "not looked", "metrics of the author's own are part of it; their code is not run")
    if facts.get("suite_version") != suite.version:
        told = f"made with version {facts.get('suite_version')} of the suite, here is {suite.version}"
        return Check("identity", "not looked", told)
    scored = facts.get("metrics") == metric_versions(suite)
    keys = RunKeys(suite, facts["subject"]["identity"], facts["seed"])
    for task, line in bundle.lines.items():
        if line is None or line["status"] == "skipped":
            continue
        try:
            entry = bundle.entry(task)
        except RunError as error:
            return Check("identity", "violated", str(error))
        key = keys.of_record(task, entry["fingerprint"])
        if not entry["key"] == line["key"] == key or entry["task"] != task:
            return Check("identity", "violated", f"{task}: not made with the settings, model and seed of run.json")
        if scored and line["scores"] not in (None, keys.of_scores(key)):
            return Check("identity", "violated", f"{task}: not scored with the settings and metrics of run.json")
    told = "records follow from the settings, model, seed and data that run.json tells"
    return Check("identity", "ok", told if scored else f"{told}; metrics had other versions than here")


def _score_again(
    archive: Archive, bundle: OpenBundle, data: Path, most: int | None, progress: Progress
) -> tuple[list[Check], dict[str, tuple[list[Score], list[Score]]]]:
    """Checks, and for each task that was scored again its scores as they are told and as they came out."""
    facts = bundle.facts
    try:
        suite = open_plain_suite(facts)
    except WorldgaugeError as error:
        return [Check("scored again", "not looked", str(error))], {}
    limit = facts.get("limit")
    tasks = list_tasks(suite, data, limit if isinstance(limit, int) else None)
    if data_fingerprint(tasks) != facts["data_fingerprint"]:
        told = f"{data} is not the data set of this run; nothing was scored again"
        return [Check("data", "violated", told)], {}
    checks = [Check("data", "ok", f"{data} is the data set of this run")]
    chosen = _to_score(archive, bundle, most)
    pairs, refused = {}, []
    by_id = {task.id: task for task in tasks}
    for done, task in enumerate(chosen):
        progress(task, done, len(chosen))
        try:
            pairs[task] = _scores_of(archive, bundle, suite, by_id[task])
        except WorldgaugeError as error:
            refused.append(f"{task}: {error}")
    if refused:
        told = f"{counted(len(refused), 'task')} could not be scored here (first: {refused[0]})"
        checks.append(Check("scored again", "not looked", told))
    elif not chosen:
        checks.append(Check("scored again", "not looked", "no task has its answer in the bundle as it was made"))
    else:
        wrong = [task for task, (told_of, came) in pairs.items() if not _alike(told_of, came)]
        text = f"{len(pairs) - len(wrong)} of {counted(len(pairs), 'task')} came out the same"
        text += f" (first that did not: {wrong[0]})" if wrong else ""
        checks.append(Check("scored again", "violated" if wrong else "ok", text))
    return checks, pairs


def _to_score(archive: Archive, bundle: OpenBundle, most: int | None) -> list[str]:
    """Tasks whose answers are in the bundle as they were made, in an order that the root decides."""
    videos = bundle.videos(archive.files)
    ready = [
        task
        for task, line in bundle.lines.items()
        if line is not None and line["status"] == "done" and not bundle.left_out.keys() & set(videos[task])
    ]
    ready.sort(key=lambda task: hashlib.sha256(f"{archive.root}/{task}".encode()).hexdigest())
    return ready[:most]


def _scores_of(archive: Archive, bundle: OpenBundle, suite: Suite, task: Task) -> tuple[list[Score], list[Score]]:
    record = bundle.folder.record(task.id)
    for name in archive.files:
        if name.startswith(f"{RECORDS}/{file_slug(task.id)}/"):
            archive.extract(name, bundle.folder.directory / name)
    told = _read_scores(record)
    entry = record_entry(record)
    context = LocalTaskContext(record, task_seed(bundle.facts["seed"], task.id), lambda done, total: None)
    outcome = perform_and_score(suite, task, None, entry["subject"], context, key=entry["key"], score="again")
    if outcome.status != "done":
        raise RunError(outcome.error or outcome.status)
    again = _read_scores(record)
    if SETTING in bundle.facts["settings"]:  # metrics of the author's own, which are not scored again
        known = {one.metric for one in again}
        told = [one for one in told if one.metric in known]
    return told, again


def _read_scores(record: Path) -> list[Score]:
    try:
        entries = loads((record / SCORES).read_text())["scores"]
        return [score_from_json({name: value for name, value in one.items() if name != "subject"}) for one in entries]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise RunError(f"{RECORDS}/{record.name}/{SCORES}: damaged ({error})") from error


def _alike(told: Sequence[Score], again: Sequence[Score]) -> bool:
    here = {score.metric: score.value for score in again}
    return here.keys() == {score.metric for score in told} and all(_same(one.value, here[one.metric]) for one in told)


def _same(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _numbers(scores: Sequence[Score], pairs: Mapping[str, tuple[list[Score], list[Score]]]) -> tuple[Number, ...]:
    found = []
    for metric in dict.fromkeys(score.metric for score in scores):
        values = [score.value for score in scores if score.metric == metric]
        both = []
        for told, again in pairs.values():
            here = {one.metric: one.value for one in again}
            both += [(one.value, here.get(metric)) for one in told if one.metric == metric]
        apart = [abs(a - b) for a, b in both if a is not None and b is not None and math.isfinite(a - b)]
        finite = [value for value in values if value is not None and math.isfinite(value)]
        same = sum(_same(a, b) for a, b in both)
        valued = sum(a is not None for a, _ in both)
        found.append(
            Number(metric, len(values), mean_of_known(finite), len(both), same, max(apart, default=None), valued)
        )
    return tuple(found)
