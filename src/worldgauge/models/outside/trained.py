"""`trained`: a world model from `worldgauge train`, asked like any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from worldgauge.core.errors import DataError, MissingExtraError, NotApplicableError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.io import digest_of_file, read_json_object
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.nets.action_rows import action_rows, row_width


@models.register("trained")
class Trained:
    """A network of `worldgauge train`, which draws a step of frames at a time from its own last ones.

    Args:
        folder: Folder of the checkpoint.
        steps: Denoising steps in place of the checkpoint's. Networks of the stage "regress" have none.

    Raises:
        MissingExtraError: torch is not installed.
        DataError: The folder holds no checkpoint, or a damaged one.
        UsageError: Denoising steps for a network that takes none.
    """

    def __init__(self, folder: str, steps: int | None = None) -> None:
        try:
            from worldgauge.nets.drawing import CONFIG, FORMAT, WEIGHTS, Drawing
        except ImportError:
            raise MissingExtraError("model 'trained'", "train") from None
        place = Path(folder).expanduser()
        config = read_json_object(place / CONFIG)
        if config.get("format") != FORMAT or "network" not in config:
            raise DataError(f"{place / CONFIG}: no finished checkpoint of 'worldgauge train' ({FORMAT})")
        self._drawing = Drawing.open(place, config)
        if steps is not None:
            if self._drawing.steps == 0:
                raise UsageError("trained: leave steps out: this network draws a step at once")
            if not 1 <= steps <= 1000:
                raise UsageError(f"trained: steps is {steps}; give 1 to 1000")
            self._drawing.steps = steps
        self.spec = ModelSpec(
            f"trained-{place.resolve().name}",
            frame_size=tuple(config["size"]),
            fps=config["fps"] if config["told"] != "motion" else None,
            max_context=self._drawing.net.shape.past,
            chunk=self._drawing.net.shape.frames,
            action_spaces=tuple(config["action_spaces"]) if config["told"] != "motion" else None,
            settings={
                "config": digest_of_file(place / CONFIG),
                "weights": digest_of_file(place / WEIGHTS),
                "steps": self._drawing.steps,
            },
        )
        self._told = config["told"]

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Draw the frames that follow a context.

        Args:
            request: The request; actions drive it.

        Yields:
            Frames, a step at a time.

        Raises:
            NotApplicableError: Actions with other columns than those it was trained on.
        """
        assert request.actions is not None
        actions = request.actions
        if row_width(actions.space, self._told) != self._drawing.net.shape.columns:
            raise NotApplicableError(
                f"'{self.spec.name}' was trained on actions of {', '.join(self.spec.action_spaces or ())}, "
                f"not '{actions.space.name}'"
            )
        if self._told == "motion" and not any(any(axis.motion) for axis in actions.space.axes):
            raise NotApplicableError(f"actions of '{actions.space.name}' move no camera, and '{self.spec.name}' is one")
        rows = action_rows(actions, request.context.camera, self._told)
        yield from self._drawing.frames(request.context.clip.to_array(), rows, request.seed)
