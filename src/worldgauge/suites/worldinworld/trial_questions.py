"""Questions in the form of closedloop: the view from one place of a home, and the steps to imagine from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions
from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.engine.suite.rollout import fit_context, fit_truth
from worldgauge.engine.suite.trial_questions import Sizes, TrialQuestions
from worldgauge.worlds import open_world
from worldgauge.worlds.captions import caption_at
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import (
    NAV_STEPS,
    Primitive,
    Stance,
    Steps,
    as_actions,
    poses_of,
    render_text,
    walked,
)

FRAMES = 400
HFOV_DEG = 90.0
_HOME = WorldFacts("indoor", {"seed": 1})


class StepQuestions(TrialQuestions):
    """The view from one place of a walk in a home, and the next primitives. Only the frame before them is shown."""

    sizes: ClassVar[Sizes] = {"perspective": ((128, 128), (384, 384)), "panorama": ((256, 144), (1024, 576))}
    starts = (203, 227)
    one_frame = True
    action_space = NAV_STEPS.name

    @property
    def frames(self) -> int:
        """Number of frames of the walk."""
        return len(_walk()[0])

    def question(
        self,
        spec: ModelSpec,
        *,
        start: int,
        horizon: int,
        seed: int,
        context: int = 1,
        size: tuple[int, int] | None = None,
        turn: float | None = None,
    ) -> RolloutRequest:
        """A question about the next primitives; see `TrialQuestions.question`. `context` is 1, whatever is given."""
        stances, steps = _walk()
        steps = steps[start - 1 : start - 1 + horizon]
        if turn is not None:
            steps = (Primitive.TURN_LEFT if turn > 0 else Primitive.TURN_RIGHT,) * horizon
        width, height = size or self.recorded_size(spec)
        panoramic = spec.view == "panorama"
        camera = Panorama(width, height) if panoramic else Camera.from_horizontal_fov(width, height, HFOV_DEG)
        fps = NAV_STEPS.fps if spec.fps is None else float(spec.fps)
        pose = stances[start - 1].eye()
        seen = Clip.from_array(_picture(stances[start - 1], camera)[None].copy(), fps)
        shown = fit_context(Context(seen, pose[None], _keys((), fps), camera), spec, None, _HOME, in_steps=True)
        real, floor = list[Stance](), _home().floor
        for step in steps if "truth" in spec.inputs else ():
            real.append(walked(floor, real[-1] if real else stances[start - 1], step)[0])
        truth = Clip.from_array(np.stack([_picture(one, camera) for one in real]), fps) if real else None
        return RolloutRequest(
            shown,
            horizon,
            seed,
            actions=_keys(steps, fps),
            poses=poses_of(steps, pose),
            text=render_text("nav/v2", steps=steps),
            caption=caption_at(_home(), pose, Camera.from_horizontal_fov(width, height, HFOV_DEG)),
            world=_HOME if "world" in spec.inputs else None,
            truth=None if truth is None else fit_truth(truth, spec),
            truth_poses=np.stack([one.eye() for one in real]) if real else None,
            task="check",
        )


def _keys(steps: Sequence[Primitive], fps: float) -> Actions:
    return Actions(replace(NAV_STEPS, fps=fps), as_actions(steps).values)


@lru_cache(maxsize=1)
def _walk() -> tuple[tuple[Stance, ...], Steps]:
    """FRAMES stances of a walk from the most open place of the home, and the steps between them."""
    floor, rng = _home().floor, np.random.default_rng(1)
    roomiest = np.unravel_index(int(floor.clearance_m.argmax()), floor.clearance_m.shape)
    x, y = floor.points_of(np.array(roomiest))
    stances, steps = [Stance(float(x), float(y), 0.0)], []
    side = Primitive.TURN_LEFT
    collided = False
    while len(stances) < FRAMES:
        if not collided:
            side = Primitive.TURN_LEFT if rng.integers(2) else Primitive.TURN_RIGHT
        step = side if collided or rng.random() < 0.2 else Primitive.FORWARD
        stance, met = walked(floor, stances[-1], step)
        collided = met or (collided and rng.random() < 0.5)
        stances.append(stance)
        steps.append(step)
    return tuple(stances), tuple(steps)


def _home() -> Home:
    home = open_world(_HOME)
    assert isinstance(home, Home)
    return home


@lru_cache(maxsize=192)
def _picture(stance: Stance, camera: Camera | Panorama) -> NDArray[np.uint8]:
    return _home().view(stance.eye(), camera).rgb
