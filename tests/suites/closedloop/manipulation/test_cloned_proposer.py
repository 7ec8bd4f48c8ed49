"""The proposer `cloned`: what it must be given, and what it says of a table."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suites.closedloop.training_data import demonstrations_data as fx
from worldgauge.core.episode import Goal
from worldgauge.core.errors import DataError, UsageError
from worldgauge.suites.closedloop.policies.contract import ActionPlan, PolicyKit, SeenThing, proposers
from worldgauge.worlds.tabletop.pose_plans import HandPose

HOME = HandPose(0.1, 0.2, 1.3, 1.0, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demonstrations")
    fx.written(root)
    fx.written(root, 1, fx.SEED + 1)
    return root


def made(**options: Any) -> Any:
    return proposers.get("cloned")(PolicyKit("manipulation", 5, options=options))


def asked(proposer: Any, n: int = 5, text: str | None = "push the red button") -> list[ActionPlan]:
    things = (
        SeenThing("blue button", "button", "blue", (0.3, -0.2, 0.78), (0.02, 0.02, 0.01)),
        SeenThing("red button", "button", "red", (0.2, 0.1, 0.78), (0.02, 0.02, 0.01)),
    )
    observation: Any = SimpleNamespace(hand=HOME, things=things)
    return list(proposer.propose(observation, Goal(text=text), (), n, np.random.default_rng(0)))


def test_its_entry() -> None:
    facts = proposers.entry("cloned").facts
    assert (facts["tasks"], facts["chat"]) == (("manipulation",), False)


def test_it_goes_to_the_thing_that_is_named(folder: Path) -> None:
    (plan, *rest) = asked(made(demonstrations=str(folder)))
    assert (plan.steps, plan.source) == ((), "cloned")
    assert [len(one.poses) for one in rest] == [1], "from the other moment of the demonstration"
    # In the demonstration the red button is at (0.1, 0.2), here at (0.2, 0.1).
    np.testing.assert_allclose(plan.poses, [goal._replace(x=0.2, y=0.1) for goal in fx.GOALS], atol=1e-6)
    blue = asked(made(demonstrations=str(folder)), 1, "push the blue button")[0]
    np.testing.assert_allclose(blue.poses, [goal._replace(x=0.3, y=-0.2) for goal in fx.GOALS], atol=1e-6)


def test_same_question_same_plans(folder: Path) -> None:
    proposer = made(demonstrations=str(folder), moves="apart")
    assert asked(proposer) == asked(proposer)
    assert len(asked(proposer, 1)) == 1
    assert asked(proposer, text=None), "without words no thing is named, and it still has plans"


def test_what_it_must_be_given(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(UsageError, match="demonstrations=FOLDER"):
        made()
    with pytest.raises(UsageError, match="'together' or 'apart', got 'sideways'"):
        made(demonstrations=str(folder), moves="sideways")
    with pytest.raises(DataError, match="holds no demonstration"):
        made(demonstrations=str(tmp_path))
    with pytest.raises(DataError, match="no such folder"):
        made(demonstrations=str(tmp_path / "nowhere"))
