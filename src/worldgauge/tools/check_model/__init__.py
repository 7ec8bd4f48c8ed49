"""Check whether a model keeps every promise of the protocol. All checks run, and each violation is explained.

report = check_model("./wm.py:MyModel")
for verdict in report.verdicts: print(verdict.name, verdict.status, verdict.explanation, verdict.advice)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal, cast

from worldgauge.core.errors import DataError, NotApplicableError, SubjectError, UnknownNameError
from worldgauge.core.model import ModelSpec, WorldModel
from worldgauge.engine.subjects import resolve_cached, resolve_subject
from worldgauge.engine.suite.trial_questions import TrialQuestions
from worldgauge.engine.workers.pool import Job, Pool, check_deadline
from worldgauge.engine.workers.site import open_site
from worldgauge.engine.workers.worker import Progress, one_line
from worldgauge.models.address import ModelAddress
from worldgauge.serving import LOAD_DEADLINE_S, RemoteModel
from worldgauge.tools.check_model import behaviour, form
from worldgauge.tools.check_model.checks import Check, CheckFinding
from worldgauge.tools.check_model.trial import Trial, trial_questions

Status = Literal["ok", "violated", "warning", "not asked"]
CheckWatcher = Callable[[str, int, int], None]

CHECKS: dict[str, Check] = {
    found.name: found for module in (form, behaviour) for found in vars(module).values() if isinstance(found, Check)
}
"""Every check, in the order in which they stand in their files and are asked."""


@dataclass(frozen=True)
class CheckVerdict:
    """Result of one check.

    Attributes:
        name: Name of the check.
        question: What it checks, in plain words.
        status: "ok", "violated", "warning" or "not asked".
        asked: The questions that the model was asked, in words.
        findings: All violations and warnings.
        measured: Measurements, plain JSON values.
        reason: Why the check was not run.
        seconds: Its duration.
    """

    name: str
    question: str
    status: Status
    asked: tuple[str, ...] = ()
    findings: tuple[CheckFinding, ...] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    seconds: float = 0.0

    @property
    def explanation(self) -> str:
        """What the model gave, or why nothing was asked. Empty where all is well."""
        return " ".join(finding.explanation for finding in self.findings) or self.reason or ""

    @property
    def advice(self) -> str:
        """What to do about the findings."""
        return " ".join(finding.advice for finding in self.findings)


@dataclass(frozen=True)
class ModelReport:
    """Results of all checks on one model.

    Attributes:
        model: Label of the model.
        verdicts: One per check, in the order in which they ran.
        made_s: Seconds until the model was ready, with the start of its process where it was given as text.
    """

    model: str
    verdicts: tuple[CheckVerdict, ...]
    made_s: float

    @property
    def ok(self) -> bool:
        """Whether nothing is violated. Warnings do not count."""
        return not any(verdict.status == "violated" for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "ok": self.ok}


def check_model(
    what: str | WorldModel,
    *,
    suite: str | None = None,
    deadline_s: float = 600.0,
    progress: CheckWatcher | None = None,
) -> ModelReport:
    """Run all checks on a model.

    Args:
        what: Text as for a run, or a live object. A model given as text is made in a worker process, and each check is
            a job there: a check that crashes, or gives nothing for `deadline_s` seconds, affects no other check. A live
            object is asked in this process and cannot be stopped.
        suite: Suite in whose form the model is asked. None for the one that offers itself for this, or the first whose
            kind of image and actions the model knows.
        deadline_s: Seconds without a frame before a check is stopped.
        progress: Called with the name of the check, the number of checks done, and the total.

    Returns:
        One verdict per check.

    Raises:
        UnknownNameError: For a suite that has no questions without a data set.
        SubjectError: For a model that cannot be made.
        UsageError: For a live object that is not a model.
    """
    check_deadline(deadline_s)
    if suite is not None:
        _questions_of(suite, None)
    with open_site() as site, site.pool(1) as pool:
        began = time.monotonic()
        if isinstance(what, str):
            text = ModelAddress.parse(what).text
            label, suite = _load_in_worker(text, suite, pool)
            ask = partial(_in_worker, text=text, suite=suite, pool=pool, deadline_s=deadline_s)
        else:
            subject = resolve_subject(what)
            label, model = subject.label, cast("WorldModel", subject.model)
            ask = partial(_judge, trial=Trial(model, *_questions_of(suite, model.spec), deadline_s))
        made_s = time.monotonic() - began
        verdicts: dict[str, CheckVerdict] = {}
        for check in CHECKS.values():
            if progress is not None:
                progress(check.name, len(verdicts), len(CHECKS))
            blocked = next((name for name in check.after if verdicts[name].status in ("violated", "not asked")), None)
            if blocked is not None:
                reason = f"it would say nothing before '{blocked}' is well"
                verdicts[check.name] = CheckVerdict(check.name, check.question, "not asked", reason=reason)
            else:
                verdicts[check.name] = ask(check)
    return ModelReport(label, tuple(verdicts.values()), round(made_s, 2))


def load_model_job(*, text: str, suite: str | None, progress: Progress) -> tuple[str, str]:
    """Load the model, as a job of the pool.

    Args:
        text: Its name or place.
        suite: The suite whose questions are asked; None for one that suits it.
        progress: Reports progress.

    Returns:
        Its label, and the suite.
    """
    subject = resolve_cached(text)
    return subject.label, _questions_of(suite, cast("WorldModel", subject.model).spec)[0]


def run_check_job(*, text: str, suite: str, check: str, progress: Progress) -> dict[str, Any]:
    """Run one check on a model, as a job of the pool.

    Args:
        text: Name or place of the model.
        suite: The suite whose questions are asked.
        check: Name of the check.
        progress: Reports progress.

    Returns:
        The verdict as plain values.
    """
    trial = _trial(text, suite)
    if isinstance(trial.model, RemoteModel):
        trial.model.on_wait = partial(progress, 0, 0)
        trial.model.exact = False  # so that every fault of its frames is seen here, and not the first on arrival
    progress(0, 0)  # from here the deadline counts: not for making the model, or the world of the walk
    return asdict(_judge(CHECKS[check], trial, progress))


@lru_cache(maxsize=1)
def _trial(text: str, suite: str) -> Trial:
    model = cast("WorldModel", resolve_cached(text).model)
    return Trial(model, *_questions_of(suite, model.spec))


def _questions_of(suite: str | None, spec: ModelSpec | None) -> tuple[str, TrialQuestions]:
    """Name and questions of a suite, or of the one that is asked by default, or else of one that suits the model."""
    found = trial_questions()
    if suite is None:
        names = sorted(found, key=lambda name: not found[name].by_default)
        suite = next((name for name in names if spec is not None and found[name].fits(spec)), names[0])
    if suite not in found:
        raise UnknownNameError("suite to check a model for", suite, found)
    return suite, found[suite]


def _load_in_worker(text: str, suite: str | None, pool: Pool) -> tuple[str, str]:
    """The label of a model that has been made in the pool's worker, and the suite that it is asked for."""
    arguments = {"text": text, "suite": suite}
    (result,) = pool.run([Job(text, f"{__name__}:load_model_job", arguments, LOAD_DEADLINE_S, retries=0)])
    result.raise_for(text)
    label, suite = result.value
    return str(label), str(suite)


def _in_worker(check: Check, text: str, suite: str, pool: Pool, deadline_s: float) -> CheckVerdict:
    arguments = {"text": text, "suite": suite, "check": check.name}
    job = Job(check.name, f"{__name__}:run_check_job", arguments, deadline_s, retries=0, start_s=LOAD_DEADLINE_S)
    (result,) = pool.run([job])
    if result.error is None:
        fields = {**result.value, "findings": tuple(CheckFinding(**finding) for finding in result.value["findings"])}
        return CheckVerdict(**{**fields, "asked": tuple(fields["asked"])})
    if result.trace is not None and not result.known:
        raise RuntimeError(f"check '{check.name}' of model '{text}': {result.error}\n{result.trace}")
    advice = (
        "Nothing was heard from it: see what it waits for, or allow more with a longer deadline."
        if "timed out" in result.error
        else "Run it alone, where its own messages can be seen."
    )
    finding = CheckFinding(f"It did not come back from this check: {result.error}.", advice, check.grave)
    status: Status = "violated" if check.grave else "warning"
    return CheckVerdict(check.name, check.question, status, (), (finding,), seconds=result.seconds)


def _judge(check: Check, trial: Trial, report: Progress = lambda done, total: None) -> CheckVerdict:
    """Verdict of `check`. An exception in the model is a finding."""
    began = time.monotonic()
    findings: list[CheckFinding] = []
    reason = None
    trial.begin(report)
    try:
        findings.extend(check.find(trial))
    except (NotApplicableError, DataError) as error:
        reason = one_line(error)
    except SubjectError as error:
        findings.append(
            CheckFinding(one_line(error), "Run it alone on this question; docs/adding.md shows a whole model.")
        )
    status: Status = "ok"
    if findings:
        status = "violated" if any(finding.grave for finding in findings) else "warning"
    elif reason is not None:
        status = "not asked"
    asked = tuple(dict.fromkeys(trial.asked))
    seconds = round(time.monotonic() - began, 3)
    return CheckVerdict(
        check.name, check.question, status, asked, tuple(findings), dict(trial.measured), reason, seconds
    )
