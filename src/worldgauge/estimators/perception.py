"""What stands behind MIND's learned metrics: networks whose weights are not part of worldgauge.

    found = open_perception("cmd:python -m worldgauge_serve dino.py:Dino", "dino")
    if isinstance(found, Absent): print(found.reason)          # no text given
    else: tokens = found.tokens(np.stack([prepared(frame) for frame in clip]))

| what | given by | is asked for |
| --- | --- | --- |
| "lpips" | weight files "FILE,FILE", read here, or a server | `distances(x, y)` (n,) |
| "dino" | a server | `tokens(frames)` (n, 201, 768) |
| "aesthetic" | a server of features with a head file, "FILE,cmd:...", or of scores | `scores(frames)` (n,) |
| "imaging" | a server | `scores(frames)` (n,) |

A server is named as models are: "cmd:...", "pipe:...", "http://...". Its spec has kind = what, and `layout` says what
it gives where there is a choice. It gets float32 arrays, channels last, at most BATCH frames a question:

| kind | layout | gets | gives |
| --- | --- | --- | --- |
| dino | | frames (n, 224, 224, 3), normalised | tokens (n, 201, 768), class token and four registers first |
| aesthetic | features | frames (n, 224, 224, 3), normalised | features (n, 768), of any length |
| aesthetic | scores | the same | scores (n,), the head's own, roughly 0 to 10 |
| imaging | | frames (n, 720, 1280, 3) in [-1, 1] | scores (n,), roughly 0 to 100 |
| lpips | | x and y (n, 720, 1280, 3) in [-1, 1] | distances (n,) |

Source: MIND, sections on frame-pair metrics, the DINO feature error and visual quality.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import NDArray

from worldgauge.errors import DataError, ShapeError, UnknownNameError, UsageError, WorldgaugeError
from worldgauge.estimators import estimators
from worldgauge.estimators._network_inputs import clip_input, dino_input, musiq_input
from worldgauge.estimators.features import Lpips
from worldgauge.metrics.feature_heads import aesthetic, imaging
from worldgauge.serving import SCHEMES, is_served, open_estimator
from worldgauge.serving.estimator import Expected
from worldgauge.subject import Needs
from worldgauge.weights import read_tensors

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
What = Literal["dino", "aesthetic", "imaging", "lpips"]

BATCH = 10
"""Frames a question."""
TOKENS, CHANNELS = 201, 768


@dataclass(frozen=True)
class Absent:
    """What cannot be measured, and why: one line that says what to do."""

    what: str
    reason: str


class _Served:
    """A server of one kind of perception; `close` leaves it."""

    kind: str
    layouts: tuple[str, ...] = ("",)

    def __init__(self, at: str | None = None) -> None:
        if at is None:
            raise WorldgaugeError(_REASONS[self.kind])
        self._remote = open_estimator(at)
        spec = self._remote.spec
        if spec.kind != self.kind or spec.layout not in self.layouts:
            self._remote.close()
            wanted = f"kind '{self.kind}'" + (f" and layout {' or '.join(self.layouts)}" if any(self.layouts) else "")
            raise UsageError(
                f"estimator '{spec.name}' has kind '{spec.kind}' and layout '{spec.layout}'; one of {wanted} is needed"
            )
        self.name = spec.name
        self.needs: Needs = self._remote.needs

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes the answers; not where they come from."""
        remote = self._remote
        told = {"settings": dict(remote.spec.settings), "source": remote.source, "given": dict(remote.given)}
        return {"estimator": self.name, "layout": remote.spec.layout, **told}

    def close(self) -> None:
        """Leave the server; a child process is ended."""
        self._remote.close()

    def _ask(
        self, frames: Mapping[str, Float32], seen_as: Callable[[Float32], Float32], answer: str, sides: tuple[int, ...]
    ) -> NDArray[Any]:
        """The array `answer` (n, *sides) to frames (n, H, W, 3), which may be two stacks side by side."""
        (n,) = {_checked(stack) for stack in frames.values()}
        parts = []
        for part in _batches(n):
            arrays = {name: seen_as(stack[part]) for name, stack in frames.items()}
            expected = {answer: Expected(((part.stop - part.start, *sides),))}
            parts.append(self._remote.estimate(arrays, {}, expected).arrays[answer])
        return np.concatenate([np.zeros((0, *sides), np.float32), *parts])


@estimators.register("dino", needs="weights", version=1)
class Dino(_Served):
    """DINOv3 ViT-B/16 patch tokens, from a server of your own: its weights do not come with worldgauge.

    at: address of a server of kind "dino". parity: "released" shows the network what the released scorer does, frames
    divided by 255 twice. Raises WorldgaugeError without an address, UsageError or SubjectError when it is no good.
    """

    kind = "dino"

    def __init__(self, at: str | None = None, parity: str | None = None) -> None:
        self._released = _is_released(parity)
        super().__init__(at)

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `_Served.settings`."""
        return {**super().settings, "parity": "released" if self._released else None}

    def tokens(self, frames: Float32) -> Float32:
        """(n, 201, 768) of frames (n, H, W, 3) float32 in [0, 1], the class token and four registers first.

        0.6 MB a frame: ask for a few frames of a long clip at a time.
        Raises ShapeError, and as `RemoteEstimator.estimate`.
        """
        seen = self._ask(
            {"frames": frames}, lambda part: dino_input(part, released=self._released), "tokens", (TOKENS, CHANNELS)
        )
        return np.asarray(seen, np.float32)


@estimators.register("aesthetic", needs="weights", version=1)
class Aesthetic(_Served):
    """Aesthetic score (CLIP ViT-L/14, LAION linear head), from a server of your own: its weights do not come along.

    at: address of a server of kind "aesthetic". head: weight file (`weight` (1, 768), `bias` (1,)) where the server
    gives features. Raises WorldgaugeError without an address, DataError for the file, else as `Dino`.
    """

    kind = "aesthetic"
    layouts = ("features", "scores")

    def __init__(self, at: str | None = None, head: str | Path | None = None) -> None:
        self._head = None if head is None else _Head(Path(head))
        super().__init__(at)
        self._features = self._remote.spec.layout == "features"
        if self._features != (self._head is not None):
            self.close()
            raise UsageError(
                f"estimator '{self.name}' gives {self._remote.spec.layout}: "
                + ("name the head's weight file before its address, FILE,cmd:..." if self._features else "no head file")
            )

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `_Served.settings`."""
        return {**super().settings, "head": None if self._head is None else self._head.digest}

    def scores(self, frames: Float32) -> Float64:
        """Aesthetic scores (n,), roughly 0 to 1, of frames (n, H, W, 3) float32 in [0, 1]. Raises as `Dino.tokens`."""
        if self._head is None:
            return self._ask({"frames": frames}, clip_input, "scores", ()).astype(np.float64) / 10
        head = self._head
        features = self._ask({"frames": frames}, clip_input, "features", (CHANNELS,))
        return np.array([aesthetic(feature, head.weight, head.bias) for feature in features], np.float64)


@estimators.register("imaging", needs="weights", version=1)
class Imaging(_Served):
    """Imaging quality (MUSIQ of SPAQ), from a server of your own: its weights do not come with worldgauge.

    at: address of a server of kind "imaging". Raises as `Dino`.
    """

    kind = "imaging"

    def scores(self, frames: Float32) -> Float64:
        """Imaging scores (n,), roughly 0 to 1, of frames (n, H, W, 3) float32 in [0, 1]. Raises as `Dino.tokens`."""
        raw = self._ask({"frames": frames}, musiq_input, "scores", ())
        return np.array([imaging(float(each)) for each in raw], np.float64)


class ServedLpips(_Served):
    """LPIPS from a server of kind "lpips"."""

    kind = "lpips"

    def distances(self, x: Float32, y: Float32) -> Float64:
        """Distances (n,) of frames x and y, each (n, H, W, 3) float32 in [0, 1]. Raises as `Dino.tokens`."""
        _check_pair(x, y)
        return self._ask({"x": x, "y": y}, musiq_input, "distances", ()).astype(np.float64)


class LocalLpips:
    """LPIPS from weight files, computed here: about 0.6 s a pair of 1280x720 on one core.

    files: as `estimators.features.Lpips` takes them. Raises DataError.
    """

    name = "lpips"
    needs = Needs()

    def __init__(self, files: str) -> None:
        paths = files.split(",")
        self._network = Lpips(paths)
        self._digests = [_digest(Path(path)) for path in paths]

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes the answers: the content of the files."""
        return {"estimator": self.name, "weights": list(self._digests)}

    def distances(self, x: Float32, y: Float32) -> Float64:
        """See `ServedLpips.distances`. Raises ShapeError."""
        _check_pair(x, y)
        return np.array([self._network.distance(*pair) for pair in zip(x, y, strict=True)], np.float64)

    def close(self) -> None:
        """Nothing is held."""


Perception = Dino | Aesthetic | Imaging | ServedLpips | LocalLpips


@overload
def open_perception(text: str | None, what: Literal["dino"], *, parity: str | None = None) -> Dino | Absent: ...
@overload
def open_perception(
    text: str | None, what: Literal["aesthetic"], *, parity: str | None = None
) -> Aesthetic | Absent: ...
@overload
def open_perception(text: str | None, what: Literal["imaging"], *, parity: str | None = None) -> Imaging | Absent: ...
@overload
def open_perception(
    text: str | None, what: Literal["lpips"], *, parity: str | None = None
) -> LocalLpips | ServedLpips | Absent: ...
def open_perception(text: str | None, what: What, *, parity: str | None = None) -> Perception | Absent:
    """What `text` names for `what`, or Absent when there is no text; see the table at the top.

    parity: "released" for what the released scorer shows its networks (only "dino" differs). To be closed after use.
    Raises UnknownNameError for `what`, UsageError or SubjectError where a server cannot be had or is of another kind,
    DataError for a weight file.
    """
    if what not in get_args(What):
        raise UnknownNameError("perception", what, get_args(What))
    released = _is_released(parity)
    if text is None:
        return Absent(what, _REASONS[what])
    if what == "lpips":
        return ServedLpips(text) if is_served(text) else LocalLpips(text)
    head, address = _split(text)
    if not is_served(address) or (head is not None and what != "aesthetic"):
        raise UsageError(f"{what}: '{text}' is no server; {_REASONS[what].partition(': ')[2]}")
    if what == "aesthetic":
        return Aesthetic(address, head)
    return Dino(address, "released" if released else None) if what == "dino" else Imaging(address)


def files_digest(text: str | None, what: What) -> str | None:
    """SHA-256, hexadecimal, of the weight files that `text` names for `what`; None where it names none.

    Raises UsageError for a text that `open_perception` would refuse unseen: no server, or a file that is not there.
    """
    if text is None:
        return None
    head, address = _split(text)
    files = [] if head is None else [head]
    if what == "lpips" and not is_served(text):
        files = text.split(",")
    elif not is_served(address) or (head is not None and what != "aesthetic"):
        raise UsageError(f"{what}: '{text}' is no server; {_REASONS[what].partition(': ')[2]}")
    for file in files:
        if not Path(file).is_file():
            raise UsageError(f"{what}: {file}: no such weight file")
    return hashlib.sha256(" ".join(_digest(Path(file)) for file in files).encode()).hexdigest() if files else None


_REASONS: dict[str, str] = {
    "lpips": "LPIPS's weights were not given: name the AlexNet and the LPIPS file, FILE,FILE, "
    "or a server of kind 'lpips', cmd:... or http://...",
    "dino": "DINOv3's weights do not come with worldgauge: name a server of kind 'dino', cmd:... or http://...",
    "aesthetic": "the weights of CLIP and LAION's head do not come with worldgauge: "
    "name a server of kind 'aesthetic', cmd:... or http://..., after the head's file where it gives features",
    "imaging": "MUSIQ's weights do not come with worldgauge: name a server of kind 'imaging', cmd:... or http://...",
}


class _Head:
    """Weight (768,) and bias of a linear head. Raises DataError."""

    def __init__(self, path: Path) -> None:
        tensors = read_tensors(path)
        weight, bias = (np.asarray(tensors.get(name, ())).reshape(-1) for name in ("weight", "bias"))
        if weight.shape != (CHANNELS,) or bias.shape != (1,) or not np.isfinite([*weight, *bias]).all():
            found = f"got {weight.shape} and {bias.shape}"
            raise DataError(f"{path}: a head has finite 'weight' (1, {CHANNELS}) and 'bias' (1,), {found}")
        self.weight, self.bias = weight, float(bias[0])
        self.digest = _digest(path)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _split(text: str) -> tuple[str | None, str]:
    """The file before an address, and the address."""
    found = re.match(rf"(?P<file>.+?),(?P<address>(?:{'|'.join(SCHEMES)}):.*)$", text)
    if found is None or is_served(text):
        return None, text
    return found["file"], found["address"]


def _is_released(parity: str | None) -> bool:
    if parity not in (None, "released"):
        raise UsageError(f"parity is '{parity}'; give 'released', or leave it out")
    return parity == "released"


def _checked(frames: Float32) -> int:
    if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.float32 or 0 in frames.shape[1:]:
        raise ShapeError(f"expected frames (n, H, W, 3) float32 in [0, 1], got {frames.shape} {frames.dtype}")
    return len(frames)


def _check_pair(x: Float32, y: Float32) -> None:
    _checked(x)
    _checked(y)
    if x.shape != y.shape:
        raise ShapeError(f"frames differ in shape: {x.shape} and {y.shape}; prepare both at one size")


def _batches(n: int) -> Iterator[slice]:
    return (slice(start, min(start + BATCH, n)) for start in range(0, n, BATCH))
