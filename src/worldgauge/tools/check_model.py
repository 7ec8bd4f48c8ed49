"""Check whether a model follows the protocol. All checks run, and each violation is explained."""

from __future__ import annotations

import json
import math
import resource
import sys
import textwrap
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ModelError, NotApplicableError, UnknownNameError, UsageError
from worldgauge.core.model import FORM_OF, ModelSpec, Needs, WorldModel, rollout_batch
from worldgauge.engine.model_entries import resolve_cached, resolve_model
from worldgauge.engine.suite.trial_questions import TrialQuestions
from worldgauge.engine.workers.pool import Job, Pool, check_deadline
from worldgauge.engine.workers.site import open_site
from worldgauge.engine.workers.worker import Progress, one_line
from worldgauge.models.address import ModelAddress
from worldgauge.serving import LOAD_DEADLINE_S, RemoteModel
from worldgauge.tools.model_trial import (
    SEED,
    CheckFinding,
    ModelCheck,
    ModelSpeed,
    Trial,
    array_of,
    changed,
    check,
    complaints,
    difference,
    frames_of,
    miscounted,
    model_facts,
    period_of,
    speeds_of,
    stopped,
    to_bytes,
    trial_questions,
)


@check("Does it describe itself fully and plainly?", after=())
def spec(trial: Trial) -> Iterator[CheckFinding]:
    """Check name, settings and needs. The other fields were checked when the ModelSpec was made."""
    declared = trial.spec
    size = "any" if declared.frame_size is None else "{}x{}".format(*declared.frame_size)
    longest = declared.max_context or "any"
    trial.measured |= {"control": declared.control, "frame size": size, "longest context": longest}
    if not declared.name.isprintable() or declared.name != declared.name.strip():
        unshown = f"Its name {declared.name!r} holds characters that cannot be shown in a table."
        yield CheckFinding(unshown, "Name it with letters, digits, spaces and punctuation on one line.")
    width, height = declared.frame_size or (1, 1)
    if width < height and declared.crop is None and declared.view == "perspective":
        squashed = f"Its frames of {size} are higher than wide, so recordings of 16:9 are squashed."
        yield CheckFinding(squashed, "Declare frame_size=(width, height), or a crop.", grave=False)
    for key, value in declared.settings.items():
        try:
            plain = isinstance(key, str) and bool(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError):
            plain = False
        if not plain:
            shown = textwrap.shorten(repr(value), 60, placeholder="...")
            yield CheckFinding(
                f"Its setting {key!r} is {type(value).__name__} {shown}, which is no plain JSON value.",
                "Settings are part of a task's identity and are stored: give text, finite numbers, booleans, None, and "
                "lists or dicts of those; of weights, their name or digest.",
            )
    try:
        needs = Needs.of(trial.model)
    except UsageError as error:
        yield CheckFinding(f"{error}.", 'Declare them as a class attribute: needs = {"gpus": 1, "memory_gb": 24}.')
        return
    trial.measured["needs"] = f"gpus {needs.gpus:g}, cpus {needs.cpus:g}, memory {needs.memory_gb:g} GB"
    # A proxy of ours repeats, on the object, what a model in another process has declared.
    ours = type(trial.model).__module__.startswith("worldgauge.")
    if not ours and hasattr(trial.model, "needs") and not hasattr(type(trial.model), "needs"):
        late = "It declares its needs on the object, and they are read before there is one."
        yield CheckFinding(late, "Make `needs` an attribute of the class.", grave=False)


@check("Does it answer a plain question at all?", after=())
def answers(trial: Trial) -> Iterator[CheckFinding]:
    """Ask for a few frames after a short context. The following checks use the same answer."""
    trial.plain()  # raises where there is none
    yield from ()


@check("Are its frames numpy arrays of bytes?")
def values(trial: Trial) -> Iterator[CheckFinding]:
    """Check type, dtype and range of the values, with advice that fits them."""
    chunks = trial.plain().chunks
    for kind in dict.fromkeys(type(chunk) for chunk in chunks if not isinstance(chunk, np.ndarray)):
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        fix = "chunk.detach().cpu().numpy()" if hasattr(kind, "detach") else "np.stack(frames), or np.asarray(chunk)"
        yield CheckFinding(f"Its chunks are {name}, not numpy.ndarray.", f"Return {fix}.")
    arrays = [chunk for chunk in chunks if isinstance(chunk, np.ndarray)]
    for dtype in dict.fromkeys(array.dtype for array in arrays):
        yield from _not_bytes(np.concatenate([array.reshape(-1) for array in arrays if array.dtype == dtype]))


def _not_bytes(numbers: NDArray[Any]) -> Iterator[CheckFinding]:
    """Problems with the values of one dtype, (N,)."""
    kind, name = numbers.dtype.kind, numbers.dtype.name
    if kind not in "biuf":
        yield CheckFinding(
            f"Its chunks are arrays of {name}.", "Give uint8; frames of different sizes cannot be stacked."
        )
        return
    finite = numbers[np.isfinite(numbers)]
    if len(finite) < len(numbers):
        yield CheckFinding(
            f"{len(numbers) - len(finite)} of {len(numbers)} values are NaN or infinite.",
            "Look for a division by zero, or for an overflow of half precision.",
        )
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    if name != "uint8":
        yield CheckFinding(
            f"Its frames are {name} with values from {low:.4g} to {high:.4g}, not uint8 from 0 to 255.",
            f"Return {to_bytes(kind, low, high)}.",
        )
    elif len(finite) and high <= 1:
        yield CheckFinding(
            f"No value of its frames is above {high:g}: they are black.",
            "If they were made in 0..1, scale before the cast: (frames * 255).round().astype(np.uint8).",
            grave=False,
        )


@check("Are its chunks of shape (n, height, width, 3), in the requested size?")
def shape(trial: Trial) -> Iterator[CheckFinding]:
    """Check the order of axes and sides, and the three channels."""
    plain = trial.plain()
    width, height = plain.request.frame_size
    shapes = [copy.shape for copy in plain.copies if copy is not None]
    for found in dict.fromkeys(shape for shape in shapes if len(shape) != 4):
        yield _without_four_axes(found, width, height)
    for found in dict.fromkeys(shape[1:] for shape in shapes if len(shape) == 4):
        if found != (height, width, 3):
            yield _misshapen(found, width, height)


def _without_four_axes(found: tuple[int, ...], width: int, height: int) -> CheckFinding:
    """Problems with a chunk of shape `found`."""
    if found == (height, width, 3):
        return CheckFinding(f"It gave single frames {found}, not chunks.", "Yield frame[None], or stack some frames.")
    if len(found) == 3 and found[1:] == (height, width):
        return CheckFinding(
            f"It gave chunks {found}: there is no axis of colours.", "Return np.repeat(chunk[..., None], 3, axis=-1)."
        )
    if len(found) == 5 and found[0] == 1:
        return CheckFinding(f"It gave chunks {found}: an axis for the batch is left.", "Return chunk[0].")
    return CheckFinding(f"It gave chunks {found}.", f"Return chunks of shape (n, {height}, {width}, 3).")


def _misshapen(found: tuple[int, ...], width: int, height: int) -> CheckFinding:
    """Problems with frames of shape `found`."""
    what = f"Asked for frames ({height}, {width}, 3), it gave {found}"
    fixes = {
        (width, height, 3): ("width and height are swapped", "chunk.transpose(0, 2, 1, 3)"),
        (3, height, width): ("the colours come first", "chunk.transpose(0, 2, 3, 1)"),
        (height, width, 4): ("there is a fourth channel", "chunk[..., :3]"),
        (height, width, 1): ("there is one channel", "chunk.repeat(3, axis=-1)"),
    }
    if found in fixes:
        why, fix = fixes[found]
        return CheckFinding(f"{what}: {why}.", f"Return {fix}.")
    if found[2] == 3:
        return CheckFinding(
            f"{what}: another size.",
            f"Resize to request.frame_size, or declare frame_size=({found[1]}, {found[0]}) in its ModelSpec.",
        )
    return CheckFinding(f"{what}.", f"Return chunks of shape (n, {height}, {width}, 3).")


@check("Does it return as many frames as requested, no more and no fewer?")
def count(trial: Trial) -> Iterator[CheckFinding]:
    """Check the number of frames, and look for empty chunks."""
    plain = trial.plain()
    sizes = [len(copy) if copy is not None and copy.ndim == 4 else 1 for copy in plain.copies]
    trial.measured["frames a chunk"] = ", ".join(str(size) for size in sorted(set(sizes)))
    if empty := sizes.count(0):
        yield CheckFinding(f"{empty} of its {len(sizes)} chunks hold no frame.", "Leave empty chunks out.")
    yield from miscounted(plain)


@check("Does it leave the question as it was?")
def untouched(trial: Trial) -> Iterator[CheckFinding]:
    """Compare the arrays of the request with copies taken before."""
    if touched := trial.plain().touched:
        yield CheckFinding(
            f"It wrote into {' and '.join(touched)} of its request.",
            "Work on a copy, such as request.context.clip[-1].copy(): a request may be repeated.",
        )


@check("Do its frames stay what they were when it gave them?")
def kept(trial: Trial) -> Iterator[CheckFinding]:
    """Compare the chunks at the end with copies taken as they came."""
    plain = trial.plain()
    chunks = zip(map(array_of, plain.chunks), plain.copies, strict=True)
    changed = [
        at
        for at, (now, then) in enumerate(chunks)
        if now is not None and then is not None and not np.array_equal(now, then, equal_nan=then.dtype.kind == "f")
    ]
    if changed:
        yield CheckFinding(
            f"{len(changed)} of its {len(plain.chunks)} chunks (first: {changed[0]}) changed after it had given them: "
            "it uses one buffer again and again.",
            "Yield a copy: buffer.copy().",
        )


@check("Are red and blue where they belong?", after=("values", "shape", "count"))
def colours(trial: Trial) -> Iterator[CheckFinding]:
    """Check whether red and blue are swapped between the last frame that the model saw and its first one."""
    plain = trial.plain()
    seen, drawn = (
        frame[..., 0].astype(float) - frame[..., 2] for frame in (plain.request.context.clip[-1], plain.frames[0])
    )
    scale = math.sqrt(float((seen**2).sum() * (drawn**2).sum()))
    agreement = float((seen * drawn).sum()) / scale if scale else 0.0
    trial.measured["red and blue agree with the last frame seen by"] = f"{agreement:.2f} of -1..1"
    if agreement < SWAPPED:
        yield CheckFinding(
            "Its first frame is red where the last one it saw is blue, and the other way round "
            f"({agreement:.2f} on a scale from -1, all swapped, to 1).",
            "If it returns BGR, as OpenCV does, return chunk[..., ::-1].",
            grave=False,
        )


SWAPPED = -0.3
"""Cosine of red less blue, pixel by pixel, below which a swap is suspected; noise is at 0, a good model near 1."""


LONGEST_CONTEXT = 128
"""Frames shown to a model that declares no limit, or a higher one."""

_UNSUITED_HORIZON = 13
_OTHER_SIZE = (128, 96)
_TURN = 0.1
_CUT = "Cut the last chunk to what is left: chunk[: request.horizon - done]."


@check("Does the same question get the same frames?")
def same(trial: Trial) -> Iterator[CheckFinding]:
    """Repeat the plain question at once; then ask it with another seed, which is reported and not judged."""
    first, again = trial.plain(), trial.ask()
    if again.error is not None:
        yield CheckFinding(f"Asked a second time, it {again.error}.", "Keep no state between two calls of rollout.")
    elif (found := difference(first.frames, again.frames)) and found.small:
        advice = "Enough for a benchmark. For exact repeats: torch.use_deterministic_algorithms(True)."
        yield CheckFinding(f"Asked the same twice, {found.words}.", advice, grave=False)
    elif found:
        yield CheckFinding(
            f"Asked the same twice, {found.words}.",
            "Take all randomness from request.seed: np.random.default_rng(request.seed), and for torch a "
            "torch.Generator(device).manual_seed(request.seed); no global generator and no clock.",
        )
    other = trial.ask(seed=SEED + 1)
    differs = other.error or difference(first.frames, other.frames)
    trial.measured["another seed gives"] = "other frames" if differs else "the same frames"


@check("Does it react to its control?", after=("values", "same"))
def control(trial: Trial) -> Iterator[CheckFinding]:
    """Ask with the same context for a turn to the left, and for one to the right."""
    left, right = trial.ask(turn=_TURN), trial.ask(turn=-_TURN)
    for asked, side in ((left, "left"), (right, "right")):
        if asked.error is not None:
            yield CheckFinding(f"A turn to the {side}: it {asked.error}.", "A request may hold any motion.")
            return
    flat = sum(frame.ndim == 3 and bool((frame == frame[:1, :1]).all()) for frame in left.frames)
    distinct = len({frame.tobytes() for frame in left.frames})
    trial.measured |= {"distinct frames": f"{distinct} of {left.count}", "frames of one colour": flat}
    cut_short = trial.ask(turn=_TURN, alter=stopped)
    before = cut_short.request.horizon // 2
    ahead = cut_short.error or difference(left.frames[:before], cut_short.frames[:before])
    trial.measured["looks ahead"] = "yes: a later control changes earlier frames" if ahead else "no"
    if not difference(left.frames, right.frames):
        yield CheckFinding(
            f"Turning to the left and turning to the right gave the same frames: it ignores its {trial.spec.control}.",
            "Check that request.actions, request.poses or request.text (as its ModelSpec.control says) reaches the "
            "network, and whether turns are taken as radians a frame, positive to the left.",
            grave=False,
        )


@check("Is its control enough, where the other forms of the future are not known?", after=("values", "same"))
def control_alone(trial: Trial) -> Iterator[CheckFinding]:
    """Ask with its control, what it requires, and nothing else: data may lack poses, words or a caption."""
    needed = {FORM_OF[trial.spec.control], *trial.spec.inputs}
    unknown: dict[str, Any] = {name: None for name in (*FORM_OF.values(), "caption") if name not in needed}
    alone = trial.ask(alter=lambda request: replace(request, **unknown))
    if alone.error is not None:
        lacks = ", ".join(unknown)
        yield CheckFinding(
            f"Asked without {lacks}, it {alone.error}.",
            "Name what it cannot do without in ModelSpec.inputs, such as inputs=('caption',): a task that lacks it is "
            "then skipped.",
        )


@check("Does it take any caption?", after=("values", "same"))
def caption(trial: Trial) -> Iterator[CheckFinding]:
    """Ask with another caption. Whether that changes the frames is reported, and judged where it requires one."""
    first = trial.plain()
    other = trial.ask(alter=lambda request: replace(request, caption="A quiet harbour at night, in the rain."))
    if other.error is not None:
        yield CheckFinding(f"With another caption, it {other.error}.", "A caption is any text of a sentence or more.")
        return
    differs = difference(first.frames, other.frames)
    trial.measured["another caption gives"] = "other frames" if differs else "the same frames"
    if not differs and "caption" in trial.spec.inputs:
        yield CheckFinding(
            "It requires a caption, and another one gave the same frames.",
            "Check that request.caption reaches the network, or remove it from ModelSpec.inputs.",
            grave=False,
        )


@check("Does it return a single frame when one is requested?", after=("shape", "count"))
def one_frame(trial: Trial) -> Iterator[CheckFinding]:
    """Ask for a horizon of 1."""
    yield from complaints(trial.ask(horizon=1), _CUT)


@check("Does it stop in the middle of a chunk?", after=("shape", "count"))
def part_of_a_chunk(trial: Trial) -> Iterator[CheckFinding]:
    """Ask for a horizon that is not a multiple of the model's chunk, nor of any usual one."""
    chunk = trial.spec.chunk
    if chunk == 1:
        raise NotApplicableError("its chunks hold one frame, so that any horizon suits them")
    horizon = _UNSUITED_HORIZON if chunk is None else min(chunk + chunk // 2, trial.longest_horizon)
    yield from complaints(trial.ask(horizon=horizon), _CUT)


@check("Does it hold out for a long horizon, at the size of the recordings?", after=("shape", "count"))
def long_horizon(trial: Trial) -> Iterator[CheckFinding]:
    """Ask for a hundred frames, or as many as take about a minute. Ways back in LoopNav have 60 to 380 frames."""
    long = trial.long()
    yield from complaints(long, "Make the rollout in pieces: each goes on from the frames before it.")
    period = period_of(long.digests)
    trial.measured["frames repeat after"] = period or "never"
    if period:
        repeated = f"Its frames repeat every {period} frames, whatever is requested."
        yield CheckFinding(repeated, "Go on from the frames made last, and keep none for the next chunk.", grave=False)


@check("Is a context of a single frame enough?", after=("shape", "count"))
def short_context(trial: Trial) -> Iterator[CheckFinding]:
    """Show one frame, so there is no past action."""
    yield from complaints(
        trial.ask(context=1), "Repeat the first frame where it needs more; one frame comes without a past action."
    )


@check("Can it take the longest context that it declares?", after=("shape", "count"))
def long_context(trial: Trial) -> Iterator[CheckFinding]:
    """Show `max_context` frames, or 128. A suite never sends more than `max_context`."""
    if trial.questions.one_frame:
        raise NotApplicableError(f"{trial.suite} shows it a single frame")
    longest = min(trial.spec.max_context or LONGEST_CONTEXT, LONGEST_CONTEXT)
    yield from complaints(
        trial.ask(context=longest), "Declare max_context in its ModelSpec: what is longer is cut before it is sent."
    )


@check("Does it follow another frame size of the context?", after=("shape", "count"))
def other_size(trial: Trial) -> Iterator[CheckFinding]:
    """Ask for another frame size. Only for models that declare none."""
    if trial.spec.frame_size is not None:
        width, height = trial.spec.frame_size
        raise NotApplicableError(f"it declares a frame size of {width}x{height} and gets no request for another")
    yield from complaints(
        trial.ask(size=_OTHER_SIZE),
        "Take width and height from request.frame_size at every call, or declare frame_size in its ModelSpec.",
    )


@check("Is a rollout independent of earlier requests?", after=("same",))
def order(trial: Trial) -> Iterator[CheckFinding]:
    """Ask the plain question, another one, and the plain one again."""
    first = trial.plain()
    trial.ask(start=trial.other_start, seed=SEED + 1)
    yield from changed(first, trial.ask(), "After another question")


@check("Does a rollout that is dropped half-way leave the next one unharmed?", after=("same",))
def dropped(trial: Trial) -> Iterator[CheckFinding]:
    """Take one chunk of another question, then ask the plain question."""
    first = trial.plain()
    other = trial.begin_answer(start=trial.other_start, seed=SEED + 1)
    other.step()
    other.drop()
    yield from changed(first, trial.ask(), "After a rollout that was dropped half-way")


@check("Can two rollouts be taken in turn?", after=("same",), grave=False)
def in_turn(trial: Trial) -> Iterator[CheckFinding]:
    """Ask two questions, and take their chunks in turn."""
    if isinstance(trial.model, RemoteModel):
        raise NotApplicableError("it runs in its own process, which gets one request at a time")
    alone = [trial.plain(), trial.ask(start=trial.other_start)]
    together = [trial.begin_answer(), trial.begin_answer(start=trial.other_start)]
    going = list(together)
    while going:
        going = [asked for asked in going if asked.step()]
    for first, again in zip(alone, together, strict=True):
        yield from changed(first, again, "Next to another rollout", grave=False)


@check("Does a batch give what its questions give one by one?", after=("same",))
def batch(trial: Trial) -> Iterator[CheckFinding]:
    """Ask several questions at once. Only for models with `rollout_batch`."""
    model = trial.model
    if not (model.batch if isinstance(model, RemoteModel) else hasattr(model, "rollout_batch")):
        raise NotApplicableError("it has no rollout_batch: requests go one by one")
    alone = [trial.plain(), trial.ask(start=trial.other_start, seed=SEED + 1)]
    other = trial.question(start=trial.other_start, seed=SEED + 1)
    try:
        found = rollout_batch(model, [trial.question(), other])
    except NotApplicableError:
        raise
    except Exception as error:
        yield CheckFinding(f"Its rollout_batch raised {one_line(error)}.", "Leave it out: then requests go one by one.")
        return
    if len(found) != len(alone):
        yield CheckFinding(
            f"Asked a batch of {len(alone)}, it gave {len(found)} answers.", "Give one answer a request."
        )
        return
    for at, (first, chunks) in enumerate(zip(alone, found, strict=True), start=1):
        if (differs := difference(first.frames, frames_of(chunks))) and not differs.small:
            yield CheckFinding(
                f"In a batch, for question {at} of {len(alone)}, {differs.words}.",
                "Take seed, context and horizon from each request of the batch, and cut padding away.",
            )


@check("How fast is it, and what does it take?", after=("long-horizon",))
def speed(trial: Trial) -> Iterator[CheckFinding]:
    """Measure the speed with one worker and one question at a time. It is reported and not judged."""
    long = trial.long()
    told = long.speed.plain()
    if told is None:
        return
    rate, peak = told["frames"] / max(told["seconds"], 1e-6), told["gpu_peak_bytes"]
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    trial.measured |= {
        "frames a second, at {}x{}".format(*long.request.frame_size): round(rate, 2),
        "first chunk after": f"{told['first_s']:.2f} s",
        **({} if peak is None else {"peak GPU memory": f"{peak / 1e9:.2f} GB"}),
        "memory of the evaluating process": f"{memory / 1e9:.2f} GB",
    }
    yield from ()


Status = Literal["ok", "violated", "warning", "skipped"]
CheckWatcher = Callable[[str, int, int], None]

CHECKS: dict[str, ModelCheck] = {one.name: one for one in list(globals().values()) if isinstance(one, ModelCheck)}
"""Every check, in the order in which they stand above and are asked."""


@dataclass(frozen=True)
class CheckVerdict:
    """Result of one check."""

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
        made_s: Seconds until the model was ready, with the start of its process.
        spec: Fields of its `ModelSpec`.
        identity: Everything that its output depends on, plain JSON values.
        speeds: How fast it is, by frame size in pixels ("256x144").
        unfit: Why a suite skips it, by suite. Suites that ask it, and those without questions of their own, are absent.

    Examples:
        >>> wg.check_model("freeze", only=["spec"]).ok
        True
    """

    model: str
    verdicts: tuple[CheckVerdict, ...]
    made_s: float
    spec: Mapping[str, Any] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    speeds: Mapping[str, ModelSpeed] = field(default_factory=dict)
    unfit: Mapping[str, str] = field(default_factory=dict)
    gpus: float = 0.0

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
    only: Collection[str] = (),
    sizes: Sequence[tuple[int, int]] = (),
    progress: CheckWatcher | None = None,
) -> ModelReport:
    """Run checks on a model.

    Args:
        what: Text as for a run, or a live object. A model given as text is made in a worker process, and each check is
            a job there: a check that crashes, or gives nothing for `deadline_s` seconds, affects no other check. A live
            object is asked in this process and cannot be stopped.
        suite: Suite in whose form the model is asked. None for the one that offers itself for this, or the first whose
            kind of image and actions the model knows.
        deadline_s: Seconds without a frame before a check is stopped.
        only: Names of the checks. Default: all.
        sizes: Frame sizes (width, height) in pixels at which the speed of a model without faults is measured. A model
            with a frame size of its own is measured at that one.
        progress: Called with the name of the check, the number of checks done, and the total.

    Returns:
        One verdict per check.

    Raises:
        UnknownNameError: For a suite that has no questions without a data set.
        ModelError: For a model that cannot be made.
        UsageError: For a live object that is not a model.

    Examples:
        >>> [verdict.name for verdict in wg.check_model("freeze", only=["spec"]).verdicts]
        ['spec']
    """
    check_deadline(deadline_s)
    if suite is not None:
        _questions_of(suite, None)
    checks = [check for check in CHECKS.values() if not only or check.name in only]
    with open_site() as site, site.pool(1) as pool:
        began = time.monotonic()
        if isinstance(what, str):
            text = ModelAddress.parse(what).text
            arguments = {"text": text, "suite": suite}
            (result,) = pool.run([Job(text, f"{__name__}:load_model_job", arguments, LOAD_DEADLINE_S, retries=0)])
            result.raise_for(text)
            label, suite, facts = result.value
            ask = partial(_in_worker, text=text, suite=suite, pool=pool, deadline_s=deadline_s)
        else:
            resolved = resolve_model(what)
            label, model = resolved.label, cast("WorldModel", resolved.model)
            facts = model_facts(model, resolved.identity)
            trial = Trial(model, *_questions_of(suite, model.spec), deadline_s)
            ask = partial(_judge, trial=trial)
        made_s = time.monotonic() - began
        verdicts: dict[str, CheckVerdict] = {}
        for check in checks:
            if progress is not None:
                progress(check.name, len(verdicts), len(checks))
            bad = ("violated", "skipped")
            blocked = next((name for name in check.after if name in verdicts and verdicts[name].status in bad), None)
            if blocked is not None:
                reason = f"skipped: fix '{blocked}' first" if verdicts[blocked].findings else f"'{blocked}' was skipped"
                verdicts[check.name] = CheckVerdict(check.name, check.question, "skipped", reason=reason)
            else:
                verdicts[check.name] = ask(check)
        report = ModelReport(label, tuple(verdicts.values()), round(made_s, 2), **facts)
        if sizes and report.ok:
            if isinstance(what, str):
                asked = {"text": text, "suite": suite, "sizes": [*map(list, sizes)]}
                job = Job("speed", f"{__name__}:time_model_job", asked, deadline_s, start_s=LOAD_DEADLINE_S)
                (result,) = pool.run([job])
                result.raise_for(text)
                speeds = result.value
            else:
                speeds = speeds_of(trial, sizes)
            report = replace(report, speeds={size: ModelSpeed(*speed) for size, speed in speeds.items()})
    return report


def load_model_job(*, text: str, suite: str | None, progress: Progress) -> list[Any]:
    """Load the model, as a job of the pool: label, suite that asks it, and facts of `ModelReport`."""
    resolved = resolve_cached(text)
    model = cast("WorldModel", resolved.model)
    return [resolved.label, _questions_of(suite, model.spec)[0], model_facts(model, resolved.identity)]


def time_model_job(*, text: str, suite: str, sizes: Sequence[Sequence[int]], progress: Progress) -> dict[str, Any]:
    """Measure the speed of a model, as a job of the pool."""
    trial = _trial(text, suite)
    trial.begin(progress)
    return speeds_of(trial, [(width, height) for width, height in sizes])


def run_check_job(*, text: str, suite: str, check: str, progress: Progress) -> dict[str, Any]:
    """Run one check on a model, as a job of the pool."""
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


def _in_worker(check: ModelCheck, text: str, suite: str, pool: Pool, deadline_s: float) -> CheckVerdict:
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


def _judge(check: ModelCheck, trial: Trial, report: Progress = lambda done, total: None) -> CheckVerdict:
    """Verdict of `check`. An exception in the model is a finding."""
    began = time.monotonic()
    findings: list[CheckFinding] = []
    reason = None
    trial.begin(report)
    try:
        findings.extend(check.find(trial))
    except (NotApplicableError, DataError) as error:
        reason = one_line(error)
    except ModelError as error:
        findings.append(
            CheckFinding(one_line(error), "Run it alone on this question; docs/howto/wrap_keys.md shows a whole model.")
        )
    status: Status = "ok" if reason is None else "skipped"
    if findings:
        status = "violated" if any(finding.grave for finding in findings) else "warning"
    asked, seconds = tuple(dict.fromkeys(trial.asked)), round(time.monotonic() - began, 3)
    found = status, asked, tuple(findings), dict(trial.measured), reason, seconds
    return CheckVerdict(check.name, check.question, *found)
