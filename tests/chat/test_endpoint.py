"""MODEL@URL becomes a model; keys come from the environment and land nowhere."""

from pathlib import Path
from typing import Any

import pytest

from support.chat_endpoint import FakeEndpoint, error, likely, ok
from worldgauge.chat.endpoint import model_and_url, open_chat
from worldgauge.chat.prompt_runner import Asker
from worldgauge.chat.prompts import Prompts
from worldgauge.chat.reply import AnswerError, BudgetError, EndpointError, NoAnswerError, PromptTooLongError
from worldgauge.core.errors import UsageError
from worldgauge.suites.worldinworld.policies.asking import read_mark

FIELDS = {"question": "q", "reference": "r", "extra": "none", "prediction": "p"}


def mark(chat: Any, asks: int = 2) -> int:
    asker = Asker(chat, Prompts("worldgauge.suites.worldinworld"))
    return asker.ask("judge", lambda squeeze: FIELDS, lambda reply: read_mark(reply.text), seed=1, asks=asks).value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("m@http://localhost:8000/v1", ("m", "http://localhost:8000/v1")),
        ("org/name:7b@https://host.example/v1/", ("org/name:7b", "https://host.example/v1")),
        ("a@2024@http://h/v1", ("a@2024", "http://h/v1")),
        (" gpt@openai ", ("gpt", None)),
    ],
)
def test_model_and_address_are_told_apart(text: str, found: tuple[str, str | None]) -> None:
    assert model_and_url(text) == found


@pytest.mark.parametrize(
    "text", ["", "m", "m@", "@http://h/v1", "m@h:8000", "m@ftp://h/v1", "m@http://", "m@http://h:99999/"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="language model"):
        model_and_url(text)


@pytest.mark.parametrize(
    "url", ["http://user:sk-secret1@h/v1", "https://h/v1?key=sk-secret1", "http://h/v1#sk-secret1"]
)
def test_an_address_with_a_key_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match="environment variable") as caught:
        open_chat(f"m@{url}")
    assert "secret" not in str(caught.value)


def test_the_key_comes_from_the_environment_and_is_stored_nowhere(
    endpoint: FakeEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret-key")
    endpoint.always = ok("MARK: 4, sk-very-secret-key")
    assert mark(open_chat(f"m@{endpoint.url}", tmp_path, key_env="MY_KEY")) == 4
    assert endpoint.asked[0].headers["authorization"] == "Bearer sk-very-secret-key"
    assert all(b"very-secret" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_run_repeats_exactly_from_its_recording_failures_included(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.then(ok("?"), ok(""), ok("MARK: 2"))
    text = f"m@{endpoint.url}"
    assert (mark(open_chat(text, tmp_path), asks=3), len(endpoint.asked)) == (2, 3)
    endpoint.always = error(500)
    again = open_chat(text, tmp_path, replay="only")
    assert mark(again, asks=3) == 2
    with pytest.raises(AnswerError, match="no text"):
        mark(again, asks=2)
    assert len(endpoint.asked) == 3


def test_a_run_that_goes_on_meets_replies_of_another_form_again(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    """Silence may have been an outage, so it is asked about again; `off` asks about everything."""
    endpoint.then(ok("no JSON"), ok(""), ok("{}"), ok("{}"))
    given: dict[str, Any] = {"schema": {"type": "object"}, "temperature": 1.0}
    for question, kind in (("a", AnswerError), ("b", NoAnswerError)):
        with pytest.raises(kind):
            open_chat(f"m@{endpoint.url}", tmp_path).ask(question, **given)
    with pytest.raises(AnswerError):
        open_chat(f"m@{endpoint.url}", tmp_path).ask("a", **given)
    assert len(endpoint.asked) == 2
    assert open_chat(f"m@{endpoint.url}", tmp_path).ask("b", **given).value == {}
    assert open_chat(f"m@{endpoint.url}", tmp_path, replay="off").ask("a", **given).value == {}
    assert open_chat(f"m@{endpoint.url}", tmp_path).ask("a", **given).replayed


def test_a_prompt_that_was_too_long_is_shortened_again_in_replay(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    too_long = error(400, "the prompt is too long", code="context_length_exceeded")
    endpoint.then(too_long, ok("MARK: 5"))
    text = f"m@{endpoint.url}"

    def once(chat: Any) -> int:
        asker = Asker(chat, Prompts("worldgauge.suites.worldinworld"))
        fields = lambda squeeze: FIELDS | {"extra": f"shorter {squeeze}"}  # noqa: E731
        return asker.ask("judge", fields, lambda reply: read_mark(reply.text), seed=1, asks=1).value

    assert [once(open_chat(text, tmp_path)), once(open_chat(text, tmp_path, replay="only"))] == [5, 5]
    assert len(endpoint.asked) == 2
    with pytest.raises(PromptTooLongError):
        open_chat(text, tmp_path, replay="only").ask(
            Prompts("worldgauge.suites.worldinworld")["judge"].messages(**FIELDS | {"extra": "shorter 0"}),
            seed=1,
            temperature=1.0,
            top_p=1.0,
            prompt_version=Prompts("worldgauge.suites.worldinworld")["judge"].label,
        )


def test_outages_are_not_replayed(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.then(error(401), ok("MARK: 1"))
    text = f"m@{endpoint.url}"
    with pytest.raises(EndpointError, match="401"):
        mark(open_chat(text, tmp_path))
    with pytest.raises(EndpointError, match="no recorded answer"):
        mark(open_chat(text, tmp_path, replay="only"))
    assert mark(open_chat(text, tmp_path)) == 1


def test_a_budget_stops_before_it_is_passed(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.always = ok("MARK: 3", usage=(1000, 10))
    chat = open_chat(f"m@{endpoint.url}", tmp_path, input_price=1.0, output_price=1.0, budget=0.0025)
    assert mark(chat) == 3
    with pytest.raises(BudgetError):
        chat.ask("another one")
    assert len(endpoint.asked) == 1
    with pytest.raises(UsageError, match="give both"):
        open_chat(f"m@{endpoint.url}", tmp_path, input_price=1.0)


def test_listed_tokens_come_as_the_endpoint_gave_them(endpoint: FakeEndpoint) -> None:
    endpoint.always = ok("B", logprobs=likely({"B": -0.3, " C": -1.9, "C": -2.2, "The": -2.5}))
    reply = open_chat(f"m@{endpoint.url}").ask("?", choices=["A", "B", "C"])
    assert reply.probabilities.listed == (("B", -0.3), (" C", -1.9), ("C", -2.2), ("The", -2.5))
