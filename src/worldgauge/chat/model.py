"""Chat models: questions to an OpenAI-compatible endpoint, paid for and recorded; and one with a script of answers."""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from worldgauge.chat.answers import answer_text
from worldgauge.chat.question import (
    MOST_ALTERNATIVES,
    ChatQuestion,
    Encoding,
    Message,
    checked_image,
    digest,
    request_body,
    request_messages,
)
from worldgauge.chat.reply import (
    AnswerError,
    BudgetError,
    CallFailure,
    EndpointError,
    NoAnswerError,
    ParsedAnswer,
    Probabilities,
    PromptTooLongError,
    Reply,
    Unfit,
    checked_value,
    read_answer,
    read_completion,
    read_usage,
)
from worldgauge.chat.transport import ChatRecording, Ledger, Prices, Transport, estimate_tokens
from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image


class Chat(ABC):
    """Something that answers questions, such as `ChatModel` and `ScriptedChat`."""

    def ask(
        self,
        prompt: str | Sequence[Message],
        *,
        images: Sequence[Image] = (),
        schema: Mapping[str, Any] | None = None,
        choices: Sequence[str] | None = None,
        top_logprobs: int = MOST_ALTERNATIVES,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int = 2048,
        seed: int | None = None,
        sample: int = 0,
        allow_truncated: bool = False,
        prompt_version: str = "",
    ) -> Reply:
        """Request a reply; None leaves a value to the endpoint. `images`, (H, W, 3) uint8 RGB, follow the prompt."""
        messages = (Message("user", prompt),) if isinstance(prompt, str) else tuple(prompt)
        if len(images) > 0 and messages:
            *before, last = messages
            messages = (*before, Message(last.role, (*last.parts, *map(checked_image, images))))
        return self.answer(
            ChatQuestion(
                messages,
                schema=schema,
                choices=None if choices is None else tuple(choices),
                top_logprobs=top_logprobs,
                temperature=temperature,
                top_p=top_p,
                max_tokens=max_tokens,
                seed=seed,
                sample=sample,
                allow_truncated=allow_truncated,
                prompt_version=prompt_version,
            )
        )

    @abstractmethod
    def answer(self, question: ChatQuestion) -> Reply:
        """As `ask`, for a question that exists already."""


WINDOW_S = 60.0


class Clock:
    """The clock that waiting uses; tests replace it."""

    def now(self) -> float:
        """Seconds since a fixed moment; never decreases."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""
        time.sleep(seconds)


class CountedCall:
    """One call as the limits count it. tokens: Number of tokens; set it when the endpoint reports the true number."""

    def __init__(self, at: float, tokens: int) -> None:
        self.at = at
        self.tokens = tokens


class Limits:
    """Limits within any 60 seconds, and at the same time. Threads and chat models may share one object.

    Every process has its own limits: divide the limits of an endpoint by the number of workers.

    Args:
        requests_per_minute: Most calls per minute; None for no limit.
        tokens_per_minute: Most tokens per minute; None for no limit.
        concurrency: Most calls at the same time.
        clock: Clock of the waits.

    Raises:
        UsageError: A limit is out of range.

    Examples:
        >>> limits = Limits(tokens_per_minute=1000)
        >>> with limits.admit(200) as call:
        ...     call.tokens
        200
    """

    def __init__(
        self,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        concurrency: int = 8,
        *,
        clock: Clock | None = None,
    ) -> None:
        given = (requests_per_minute, tokens_per_minute, concurrency)
        if any(limit is not None and limit < 1 for limit in given):
            raise UsageError(f"limits {given}: requests, tokens and calls at once are at least 1, or None")
        self.requests_per_minute = requests_per_minute
        self.tokens_per_minute = tokens_per_minute
        self.clock = clock or Clock()
        self._slots = threading.Semaphore(concurrency)
        self._lock = threading.Lock()
        self._sent: deque[CountedCall] = deque()

    @contextmanager
    def admit(self, tokens: int) -> Iterator[CountedCall]:
        """Wait until a call of about so many tokens may be sent; make it inside the block, which gets its count.

        Raises:
            UsageError: The call alone takes more than the tokens of a minute.
        """
        if self.tokens_per_minute is not None and tokens > self.tokens_per_minute:
            raise UsageError(
                f"one question takes about {tokens} tokens, more than tokens_per_minute={self.tokens_per_minute}; "
                "lower max_tokens, or send fewer or smaller pictures"
            )
        with self._slots:
            while isinstance(sent := self._try(tokens), float):
                self.clock.sleep(sent)
            yield sent

    def _try(self, tokens: int) -> CountedCall | float:
        """The call, noted as sent now, or the seconds until it is worth trying again."""
        with self._lock:
            now = self.clock.now()
            while self._sent and self._sent[0].at + WINDOW_S <= now:
                self._sent.popleft()
            full = self.requests_per_minute is not None and len(self._sent) >= self.requests_per_minute
            if self.tokens_per_minute is not None:
                full |= sum(sent.tokens for sent in self._sent) + tokens > self.tokens_per_minute
            if full:
                return self._sent[0].at + WINDOW_S - now
            if self.requests_per_minute is None and self.tokens_per_minute is None:
                return CountedCall(now, tokens)
            self._sent.append(CountedCall(now, tokens))
            return self._sent[-1]


Replay = Literal["off", "use", "only"]
Structured = Literal["schema", "prompt"]

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0


class ChatModel(Chat):
    """A model at a chat endpoint; safe for threads. Its `ask` is that of `Chat`.

    Args:
        model: Name of the model.
        base_url: Address, such as http://localhost:8000/v1; None for OpenAI's.
        api_key_env: Environment variable with the key. None means OPENAI_API_KEY at OpenAI's endpoint and no key
            elsewhere.
        endpoint: Name of the endpoint in the recording; its host by default. Set it when the host changes between runs.
        timeout: Seconds for one attempt.
        deadline: Seconds for all attempts of one question; waiting for `limits` is not counted.
        attempts: Most calls for one answer while the endpoint fails.
        reasks: How often a question is repeated, as a further recorded attempt, when the answer does not fit it.
        structured: "schema" sends the schema to the endpoint; "prompt" writes it under the last message, for endpoints
            that do not support schemas.
        encoding: How pictures are sent.
        recording: Folder that stores everything.
        replay: "use" answers from the recording what it holds, "only" never calls the endpoint, "off" always calls it.
        replay_failures: With "only", a question that the model could not answer, or could not take, fails again as it
            did, so that what was done instead is repeated too. With "use", only one that was answered in another form.
        prices: Prices of the endpoint.
        budget: Largest sum of money spent through the recording, which it requires.
        limits: Rate limits; their clock also times the waits.
        jitter: Spreads the waits before attempts; no result depends on it.

    Raises:
        UsageError: An argument is out of range or does not fit the others.
        RunError: The recording cannot be used.

    Examples:
        >>> chat = ChatModel("qwen", "http://localhost:8000/v1")
        >>> chat.endpoint, chat.spent
        ('localhost:8000', 0.0)
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key_env: str | None = None,
        *,
        endpoint: str | None = None,
        timeout: float = 300.0,
        deadline: float = 900.0,
        attempts: int = 6,
        reasks: int = 2,
        structured: Structured = "schema",
        encoding: Encoding | None = None,
        recording: str | Path | None = None,
        replay: Replay = "use",
        replay_failures: bool = False,
        prices: Prices | None = None,
        budget: float | None = None,
        limits: Limits | None = None,
        jitter: np.random.Generator | None = None,
    ) -> None:
        if replay not in get_args(Replay) or structured not in get_args(Structured):
            raise UsageError(
                f"replay={replay!r}, structured={structured!r}; give off, use or only, and schema or prompt"
            )
        if attempts < 1 or reasks < 0 or not timeout > 0 or not deadline > 0:
            raise UsageError("attempts is at least 1, reasks at least 0, timeout and deadline are more than 0 seconds")
        if recording is None and (budget is not None or replay == "only"):
            raise UsageError("a budget and replay='only' need a recording; give its folder")
        if budget is not None and prices is None:
            raise UsageError("a budget needs prices; give prices=Prices(input=..., output=...) for a million tokens")
        self._transport = Transport(base_url, api_key_env)
        self.model = model
        self.endpoint = endpoint or self._transport.host
        self.encoding = encoding or Encoding()
        self._timeout, self._deadline = timeout, deadline
        self._attempts, self._reasks = attempts, reasks
        self._structured, self._replay = structured, replay
        self._replay_failures = replay_failures
        self._prices = prices
        self._recording = None if recording is None else ChatRecording(Path(recording), self._transport.key)
        self._ledger = Ledger(self._recording.folder / "spent.jsonl", budget) if self._recording and prices else None
        self._limits = limits or Limits()
        self._jitter = np.random.default_rng() if jitter is None else jitter
        self._jitter_lock = threading.Lock()

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that its answers depend on, as plain JSON values."""
        return {
            "model": self.model,
            "endpoint": self.endpoint,
            "structured": self._structured,
            "images": self.encoding.facts,
        }

    @property
    def spent(self) -> float:
        """Money spent through the recording, by all processes and earlier runs; 0 without prices or a recording."""
        return 0.0 if self._ledger is None else self._ledger.spent

    def key(self, question: ChatQuestion) -> str:
        """Name of a question to this model in the recording: a digest of everything that the answer depends on."""
        return digest([self.identity, question.facts(self.encoding)])

    def answer(self, question: ChatQuestion) -> Reply:
        """Answer a question, from the recording or the endpoint; see `Chat.ask`.

        Raises:
            AnswerError: No answer fits the question; NoAnswerError when the reply holds none at all.
            EndpointError: The endpoint gives no answer.
            BudgetError: The call could pass the budget.
            RunError: The recording cannot be used.
        """
        facts = question.facts(self.encoding)
        key = digest([self.identity, facts])
        line = None if self._recording is None or self._replay == "off" else self._recording.find(key)
        if line is not None:
            return self._replayed(line, question)
        if self._recording is not None and self._replay_failures and self._replay != "off":
            line = self._recording.find_failed(key)
            error = line.get("error") if line is not None else None
            # A run that goes on meets a reply in another form again: policies have counted it.
            repeated = _LASTING if self._replay == "only" else {AnswerError.__name__: AnswerError}
            if isinstance(error, dict) and error.get("type") in repeated:
                raise repeated[error["type"]](str(error.get("message")))
        if self._replay == "only":
            raise EndpointError(
                f"no recorded answer of {self.model} at {self.endpoint} to question {key}; "
                "ask it with replay='use', or mend what has changed in it"
            )
        self._transport.connect()
        return _Ask(self, question, facts, key).run()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _replayed(self, line: Mapping[str, Any], question: ChatQuestion) -> Reply:
        try:
            answer = read_answer(read_completion(line["attempts"][-1]["body"]), question)
            facts = {name: line["reply"][name] for name in _REPLY_FACTS}
        except (Unfit, CallFailure, LookupError, TypeError) as error:
            kind = NoAnswerError if isinstance(error, Unfit) and error.silent else AnswerError
            raise kind(f"the recorded answer to question {line['key']} cannot be used: {error}") from error
        return _reply(answer, {**facts, "replayed": True, "key": line["key"]})

    def _wait_s(self, failures: int, asked_for: float | None) -> float:
        """Seconds before the next attempt: doubling, jittered down to half, no shorter than the endpoint asks for."""
        with self._jitter_lock:
            share = 0.5 + 0.5 * float(self._jitter.random())
        wait = FIRST_WAIT_S * 2 ** min(failures - 1, 20) * share
        return float(min(LONGEST_WAIT_S, max(wait, asked_for or 0.0)))


_LASTING: Mapping[str, type[AnswerError] | type[PromptTooLongError]] = {
    kind.__name__: kind for kind in (AnswerError, NoAnswerError, PromptTooLongError)
}
"""Failures that depend on the question and the model, not on the moment."""
_REPLY_FACTS = (
    *("input_tokens", "output_tokens", "cost", "cost_estimated"),
    *("seconds", "attempts", "model", "fingerprint"),
)


class _Ask:
    """One running question: its attempts so far, and the time left."""

    def __init__(self, chat: ChatModel, question: ChatQuestion, facts: dict[str, Any], key: str) -> None:
        self.chat = chat
        self.question = question
        self.facts = facts
        self.key = key
        self.tokens = estimate_tokens(question, chat.encoding)
        self.attempts: list[dict[str, Any]] = []
        self.clock = chat._limits.clock
        self.started = self.clock.now()
        self.idle = 0.0
        self.in_words = chat._structured == "prompt"
        self.messages = request_messages(question, self._show, schema_in_words=self.in_words)

    def run(self) -> Reply:
        """Ask until an answer fits; keep how it went, whatever it was."""
        try:
            answer = self._fitting()
        except (EndpointError, AnswerError, BudgetError) as error:
            self._record("failed", None, error)
            raise
        reply = _reply(answer, {**self._totals(), "key": self.key})
        self._record("answer", reply, None)
        return reply

    def _fitting(self) -> ParsedAnswer:
        for repeat in range(self.chat._reasks + 1):
            completion = self._completion(self._body(repeat))
            try:
                return read_answer(completion, self.question)
            except Unfit as unfit:
                self.attempts[-1]["error"] = problem = str(unfit)
                kind = NoAnswerError if unfit.silent else AnswerError
                if not unfit.again:
                    break
            except CallFailure as failure:
                self.attempts[-1]["error"] = str(failure)
                raise self._gave_up(failure) from None
        times = f" ({repeat + 1} times asked)" if repeat else ""
        raise kind(f"{self.chat.model} at {self.chat.endpoint}: {problem}{times}")

    def _body(self, repeat: int) -> dict[str, Any]:
        openai = self.chat._transport.is_openai
        model, messages = self.chat.model, self.messages
        return request_body(model, self.question, messages, repeat, schema=not self.in_words, openai=openai)

    def _completion(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Completion of `payload`, after as many attempts as needed; raises EndpointError."""
        for failures in range(1, self.chat._attempts + 1):
            if self._left() <= 0:
                raise self._gave_up(CallFailure(f"did not answer within the deadline of {self.chat._deadline:g} s"))
            try:
                return self._attempt(payload)
            except CallFailure as failure:
                wait = self.chat._wait_s(failures, failure.retry_after)
                if not failure.again or failures == self.chat._attempts or wait >= self._left():
                    raise self._gave_up(failure) from failure
                self.attempts[-1]["wait"] = wait
            self.clock.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        chat, asked = self.chat, self.clock.now()
        with chat._limits.admit(self.tokens + self.question.max_tokens) as sent:
            self.idle += self.clock.now() - asked
            estimate = chat._prices.cost(self.tokens, self.question.max_tokens) if chat._prices else None
            receipt = chat._ledger.reserve(estimate) if chat._ledger and estimate is not None else None
            note: dict[str, Any] = {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "seed": payload.get("seed"),
                "status": None,
                "body": None,
                "error": None,
                "cost": estimate,
                "cost_estimated": estimate is not None,
            }
            self.attempts.append(note)
            begin = self.clock.now()
            try:
                note["body"] = chat._transport.send(payload, max(0.001, min(chat._timeout, self._left())))
                note["status"] = 200
                completion = read_completion(note["body"])
            except CallFailure as failure:
                note["error"] = str(failure)
                note["status"] = failure.status or note["status"]
                note["body"] = note["body"] or failure.body
                if not failure.charged:
                    self._pay(note, receipt, 0.0)
                raise
            finally:
                note["seconds"] = round(self.clock.now() - begin, 3)
            note["model"] = str(completion.get("model") or "")
            note["fingerprint"] = str(completion.get("system_fingerprint") or "")
            usage = read_usage(completion)
            if usage is not None:
                sent.tokens = sum(usage)
                note["input_tokens"], note["output_tokens"] = usage
                self._pay(note, receipt, chat._prices.cost(*usage) if chat._prices else 0.0)
            return completion

    def _pay(self, note: dict[str, Any], receipt: str | None, cost: float) -> None:
        """Replace the estimated cost by the true cost, if it is known."""
        if self.chat._prices is not None:
            note["cost"], note["cost_estimated"] = cost, False
        if self.chat._ledger is not None and receipt is not None:
            self.chat._ledger.settle(receipt, cost)

    def _left(self) -> float:
        """Seconds until the deadline."""
        return self.started + self.idle + self.chat._deadline - self.clock.now()

    def _gave_up(self, failure: CallFailure) -> EndpointError:
        chat, count = self.chat, len(self.attempts)
        advice = {
            401: "; the key is not valid, set the environment variable that api_key_env names",
            403: "; this key may not use it",
            404: f"; check the model's name, and that base_url is right: {chat._transport.base_url}",
        }.get(failure.status or 0, "")
        if failure.status in (400, 422) and self.question.schema is not None and chat._structured == "schema":
            advice = "; if it knows no JSON schemas, give structured='prompt'"
        tried = f" ({count} attempts in {self.clock.now() - self.started:.0f} s)" if count > 1 else ""
        kind = PromptTooLongError if failure.too_long else EndpointError
        return kind(f"{chat.model} at {chat.endpoint} {failure}{chat._transport.proxy}{advice}{tried}", failure.status)

    def _totals(self) -> dict[str, Any]:
        counted = [note for note in self.attempts if "input_tokens" in note]
        costs = [note["cost"] for note in self.attempts if note["cost"] is not None]
        return {
            "input_tokens": sum(note["input_tokens"] for note in counted) if counted else None,
            "output_tokens": sum(note["output_tokens"] for note in counted) if counted else None,
            "cost": sum(costs) if costs else None,
            "cost_estimated": any(note["cost_estimated"] for note in self.attempts),
            "seconds": round(self.clock.now() - self.started, 3),
            "attempts": len(self.attempts),
            "model": self.attempts[-1].get("model", "") if self.attempts else "",
            "fingerprint": self.attempts[-1].get("fingerprint", "") if self.attempts else "",
        }

    def _record(self, status: str, reply: Reply | None, error: Exception | None) -> None:
        if self.chat._recording is None:
            return
        made = None if reply is None else {"text": reply.text, "value": reply.value, "finish": reply.finish_reason}
        if reply is not None and reply.probabilities is not None:
            assert made is not None
            made["mass"] = dict(reply.probabilities.mass)
            made["missing"] = list(reply.probabilities.missing)
        self.chat._recording.add(
            {
                "key": self.key,
                "status": status,
                "asked": self.chat.identity,
                "question": self.facts,
                "attempts": self.attempts,
                "answer": made,
                "reply": self._totals(),
                "error": None if error is None else {"type": type(error).__name__, "message": str(error)},
            }
        )

    def _show(self, image: Image) -> str:
        encoding, recording = self.chat.encoding, self.chat._recording
        data = encoding.encode(image)
        if recording is not None:
            recording.keep_image(encoding.identify(image), data, encoding.format)
        return encoding.data_url(data)


def _reply(answer: ParsedAnswer, facts: Mapping[str, Any]) -> Reply:
    return Reply(answer.text, answer.value, answer.probabilities, answer.finish_reason, **facts)


Line = str | Mapping[str, float] | Exception


class ScriptedChat(Chat):
    """Answers from a list, or a function of the question, with probabilities for choices; raises its exceptions.

    They are checked like answers of a model, but not requested again. Safe for threads.
    """

    def __init__(self, script: Sequence[Line] | Callable[[ChatQuestion], Line]) -> None:
        self._script = script
        self._left: Iterator[Line] = iter(()) if callable(script) else iter(tuple(script))
        self._lock = threading.Lock()

    def answer(self, question: ChatQuestion) -> Reply:
        """Answer from the script; see `Chat.ask`."""
        with self._lock:
            line = self._script(question) if callable(self._script) else next(self._left, None)
        if line is None:
            raise AnswerError("the script of this chat has no more answers; give it more, or a function")
        if isinstance(line, Exception):
            raise line
        try:
            return _scripted_reply(line, question)
        except Unfit as unfit:
            raise (NoAnswerError if unfit.silent else AnswerError)(f"scripted answer: {unfit}") from None


def _scripted_reply(line: str | Mapping[str, float], question: ChatQuestion) -> Reply:
    value: Any = None
    if isinstance(line, str):
        text, answer = line, answer_text(line).strip()
        if not answer:
            raise Unfit("it holds no answer", again=False, silent=True)
        value = None if question.schema is None else checked_value(line, question.schema)
        given: Mapping[str, float] = {answer: 1.0}
    else:
        text, given = max(line, key=lambda choice: line[choice]), line
    if question.choices is None:
        return Reply(text, value, model="script")
    mass = {choice: float(given[choice]) for choice in question.choices if choice in given}
    if not sum(mass.values()) > 0:
        raise Unfit(f"{text!r} is none of the choices {', '.join(question.choices)}", again=False)
    missing = tuple(choice for choice in question.choices if choice not in mass)
    listed = tuple((token, math.log(share)) for token, share in given.items() if share > 0)
    return Reply(text, value, Probabilities(mass, missing, listed), model="script")
