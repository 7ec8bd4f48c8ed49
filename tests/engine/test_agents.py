"""Agents as models: found by name, in a file or live, refused where they are none, and asked by run."""

import json
from pathlib import Path

import pytest

from worldgauge.core.agent import AgentSpec, Problem, agents
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.run import run

FILE = """
from worldgauge.core.agent import AgentSpec
from worldgauge.chat.reply import EndpointError

class Mine:
    def __init__(self, word="A", fail_on=""):
        self.word, self.fail_on = word, fail_on
        self.spec = AgentSpec("mine", settings={"word": word, "fail_on": fail_on})

    def answer(self, problem):
        if self.fail_on and self.fail_on in problem.variant:
            raise EndpointError("the endpoint is down")
        return self.word
"""


class Live:
    spec = AgentSpec("live")

    def answer(self, problem: Problem) -> str:
        return "B"


def test_by_name_in_a_file_and_live(tmp_path: Path) -> None:
    assert resolve_model("random", "agent").label == "random"
    (tmp_path / "mine.py").write_text(FILE)
    mine = resolve_model(f"{tmp_path / 'mine.py'}:Mine?word=C", "agent")
    assert mine.label == "mine-word-C"
    assert mine.identity["settings"] == {"word": "C", "fail_on": ""}
    assert mine.identity["source"].startswith("sha256:")
    assert resolve_model(Live(), "agent").label == "live"


def test_a_name_is_of_models_or_of_agents() -> None:
    assert resolve_model("truth", "agent").model is not resolve_model("truth", "model").model
    with pytest.raises(UnknownNameError, match=r"no agent 'solidbox'\. Did you mean 'solid-box'"):
        resolve_model("solidbox", "agent")
    with pytest.raises(UnknownNameError, match="no model 'solid-box'"):
        resolve_model("solid-box")


def test_what_is_no_agent_is_told_what_it_lacks() -> None:
    with pytest.raises(
        UsageError, match=r"is no agent: it lacks 'spec', a worldgauge.core.agent.AgentSpec and 'answer"
    ):
        resolve_model(object(), "agent")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="chat\\?model=NAME@URL"):
        resolve_model("http://localhost:8000", "agent")


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_outages_are_failures_and_asked_again(builds: Path, tmp_path: Path, workers: int) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    mine = f"{tmp_path / 'mine.py'}:Mine"
    asked = {"data": builds, "out": tmp_path / "runs", "settings": {"task": "reasoning"}, "workers": workers}
    first = run("mineanybuild", model=f"{mine}?fail_on=judge", labels={f"{mine}?fail_on=judge": "m"}, **asked)
    assert (first.counts.scored, first.counts.failed) == (30, 6)
    assert "the endpoint is down" in first.failures[0].error
    assert "mine" not in first.failures[0].error, "an outage is not the agent's fault"
    scored = [score for score in first.scores["m"] if score.metric == "reasoning/reasoning_accuracy"]
    assert len(scored) == 30
    again = run("mineanybuild", model=f"{mine}?fail_on=judge", labels={f"{mine}?fail_on=judge": "m"}, **asked)
    assert again.counts.failed == 6


def test_a_run_that_goes_on_gives_the_same_scores(builds: Path, tmp_path: Path) -> None:
    settings = {"task": "planning"}
    model = agents.get("random")()
    whole = run("mineanybuild", model=model, data=builds, out=tmp_path / "whole", settings=settings)
    run("mineanybuild", model=model, data=builds, out=tmp_path / "parts", settings=settings, limit=2)
    parts = run("mineanybuild", model=model, data=builds, out=tmp_path / "parts", settings=settings)
    read = [(root / "random" / "scores.jsonl").read_bytes() for root in (tmp_path / "whole", tmp_path / "parts")]
    assert read[0] == read[1]
    assert whole.counts == parts.counts
    record = json.loads(next((tmp_path / "whole" / "random" / "records").glob("*/record.json")).read_text())
    assert record["rollout"] is None
