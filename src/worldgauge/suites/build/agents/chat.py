"""`chat`: a vision language model behind an endpoint answers, once per task, without examples from the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worldgauge.chat.client import Chat, ChatModel, Message, Question, Reply
from worldgauge.chat.client.model import Replay
from worldgauge.chat.endpoint import open_chat
from worldgauge.chat.prompt_runner import Asker
from worldgauge.chat.prompts import Prompts
from worldgauge.core.agent import AgentSpec, Answer, Problem, agents
from worldgauge.core.errors import UsageError
from worldgauge.suites.build.agents.wording import fields_of, prompt_of

MAX_TOKENS = 8192
"""Default per answer: a matrix costs at least a token per cell (the release: 1024 or 2048 for some)."""


@agents.register("chat")
class ChatAgent:
    """Asks a model with our prompts, all pictures attached; its reply is the answer, cut off or not.

    Args:
        model: MODEL@URL, such as Qwen/Qwen2.5-VL-7B-Instruct@http://localhost:8000/v1, or a live Chat.
        temperature: Of every answer; None leaves it to the endpoint, which some models need.
        top_p: Of every answer; None leaves it to the endpoint.
        max_tokens: Of every answer.
        prompts: Folder whose files replace ours.
        recording: Folder that stores all replies.
        replay: "use", "only" or "off" (docs/chat.md).
        input_price: Of a million tokens.
        output_price: Of a million tokens.
        budget: Cap in the same money.
        requests_per_minute: Limit of calls.
        concurrency: Calls at a time.
        key_env: Environment variable that holds the key.

    Raises:
        UsageError: For values that are not allowed.
    """

    def __init__(
        self,
        model: str | Chat,
        *,
        temperature: float | None = 0.0,
        top_p: float | None = 1.0,
        max_tokens: int = MAX_TOKENS,
        prompts: str | Path | None = None,
        recording: str | Path | None = None,
        replay: Replay = "use",
        input_price: float | None = None,
        output_price: float | None = None,
        budget: float | None = None,
        requests_per_minute: int | None = None,
        concurrency: int = 8,
        key_env: str | None = None,
    ) -> None:
        if isinstance(model, str):
            self._chat: Chat = open_chat(
                model,
                recording,
                replay=replay,
                input_price=input_price,
                output_price=output_price,
                budget=budget,
                requests_per_minute=requests_per_minute,
                concurrency=concurrency,
                key_env=key_env,
            )
        else:
            self._chat = model
        self._prompts = Prompts("worldgauge.suites.build", prompts)
        self._sampling = _sampling(temperature, top_p, max_tokens)
        identity = self._chat.identity if isinstance(self._chat, ChatModel) else {"model": type(self._chat).__name__}
        name = str(identity["model"]).rpartition("/")[2]
        self.spec = AgentSpec(name, settings={**identity, "prompts": self._prompts.digest, **self._sampling})

    def answer(self, problem: Problem) -> Answer:
        """Return the model's reply.

        Raises:
            EndpointError: For an outage, a refusal, and a reply that holds no answer.
            BudgetError: If the budget is used up.
        """
        # One asker an answer: its notes must not mix with those of another thread.
        asker = Asker(self._chat, self._prompts)
        fields = fields_of(problem)
        answered = asker.ask(
            prompt_of(problem),
            lambda squeeze: fields,
            _whole,
            seed=problem.seed,
            asks=1,
            allow_truncated=True,
            **self._sampling,
        )
        reply = answered.value
        # The note holds the words, which are the answer already.
        notes = {name: value for name, value in answered.note.items() if name != "reply"}
        return Answer(reply.text, {**notes, "finish": reply.finish_reason})


def _sampling(temperature: float | None, top_p: float | None, max_tokens: int) -> dict[str, Any]:
    """How answers are drawn, as arguments of `Chat.ask`. Raises UsageError now for what would fail at every task."""
    try:
        drawn: dict[str, Any] = {
            "temperature": None if temperature is None else float(temperature),
            "top_p": None if top_p is None else float(top_p),
            "max_tokens": int(max_tokens),
        }
    except (TypeError, ValueError) as error:
        raise UsageError(f"agent 'chat': temperature, top_p and max_tokens are numbers: {error}") from None
    Question((Message("user", "?"),), **drawn)
    return drawn


def _whole(reply: Reply) -> Reply:
    return reply
