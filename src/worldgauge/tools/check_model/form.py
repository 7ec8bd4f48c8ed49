"""Checks of what a model declares, and of the form of one plain answer."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.model import Needs
from worldgauge.tools.check_model.checks import CheckFinding, check, miscounted
from worldgauge.tools.check_model.trial import Trial, array_of


@check("Does it describe itself fully and plainly?", after=())
def spec(trial: Trial) -> Iterator[CheckFinding]:
    """Check name, settings and needs. The other fields were checked when the ModelSpec was made."""
    declared = trial.spec
    size = "any" if declared.frame_size is None else "{}x{}".format(*declared.frame_size)
    trial.measured |= {
        "control": declared.control,
        "frame size": size,
        "longest context": declared.max_context or "any",
    }
    if not declared.name.isprintable() or declared.name != declared.name.strip():
        yield CheckFinding(
            f"Its name {declared.name!r} holds characters that cannot be shown in a table.",
            "Name it with letters, digits, spaces and punctuation on one line.",
        )
    for key, value in declared.settings.items():
        if not _is_plain(key, value):
            yield CheckFinding(
                f"Its setting {key!r} is {type(value).__name__} {_short(value)}, which is no plain JSON value.",
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
        yield CheckFinding(
            "It declares its needs on the object, and they are read before there is one.",
            "Make `needs` an attribute of the class.",
            grave=False,
        )


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
            f"Return {_to_bytes(kind, low, high)}.",
        )
    elif len(finite) and high <= 1:
        yield CheckFinding(
            f"No value of its frames is above {high:g}: they are black.",
            "If they were made in 0..1, scale before the cast: (frames * 255).round().astype(np.uint8).",
            grave=False,
        )


def _to_bytes(kind: str, low: float, high: float) -> str:
    """Expression that converts values in [low, high] of a dtype's `kind` to bytes."""
    if kind == "b":
        return "frames.astype(np.uint8) * 255"
    if kind == "f" and max(-low, high) <= 2:  # meant as 0..1 or -1..1: decoders overshoot both
        if low < -0.25:
            frames = "frames" if low >= -1 and high <= 1 else "np.clip(frames, -1, 1)"
            return f"(({frames} + 1) * 127.5).round().astype(np.uint8): they look like -1..1"
        frames = "frames" if low >= 0 and high <= 1 else "np.clip(frames, 0, 1)"
        return f"({frames} * 255).round().astype(np.uint8)"
    if low < 0 or high > 255:
        return "np.clip(frames, 0, 255).round().astype(np.uint8), if 0..255 is meant"
    return "frames.round().astype(np.uint8)" if kind == "f" else "frames.astype(np.uint8)"


@check("Are its chunks of shape (n, height, width, 3), in the size that was asked for?")
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
            f"Resize to request.frame_size, or declare frame_size=({found[1]}, {found[0]}) in its ModelSpec, and it is "
            "asked in that size.",
        )
    return CheckFinding(f"{what}.", f"Return chunks of shape (n, {height}, {width}, 3).")


@check("Does it give as many frames as asked, no more and no fewer?")
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
            "Work on a copy, such as request.context.clip[-1].copy(): a request may be asked again.",
        )


@check("Do its frames stay what they were when it gave them?")
def kept(trial: Trial) -> Iterator[CheckFinding]:
    """Compare the chunks at the end with copies taken as they came."""
    plain = trial.plain()
    changed = [
        at
        for at, (now, then) in enumerate(zip(map(array_of, plain.chunks), plain.copies, strict=True))
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
            "If it draws BGR, as OpenCV does, return chunk[..., ::-1].",
            grave=False,
        )


SWAPPED = -0.3
"""Cosine of red less blue, pixel by pixel, below which a swap is suspected; noise is at 0, a good model near 1."""


def _is_plain(key: Any, value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return isinstance(key, str)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
