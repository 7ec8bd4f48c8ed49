"""Several models of one video: which of them agree, and so may be believed.

Global mapping starts from random places. A sound model comes out the same from any of them; where repeated texture or
low parallax leads it astray, each start tends to go astray in another way, with a small reprojection error each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, align
from worldgauge.perception.decoders.sfm._mapping import Model

MAX_DIFFERENCE = 0.03
"""Of the reach of the path. Sound models of one video differ by less than 0.015, those astray by 0.1 to 2."""


@dataclass(frozen=True)
class Election:
    """The chosen model.

    Attributes:
        model: The model.
        agreed: Another model from another start shows the same path. Its anchor is placed only if both agree on it.
        difference: Difference to the nearest other model as a share of the extent of the path; None when there is no
            other.
    """

    model: Model
    agreed: bool
    difference: float | None
    starts: int


def elect(ballots: Sequence[Callable[[], Model | None]], anchored: bool) -> Election | None:
    """Make models until two agree.

    Args:
        ballots: Functions that each make a model, called two at a time.
        anchored: Image 0 is the anchor, which fixes the scale at which paths are compared; otherwise they are brought
            to one scale.

    Returns:
        Of all pairs that agree, the model with the most observations; None if no start gives a model.
    """
    models: list[Model] = []
    pairs: list[tuple[int, int, float]] = []
    for start in range(0, len(ballots), 2):
        for draw in ballots[start : start + 2]:
            model = draw()
            if model is not None:
                pairs += [(i, len(models), difference(known, model, anchored)) for i, known in enumerate(models)]
                models.append(model)
        agreeing = [pair for pair in pairs if pair[2] <= MAX_DIFFERENCE]
        if agreeing:
            # Of two parties the one that explains more of the video; in it the model that was drawn first.
            earlier, _, apart = max(agreeing, key=lambda pair: min(models[i].observations for i in pair[:2]))
            return Election(models[earlier], True, apart, len(models))
    if not models:
        return None
    if anchored and len(models) > 1:
        # One path, though its models place the anchor at different distances: a shape without a scale.
        bare = [replace(model, poses={i: pose for i, pose in model.poses.items() if i > 0}) for model in models]
        alike = [(difference(a, b, False), a) for b, a in combinations(reversed(bare), 2)]
        apart, model = min(alike, key=lambda pair: pair[0])
        if apart <= MAX_DIFFERENCE:
            return Election(model, True, apart, len(models))
    best = max(range(len(models)), key=lambda i: models[i].observations)
    finite = [apart for a, b, apart in pairs if best in (a, b) and np.isfinite(apart)]
    return Election(models[best], False, min(finite, default=None), len(models))


def difference(a: Model, b: Model, anchored: bool) -> float:
    """Measure how far the cameras of two models are apart.

    With an anchor, both are moved to their first frame and scaled by their anchors, as the path that would be scored;
    so a wrong focal length shows as well.

    Args:
        a: A model.
        b: Another.
        anchored: Image 0 is the anchor.

    Returns:
        Root mean square distance of the cameras that both placed, as a share of their extent; infinite with too few.
    """
    shared = sorted(a.poses.keys() & b.poses.keys())
    if len(shared) < 3:
        return np.inf
    one, other = (np.stack([model.poses[i] for i in shared]) for model in (a, b))
    if anchored:
        if shared[:2] != [0, 1]:
            return np.inf
        based = [_based(poses) for poses in (one, other)]
        if any(each is None for each in based):
            return np.inf
        # Without the anchor, which is at the same distance in both: a far one would hide what the paths are.
        left, right = (each[1:] for each in based if each is not None)
    else:
        left, right = one[:, :3, 3], other[:, :3, 3]
        try:
            left = align(left, right, with_scale=True).apply(left)
        except ShapeError:
            return np.inf
    reach = max(float(np.linalg.norm(path - path.mean(0), axis=1).max()) for path in (left, right))
    return float(np.sqrt(((left - right) ** 2).sum(1).mean())) / reach if reach > 0 else np.inf


def _based(poses: FloatArray) -> FloatArray | None:
    """(n, 3) centres seen from image 1, in units of the distance of image 0."""
    centres = (poses[:, :3, 3] - poses[1, :3, 3]) @ poses[1, :3, :3]
    unit = float(np.linalg.norm(centres[0]))
    return centres / unit if unit > 1e-9 else None
