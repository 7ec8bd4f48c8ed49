"""Trained networks and adapted pipelines as models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from worldgauge.core.actions import motions, path_moves
from worldgauge.core.errors import (
    DataError,
    MissingExtraError,
    ModelError,
    NotApplicableError,
    UnknownNameError,
    UsageError,
)
from worldgauge.core.image import Frames
from worldgauge.core.io import digest_of, digest_of_file, dumps, read_json_object
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import resize
from worldgauge.models import models
from worldgauge.models.baselines.tiny import Rows, Told, action_rows, row_width, trained_scenes, unplaced_clips
from worldgauge_train.nets.reckoning import POSE, reckoned
from worldgauge_train.nets.shards import digest_of_weights

if TYPE_CHECKING:
    from worldgauge_train.nets.brought_adapter import Adapter
    from worldgauge_train.nets.drawing import Question, Sampling

HOW_MADE = ("device", "precision", "threads", "versions", "validation", "seconds", "torch")
"""What a config.json says of where and by what a network was made: who draws the same frames is the same model."""
MOST_STEPS = 1000
"""Most denoising steps of a frame, whoever asks for them: a file may tell any number."""


@models.register("trained", short_form="folder")
class Trained:
    """A network of `worldgauge train`, which draws a step of frames at a time from its own last ones.
    "trained:FOLDER" is short for "trained?folder=FOLDER".

    Args:
        steps: Denoising steps instead of the checkpoint's. Networks of the stage "regress" have none.
        memory: "window" fetches the last frame instead of the memory's picks. None for the trained memory.
        window: Steps within sight, at most the network's own number.
        guidance: How far guesses go away from those without actions; 1 leaves them.
        stabilise: Noise level added to generated frames before the next step, such as 0.05.
        weights: "ema", the running average, or "last", those of the last step.
        codec: Folder of the autoencoder, if it was trained with an adopted one.
        as_size: Frame size at input and output, such as "256x144", instead of the network's own.
    """

    def __init__(
        self,
        folder: str,
        steps: int | None = None,
        memory: str | None = None,
        window: int | None = None,
        guidance: float = 1.0,
        stabilise: float = 0.0,
        weights: str = "ema",
        device: str = "",
        precision: str = "float32",
        codec: str = "",
        as_size: str = "",
    ) -> None:
        try:
            from worldgauge_train.nets.drawing import CODEC, CONFIG, FORMAT, WEIGHTS, open_drawing
        except ImportError:
            raise MissingExtraError("model 'trained'", "train") from None
        place = Path(folder).expanduser()
        config = read_json_object(place / CONFIG)
        if config.get("format") != FORMAT or "network" not in config:
            raise DataError(f"{place / CONFIG}: no finished checkpoint of 'worldgauge train' ({FORMAT})")
        if precision not in ("float32", "bfloat16"):
            raise UnknownNameError("precision", precision, ["float32", "bfloat16"])
        if not 0 <= stabilise < 1 or not 0 <= guidance <= 100:
            raise UsageError(f"trained: guidance is {guidance}, stabilise {stabilise}; give 0 to 100, and 0 to below 1")
        given = _size(as_size) if as_size else None
        self._drawing = open_drawing(
            place,
            config,
            codec_folder=Path(codec).expanduser() if codec else None,
            window=window,
            last=_is_last(weights),
            device=_device(device),
            half=precision == "bfloat16",
        )
        self._drawing.sampling = self._sampling(steps, memory, guidance, stabilise)
        told: dict[str, Any] = {
            "config": _digest_of_config(place / CONFIG, config),
            "weights": digest_of_weights(place / WEIGHTS),
            "steps": self._drawing.sampling.steps,
        }
        if (place / CODEC).exists():
            told["codec"] = digest_of_file(place / CODEC)
        changed = {"memory": memory, "window": window, "guidance": guidance, "stabilise": stabilise}
        changed |= {"of": weights, "precision": precision, "as_size": as_size}
        usual = {"memory": None, "window": None, "guidance": 1.0, "stabilise": 0.0, "of": "ema", "precision": "float32"}
        usual["as_size"] = ""
        told |= {name: value for name, value in changed.items() if value != usual[name]}
        self.trained_scenes, self.unplaced_clips = trained_scenes(config), unplaced_clips(config)
        try:
            self._told: Told = config["told"]
            is_free = self._told == "motion"
            control = config.get("control", "actions")
            self._size = _checked_size(config["size"])
            if given:
                told["drawn_size"] = list(self._size)
            if not 0 <= self._drawing.sampling.steps <= MOST_STEPS:
                raise UsageError(f"denoising_steps is not a number of 0 to {MOST_STEPS}")
            self.spec = ModelSpec(
                f"trained-{place.resolve().name}",
                control=control,
                view=config.get("view", "perspective"),
                frame_size=given or self._size,
                fps=None if is_free else config["fps"],
                max_context=self._drawing.most or None,
                chunk=self._drawing.chunk,
                action_spaces=None if is_free or control != "actions" else tuple(config["action_spaces"]),
                settings=told,
            )
        except (KeyError, TypeError, UsageError) as error:
            raise DataError(f"{place / CONFIG}: {error}") from None
        if self._told not in get_args(Told):
            raise DataError(f"{place / CONFIG}: told is '{self._told}'; known: {', '.join(get_args(Told))}")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Draw the frames that follow a context."""
        for (chunk,) in self._drawn([self._question(request)]):
            yield self._given(chunk)

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """Draw what follows each of several contexts; those of one length and horizon side by side."""
        asked = [self._question(request) for request in requests]
        answers: list[list[Frames]] = [[] for _ in asked]
        alike: dict[tuple[int, int], list[int]] = {}
        for number, question in enumerate(asked):
            alike.setdefault((len(question.past), len(question.rows)), []).append(number)
        for numbers in alike.values():
            for chunks in self._drawn([asked[number] for number in numbers]):
                for number, chunk in zip(numbers, chunks, strict=True):
                    answers[number].append(self._given(chunk))
        return answers

    def _drawn(self, asked: Sequence[Question]) -> Iterator[list[Frames]]:
        """What the network draws. Its file may tell sizes that are each fine, and do not fit each other."""
        try:
            yield from self._drawing.batch(asked)
        except MemoryError:
            raise
        except RuntimeError as error:
            if type(error) is not RuntimeError:  # out of the device's memory, say
                raise
            why = " ".join(str(error).split())[:200]
            raise ModelError(
                f"'{self.spec.name}' cannot generate ({why}); is its config.json that of its weights?"
            ) from error

    def _question(self, request: RolloutRequest) -> Question:
        from worldgauge_train.nets.drawing import Question

        shown = request.context.clip.resized(*self._size).to_array()
        if self._told == "nothing":
            return Question(shown, np.zeros((request.horizon, 1), np.float32), request.seed)
        future, past, camera = request.actions, request.context.actions, request.context.camera
        if self.spec.control == "camera":
            assert request.poses is not None
            seen = request.context.path
            future, past = path_moves(np.concatenate([seen[-1:], request.poses])), path_moves(seen)
        assert future is not None
        if row_width(future.space, self._told) != self._drawing.net.shape.columns:
            raise NotApplicableError(
                f"'{self.spec.name}' was trained on actions of {', '.join(self.spec.action_spaces or ())}, "
                f"not '{future.space.name}'"
            )
        if self._told == "motion" and not any(any(axis.motion) for axis in future.space.axes):
            raise NotApplicableError(f"actions of '{future.space.name}' move no camera, and '{self.spec.name}' is one")
        rows = action_rows(future, camera, self._told)
        led = np.zeros((len(past) + 1, rows.shape[1]), np.float32)
        if row_width(past.space, self._told) == rows.shape[1]:
            led[1:] = action_rows(past, camera, self._told)
        poses = np.concatenate([np.zeros((1, POSE)), reckoned(np.concatenate([motions(past), motions(future)]))])
        return Question(shown, rows, request.seed, led, poses)

    def _given(self, chunk: Frames) -> Frames:
        """Frames in the size that is asked for."""
        width, height = self.spec.frame_size or self._size
        if chunk.shape[1:3] == (height, width):
            return chunk
        return np.stack([resize(frame, width, height) for frame in chunk])

    def _sampling(self, steps: int | None, memory: str | None, guidance: float, stabilise: float) -> Sampling:
        from worldgauge_train.nets.drawing import Sampling

        drawing = self._drawing
        if steps is not None:
            if drawing.sampling.steps == 0:
                raise UsageError("trained: leave steps out: this network generates a step at once")
            if not 1 <= steps <= MOST_STEPS:
                raise UsageError(f"trained: steps is {steps}; give 1 to {MOST_STEPS}")
        if memory not in (None, drawing.net.shape.memory, "window"):
            raise UsageError(
                f"trained: memory is '{memory}'; this network can take {drawing.net.shape.memory} or window"
            )
        if memory == "window" and drawing.net.shape.memory == "state":
            raise UsageError("trained: leave memory out: this network keeps its state in every block")
        forget = memory == "window" and drawing.memory.frames > 0
        return Sampling(drawing.sampling.steps if steps is None else steps, guidance, stabilise, forget)


def _is_last(weights: str) -> bool:
    if weights not in ("ema", "last"):
        raise UnknownNameError("weights", weights, ["ema", "last"])
    return weights == "last"


def _digest_of_config(path: Path, config: Mapping[str, Any]) -> str:
    """Digest of what a config.json says, without where and by what it was made, which changes no frame."""
    kept = {name: value for name, value in config.items() if name not in HOW_MADE}
    return digest_of_file(path) if len(kept) == len(config) else digest_of(dumps(kept))


def _checked_size(told: Any) -> tuple[int, int]:
    sides = tuple(told)
    if len(sides) != 2 or not all(type(side) is int and 1 <= side <= 4096 for side in sides):
        raise UsageError(f"size is {str(told)[:40]}; two sides of 1 to 4096 pixels are known")
    return sides


def _size(text: str) -> tuple[int, int]:
    width, x, height = text.partition("x")
    if not x or not all(side.isdecimal() and 8 <= int(side) <= 4096 for side in (width, height)):
        raise UsageError(f"trained: as_size is '{text}'; give one such as 256x144")
    return int(width), int(height)


def _device(named: str) -> str:
    import torch

    try:
        device = torch.device(named or "cpu")
    except RuntimeError:
        raise UsageError(f"trained: device is '{named}'; give one such as cpu or cuda:0") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("trained: there is no CUDA device here")
    return str(device)


@models.register("adapted")
class Adapted:
    """A video pipeline of diffusers with an adapter of `worldgauge post-train`, a call after another.
    Each call begins with the last frame and has as many frames as in training; surplus frames are dropped.

    Args:
        base: Folder of the pipeline that it was made for; another one is refused.
        guidance: By default none without a prompt, else the pipeline's own.
    """

    imagines: ClassVar[bool] = True

    def __init__(
        self,
        folder: str,
        base: str,
        steps: int = 25,
        guidance: float | None = None,
        device: str = "",
        precision: str = "float32",
    ) -> None:
        place, pipeline = Path(folder).expanduser(), Path(base).expanduser()
        if precision not in ("float32", "bfloat16"):
            raise UnknownNameError("precision", precision, ["float32", "bfloat16"])
        if not 1 <= steps <= 1000:
            raise UsageError(f"adapted: steps is {steps}; give 1 to 1000")
        try:
            from worldgauge_train.nets.brought_adapter import CONFIG, TENSORS, BroughtDrawing
        except ImportError:
            raise MissingExtraError("model 'adapted'", "adapt") from None
        config = read_json_object(place / CONFIG)
        self._adapter = _opened(place, pipeline, config, device or "cpu", precision == "bfloat16")
        self.trained_scenes, self.unplaced_clips = trained_scenes(config), unplaced_clips(config)
        try:
            self._told: Told = config["told"]
            frames, self._prompted = int(config["frames"]), bool(config["prompt"])
            guided = guidance if guidance is not None or self._prompted else self._adapter.unguided
            is_free, control = self._told == "motion", config["control"]
            self.spec = ModelSpec(
                f"adapted-{place.resolve().name}",
                control=control,
                view=config.get("view", "perspective"),
                frame_size=tuple(config["size"]),
                fps=None if is_free else config["fps"],
                max_context=1,
                chunk=frames - 1,
                inputs=frozenset({"text"}) if self._prompted and control != "text" else frozenset(),
                action_spaces=None if is_free or control != "actions" else tuple(config["action_spaces"]),
                settings={
                    "config": digest_of_file(place / CONFIG),
                    "weights": digest_of_file(place / TENSORS),
                    "base": config["base"]["digest"],
                    "steps": steps,
                    "guidance": guided,
                    "precision": precision,
                },
            )
        except (KeyError, TypeError, ValueError, UsageError) as error:
            raise DataError(f"{place / CONFIG}: {error}") from None
        if self._told not in get_args(Told):
            raise DataError(f"{place / CONFIG}: told is '{self._told}'; known: {', '.join(get_args(Told))}")
        if frames < 2:
            raise DataError(f"{place / CONFIG}: frames is {frames}; a call makes at least 2")
        self._drawing = BroughtDrawing(self._adapter, frames, steps, guided, self.spec.name)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Draw the frames that follow a context."""
        rows = self._rows(request)
        words = request.text or "" if self._prompted else ""
        yield from self._drawing.chunks(request.context.clip[-1], rows, request.horizon, words, request.seed)

    def _rows(self, request: RolloutRequest) -> Rows | None:
        """What leads to each frame of the future; None where the words alone say it."""
        if not self._adapter.shape.columns:
            return None
        future = request.actions
        if self.spec.control == "camera":
            assert request.poses is not None
            future = path_moves(np.concatenate([request.context.path[-1:], request.poses]))
        assert future is not None
        if row_width(future.space, self._told) != self._adapter.shape.columns:
            raise NotApplicableError(
                f"'{self.spec.name}' was trained on actions of {', '.join(self.spec.action_spaces or ())}, "
                f"not '{future.space.name}'"
            )
        return action_rows(future, request.context.camera, self._told)


def _opened(place: Path, base: Path, config: dict[str, Any], device: str, half: bool) -> Adapter:
    """The pipeline with the adapter in it."""
    from worldgauge_train.nets.brought import digest_of_pipeline, open_brought
    from worldgauge_train.nets.brought_adapter import CONFIG, FORMAT, TENSORS, Adapter, shape_read
    from worldgauge_train.nets.checkpoint import load_tensors

    if config.get("format") != FORMAT or "adapter" not in config:
        raise DataError(f"{place / CONFIG}: no finished adapter of 'worldgauge post-train' ({FORMAT})")
    shape = shape_read(config["adapter"], str(place / CONFIG))
    known = config.get("base")
    if not isinstance(known, dict) or not isinstance(known.get("digest"), str):
        raise DataError(f"{place / CONFIG}: base: no digest of the pipeline that it was made for")
    if (there := digest_of_pipeline(base)) != known["digest"]:
        raise DataError(
            f"{base} is another pipeline ({there[:12]}) than {place} was made for "
            f"({known.get('name')}, {known['digest'][:12]})"
        )
    brought = open_brought(base, device, half)
    brought.fps = float(config.get("rate") or brought.fps)
    adapter = Adapter(brought, shape)
    adapter.load_state_dict(load_tensors(place / TENSORS, adapter.state_dict()))
    adapter.eval()
    return adapter
