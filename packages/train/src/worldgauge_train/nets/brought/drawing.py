"""A brought pipeline with its adapter, asked what follows a picture: a call after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from worldgauge.core.errors import SubjectError
from worldgauge.core.image import Frames, Image
from worldgauge.models.references.tiny.action_rows import Rows
from worldgauge_train.nets.brought.adapter import Adapter


@dataclass(frozen=True)
class BroughtDrawing:
    """How a pipeline is asked. Each call begins with the last frame; what is too much is left out.

    Attributes:
        adapter: The adapter, and in it the pipeline.
        frames: Frames of a call, the picture that it begins with counted.
        steps: Denoising steps.
        guidance: Scale of guidance. None for the pipeline's own.
        name: What it is called in messages.
    """

    adapter: Adapter
    frames: int
    steps: int
    guidance: float | None
    name: str

    def chunks(self, picture: Image, rows: Rows | None, horizon: int, words: str, seed: int) -> Iterator[Frames]:
        """Draw what follows a picture.

        Args:
            picture: (H, W, 3) uint8.
            rows: (horizon, columns): what leads to each frame. None where words alone say it.
            horizon: Frames to draw.
            words: The prompt.
            seed: Of the noise.

        Yields:
            Frames of a call.

        Raises:
            SubjectError: The pipeline draws another number or size of frames, or values that are not finite.
        """
        each = self.frames - 1
        for number, first in enumerate(range(0, horizon, each)):
            part = None
            if rows is not None:
                part = np.zeros((self.frames, rows.shape[1]), np.float32)
                given = rows[first : first + each]
                part[1 : 1 + len(given)] = given
            of_call = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
            drawn = self._call(picture, part, words, of_call)
            picture = drawn[-1]
            yield drawn[1 : 1 + horizon - first]

    def _call(self, picture: Image, rows: Rows | None, words: str, seed: int) -> Frames:
        from PIL import Image as Pictures  # comes with the extra adapt

        brought, (height, width) = self.adapter.brought, picture.shape[:2]
        device = brought.nets[0].device
        told = None if rows is None else torch.from_numpy(rows)[None].to(device)
        prompt = {"prompt": words} if brought.takes_words else {}
        with torch.no_grad(), self.adapter.telling(told):
            made = brought.pipe(
                image=Pictures.fromarray(np.ascontiguousarray(picture)),
                height=height,
                width=width,
                num_frames=self.frames,
                num_inference_steps=self.steps,
                generator=torch.Generator("cpu").manual_seed(seed),  # the same noise whatever the device
                output_type="np",
                **prompt,
                **brought.call(self.guidance),
            ).frames[0]
        values = np.asarray(made, np.float32)
        if values.shape != (self.frames, height, width, 3):
            raise SubjectError(f"'{self.name}' drew {values.shape}, not {(self.frames, height, width, 3)}")
        if not np.isfinite(values).all():
            raise SubjectError(f"'{self.name}' drew values that are not finite")
        return (values.clip(0, 1) * 255).round().astype(np.uint8)
