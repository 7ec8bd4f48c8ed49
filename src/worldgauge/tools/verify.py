"""Verify a bundle: is it what its root names, does it agree with itself, and are its scores reproduced?

verify(Path("mind-my-model.zip"), data=Path("data/mind"))

Whole videos reproduce a score exactly. A small video (film) reproduces it within the tolerance of TOLERANCE. The
verifier draws tasks after the root is published, and the author answers with their whole videos.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import numpy as np

from worldgauge.core.errors import DataError, RunError, UsageError, WorldgaugeError
from worldgauge.core.io import loads, parse_json, read_json_object
from worldgauge.core.model import PRIVILEGED
from worldgauge.core.video import Clip, Writer, resize
from worldgauge.engine.collection import counted
from worldgauge.engine.model_entries import is_built_in
from worldgauge.engine.model_run import LocalTaskContext, perform_and_score
from worldgauge.engine.open_suite import list_arms, open_suite, tasks_of_run
from worldgauge.engine.result import read_current_lines
from worldgauge.engine.resume import RunKeys, metric_versions, task_seed
from worldgauge.engine.run_manifest import data_fingerprint
from worldgauge.engine.sealed import Seal
from worldgauge.engine.sets import data_notes, digits_of, known_tasks, named_sets
from worldgauge.engine.store import (
    FORMER_KEY,
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
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Score, Task
from worldgauge.engine.suite.decoy import arm_of
from worldgauge.engine.suite.scores import DIGEST, SETTING
from worldgauge.models.videos import Videos
from worldgauge.tools.bundle import (
    ABOUT,
    FILM_KIND,
    FILM_SIZE,
    FILMS,
    MAX_DEFLATED_BYTES,
    QUESTIONS,
    RECORDS,
    VIDEO,
    VIDEOS,
    About,
    Archive,
    ContentsError,
    film_name,
    film_of,
)
from worldgauge.tools.data_sets import find_data
from worldgauge.tools.questions import write_questions
from worldgauge.tools.score_tolerance import Number, Rescored, agrees, numbers_of, tolerances

RECORD, SCORES = "record.json", "scores.json"
_PLAIN = re.compile(r"[A-Za-z0-9_.,?=&+ -]{0,200}|[a-z]{1,40}@\d{1,6}")
"""Text of a setting that names no program, file, address or module; a critic has its version after an "@"."""


@dataclass(frozen=True)
class OpenBundle:
    """What a bundle holds, without its videos; `records` has each record.json and scores.json by path. `left_out` has
    digests of the videos that it holds only as films, by path. `films` is their encoding; empty for films of former
    code, with which no score is compared."""

    folder: RunFolder
    records: Mapping[str, bytes]
    facts: Mapping[str, Any]
    lines: Mapping[str, Mapping[str, Any] | None]
    about: About
    left_out: Mapping[str, str]
    films: str = ""

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
        """Put the records into the run folder that tables read: of failed tasks, of one with scores, of any rate."""
        rate, done = self.facts["model"]["identity"].get("fps"), self.done[:1]
        for task, line in self.lines.items():
            data = self.records.get(f"{RECORDS}/{file_slug(task)}/{RECORD}")
            if (
                line is not None
                and data is not None
                and (line["status"] == "failed" or task in done or rate is not None)
            ):
                self.folder.record(task).mkdir(parents=True, exist_ok=True)
                (self.folder.record(task) / RECORD).write_bytes(data)

    @property
    def suite_lines(self) -> dict[str, Mapping[str, Any] | None]:
        """Journal lines of the suite's own tasks, without the arms of the decoy test."""
        return {task: line for task, line in self.lines.items() if not arm_of(task)}

    @property
    def done(self) -> list[str]:
        """Tasks with scores."""
        return [task for task, line in self.lines.items() if line is not None and line["status"] == "done"]

    def lacks(self, task: str) -> bool:
        """Whether a video of a task is in the bundle only as a film."""
        return any(name.startswith(f"{RECORDS}/{file_slug(task)}/") for name in self.left_out)

    def compared(self, task: str, sent: Sequence[Archive] = ()) -> bool:
        """Whether a task can be scored again: from whole videos, or from films that are good enough."""
        honest = not PRIVILEGED & set(self.facts["model"]["inputs"])  # a film of ground truth is too far from it
        if honest and self.films == FILM_KIND and self.facts["suite"] in tolerances():
            return True
        names = [name for name in self.left_out if name.startswith(f"{RECORDS}/{file_slug(task)}/")]
        return all(any(name in one.files for one in sent) for name in names)

    @staticmethod
    def drawn(draw: str, tasks: Sequence[str]) -> list[str]:
        """Tasks in the order that a random value gives."""
        return sorted(tasks, key=lambda task: hashlib.sha256(f"{draw}/{task}".encode()).hexdigest())

    def videos(self, files: Mapping[str, Any]) -> dict[str, list[str]]:
        """Paths of the videos of each task, those in `files` and those that were left out."""
        found: dict[str, list[str]] = {file_slug(task): [] for task, line in self.lines.items() if line is not None}
        for name in [*files, *self.left_out]:
            part = name.split("/")
            if part[0] == RECORDS and name.endswith(VIDEO) and len(part) > 2 and part[1] in found:
                found[part[1]].append(name)
        return {task: found[file_slug(task)] for task, line in self.lines.items() if line is not None}


def unpack(archive: Archive, folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """Read each file of a bundle once: (records by path, names of changed files)."""
    text = [name for name in archive.files if not name.endswith(VIDEO)]
    if sum(archive.files[name].size for name in text) > MAX_DEFLATED_BYTES:
        raise DataError(f"{archive.path}: holds more text than {MAX_DEFLATED_BYTES} bytes")
    records, changed = {}, []
    for name in archive.files:
        try:
            if name.startswith(f"{RECORDS}/") and name.endswith((f"/{RECORD}", f"/{SCORES}")):
                # In memory, since making and removing two files per task would take longer than all else.
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
        keys = facts["task_keys"] | facts.get("decoy_keys", {})
        if not all(isinstance(key, str) for key in keys.values()):
            raise ValueError("'task_keys' of run.json are no digests")
        for task in keys:
            file_slug(task)
        about = About(**told["about"])
        left_out = told["left_out"]
        if not (
            all(isinstance(one, str) for one in (*left_out.values(), about.licence, about.link, about.by))
            and all(len(bytes.fromhex(digest)) == 32 for digest in left_out.values())
        ):
            raise ValueError(f"{ABOUT} holds values of other types")
        return OpenBundle(
            run, records, facts, read_current_lines(run, arms=True), about, left_out, str(told.get("films", ""))
        )
    except (RunError, UsageError, OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        said = str(error).replace(f"{folder}/", "").replace(str(folder), "its run") or type(error).__name__
        raise DataError(f"{archive.path}: {said.splitlines()[0][:200]}; get the bundle again") from error


def open_plain_suite(facts: Mapping[str, Any]) -> Suite:
    """Suite of another's run, without the author's metrics; no setting may name a program, a file or an address."""
    # Without metrics of the author, since their code would have to run.
    settings = {name: value for name, value in facts["settings"].items() if name not in (SETTING, DIGEST)}
    for name, value in settings.items():
        if not _is_plain(value):
            raise UsageError(
                f"its setting '{name}' may name a program, a file or an address, which nobody else should use: "
                f"{value!r:.60}"
            )
    return open_suite(str(facts["suite"]), settings)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return _PLAIN.fullmatch(value) is not None if isinstance(value, str) else isinstance(value, int | float | None)


FILM_RMS = 8.0
"""How far a film may be from its whole video, in levels of 255: other versions of the encoder give other bytes."""
Status = Literal["ok", "violated", "not looked"]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class BundleCheck:
    """One thing that was looked at."""

    name: str
    status: Status
    told: str


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
        rescored: Tasks whose whole videos were scored.
        filmed: Tasks whose films were scored.
        draw: The random value that has chosen the tasks to score and to ask for.
        asked: Tasks whose whole videos the author has to send.
        by: Who looked.

    Examples:
        >>> found = wg.verify("bundles/mind-freeze.zip")
        >>> found.suite, found.label, len(found.rescored)
        ('mind', 'freeze', 0)
    """

    path: Path
    root: str
    label: str
    suite: str
    checks: tuple[BundleCheck, ...]
    numbers: tuple[Number, ...]
    rescored: tuple[str, ...] = ()
    filmed: tuple[str, ...] = ()
    draw: str = ""
    asked: tuple[str, ...] = ()
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
    path: Path | str,
    *,
    data: Path | str | None = None,
    rescore: int | None = None,
    root: str | None = None,
    ask: int = 0,
    draw: str = "",
    answer: Path | str | None = None,
    sealed: Seal | None = None,
    by: str = "",
    progress: Progress = lambda doing, done, total: None,
) -> Verification:
    """Look a bundle over, and score its tasks again if the data set is given.

    No code, program or address that the bundle names is used.

    Args:
        path: The bundle.
        data: Folder of the data set of the run. With `rescore`, by default the benchmark set of the run, which is
            made if it is missing.
        rescore: Number of tasks to score again. They are drawn. Default: all.
        root: Root that the author has published.
        ask: Number of tasks to draw whose whole videos the author has to send.
        draw: Random value of an earlier verification, to draw the same tasks. Default: a new one.
        answer: What the author has sent for the tasks that `ask` and `draw` give; of a sealed set, all videos.
        sealed: The seal of the data set, which the organiser has published. `root` is then that of `answer`.
        by: Who verifies it; a board shows the name.
        progress: Called with a task, how many tasks are scored, and how many will be.

    Returns:
        What was found.

    Raises:
        DataError: For a file that is no bundle, or one that cannot be unpacked.
        UsageError: When `rescore` is given without `data`, and the run is of no known benchmark set; for an answer
            without the number and the draw that it answers.

    Examples:
        >>> wg.verify("bundles/mind-freeze.zip", data="data", rescore=1).ok
        True
    """
    if sealed is not None and (answer is None or data is None):
        raise UsageError("--sealed goes with --answer (the videos from before the reveal) and --data")
    if answer is not None and sealed is None and not (ask and draw):
        raise UsageError("--answer goes with the --ask and the --draw that it answers: verify --ask printed them")
    draw = draw or secrets.token_hex(16)
    with ExitStack() as stack:
        archive = stack.enter_context(Archive(Path(path)))
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="worldgauge-verify-"))
        found, bundle = look_over(archive, Path(scratch) / "run", root=None if sealed else root)
        found = replace(found, draw=draw, by=by)
        if bundle is None:
            return found
        if data is not None:
            data = find_data(data, bundle.facts["suite"])
        asked = bundle.drawn(draw, [task for task in bundle.done if bundle.lacks(task)])[:ask]
        sent: list[Archive] = []
        if answer is not None:
            sent.append(stack.enter_context(Archive(Path(answer))))
        model = None
        if sent and sealed is not None and data is not None:
            checks, model = _sealed_answer(sent[0], bundle, data, sealed, root, Path(scratch))
            found = replace(found, checks=(*found.checks, *checks))
        elif sent:
            found = replace(found, checks=(*found.checks, _answer(sent[0], bundle, asked)))
        found = replace(found, asked=tuple(asked))
        if data is None and rescore:
            data = _data_of(bundle.facts)
        if data is None:
            return found
        chosen = [task for task in bundle.drawn(draw, bundle.done) if model or bundle.compared(task, sent)][:rescore]
        checks, pairs = _score_again([archive, *sent], bundle, data, chosen, progress, model)
        numbers = numbers_of(bundle.scores, pairs, bundle.facts["suite"])
        rescored, filmed = (
            tuple(task for task, one in pairs.items() if (one.video == "whole") == whole) for whole in (True, False)
        )
        checks = [*found.checks, *checks]
        return replace(found, checks=tuple(checks), numbers=numbers, rescored=rescored, filmed=filmed)


def _answer(sent: Archive, bundle: OpenBundle, asked: Sequence[str]) -> BundleCheck:
    """Whether the author has sent the whole videos of the tasks that were drawn."""
    videos = bundle.videos({})
    wanted = [name for task in asked for name in videos[task]]
    lacking = [name for name in wanted if name not in sent.files or sent.files[name].sha256 != bundle.left_out[name]]
    if lacking:
        told = f"{len(lacking)} of {counted(len(wanted), 'video')} not sent, or not those of the root ({lacking[0]})"
        return BundleCheck("answer", "violated", told)
    return BundleCheck(
        "answer", "ok", f"{counted(len(wanted), 'video')} that were sampled, each with the hash of the archive"
    )


def _sealed_answer(
    sent: Archive, bundle: OpenBundle, data: Path, seal: Seal, root: str | None, scratch: Path
) -> tuple[list[BundleCheck], Videos | None]:
    """Checks of the videos from before the reveal, and a model that plays them; None if they do not belong."""
    about = parse_json(sent.read(QUESTIONS), f"{sent.path}: {QUESTIONS}")
    if not isinstance(about, dict) or about.get("sealed") != seal.commitment:
        told = f"the seal has the SHA-256 {seal.commitment}, the questions were published with another"
        return [BundleCheck("seal", "violated", told)], None
    checks = [BundleCheck("seal", "ok", f"the SHA-256 of the seal is that of the questions: {seal.commitment}")]
    if root is not None and root.lower() != sent.root:
        told = f"the videos have the content hash {sent.root}, not the one that was published"
        return [*checks, BundleCheck("root", "violated", told)], None
    try:
        seal.check_data(data)
        suite = open_plain_suite({"suite": bundle.facts["suite"], "settings": about.get("settings", {})})
        asked, digests = scratch / "questions", about.get("digests", {})
        write_questions(suite.name, data=data, out=asked, settings=suite.settings, sealed=seal)
        here = read_json_object(asked / QUESTIONS)["digests"]
        for name in sent.files:
            sent.extract(name, scratch / "sent" / name)
        rules = {name: bundle.facts["model"]["settings"].get(name) for name in ("longer", "fps", "videos")}
        control, salt = bundle.facts["model"]["control"], seal.names.salt
        model = Videos(str(scratch / "sent" / VIDEOS), "", control, rules["longer"], rules["fps"], salt)
    except WorldgaugeError as error:
        return [*checks, BundleCheck("questions", "violated", str(error).replace(str(scratch), ""))], None
    if other := sorted(name for name in here.keys() | digests.keys() if here.get(name) != digests.get(name)):
        told = f"{counted(len(other), 'question')} not those of the sealed data set (first: {other[0]})"
        return [*checks, BundleCheck("questions", "violated", told)], None
    checks.append(BundleCheck("questions", "ok", f"{counted(len(here), 'question')}, those of the sealed data set"))
    if model.spec.settings["videos"] != rules["videos"]:
        told = "the run was made from other videos than those from before the reveal"
        return [*checks, BundleCheck("answer", "violated", told)], None
    told = f"the videos of the run have the content hash {sent.root}; check when it was published"
    return [*checks, BundleCheck("answer", "ok", told)], model


def _data_of(facts: Mapping[str, Any]) -> Path:
    """The data of the benchmark set of a run. They are made if they are missing."""
    told: Mapping[str, Any] = facts.get("set") or {}
    named = named_sets().get(str(told.get("name")))
    if named is None or told["version"] != named.version:
        raise UsageError("scores are computed again from the data set: give its folder with --data")
    return find_data(named.name, facts["suite"])


def look_over(archive: Archive, folder: Path, *, root: str | None = None) -> tuple[Verification, OpenBundle | None]:
    """BundleCheck all that can be checked without the data set."""
    records, changed = unpack(archive, folder)
    checks = []
    if root is not None and root.lower() == archive.root:
        checks.append(BundleCheck("root", "ok", "it is the root that was published"))
    elif root is not None:
        checks.append(BundleCheck("root", "violated", f"the root is {archive.root}, not the one that was published"))
    if changed:
        told = f"{counted(len(changed), 'file')} changed or damaged (first: {changed[0]})"
        checks.append(BundleCheck("contents", "violated", told))
        return Verification(archive.path, archive.root, "", "", tuple(checks), ()), None
    checks.append(BundleCheck("contents", "ok", f"{counted(len(archive.files), 'file')}, each as the root names it"))
    bundle = open_bundle(archive, folder, records)
    checks += [_films(archive, bundle), *_agreement(bundle)]
    numbers = numbers_of(bundle.scores, {}, bundle.facts["suite"])
    name, suite = bundle.facts["model"]["name"], bundle.facts["suite"]
    return Verification(archive.path, archive.root, name, suite, tuple(checks), numbers), bundle


def _films(archive: Archive, bundle: OpenBundle) -> BundleCheck:
    """Whether each video has its film, and no film is of another video."""
    videos = {name for names in bundle.videos(archive.files).values() for name in names}
    films = {name for name in archive.files if name.startswith(f"{FILMS}/")}
    if odd := sorted({film_name(name) for name in videos} ^ films):
        return BundleCheck("films", "violated", f"{counted(len(odd), 'film')} without its video, or missing ({odd[0]})")
    return BundleCheck("films", "ok", f"{counted(len(films), 'film')}; {len(bundle.left_out)} are of videos left out")


def _agreement(bundle: OpenBundle) -> Iterator[BundleCheck]:
    """Whether run.json, journal, records and scores tell of the same run."""
    facts, lines = bundle.facts, bundle.lines
    lacking = [task for task, line in lines.items() if line is None]
    if lacking or facts.get("tasks") != len(bundle.suite_lines):
        yield BundleCheck("tasks", "violated", f"the journal does not list all {facts.get('tasks')} tasks of run.json")
    else:
        yield BundleCheck("tasks", "ok", f"{counted(len(lines), 'task')}, each with an end")
    difference = bundle.damage or _first_difference(bundle)
    same = f"{counted(len(bundle.scores), 'score')}, those of the records"
    yield BundleCheck("scores", "violated" if difference else "ok", difference or same)
    if facts.get("set") is not None:
        yield _named_set(bundle)
    try:
        suite = open_plain_suite(facts)
    except WorldgaugeError as error:
        yield BundleCheck("identity", "not looked", str(error))
        return
    yield _identity(bundle, suite)


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
            return f"{task}: its scores are not those in the journal"
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


def _named_set(bundle: OpenBundle) -> BundleCheck:
    """Whether the tasks are those of the set that run.json names."""
    told = bundle.facts["set"]
    words = data_notes({"": bundle.facts})[0].removeprefix("Data: ").rstrip(".") if isinstance(told, dict) else ""
    known = known_tasks(bundle.facts["suite"], told)
    if known is None:
        return BundleCheck("set", "not looked", f"{words or 'a set'}: this version of worldgauge does not know it")
    lines = bundle.suite_lines
    if (told["tasks"], told["of"]) != (len(lines), len(known)):
        return BundleCheck("set", "violated", f"{words}: the run has {len(lines)} tasks, the set {len(known)}")
    for task, line in lines.items():
        try:
            found = None if line is None or line["status"] == "skipped" else bundle.entry(task)
        except RunError as error:
            return BundleCheck("set", "violated", str(error))
        if task not in known or (found is not None and digits_of(found["fingerprint"]) != known[task]):
            return BundleCheck("set", "violated", f"{words}: task {task} is not of it")
    return BundleCheck("set", "ok", words)


def _identity(bundle: OpenBundle, suite: Suite) -> BundleCheck:
    """Whether records and scores were made with the settings, the model and the seed that run.json tells."""
    facts = bundle.facts
    if SETTING in facts["settings"]:
        return BundleCheck(
            "identity", "not looked", "metrics of the author's own are part of it; their code is not run"
        )
    if facts.get("suite_version") != suite.version:
        told = f"made with version {facts.get('suite_version')} of the suite, here is {suite.version}"
        return BundleCheck("identity", "not looked", told)
    scored = facts.get("metrics") == metric_versions(suite)
    keys = RunKeys(suite, facts["model"]["identity"], facts["seed"])
    for task, line in bundle.lines.items():
        if line is None or line["status"] == "skipped":
            continue
        try:
            entry = bundle.entry(task)
        except RunError as error:
            return BundleCheck("identity", "violated", str(error))
        key = keys.of_record(task, entry["fingerprint"])
        if not entry["key"] == line["key"] == key or entry["task"] != task:
            return BundleCheck(
                "identity", "violated", f"{task}: not made with the settings, model and seed of run.json"
            )
        if scored and line["scores"] not in (None, keys.of_scores(key)):
            return BundleCheck("identity", "violated", f"{task}: not scored with the settings and metrics of run.json")
    told = "records follow from the settings, model, seed and data that run.json states"
    return BundleCheck("identity", "ok", told if scored else f"{told}; metrics had other versions than here")


def _score_again(
    archives: Sequence[Archive],
    bundle: OpenBundle,
    data: Path,
    chosen: Sequence[str],
    progress: Progress,
    model: Videos | None = None,
) -> tuple[list[BundleCheck], dict[str, Rescored]]:
    """Score tasks again from the bundle and the author's answer, if there is one."""
    facts = bundle.facts
    try:
        suite = open_plain_suite(facts)
    except WorldgaugeError as error:
        return [BundleCheck("scored again", "not looked", str(error))], {}
    tasks = tasks_of_run(suite, data, facts["task_keys"])
    if data_fingerprint(tasks) != facts["data_fingerprint"]:
        told = f"{data} is not the data set of this run; nothing was scored again"
        return [BundleCheck("data", "violated", told)], {}
    tasks += list_arms(suite, data, tasks) if facts.get("decoy_keys") else []
    checks = [BundleCheck("data", "ok", f"{data} is the data set of this run")]
    pairs, refused, faults = {}, [], []
    by_id = {task.id: task for task in tasks}
    for done, task in enumerate(chosen):
        progress(task, done, len(chosen))
        try:
            one = _scores_of(archives, bundle, suite, by_id[task], model)
            known = tolerances().get(suite.name, {})
            if one.video == "whole" or any(one.video in known.get(score.metric, {}) for score in one.stated):
                pairs[task] = one
        except ContentsError as error:
            faults.append(f"{task}: {error}")
        except WorldgaugeError as error:
            refused.append(f"{task}: {error}")
    if faults:
        told = f"{counted(len(faults), 'task')} whose preview is not that of its video (first: {faults[0]})"
        checks.append(BundleCheck("films", "violated", told))
    if refused or not chosen:
        told = f"{counted(len(refused), 'task')} could not be scored here"
        told += f" (first: {refused[0]})" if refused else ""
        checks.append(BundleCheck("scored again", "not looked", told))
    for whole, what in ((True, "reproduced"), (False, "within tolerance of the small video")):
        theirs = {task: one for task, one in pairs.items() if (one.video == "whole") == whole}
        wrong = [task for task, one in theirs.items() if not agrees(one, str(facts["suite"]))]
        if theirs:
            text = f"{len(theirs) - len(wrong)} of {counted(len(bundle.lines), 'task')} {what}"
            text += f"; {len(wrong)} not (first: {wrong[0]})" if wrong else ""
            checks.append(BundleCheck("whole videos" if whole else "small videos", "violated" if wrong else "ok", text))
    return checks, pairs


def _scores_of(
    archives: Sequence[Archive], bundle: OpenBundle, suite: Suite, task: Task, model: Videos | None
) -> Rescored:
    """Score one task from its whole videos, else from films; of a sealed set from the videos before the reveal."""
    record, slug = bundle.folder.record(task.id), file_slug(task.id)
    for archive in archives:
        for name in archive.files:
            if name.startswith(f"{RECORDS}/{slug}/"):
                archive.extract(name, bundle.folder.directory / name)
    stated = _read_scores(record)
    entry = record_entry(record)
    video: Literal["whole", "same size", "smaller"] = "whole"
    for name in bundle.videos(archives[0].files)[task.id] if model is None else ():
        target, film = bundle.folder.directory / name, bundle.folder.directory / film_name(name)
        archives[0].extract(film_name(name), film)
        if target.exists():
            _check_film(film, target)
        else:
            is_rollout = name == f"{RECORDS}/{slug}/{entry['rollout']}"
            smaller = _enlarge(film, target, entry["facts"] if is_rollout else {})
            video = "smaller" if smaller or video == "smaller" else "same size"
    seed, built_in = task_seed(bundle.facts["seed"], task.id), is_built_in(bundle.facts["model"]["identity"])
    context = LocalTaskContext(record, seed, lambda done, total: None, is_built_in=built_in)
    outcome = perform_and_score(suite, task, model, entry["model"], context, key=entry["key"], score="again")
    if outcome.status != "done":
        raise RunError(outcome.error or outcome.status)
    again = _read_scores(record)
    if SETTING in bundle.facts["settings"]:  # metrics of the author's own, which are not scored again
        known = {one.metric for one in again}
        stated = [one for one in stated if one.metric in known]
    return Rescored(stated, again, video)


def _check_film(film: Path, video: Path) -> None:
    """Raises ContentsError for a film of other frames than the whole video has."""
    small, whole = Clip.open(film), film_of(Clip.open(video))
    if len(small) != len(whole) or not 0 <= small.width - whole.width <= 1 or not 0 <= small.height - whole.height <= 1:
        raise ContentsError("its preview has another number or size of frames than its whole video")
    for one, other in zip(small, whole, strict=True):
        apart = one[: whole.height, : whole.width].astype(np.float32) - other
        if math.sqrt(float(np.square(apart).mean())) > FILM_RMS:
            raise ContentsError("its preview shows other frames than its whole video")


def _enlarge(film: Path, target: Path, facts: Mapping[str, Any]) -> bool:
    """Write a film as the video of a record, in the size of that video; returns whether it was smaller."""
    clip = Clip.open(film)
    if max(clip.width, clip.height) > FILM_SIZE + 1 or len(clip) != facts.get("frames_generated", len(clip)):
        raise ContentsError("its preview has another number or size of frames than its record states")
    width, height = facts.get("resolution", (clip.width, clip.height))
    whole = film_of(Clip.rendered(lambda index: clip[index], len(clip), clip.fps, (width, height)))
    with Writer(target, fps=clip.fps, kind="lossless") as out:
        for frame in clip:
            out.write(resize(frame[: whole.height, : whole.width], width, height))
    return bool(width > whole.width)


def _read_scores(record: Path) -> list[Score]:
    try:
        entries = loads((record / SCORES).read_text())["scores"]
        return [
            score_from_json({name: value for name, value in one.items() if name not in ("model", FORMER_KEY)})
            for one in entries
        ]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise RunError(f"{RECORDS}/{record.name}/{SCORES}: damaged ({error})") from error
