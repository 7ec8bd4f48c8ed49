"""Checks of a model's behaviour: from one question to the next, and at the limits of what may be asked."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.model import FORM_OF, rollout_batch
from worldgauge.engine.workers.worker import one_line
from worldgauge.serving import RemoteModel
from worldgauge.tools.check_model.checks import CheckFinding, changed, check, complaints, difference
from worldgauge.tools.check_model.trial import SEED, Trial, frames_of

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
            yield CheckFinding(f"Asked to turn {side}, it {asked.error}.", "Any move of the walk may be asked for.")
            return
    flat = sum(frame.ndim == 3 and bool((frame == frame[:1, :1]).all()) for frame in left.frames)
    distinct = len({frame.tobytes() for frame in left.frames})
    trial.measured |= {"distinct frames": f"{distinct} of {left.count}", "frames of one colour": flat}
    if not difference(left.frames, right.frames):
        yield CheckFinding(
            f"Turning to the left and turning to the right gave the same frames: it ignores its {trial.spec.control}.",
            "Look whether request.actions, request.poses or request.text (as its ModelSpec.control says) gets to the "
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
            "Look whether request.caption gets to the network, or take it out of ModelSpec.inputs.",
            grave=False,
        )


@check("Does it give a single frame when one is asked for?", after=("shape", "count"))
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
    yield from complaints(trial.long(), "Make the rollout in pieces: each goes on from the frames before it.")


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


@check("Does it draw another size when the context has another?", after=("shape", "count"))
def other_size(trial: Trial) -> Iterator[CheckFinding]:
    """Ask for another frame size. Only for models that declare none."""
    if trial.spec.frame_size is not None:
        width, height = trial.spec.frame_size
        raise NotApplicableError(f"it declares a frame size of {width}x{height} and is asked for no other")
    yield from complaints(
        trial.ask(size=_OTHER_SIZE),
        "Take width and height from request.frame_size at every call, or declare frame_size in its ModelSpec.",
    )


@check("Is an answer free of what was asked before?", after=("same",))
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
        raise NotApplicableError("it runs in a process of its own, which is asked one question at a time")
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
        raise NotApplicableError("it has no rollout_batch: batches are asked one by one")
    alone = [trial.plain(), trial.ask(start=trial.other_start, seed=SEED + 1)]
    other = trial.question(start=trial.other_start, seed=SEED + 1)
    try:
        found = rollout_batch(model, [trial.question(), other])
    except NotApplicableError:
        raise
    except Exception as error:
        yield CheckFinding(f"Its rollout_batch raised {one_line(error)}.", "Leave it out: then it is asked one by one.")
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
        "memory of the process that asked": f"{memory / 1e9:.2f} GB",
    }
    workload = trial.questions.workload
    if workload is None:
        return
    frames = workload.frames * (trial.spec.fps or workload.fps) / workload.fps  # at its own rate, for the same seconds
    hours = frames / rate / 3600
    needed = f"{hours:.1f} h" if hours >= 1 else f"{max(1, round(hours * 60))} min"
    trial.measured[f"{trial.suite}, {workload.tasks}, one worker, about"] = needed
    yield from ()
