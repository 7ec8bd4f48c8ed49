"""A network in training, asked what follows: for validation, and for films."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from worldgauge_train.nets.architectures import architectures
from worldgauge_train.nets.drawing import Question, SampledNetwork, Sampling
from worldgauge_train.training.stages import TrainingStage
from worldgauge_train.training.validation import FrameArray, Rollout, RolloutInput

FILMS = "films"
SEED = 0
"""Of the noise of all validations."""
_SHOWN, _ENLARGED = 4, 3


def rollout_of(stage: TrainingStage, average: dict[str, torch.Tensor], drawing: SampledNetwork) -> Rollout:
    """Draw with the average of the weights, as the checkpoint will."""
    own = stage.net
    with torch.device("meta"):  # a network whose weights are spread cannot be copied
        net = architectures.get(stage.recipe.architecture)(own.shape)
    net.to_empty(device=drawing.device).load_state_dict(stage.kept(average))
    drawing.net = net.eval()

    def rollout(asked: Sequence[RolloutInput]) -> list[FrameArray]:
        questions = [Question(one.past, one.rows, SEED, one.past_rows, one.poses) for one in asked]
        chunks = list(drawing.batch(questions))
        return [np.concatenate([chunk[number] for chunk in chunks]) for number in range(len(asked))]

    return rollout


def drawing_of(stage: TrainingStage, codec: object, most: int, device: str, precision: str) -> SampledNetwork:
    """How the network of a stage is asked."""
    steps = 0 if stage.at_once else stage.recipe.denoising_steps
    return SampledNetwork(stage.net, Sampling(steps), codec, most, device, precision == "bfloat16")  # type: ignore[arg-type]


def write_film(path: Path, truths: Sequence[FrameArray], drawn: Sequence[FrameArray], fps: float) -> bool:
    """Write a video of generated frames below the ground truth (n, H, W, 3), the first clips side by side."""
    try:
        from worldgauge.core.video import Writer

        path.parent.mkdir(parents=True, exist_ok=True)
        pictures = [np.concatenate(list(one[:_SHOWN]), axis=2) for one in (truths, drawn)]
        film = np.concatenate(pictures, axis=1).repeat(_ENLARGED, 1).repeat(_ENLARGED, 2)
        even = film[:, : film.shape[1] // 2 * 2, : film.shape[2] // 2 * 2]
        with Writer(path, fps=fps, kind="viewable") as writer:
            writer.write(np.ascontiguousarray(even))
    except ImportError:
        return False
    return True
