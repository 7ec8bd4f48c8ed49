"""An endpoint that fails: what is tried again, how long for, and that it never becomes an answer."""

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from support.chat_endpoint import Behaviour, Endless, FakeClock, FakeEndpoint, after, cut, drip, error, ok, raw, reset
from worldgauge.chat.model import ChatModel, Limits
from worldgauge.chat.reply import EndpointError, PromptTooLongError
from worldgauge.core.errors import UsageError

Make = Callable[..., ChatModel]
HTML = "<!DOCTYPE html><html><body>Sign in</body></html>"


@pytest.mark.parametrize(
    "failure",
    [
        error(408),
        error(409),
        error(429),
        error(500),
        error(503),
        raw("<h1>Bad gateway</h1>", 502),
        cut(),
        reset,
        raw('{"choices": [{"mess'),
        raw(b'{"choices": "\xff"}'),
        raw('{"choices": []}'),
        raw('{"choices": [null]}'),
        raw('{"choices": [{"message": null}]}'),
        raw('{"error": {"message": "upstream is overloaded", "code": 529}}'),
        raw('{"object": "error", "message": "The model is overloaded"}'),
        raw('{"object": "error", "message": "no", "type": "ServiceUnavailable", "code": 503}'),
        raw('{"type": "error", "error": {"type": "overloaded_error", "message": "no"}}'),
        raw('{"error": "Too Many Requests"}'),
        raw('{"error": {"message": "no", "type": "rate_limit_error", "code": null}}'),
        raw('[{"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED"}}]'),
        raw('{"detail": "Server busy, try again later"}'),
        raw('{"choices": [{"error": {"code": 502, "message": "no"}, "message": {"content": "ha"}}]}'),
        raw('{"choices": [{"message": {"content": "ha"}, "finish_reason": "error"}]}'),
        raw('{"choices": [{"message": {"content": "ha"}, "finish_reason": "abort"}]}'),
    ],
)
def test_what_may_pass_is_tried_again(chat: Make, endpoint: FakeEndpoint, clock: FakeClock, failure: Behaviour) -> None:
    endpoint.then(failure, failure)
    reply = chat().ask("x")
    assert (reply.text, reply.attempts, len(endpoint.asked)) == ("hello", 3, 3)
    assert len(clock.slept) == 2


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (error(400, "bad\nthing"), "answered 400: bad thing$"),
        (error(401, "bad key"), "answered 401: bad key; the key is not valid"),
        (error(403, "not yours"), "answered 403: not yours; this key may not use it"),
        (
            error(404, "no such model"),
            "answered 404: no such model; check the model's name, and that base_url is right",
        ),
        (error(422, "no"), "answered 422: no$"),
        (error(429, "pay up", code="insufficient_quota"), "answered 429: pay up$"),
        (raw("", 307, Location="http://127.0.0.1:1/"), "answered 307"),
        (raw(HTML, Content_Type="text/html"), "sent something that is no JSON; does base_url end with /v1"),
        (raw("[1, 2]"), "no chat completion"),
        (raw('{"object": "list"}'), "no chat completion"),
        (
            raw('{"object": "error", "message": "no such model", "code": 404}'),
            "an error as its answer: no such model; check",
        ),
        (raw('{"error": {"message": "prompt is not allowed", "code": 400}}'), "an error as its answer: prompt is not"),
        (raw('{"error": {"message": "pay up", "code": "insufficient_quota"}}'), "an error as its answer: pay up$"),
        (raw('{"detail": [{"msg": "field required"}]}'), "an error as its answer: .*field required"),
        (raw('{"message": "invalid key"}'), "an error as its answer: invalid key$"),
        (raw('{"error": {"code": 401}}'), "an error as its answer: .*401.*; the key is not valid"),
        (raw(gzip.compress(b" " * 10**6), Content_Encoding="gzip"), "compressed as gzip"),
        (Endless(), "reply of more than 16777216 bytes"),
    ],
)
def test_what_will_not_pass_is_said_at_once(
    chat: Make, endpoint: FakeEndpoint, clock: FakeClock, failure: Behaviour, line: str
) -> None:
    endpoint.always = failure
    with pytest.raises(EndpointError, match=line) as caught:
        chat().ask("x")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("m at fake ")
    assert (len(endpoint.asked), clock.slept) == (1, [])


def test_an_outage_is_an_error_after_all_attempts(chat: Make, endpoint: FakeEndpoint, clock: FakeClock) -> None:
    endpoint.always = error(503, "down")
    with pytest.raises(EndpointError, match=r"answered 503: down \(6 attempts in \d+ s\)") as caught:
        chat().ask("x")
    assert (caught.value.status, len(endpoint.asked)) == (503, 6)


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "nonsense"])
def test_no_proxy_gets_what_is_meant_for_this_machine(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, proxy)
    for host in ("127.0.0.1", "localhost", "LOCALHOST", "0.0.0.0", "127.1"):
        model = ChatModel("m", endpoint.url.replace("127.0.0.1", host), attempts=1)
        assert model.ask("x").text == "hello"
        model.close()


def test_other_addresses_go_through_the_proxy(endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    place = endpoint.url.removesuffix("/v1").removeprefix("http://")
    monkeypatch.setenv("http_proxy", f"http://me:canary@{place}")
    assert ChatModel("m", "http://model.example/v1").ask("x").text == "hello"
    assert endpoint.asked[0].path == "http://model.example/v1/chat/completions"
    endpoint.always = error(403, "no")
    with pytest.raises(
        EndpointError, match=rf"403: no \(through the proxy {place} of http_proxy\); this key"
    ) as caught:
        ChatModel("m", "http://model.example/v1").ask("x")
    assert "canary" not in str(caught.value)
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(UsageError, match=r"no connection \(through the proxy .*127.0.0.1:9 of http_proxy\): .*socks"):
        ChatModel("m", "http://model.example/v1").ask("x")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with pytest.raises(EndpointError, match=r"cannot be reached \(.*\) \(through the proxy 127.0.0.1:9 of http_proxy"):
        ChatModel("m", "http://model.invalid/v1", attempts=1).ask("x")
    monkeypatch.setenv("NO_PROXY", "model.invalid")
    with pytest.raises(EndpointError, match=r"cannot be reached \([^()]*\)$"):
        ChatModel("m", "http://model.invalid/v1", attempts=1).ask("x")


def test_nobody_there() -> None:
    model = ChatModel("m", "http://127.0.0.1:9/v1", attempts=2, limits=Limits(clock=FakeClock()))
    with pytest.raises(EndpointError, match=r"cannot be reached \(.*\) \(2 attempts"):
        model.ask("x")


def test_waits_double_with_jitter_of_their_own(chat: Make, endpoint: FakeEndpoint, clock: FakeClock) -> None:
    endpoint.always = error(500)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - that it stays as it is
    with pytest.raises(EndpointError):
        chat(jitter=np.random.default_rng(4)).ask("x")
    rng = np.random.default_rng(4)
    assert clock.slept == pytest.approx([0.5 * 2**n * (0.5 + 0.5 * rng.random()) for n in range(5)])
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"Retry_After": "7"}, 7, 7),
        ({"Retry_After": "7.5"}, 7.5, 7.5),
        ({"retry_after_ms": "2500"}, 2.5, 2.5),
        ({"Retry_After": format_datetime(datetime.now(UTC) + timedelta(hours=9), usegmt=True)}, 60, 60),
        ({"Retry_After": "100000"}, 60, 60),
        ({"Retry_After": "soon"}, 0.25, 0.5),
        ({"Retry_After": "-3"}, 0.25, 0.5),
        ({"Retry_After": format_datetime(datetime.now(UTC) - timedelta(hours=9), usegmt=True)}, 0.25, 0.5),
    ],
)
def test_retry_after_is_kept_within_bounds(
    chat: Make, endpoint: FakeEndpoint, clock: FakeClock, headers: dict[str, str], least: float, most: float
) -> None:
    endpoint.then(error(429, **headers))
    chat().ask("x")
    assert least <= clock.slept[0] <= most


def test_the_deadline_holds_over_all_attempts(chat: Make, endpoint: FakeEndpoint, clock: FakeClock) -> None:
    endpoint.always = error(429, Retry_After="40")
    with pytest.raises(EndpointError, match="3 attempts in 80 s"):
        chat(deadline=100.0).ask("x")
    assert clock.slept == [40, 40]


def test_a_slow_endpoint_is_left(chat: Make, endpoint: FakeEndpoint) -> None:
    answered = threading.Event()
    endpoint.then(after(answered))
    reply = chat(timeout=0.2).ask("x")
    answered.set()
    assert (reply.text, reply.attempts) == ("hello", 2)


@pytest.mark.parametrize("headers", [True, False])
def test_one_that_drips_does_not_hold_us(chat: Make, endpoint: FakeEndpoint, headers: bool) -> None:
    """Each byte comes within the time-out of a read; only the whole takes too long."""
    stop = threading.Event()
    endpoint.then(drip(stop, headers=headers))
    assert chat(timeout=0.3).ask("x").attempts == 2
    stop.set()


def test_an_endless_error_is_not_read(chat: Make, endpoint: FakeEndpoint) -> None:
    page = Endless(500)
    endpoint.then(page)
    assert chat().ask("x").attempts == 2
    assert page.ended.wait(30)
    assert page.taken < 2**26  # what fits into the buffers on the way, at most


@pytest.mark.parametrize(
    "body",
    [
        {"message": "This model's maximum context length is 4096 tokens", "code": "context_length_exceeded"},
        {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"},
    ],
)
def test_a_prompt_too_long_has_its_own_error(chat: Make, endpoint: FakeEndpoint, body: dict[str, Any]) -> None:
    endpoint.always = raw(json.dumps({"error": body}), 400)
    with pytest.raises(PromptTooLongError, match="context"):
        chat().ask("x")


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://x/v1",
        "http://u:secret@x/v1",
        "http://x/v1?key=secret",
        "http://",
        "http://x:y/",
        "http://[",
    ],
)
def test_base_urls_that_cannot_be_meant(url: str) -> None:
    with pytest.raises(UsageError, match="base_url must be like") as caught:
        ChatModel("m", url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"replay": "always"},
        {"structured": "yaml"},
        {"attempts": 0},
        {"timeout": 0},
        {"budget": 1.0},
        {"replay": "only"},
    ],
)
def test_settings_that_cannot_be_meant(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ChatModel("m", "http://localhost/v1", **wrong)


def test_many_threads_share_one_model(chat: Make, endpoint: FakeEndpoint) -> None:
    model = chat(limits=Limits(concurrency=3))
    endpoint.always = lambda handler, asked: ok(f"re: {asked.body['messages'][0]['content']}")(handler, asked)
    replies: dict[int, str] = {}
    threads = [
        threading.Thread(target=lambda n=n: replies.__setitem__(n, model.ask(f"question {n}").text)) for n in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert replies == {n: f"re: question {n}" for n in range(24)}
    assert 1 <= endpoint.most_at_once <= 3


class TestKeys:
    KEY = "sk-test-0123456789abcdef"

    def test_the_key_goes_to_the_endpoint_it_is_for(
        self, chat: Make, endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_KEY", self.KEY + "\n")
        chat(api_key_env="MY_KEY").ask("x")
        assert endpoint.asked[0].headers["authorization"] == f"Bearer {self.KEY}"

    def test_the_key_of_openai_is_shown_to_nobody_else(
        self, chat: Make, endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
            monkeypatch.setenv(name, self.KEY)
        chat().ask("x")
        assert self.KEY not in str(endpoint.asked[0])

    @pytest.mark.parametrize("value", ["", "sk-\x00abc", "schlüssel"])
    def test_a_missing_or_damaged_key_is_said_before_anything_is_sent(
        self, chat: Make, endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        if "\x00" not in value:
            monkeypatch.setenv("MY_KEY", value)
        with pytest.raises(UsageError, match="no key; set the environment variable MY_KEY"):
            chat(api_key_env="MY_KEY").ask("x")
        assert not endpoint.asked

    def test_openai_needs_its_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(UsageError, match=r"api.openai.com: no key; .* OPENAI_API_KEY"):
            ChatModel("m").ask("x")


def test_imports_are_light_and_name_the_extra(tmp_path: Any) -> None:
    code = (
        "import sys; sys.modules['openai'] = None\n"
        "from worldgauge.chat.model import ChatModel\n"
        "model = ChatModel('m', 'http://localhost:1/v1')\n"
        "try: model.ask('x')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.stdout.startswith("MissingExtraError"), done.stderr
    assert 'pip install --editable ".[chat]"' in done.stdout
    heavy = {"openai", "httpx", "httpx2", "jsonschema", "cv2"}
    code = f"import sys, worldgauge.chat.model; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "set()", done.stderr


def test_abandoned_attempts_end_by_themselves(chat: Make, endpoint: FakeEndpoint) -> None:
    stop = threading.Event()
    endpoint.then(drip(stop))
    chat(timeout=0.2).ask("x")
    for thread in [thread for thread in threading.enumerate() if thread.name == "chat-attempt"]:
        thread.join(10)
        assert not thread.is_alive()
    stop.set()
