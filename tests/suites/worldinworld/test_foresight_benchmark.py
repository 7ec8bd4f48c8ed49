"""Episodes of `benchmarks.foresight` end as in a run; where nobody reads other frames, it draws the last ones only."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.foresight import LastFrame, act_out, ends, table

from support.served import question
from worldgauge.core.video import Clip
from worldgauge.engine.run import run
from worldgauge.models.baselines.truth import TruthModel
from worldgauge.suites.worldinworld.task import LoopSettings

MODELS = ["none", "oracle", "freeze"]
PANORAMAS = ["none", "oracle?view=panorama", "freeze?view=panorama"]


@pytest.mark.parametrize(
    ("task", "decisions", "models"),
    [
        ("recognition", 1, MODELS),
        pytest.param("navigation", 1, MODELS, marks=pytest.mark.slow),
        pytest.param("questions", 40, PANORAMAS, marks=pytest.mark.slow),
    ],
)
def test_episodes_end_as_in_a_run(episodes: Path, tmp_path: Path, task: str, decisions: int, models: list[str]) -> None:
    settings = {"view_px": 48, "panorama_px": 128, "decisions": decisions, "task": task}
    out = tmp_path / "ends.jsonl"
    act_out(episodes, LoopSettings.of(settings), models[:2], 1, out)
    act_out(episodes, LoopSettings.of(settings), models, 1, out)
    found = ends(out)
    count = len({task for task, _ in found})
    assert count > 0
    assert len(out.read_text().splitlines()) == len(found) == count * len(models), "what is there is not done again"
    result = run("worldinworld", model=models, data=episodes, out=tmp_path / "runs", settings=settings)
    assert len(result.scores) == len(models)
    for name, scores in result.scores.items():
        (asked,) = (model for model in models if name.startswith(model.partition("?")[0]))
        own = {score.task: score.value for score in scores if score.metric == "task/success"}
        assert own == {task: 100 * line["success"] for (task, model), line in found.items() if model == asked}


def test_the_last_frame_is_the_models_and_the_others_are_what_is_seen_now() -> None:
    film = np.random.default_rng(1).integers(0, 256, (6, 12, 16, 3), np.uint8)
    asked = question(truth=Clip.from_array(film, 20.0))
    frames = np.concatenate(list(LastFrame(TruthModel()).rollout(asked)))
    assert np.array_equal(frames[-1], film[-1])
    assert (frames[:-1] == asked.context.clip[-1]).all()


def test_gains_are_of_common_episodes_and_homes_are_clusters() -> None:
    lines = {
        (f"t{n}", model): {"cluster": f"home-{n // 2}", "success": float(model == "oracle" or n == 0)}
        for n in range(6)
        for model in ("none", "oracle")
        if (n, model) != (5, "oracle")
    }
    _, _, none, oracle = table(lines)
    assert none.startswith("| `none` | 16.7 [")
    assert none.endswith("|  | 6 | 3 |")
    assert "| +80.0 |" in oracle  # three homes
    assert oracle.endswith("| 5 | 3 |")
