"""Whole decisions over HTTP, and the same ones from their recording alone."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.closedloop.policies.home_scene import F, Seen, candidates, largest_thing
from support.chat_endpoint import Asked, FakeEndpoint, error, likely, ok
from worldgauge.chat.endpoint import open_chat
from worldgauge.chat.prompts import Prompts
from worldgauge.chat.reply import EndpointError
from worldgauge.core.episode import Goal
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Decision, PolicyKit, proposers, revisers

GOALS = {
    "navigation": Goal(image=np.zeros((72, 128, 3), np.uint8)),
    "recognition": Goal(choices=("bed", "chair", "sofa")),
    "questions": Goal(text="Where is the bed?"),
}


def fitting(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    """Answers in the form that is asked for, every third time in none; what it says depends on the seed."""
    body, seed = asked.body, int(asked.body["seed"])
    if seed % 3 == 0:
        return ok("I would rather not.", logprobs=likely({"I": -0.1}))(handler, asked)
    if body.get("logprobs"):
        return ok("B", logprobs=likely({"B": -0.5, "A": -1.5}))(handler, asked)
    fields = body["response_format"]["json_schema"]["schema"]["properties"]
    value: dict[str, Any] = {"reason": "r", "answer": None, "view": "left", "landmark": None, "choice": 1 + seed % 2}
    value |= (
        {"plan": "go on" if fields["plan"]["type"] == "string" else ["FLR"[seed % 2], "F"]} if "plan" in fields else {}
    )
    return ok(json.dumps({name: value[name] for name in fields}))(handler, asked)


def decided(
    task: str, chat: Any, prompts: Path | None = None, **options: Any
) -> tuple[list[ActionPlan], Decision, Any]:
    kit = PolicyKit(task, 5, chat, None if prompts is None else str(prompts), options)
    seen = Seen()
    if task == "recognition":
        seen = Seen(target=largest_thing(seen))
    proposer: Any = proposers.get("chat")(kit)
    plans = list(proposer.propose(seen, GOALS[task], [], 2, np.random.default_rng(1)))
    made = candidates(plans or [ActionPlan((F,), "x")], seen)
    decision = revisers.get("chat")(kit).revise(made, seen, GOALS[task], [], np.random.default_rng(2))
    return plans, decision, proposer.asked


@pytest.mark.parametrize("kind", ["select", "rewrite"])
@pytest.mark.parametrize("task", list(GOALS))
def test_a_decision_comes_back_from_its_recording(task: str, kind: str, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.always = fitting
    text = f"m@{endpoint.url}"
    first = decided(task, open_chat(text, tmp_path), kind=kind)
    assert first[0]
    asked = len(endpoint.asked)
    assert asked >= 3
    endpoint.always = error(500)
    assert decided(task, open_chat(text, tmp_path, replay="only"), kind=kind) == first
    assert len(endpoint.asked) == asked


def test_a_fallback_comes_back_from_its_recording(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.always = ok("no", logprobs=likely({"no": -0.1}))
    text = f"m@{endpoint.url}"
    first = decided("recognition", open_chat(text, tmp_path), asks=2)
    assert first[1].notes["fallback_answer"]
    again = decided("recognition", open_chat(text, tmp_path, replay="only"), asks=2)
    assert again == first


def test_an_outage_in_mid_decision_fails_it_and_another_try_goes_on(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    text = f"m@{endpoint.url}"
    plan = ok('{"reason": "r", "plan": ["F"]}'), ok('{"reason": "r", "plan": ["L", "F"]}')
    endpoint.then(*plan, error(401))
    with pytest.raises(EndpointError):
        decided("navigation", open_chat(text, tmp_path))
    endpoint.then(ok('{"reason": "r", "choice": 2}'))
    plans, decision, _ = decided("navigation", open_chat(text, tmp_path))
    assert decision.plan == plans[1]
    # The plans were not paid for twice.
    assert len(endpoint.asked) == 4


def test_a_users_prompts_are_used_and_named_in_the_notes(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.always = fitting
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "navigation-propose.txt").write_text("version: mine\nMY WORDS $goal $views $history $length")
    _, decision, asked = decided("navigation", open_chat(f"m@{endpoint.url}"), folder)
    assert asked[0]["prompt"] == Prompts("worldgauge.suites.closedloop", folder)["navigation-propose"].label
    assert asked[0]["prompt"].startswith("navigation-propose/mine@")
    sent = [part["text"] for part in endpoint.asked[0].body["messages"][0]["content"] if part["type"] == "text"]
    assert sent[0] == "MY WORDS"
    assert all(note["prompt"].startswith("navigation-select/1@") for note in decision.notes["asks"])
