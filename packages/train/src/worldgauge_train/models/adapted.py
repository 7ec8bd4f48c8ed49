"""`adapted`: a brought pipeline with the adapter that `worldgauge post-train` made, asked like any other model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from worldgauge.core.actions import path_moves
from worldgauge.core.errors import (
    DataError,
    MissingExtraError,
    NotApplicableError,
    UnknownNameError,
    UsageError,
)
from worldgauge.core.image import Frames
from worldgauge.core.io import digest_of_file, read_json_object
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.models.references.tiny.action_rows import Rows, Told, action_rows, row_width
from worldgauge.models.references.tiny.scenes import trained_scenes, unplaced_clips

if TYPE_CHECKING:
    from worldgauge_train.nets.brought.adapter import Adapter


@models.register("adapted")
class Adapted:
    """A video pipeline of diffusers with an adapter of `worldgauge post-train`, a call after another.

    Each call begins with the last frame and has the frames that were trained on; what is too much is left out.

    Args:
        folder: Folder of the adapter.
        base: Folder of the pipeline that it was made for; another one is refused.
        steps: Denoising steps.
        guidance: Scale of guidance; by default none where no words are told, else the pipeline's own.
        device: Where it runs, such as "cuda"; the CPU by default.
        precision: "float32" or "bfloat16".

    Raises:
        MissingExtraError: diffusers or peft is not installed.
        DataError: A folder holds no adapter or pipeline, a damaged one, or the base is another.
        UsageError: A setting is out of range.
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
            from worldgauge_train.nets.brought.adapter import CONFIG, TENSORS
            from worldgauge_train.nets.brought.drawing import BroughtDrawing
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
        """Draw the frames that follow a context.

        Args:
            request: The request.

        Yields:
            Frames of a call at a time.

        Raises:
            NotApplicableError: Actions with other columns than those it was trained on.
            SubjectError: The pipeline draws another number or size of frames, or values that are not finite.
        """
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
            future = path_moves(np.concatenate([request.context.poses[-1:], request.poses]))
        assert future is not None
        if row_width(future.space, self._told) != self._adapter.shape.columns:
            raise NotApplicableError(
                f"'{self.spec.name}' was trained on actions of {', '.join(self.spec.action_spaces or ())}, "
                f"not '{future.space.name}'"
            )
        return action_rows(future, request.context.camera, self._told)


def _opened(place: Path, base: Path, config: dict[str, Any], device: str, half: bool) -> Adapter:
    """The pipeline with the adapter in it."""
    from worldgauge_train.nets.brought.adapter import CONFIG, FORMAT, TENSORS, Adapter, shape_read
    from worldgauge_train.nets.brought.folder import digest_of_pipeline, open_brought
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
