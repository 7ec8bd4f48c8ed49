"""`memory` and `warp` where nobody gives them depth: a server's answers take its place, and absent weights are told."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.commands import command
from support.served import PYTHON
from worldgauge.core.episode import Context, Episode
from worldgauge.core.errors import ModelError, NotApplicableError, UnknownNameError, UsageError
from worldgauge.core.geometry import Panorama
from worldgauge.core.model import RolloutRequest
from worldgauge.engine.model_entries import resolve_model
from worldgauge.models.baselines.memory import MemoryModel
from worldgauge.models.baselines.warp import SKY_M, DepthSource, Warp
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings

SERVER = '''
import numpy as np
from worldgauge_serve import EstimatorSpec


class Ramp:
    """Metres by the brightness of a pixel: `near` where it is black, `far` where it is white."""

    def __init__(self, near=2.0, far=9.0, kind="depth"):
        self.near, self.far = near, far
        self.spec = EstimatorSpec("ramp", kind=kind, settings={"near": near, "far": far})

    def estimate(self, arrays, options):
        (frames,) = arrays.values()
        assert frames.dtype == np.uint8 and frames.shape[3] == 3
        share = frames.astype(np.float32).mean(3) / 255
        return {"depth": self.near + (self.far - self.near) * share}, {}
'''


@pytest.fixture
def server(tmp_path: Path) -> Callable[[str], str]:
    (tmp_path / "ramp.py").write_text(SERVER)
    return lambda query="": f"cmd:{PYTHON} -m worldgauge_serve {tmp_path / 'ramp.py'}:Ramp{query}"


def by_hand(context: Context, near: float = 2.0, far: float = 9.0) -> Callable[[int], np.ndarray]:
    def depth(index: int) -> np.ndarray:
        metres = near + (far - near) * (context.clip[index].astype(np.float32).mean(2) / 255)
        return np.where(metres < SKY_M, metres, np.inf).astype(np.float32)

    return depth


def published(walk: tuple[Episode, int], model: Any, horizon: int = 3) -> RolloutRequest:
    """A question about a recording whose world, and so its depth, nobody knows."""
    episode, start = walk
    end = start + horizon
    short = dataclasses.replace(
        episode, world=None, clip=episode.clip[:end], poses=episode.poses[:end], actions=episode.actions[: end - 1]
    )
    return make_request(short, start, model.spec, LoopNavSettings(), seed=0)


def drawn(model: Any, request: RolloutRequest) -> np.ndarray:
    return np.concatenate(list(model.rollout(request)))


@pytest.mark.parametrize("model", [MemoryModel, Warp])
def test_estimated_depth_draws_as_the_same_depth_given(
    model: Any, server: Callable[[str], str], walk: tuple[Episode, int]
) -> None:
    """Sky included: what a network puts beyond 60 m is infinitely far."""
    estimating = model(depth=server("?far=120"))
    request = published(walk, estimating)
    assert request.context.depth is None
    frames = drawn(estimating, request)
    given = dataclasses.replace(
        request, context=dataclasses.replace(request.context, depth=by_hand(request.context, far=120))
    )
    np.testing.assert_array_equal(frames, drawn(model(), given))
    np.testing.assert_array_equal(frames, drawn(estimating, request))
    flat = dataclasses.replace(request, context=dataclasses.replace(request.context, depth=by_hand(request.context)))
    assert not np.array_equal(frames, drawn(model(), flat)), "the depth counts"
    assert np.isinf(by_hand(request.context, far=120)(len(request.context) - 1)).mean() > 0.1


@pytest.mark.parametrize("model", [MemoryModel, Warp])
def test_given_depth_is_not_asked_for_and_the_source_is_part_of_who_it_is(
    model: Any, server: Callable[[str], str]
) -> None:
    near, far = model(depth=server("?near=1")), model(depth=server("?near=3"))
    assert model().spec.inputs == {"depth"}
    assert near.spec.inputs == frozenset()
    assert not near.spec.privileged
    assert "depth" not in model().spec.settings, "as it was before"
    assert near.spec.settings["depth"]["settings"] == {"near": 1, "far": 9.0}
    assert near.spec.settings["depth"]["sky_m"] == SKY_M
    assert near.spec.settings != far.spec.settings


def test_depth_sources_are_named_and_refused(server: Callable[[str], str], walk: tuple[Episode, int]) -> None:
    # With settings of the server among those of the model, their `&` written as %26.
    model = resolve_model(f"memory?depth={server('?near=1%26far=5')}&stride=8")
    assert model.label.startswith("memory-depth-")
    told = model.identity["settings"]
    assert told["stride"] == 8
    assert told["depth"]["settings"] == {"near": 1, "far": 5}
    # What is no depth is refused.
    with pytest.raises(UsageError, match="estimator 'ramp' has kind 'decoder'"):
        MemoryModel(depth=server("?kind=decoder"))
    behind = MemoryModel(depth=server("?near=-1&far=5"))
    with pytest.raises(ModelError, match=r"'ramp' gives a depth of -.* m; all must lie ahead"):
        drawn(behind, published(walk, behind))
    # Networks of another kind and of no name are refused.
    with pytest.raises(UnknownNameError, match=r"no network for depth 'depth-anythin'\. Did you mean 'depth-anything'"):
        MemoryModel(depth="depth-anythin")
    with pytest.raises(UsageError, match="network 'dinov2-b14' is for 'dino'; for 'depth' there is depth-anything"):
        Warp(depth="dinov2-b14")
    # Panoramas have no estimated depth.
    with pytest.raises(UsageError, match="depth is estimated of perspective views"):
        Warp("panorama", depth="depth-anything")
    context = dataclasses.replace(walk[0].context(0, 2), camera=Panorama(160, 90))
    with pytest.raises(NotApplicableError, match="'ramp' estimates depth of perspective views, not of panoramas"):
        DepthSource(server("")).added(context)


def test_models_without_depth(walk: tuple[Episode, int]) -> None:
    # Memory plane takes no network.
    with pytest.raises(UsageError, match=r"'memory-plane' has no setting 'depth'.*stride=4"):
        resolve_model("memory-plane?depth=depth-anything")
    # What lacks depth says how to have it.
    for model in (MemoryModel(), Warp()):
        with pytest.raises(NotApplicableError, match=rf"'{model.spec.name}\?depth=depth-anything' estimates it"):
            drawn(model, published(walk, model))


@pytest.mark.parametrize("model", ["memory", "warp"])
def test_absent_weights_end_a_run_at_once_with_the_command_that_brings_them(
    model: str, walks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "none"))
    told = command(
        tmp_path, "run", "loopnav", "--data", walks, "--model", f"{model}?depth=depth-anything", "--out", "o"
    )
    assert told.returncode == 2
    assert told.stderr.count("\n") == 1
    assert "worldgauge weights pull depth-anything" in told.stderr
    assert not (tmp_path / "o").exists()
