"""A model that keeps every promise, and one for every way to break one that authors fall into."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.model import ModelSpec, RolloutRequest

CHUNK = 4
SOUND = ModelSpec("sound", frame_size=(64, 48), chunk=CHUNK, settings={"chunk": CHUNK})


class Sound:
    """The last frame it saw, turned with the walker, with a little noise of the seed; four frames a chunk."""

    def __init__(self) -> None:
        self.spec = SOUND

    def draw(self, request: RolloutRequest) -> np.ndarray:
        """All frames."""
        assert request.actions is not None
        last = request.context.clip[-1]
        turned = np.cumsum(request.actions.column("camera_yaw"))
        noise = np.random.default_rng(request.seed).integers(0, 9, last.shape, dtype=np.uint8)
        return np.stack([np.roll(last, round(50 * float(yaw)), axis=1) // 2 + noise for yaw in turned])

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        frames = self.draw(request)
        for first in range(0, request.horizon, CHUNK):
            yield self.deliver(frames[first : first + CHUNK])

    def deliver(self, chunk: np.ndarray) -> Any:
        return chunk


def made(**members: Any) -> type[Sound]:
    """A sound model but for some members."""
    return type("Wrong", (Sound,), members)


def declares(spec: ModelSpec) -> type[Sound]:
    return made(__init__=lambda model: setattr(model, "spec", spec))


def delivers(change: Callable[[np.ndarray], Any]) -> type[Sound]:
    """A model whose chunks are changed."""
    return made(deliver=lambda model, chunk: change(chunk))


def fails(error: Exception, when: Callable[[RolloutRequest], bool]) -> type[Sound]:
    """A model that some requests are too much for."""

    def draw(model: Sound, request: RolloutRequest) -> np.ndarray:
        if when(request):
            raise error
        return Sound.draw(model, request)

    return made(draw=draw)


class Tensor:
    """Looks like a tensor on a graphics card: numpy cannot read it."""

    def __init__(self, chunk: np.ndarray) -> None:
        self.shape = chunk.shape

    def detach(self) -> Tensor:
        return self

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


ArraySetting = declares(ModelSpec("array-setting", settings={"gain": np.float32(0.9), "weights": float("nan"), "n": 3}))
BrokenName = declares(ModelSpec("two\nlines"))
Panorama = declares(ModelSpec("panorama", view="panorama"))
DeafToWords = declares(replace(SOUND, inputs=frozenset({"caption"})))
OfKeys = declares(replace(SOUND, action_spaces=("walk-look",)))

UnitFloats = delivers(lambda chunk: chunk.astype(np.float32) / 255)
SignedFloats = delivers(lambda chunk: chunk.astype(np.float16) / 127.5 - 1)
OvershootingFloats = delivers(lambda chunk: chunk.astype(np.float32) / 100 - 0.05)
ByteFloats = delivers(lambda chunk: chunk.astype(np.float64))
Whole = delivers(lambda chunk: chunk.astype(np.int64) + 200)
Masks = delivers(lambda chunk: chunk > 128)
Lists = delivers(lambda chunk: list(chunk))
Tensors = delivers(lambda chunk: Tensor(chunk))
Unscaled = delivers(lambda chunk: (chunk / 255).astype(np.uint8))
Transposed = delivers(lambda chunk: chunk.transpose(0, 2, 1, 3))
ChannelsFirst = delivers(lambda chunk: chunk.transpose(0, 3, 1, 2))
Alpha = delivers(lambda chunk: np.concatenate([chunk, chunk[..., :1]], axis=-1))
Grey = delivers(lambda chunk: chunk[..., 0])
Smaller = delivers(lambda chunk: chunk[:, ::2, ::2])
BatchAxis = delivers(lambda chunk: chunk[None])
Random = delivers(lambda chunk: np.random.default_rng().integers(0, 256, chunk.shape, np.uint8))
Swapped = delivers(lambda chunk: chunk[..., ::-1])

OnlyLeft = fails(
    KeyError("token for a turn to the right"), lambda request: request.actions.column("camera_yaw").max() <= -0.09
)
NeedsWords = fails(TypeError("no prompt"), lambda request: not str(request.caption).endswith("."))
NeedsTwo = fails(IndexError("index 1 is out of bounds"), lambda request: request.horizon == 1)
RunsOut = fails(IndexError("index 64 is out of bounds"), lambda request: request.horizon > 64)
ShortSighted = fails(
    RuntimeError("the size of tensor a (128) must match the size of tensor b (64)"),
    lambda request: len(request.context) > 64,
)

Batches = made(rollout_batch=lambda model, requests: [list(model.rollout(request)) for request in requests])
SameBatch = made(rollout_batch=lambda model, requests: [list(model.rollout(requests[0])) for _ in requests])
HalfBatch = made(rollout_batch=lambda model, requests: [list(model.rollout(requests[0]))])


class UnknownNeeds(Sound):
    needs = {"gpu": 1}  # noqa: RUF012


class LateNeeds(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.needs = {"gpus": 1}


class Upright(Sound):
    def __init__(self) -> None:
        self.spec = replace(SOUND, frame_size=(48, 64))


class OtherRate(Sound):
    def __init__(self) -> None:
        self.spec = ModelSpec("other-rate", fps=24, frame_size=(64, 48))

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        assert request.actions is not None
        assert request.context.clip.fps == request.actions.space.fps == 24
        assert request.frame_size == (64, 48)
        yield from super().rollout(request)


class Raises(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        yield self.draw(request)[:2]
        raise ValueError("no such latent")


class ReturnsNone(Sound):
    def rollout(self, request: RolloutRequest) -> Any:
        self.draw(request)


class GivesNothing(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        yield from ()


class Refuses(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        raise NotApplicableError("it wants a longer walk")
        yield


class Exits(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        raise SystemExit("usage: wan.py")
        yield


class NotFinite(Sound):
    def deliver(self, chunk: np.ndarray) -> Any:
        floats = chunk.astype(np.float32) / 255
        floats[0, 0, 0] = np.nan
        return floats


class SingleFrames(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        yield from self.draw(request)


class Short(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        yield from self.draw(request)[:-1, None]


class Endless(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        while True:
            yield self.draw(request)[:2]


class EmptyChunks(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        for chunk in super().rollout(request):
            yield chunk
            yield chunk[:0]


class OnlyEmptyChunks(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        while True:
            yield self.draw(request)[:0]


class WritesIntoItsQuestion(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        frames = self.draw(request)
        request.context.clip[-1][:] = 0
        assert request.actions is not None
        request.actions.values[0] = 9
        yield frames


class Loops(Sound):
    def draw(self, request: RolloutRequest) -> np.ndarray:
        return super().draw(request)[np.arange(request.horizon) % CHUNK]


class LooksAhead(Sound):
    def draw(self, request: RolloutRequest) -> np.ndarray:
        return super().draw(request)[::-1]


class OneBuffer(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        buffer = np.empty_like(self.draw(request)[:1])
        for frame in self.draw(request):
            buffer[0] = frame
            yield buffer


class Trembling(Sound):
    def deliver(self, chunk: np.ndarray) -> Any:
        trembling = np.random.default_rng().integers(0, 2, chunk.shape, np.uint8)
        return np.where(chunk < 255, chunk + trembling, chunk)


class SecondTimeFails(Sound):
    asked = 0

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        self.asked += 1
        if self.asked > 1:
            raise RuntimeError("the cache is full")
        yield from super().rollout(request)


class Deaf(Sound):
    def draw(self, request: RolloutRequest) -> np.ndarray:
        return np.repeat(request.context.clip[-1][None], request.horizon, axis=0)


class OneCaption(Sound):
    def draw(self, request: RolloutRequest) -> np.ndarray:
        if request.caption is not None and "village" not in request.caption:
            raise KeyError(request.caption)
        return super().draw(request)


class OfLengths(Sound):
    """Makes 4n+1 frames, the picture counted, after 4n+1 frames of context, at least five."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = replace(self.spec, lengths="4n+1", context_lengths="5+4n")

    def draw(self, request: RolloutRequest) -> np.ndarray:
        if request.horizon % 4 or len(request.context) % 4 != 1 or len(request.context) < 5:
            raise ValueError(f"{request.horizon} frames after {len(request.context)}")
        return super().draw(request)


class WholeChunks(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        frames = self.draw(request)
        padded = np.concatenate([frames, np.repeat(frames[-1:], -request.horizon % CHUNK, axis=0)])
        yield from padded.reshape(-1, CHUNK, *frames.shape[1:])


class NeedsAPast(Sound):
    def draw(self, request: RolloutRequest) -> np.ndarray:
        request.context.clip[-2]
        return super().draw(request)


class OneSize(Sound):
    def __init__(self) -> None:
        self.spec = ModelSpec("one-size")

    def deliver(self, chunk: np.ndarray) -> Any:
        return np.resize(chunk, (len(chunk), 90, 160, 3))


class Remembers(Sound):
    """What it draws depends on the seed of the question before."""

    before: int | None = None

    def draw(self, request: RolloutRequest) -> np.ndarray:
        frames = super().draw(request)
        strange = self.before not in (None, request.seed)
        self.before = request.seed
        return frames // 2 if strange else frames


class Occupied(Sound):
    """Locked until a rollout is taken to its end."""

    busy = False

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        if self.busy:
            raise RuntimeError("already generating")
        self.busy = True
        yield from super().rollout(request)
        self.busy = False


class OneAtATime(Sound):
    """Keeps its place in the rollout on itself."""

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        self.frames = self.draw(request)
        for first in range(0, request.horizon, CHUNK):
            yield self.frames[first : first + CHUNK]


class NoBatch(Sound):
    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> Any:
        raise NotImplementedError


class ManyFaults(Sound):
    """Floats, transposed, one too few, into its question, counting on from rollout to rollout."""

    needs = {"gpu": 1}  # noqa: RUF012

    def __init__(self) -> None:
        self.spec = ModelSpec("many-faults", settings={"device": object()})
        self.asked = 0

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        self.asked += 1
        frames = self.draw(request).transpose(0, 2, 1, 3) / 255 + self.asked
        request.context.actions.values[:] = 0
        yield from frames[:-1, None]


class DiesOnTurns(Sound):
    def draw(self, request: RolloutRequest) -> np.ndarray:
        assert request.actions is not None
        if (np.abs(request.actions.column("camera_yaw")) >= 0.0999).all():
            os.write(2, b"CUDA error: an illegal memory access\n")
            os._exit(3)
        return super().draw(request)


class HangsOnShortContexts(Sound):
    def draw(self, request: RolloutRequest) -> np.ndarray:
        if len(request.context) == 1:
            time.sleep(3600)
        return super().draw(request)


class DiesAtOnce(Sound):
    def draw(self, request: RolloutRequest) -> np.ndarray:
        os._exit(3)


class Slow(Sound):
    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        time.sleep(0.02)
        yield from super().rollout(request)


class Listener(Sound):
    """Notes how long the contexts are that it is shown."""

    def __init__(self) -> None:
        self.spec = ModelSpec("listener", max_context=40)
        self.heard: set[int] = set()

    def draw(self, request: RolloutRequest) -> np.ndarray:
        self.heard.add(len(request.context))
        return super().draw(request)
