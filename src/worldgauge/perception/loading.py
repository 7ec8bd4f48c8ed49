"""The networks of the papers' learned metrics, run here or by a server; no weights come with worldgauge.

    found = open_perception("dinov3-b16", "dino")
    if isinstance(found, Unavailable): print(found.reason)          # no text given, or no weights here
    else: tokens = found.tokens(np.stack([prepared(frame) for frame in clip]))

| what | given by | method |
| --- | --- | --- |
| "lpips" | a network, weight files "FILE,FILE" (read here without torch), or a server | `distances(x, y)` (n,) |
| "dino" | a network or a server | `tokens(frames)` (n, 201, 768) |
| "aesthetic" | a network, a server of features with a head file, "FILE,cmd:...", or of scores | `scores(frames)` (n,) |
| "imaging" | a network or a server | `scores(frames)` (n,) |
| "video" | a network or a server | `features(frames)` (400,) |

A network has the name of its weights (`worldgauge list weights`), a server is named as models are: "cmd:...",
"pipe:...", "http://...". The spec of a server has kind = what, and `layout` states what it returns where there is a
choice. Both get float32 arrays, channels last; a server gets at most BATCH frames in one request:

| kind | layout | gets | returns |
| --- | --- | --- | --- |
| dino | | frames (n, 224, 224, 3), normalised | tokens (n, 201, 768), class token and four registers first |
| aesthetic | features | frames (n, 224, 224, 3), normalised | features (n, 768), of any length |
| aesthetic | scores | the same | scores (n,), the head's own, roughly 0 to 10 |
| imaging | | frames (n, H, W, 3) in [-1, 1], MIND at 720 x 1280 | scores (n,), roughly 0 to 100 |
| lpips | | x and y (n, H, W, 3) in [-1, 1], MIND at 720 x 1280 | distances (n,) |
| video | | video (1, T, 224, 224, 3) in [-1, 1] | features (1, 400) |

Source: MIND, sections on frame-pair metrics, the DINO feature error and visual quality; LoopNav, section on FVD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import (
    DataError,
    MissingExtraError,
    ShapeError,
    UnknownNameError,
    UsageError,
    WorldgaugeError,
)
from worldgauge.core.io import digest_of_file
from worldgauge.core.model import Needs
from worldgauge.metrics.lpips_fvd import aesthetic, imaging
from worldgauge.perception import estimators
from worldgauge.perception.cache import cached_rows
from worldgauge.perception.network_source import BATCH as BATCH
from worldgauge.perception.network_source import (
    NetworkSource,
    What,
    missing_reason,
    named_by,
    source_of,
    weights_digest,
)
from worldgauge.perception.networks._pretrained import clip_input, dino_input, musiq_input
from worldgauge.perception.networks.i3d import i3d_input
from worldgauge.serving import served_code
from worldgauge.weights import AbsentWeightsError, read_tensors

# (weight name, stride, padding, 3x3 max pooling with stride 2 before it)
_LAYERS = (
    ("features.0", 4, 2, False),
    ("features.3", 1, 2, True),
    ("features.6", 1, 1, True),
    ("features.8", 1, 1, False),
    ("features.10", 1, 1, False),
)
_BLOCK = 1 << 20
"""Number of values under the windows of a convolution that are laid out at once."""
_SHIFT = np.array([-0.030, -0.088, -0.188], np.float32)
_SCALE = np.array([0.458, 0.448, 0.450], np.float32)


@estimators.register("lpips", needs="weights", version=1)
class Lpips:
    """Learned perceptual distance (LPIPS 0.1, AlexNet): 0 for equal images, larger for more different ones.
    `weights` files together hold `features.{0,3,6,8,10}.{weight,bias}` of an AlexNet and the linear heads
    `lin{0..4}.model.1.weight`. Source: Zhang et al. 2018, equation 1; LoopNav, section 4."""

    def __init__(self, weights: str | Path | Iterable[str | Path] | None = None) -> None:
        if weights is None:
            raise WorldgaugeError(
                "LPIPS needs weights that worldgauge does not ship; give the AlexNet and LPIPS files as weights=[...]"
            )
        tensors: dict[str, Float32] = {}
        paths = [weights] if isinstance(weights, (str, Path)) else list(weights)
        for path in paths:
            tensors |= read_tensors(Path(path))
        where = ", ".join(str(path) for path in paths)
        self._convolutions = [
            (_tensor(tensors, f"{name}.weight", 4, where), _tensor(tensors, f"{name}.bias", 1, where))
            for name, *_ in _LAYERS
        ]
        self._heads = [_tensor(tensors, f"lin{i}.model.1.weight", 4, where).reshape(-1) for i in range(len(_LAYERS))]
        channels = 3
        for (weight, bias), head, (name, *_) in zip(self._convolutions, self._heads, _LAYERS, strict=True):
            if weight.shape[1] != channels or not len(weight) == len(bias) == len(head):
                raise DataError(f"{where}: the tensors of {name} do not fit an AlexNet: {weight.shape}, {head.shape}")
            channels = len(weight)

    def __call__(self, a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
        """Compute the distance of two images. a: (H, W, 3) uint8 RGB, at least 63 pixels per side."""
        return self._between(*(image.astype(np.float32) / 127.5 - 1 for image in (a, b)))

    def distance(self, x: Float32, y: Float32) -> float:
        """Distance of two images (H, W, 3) float32 in [0, 1], H and W >= 63, as from `metrics.frame_pairs.prepared`."""
        return self._between(*(np.asarray(2 * image - 1, np.float32) for image in (x, y)))

    def _between(self, x: Float32, y: Float32) -> float:
        """Distance of two images in [-1, 1]."""
        if x.shape != y.shape or x.ndim != 3 or x.shape[2] != 3 or min(x.shape[:2]) < 63:
            raise ShapeError(f"LPIPS needs two (H, W, 3) images of equal size >= 63, got {x.shape} and {y.shape}")
        total = 0.0
        for one, other, head in zip(self._features(x), self._features(y), self._heads, strict=True):
            total += float((((one - other) ** 2) @ head).mean())
        return total

    def _features(self, image: Float32) -> list[Float32]:
        """Activations (h, w, c) after every convolution, of unit length over channels."""
        x = (image - _SHIFT) / _SCALE
        found = []
        for (weight, bias), (_, stride, padding, pooled) in zip(self._convolutions, _LAYERS, strict=True):
            if pooled:
                x = _windows(x, 3, 2).max((-1, -2))
            x = np.maximum(_convolve(x, weight, stride, padding) + bias, 0)
            found.append(x / (np.linalg.norm(x, axis=-1, keepdims=True) + 1e-10))
        return found


def _convolve(x: Float32, weight: Float32, stride: int, padding: int) -> Float32:
    """Cross-correlation of (h, w, c) with (out, c, k, k), zero padding."""
    padded = np.pad(x, ((padding, padding), (padding, padding), (0, 0)))
    # Channels last, so that what is copied side by side lies side by side; a few rows at a time stay in the cache.
    windows = _windows(padded, weight.shape[-1], stride).transpose(0, 1, 3, 4, 2)
    kernel = np.ascontiguousarray(weight.transpose(2, 3, 1, 0).reshape(-1, len(weight)))
    result = np.empty((*windows.shape[:2], len(weight)), np.float32)
    rows = max(1, _BLOCK // (windows.shape[1] * len(kernel)))
    for top in range(0, len(windows), rows):
        block = windows[top : top + rows]
        np.matmul(block.reshape(-1, len(kernel)), kernel, out=result[top : top + rows].reshape(-1, len(weight)))
    return result


def _windows(x: Float32, size: int, stride: int) -> Float32:
    """(h, w, c) -> (h', w', c, size, size)."""
    windows: Float32 = np.lib.stride_tricks.sliding_window_view(x, (size, size), (0, 1))[::stride, ::stride]
    return windows


def _tensor(tensors: Mapping[str, Float32], name: str, ndim: int, where: str) -> Float32:
    if name not in tensors:
        raise DataError(f"{where}: holds no tensor '{name}'; give the AlexNet and the LPIPS file together")
    tensor = np.asarray(tensors[name], np.float32)
    if tensor.ndim != ndim or not np.isfinite(tensor).all():
        raise DataError(f"{where}: tensor '{name}' has shape {tensor.shape} or values that are not finite")
    return tensor


Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

TOKENS, CHANNELS = 201, 768
VIDEO_CHANNELS = 400


@dataclass(frozen=True)
class Unavailable:
    """Perception that cannot be used here."""

    what: str
    reason: str


class _Asked:
    """Perception of one kind, from a server or from a network that is run here; call `close` after use."""

    kind: What
    layouts: tuple[str, ...] = ("",)

    def __init__(self, at: str | None = None) -> None:
        if at is None:
            raise WorldgaugeError(missing_reason(self.kind))
        self._source = source_of(at, self.kind, self.layouts)
        self.name = self._source.name
        self.at_once = self._source.at_once
        self.needs: Needs = self._source.needs

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes the answers, but not their location."""
        return self._source.settings

    def close(self) -> None:
        """Close the source; a child process is ended."""
        self._source.close()

    def _ask(
        self, frames: Mapping[str, Float32], seen_as: Callable[[Float32], Float32], answer: str, sides: tuple[int, ...]
    ) -> NDArray[Any]:
        """The array `answer` (n, *sides) to frames (n, H, W, 3), which may be two stacks side by side."""
        (n,) = {_checked(stack) for stack in frames.values()}
        parts = [np.zeros((0, *sides), np.float32)]
        for start in range(0, n, self.at_once):
            shown = {name: seen_as(stack[start : start + self.at_once]) for name, stack in frames.items()}
            parts.append(self._source.rows(shown, answer, sides))
        return np.concatenate(parts if len(parts) == 1 else parts[1:])


@estimators.register("dino", needs="weights", version=1)
class Dino(_Asked):
    """DINO patch tokens; MIND uses DINOv3 ViT-B/16.
    `at` is the address of a server of kind "dino", or a network whose weights are on this machine. With `parity`
    "released" the network gets the input of the released scorer: frames divided by 255 twice."""

    kind: What = "dino"

    def __init__(self, at: str | None = None, parity: str | None = None) -> None:
        self._released = _is_released(parity)
        super().__init__(at)

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `_Asked.settings`."""
        return {**super().settings, "parity": "released" if self._released else None}

    def tokens(self, frames: Float32) -> Float32:
        """Tokens (n, tokens, channels) of frames (n, H, W, 3) float32 in [0, 1], the class token and four registers
        first. DINOv3 ViT-B/16 and servers return (n, 201, 768), 0.6 MB per frame: pass a few frames of a long clip at a
        time."""
        seen = self._ask(
            {"frames": frames}, lambda part: dino_input(part, released=self._released), "tokens", (TOKENS, CHANNELS)
        )
        return np.asarray(seen, np.float32)


@estimators.register("aesthetic", needs="weights", version=1)
class Aesthetic(_Asked):
    """Aesthetic score: CLIP ViT-L/14 and LAION's linear head.
    `at` is as for `Dino`. `head` is a file (`weight` (1, 768), `bias` (1,)), needed when a server returns features."""

    kind: What = "aesthetic"
    layouts = ("features", "scores")

    def __init__(self, at: str | None = None, head: str | Path | None = None) -> None:
        self._head = None if head is None else _Head.read(Path(head))
        super().__init__(at)
        if isinstance(self._source, NetworkSource):
            own = self._source.network
            self._head, self._features = _Head(own.weight, own.bias, ""), True  # type: ignore[attr-defined]
            return
        self._features = self._source.layout == "features"
        if self._features != (self._head is not None):
            self.close()
            raise UsageError(
                f"estimator '{self.name}' gives {self._source.layout}: "
                + ("name the head's weight file before its address, FILE,cmd:..." if self._features else "no head file")
            )

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `_Asked.settings`."""
        own = self._head is None or not self._head.digest
        return {**super().settings, "head": None if own else self._head.digest}  # type: ignore[union-attr]

    def scores(self, frames: Float32) -> Float64:
        """Aesthetic scores of frames. frames: (n, H, W, 3) float32 in [0, 1]. Returns (n,) scores, roughly 0 to 1."""
        if self._head is None:
            return self._ask({"frames": frames}, clip_input, "scores", ()).astype(np.float64) / 10
        head = self._head
        features = self._ask({"frames": frames}, clip_input, "features", (CHANNELS,))
        return np.array([aesthetic(feature, head.weight, head.bias) for feature in features], np.float64)


@estimators.register("imaging", needs="weights", version=1)
class Imaging(_Asked):
    """Imaging quality: MUSIQ of SPAQ. `at` is as for `Dino`."""

    kind: What = "imaging"

    def scores(self, frames: Float32) -> Float64:
        """Imaging scores of frames. frames: (n, H, W, 3) float32 in [0, 1]. Returns (n,) scores, roughly 0 to 1."""
        raw = self._ask({"frames": frames}, musiq_input, "scores", ())
        return np.array([imaging(float(each)) for each in raw], np.float64)


class AskedLpips(_Asked):
    """LPIPS from a server of kind "lpips", or from a network whose weights are on this machine."""

    kind: What = "lpips"

    def distances(self, x: Float32, y: Float32) -> Float64:
        """LPIPS distances of frame pairs. x: (n, H, W, 3) float32 in [0, 1]. Returns (n,) distances."""
        _check_pair(x, y)
        return self._ask({"x": x, "y": y}, musiq_input, "distances", ()).astype(np.float64)


class VideoFeatures(_Asked):
    """Features of a whole video, for FVD: I3D of Kinetics-400, from a server of kind "video" or run here."""

    kind: What = "video"

    def features(self, frames: Iterable[NDArray[np.uint8]]) -> Float64:
        """Features of one video. frames: T frames (H, W, 3) uint8, T at least 10. Returns (400,) features."""
        seen = {"video": i3d_input(frames)[None]}
        (found,) = self._source.rows(seen, "features", (VIDEO_CHANNELS,))
        return np.asarray(found, np.float64)


class LocalLpips:
    """LPIPS from weight files (separated by commas), without torch: 0.6 s per pair of 1280x720 frames on one core."""

    name = "lpips"
    needs = Needs()
    at_once = BATCH

    def __init__(self, files: str) -> None:
        paths = files.split(",")
        self._network = Lpips(paths)
        self._digests = [digest_of_file(Path(path)) for path in paths]

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes the answers: the content of the files."""
        return {"estimator": self.name, "weights": list(self._digests)}

    def _looked(self, pairs: Mapping[str, NDArray[Any]]) -> dict[str, Float64]:
        found = [self._network.distance(*pair) for pair in zip(pairs["x"], pairs["y"], strict=True)]
        return {"distances": np.array(found, np.float64)}

    def distances(self, x: Float32, y: Float32) -> Float64:
        """Compute LPIPS; see `AskedLpips.distances`. x: (n, H, W, 3) float32 in [0, 1]."""
        _check_pair(x, y)
        return cached_rows(self.settings, {"x": x, "y": y}, self._looked)["distances"]

    def close(self) -> None:
        """No effect; there is nothing to release."""


Perception = Dino | Aesthetic | Imaging | VideoFeatures | AskedLpips | LocalLpips


def open_perception(text: str | None, what: What, *, parity: str | None = None) -> Perception | Unavailable:
    """Open what a text names for one kind of perception; see the tables of the module. Close the result after use."""
    if what not in get_args(What):
        raise UnknownNameError("perception", what, get_args(What))
    released = "released" if _is_released(parity) else None
    if text is None:
        return Unavailable(what, missing_reason(what))
    named = named_by(text, what)
    try:
        if what == "lpips":
            return LocalLpips(text) if named.files else AskedLpips(text)
        if what == "aesthetic":
            return Aesthetic(named.asked, named.files[0] if named.files else None)
        if what == "video":
            return VideoFeatures(named.asked)
        return Dino(named.asked, released) if what == "dino" else Imaging(named.asked)
    except (AbsentWeightsError, MissingExtraError) as error:
        return Unavailable(what, str(error))


def load_network(text: str | None, what: What, parity: str | None = None) -> Perception | Unavailable:
    """As `open_perception`, but open until the process ends, because the network may be large.
    Weights that change in between count as another network. Missing or damaged files only disable their own metric."""
    if text is None:
        return _perceived(None, what, parity, "")
    return _perceived(text, what, parity, f"{weights_digest(text, what)} {served_code(named_by(text, what).asked)}")


@lru_cache(maxsize=8)
def _perceived(text: str | None, what: What, parity: str | None, weights: str) -> Perception | Unavailable:
    try:
        return open_perception(text, what, parity=parity)
    except DataError as error:
        return Unavailable(what, str(error))


class _Head(NamedTuple):
    """Weight (768,) and bias of a linear head. digest: of its file, empty where it comes with its network."""

    weight: NDArray[np.floating[Any]]
    bias: float
    digest: str = ""

    @classmethod
    def read(cls, path: Path) -> _Head:
        """Raises DataError."""
        tensors = read_tensors(path)
        weight, bias = (np.asarray(tensors.get(name, ())).reshape(-1) for name in ("weight", "bias"))
        if weight.shape != (CHANNELS,) or bias.shape != (1,) or not np.isfinite([*weight, *bias]).all():
            found = f"got {weight.shape} and {bias.shape}"
            raise DataError(f"{path}: a head has finite 'weight' (1, {CHANNELS}) and 'bias' (1,), {found}")
        return cls(weight, float(bias[0]), digest_of_file(path))


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
