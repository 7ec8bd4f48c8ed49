"""Estimators behind every transport: same answers, and every lie, crash and hang is one clear line in bounded time."""

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.served import MODELS, PYTHON, command, http_server, is_alive, question, wait_until
from worldgauge.core.errors import LostError, ModelError, NotApplicableError, UsageError
from worldgauge.serving import RemoteEstimator, open_estimator, open_model
from worldgauge.serving.process import ProcessChannel
from worldgauge.serving.remote_model import EstimateError, Expected
from worldgauge_serve import VERSION, read_message, write_message

FRAMES = {"frames": np.arange(3 * 4 * 5 * 3, dtype=np.uint8).reshape(3, 4, 5, 3)}
POSES = {"poses": Expected(((4, 4, 4), (4, 3, 4)))}
SUM = {"sum": Expected(((),), ("float64",))}
ESTIMATORS = MODELS / "estimators.py"


def served(target: str, scheme: str = "cmd") -> str:
    pipes = " --pipes" if scheme == "pipe" else ""
    return f"{scheme}:{PYTHON} -m worldgauge_serve{pipes} '{ESTIMATORS}:{target}'"


Opener = Callable[[str], RemoteEstimator]


@pytest.fixture
def opened() -> Iterator[Opener]:
    with ExitStack() as stack:
        yield lambda text: stack.enter_context(closing(open_estimator(text)))


def lying(how: str) -> str:
    return f"cmd:{PYTHON} {MODELS / 'estimator_lies.py'} '{how}'"


@pytest.mark.parametrize("scheme", ["cmd", "pipe", "http"])
def test_the_same_answer_over_every_transport(scheme: str, opened: Opener) -> None:
    with ExitStack() as stack:
        text = served("Sums?gain=2", scheme)
        if scheme == "http":
            text = stack.enter_context(http_server("Sums?gain=2", file="estimators.py")).url
        remote = opened(text)
        assert (remote.spec.name, remote.spec.kind, remote.spec.settings) == ("sums", "sum", {"gain": 2})
        assert remote.given == {"gain": 2}
        for _ in range(2):
            answer = remote.estimate({"a": np.ones((2, 3)), "b": FRAMES["frames"]}, {"x": [1, None]}, SUM)
            assert answer.arrays["sum"] == 2 * (6 + FRAMES["frames"].sum())
            assert answer.facts == {"names": ["a", "b"], "options": {"x": [1, None]}}


def test_what_is_served_is_told_from_what_is_wanted() -> None:
    with pytest.raises(ModelError, match="serves 'estimator', not 'model'; name it where a decoder is asked for"):
        open_model(served("Sums"))
    with pytest.raises(ModelError, match="serves 'model', not 'estimator'; give it as --model"):
        open_estimator(f"cmd:{command('Fade')}")
    with pytest.raises(ModelError, match="serves 'model', not 'estimator'"):
        open_estimator(lying("a model"))
    with pytest.raises(ModelError, match="serves 'a toaster', not 'estimator'"):
        open_estimator(lying("something else"))
    with pytest.raises(ModelError, match=r"estimator 'NoSpec' has no 'spec'; write self.spec = EstimatorSpec"):
        open_estimator(served("NoSpec"))


def test_a_server_asked_for_what_it_does_not_do_says_so() -> None:
    def answer_of(text: str, asked: dict[str, Any]) -> Any:
        with closing(ProcessChannel(text.removeprefix("cmd:"), pipes=False, who="it")) as channel:
            channel.connect()
            line = channel._child.line
            line.allow(20)
            write_message(line.send, {"id": "q", "version": VERSION, **asked})
            return read_message(line.recv_into)[0]

    said = answer_of(served("Sums"), {"type": "rollout", "requests": []})
    assert (said["kind"], said["message"]) == ("request", "estimator 'sums' cannot be asked for a 'rollout'")
    said = answer_of(f"cmd:{command('Fade')}", {"type": "estimate", "kind": "sum"})
    assert (said["kind"], said["message"]) == ("request", "model 'fade' cannot be asked for a 'estimate'")
    said = answer_of(served("Sums"), {"type": "estimate", "kind": "decoder"})
    assert (said["kind"], said["message"][:40]) == ("request", "a question that lacks or garbles kind: '")
    for fields in ({}, {"kind": "sum", "options": [1]}, {"kind": "sum", "deadline_s": "x"}):
        assert answer_of(served("Sums"), {"type": "estimate", **fields})["kind"] == "request"
    said = answer_of(served("Sums"), {"type": "estimate", "kind": "sum", "version": 9})
    assert said["kind"] == "version"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raises", "estimator 'odd' raised RuntimeError: CUDA error"),
        ("nan", r"'poses' is not finite, first at \(2, 1, 3\)"),
        ("no pair", "its answer: expected a dict of arrays and a dict of facts, got ndarray"),
        ("a list", "its answer: expected a dict of arrays and a dict of facts, got tuple"),
        ("no array", "its answer: array 'poses': expected a numpy array, got list"),
        ("no json", "its answer: facts that are no plain JSON values"),
        ("nan fact", "its answer: facts that are no plain JSON values"),
        ("half", "its answer: array 'poses' is float16 with 3 sides; uint8, .* travel"),
    ],
)
def test_what_the_estimator_fails_at_is_its_failure_and_it_lives_on(how: str, words: str, opened: Opener) -> None:
    remote = opened(served(f"Odd?how={how.replace(' ', '+')}"))
    for _ in range(2):
        with pytest.raises(EstimateError, match=words):
            remote.estimate(FRAMES, {}, POSES)


def test_the_trace_of_its_own_code_comes_with_it(opened: Opener) -> None:
    with pytest.raises(EstimateError) as caught:
        opened(served("Odd?how=raises")).estimate(FRAMES, {}, POSES)
    assert "in estimate" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            "too few",
            r"gives 'poses' as float64 of \(3, 4, 4\); expected float32 or float64 of \(4, 4, 4\) or \(4, 3, 4\)",
        ),
        ("too many", r"gives 'poses' as float64 of \(4000, 4, 4\)"),
        ("whole numbers", r"gives 'poses' as int64"),
        ("another array", r"holding \['poses', 'depth'\]; expected an estimate with \['poses'\] and facts"),
        ("nothing", r"holding \[\]; expected an estimate with \['poses'\]"),
    ],
)
def test_an_answer_that_does_not_fit(how: str, words: str, opened: Opener) -> None:
    remote = opened(served(f"Odd?how={how.replace(' ', '+')}"))
    with pytest.raises(ModelError, match=words) as caught:
        remote.estimate(FRAMES, {}, POSES)
    assert not isinstance(caught.value, (EstimateError, LostError))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("huge shape", "breaks the protocol: arrays of [0-9]* bytes; the limit is"),
        ("large shape", r"gives 'poses' as float64 of \(1048576, 4, 4\)"),
        ("a chunk", "answers with 'chunk' holding"),
        ("done", "answers with 'done' holding"),
        ("wrong id", "answers question 'other', which was not asked"),
        ("facts of a list", "expected an estimate with"),
        ("infinite fact", "no strict JSON"),
        ("twice the name", "two arrays have one name"),
        ("refuses", "refuses: no\ufffd"),
    ],
)
def test_lies_are_found_before_anything_is_made_room_for(how: str, words: str, opened: Opener) -> None:
    remote = opened(lying(how))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelError, match=words) as caught:
        remote.estimate(FRAMES, {}, POSES)
    assert not isinstance(caught.value, (EstimateError, LostError))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "kB"


def test_free_sides_have_a_limit(opened: Opener) -> None:
    free = {"poses": Expected(((None, 4, 4),))}
    remote = opened(served("Odd?how=too+many"))
    assert remote.estimate(FRAMES, {}, free).arrays["poses"].shape == (4000, 4, 4)
    with pytest.raises(ModelError, match="answers with 512000 bytes; the limit is 511999"):
        remote.estimate(FRAMES, {}, free, max_bytes=511_999)


@pytest.mark.parametrize("how", ["odd kind", "odd layout", "more fields", "settings of a list"])
def test_a_hello_that_cannot_be_meant(how: str) -> None:
    with pytest.raises(ModelError, match=r"estimator_lies\.py") as caught:
        open_estimator(lying(how))
    assert str(caught.value).isprintable()


def test_one_that_dies_is_asked_again(tmp_path: Path, opened: Opener) -> None:
    remote = opened(served(f"Odd?how=killed+once&log={tmp_path}"))
    assert remote.estimate(FRAMES, {}, POSES).arrays["poses"].shape == (4, 4, 4)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (served("Odd?how=exits"), "exited with code 3, 3 times before its first answer"),
        (lying("closes within"), "exited with code 0, 3 times before its first answer"),
    ],
)
def test_one_that_always_dies_is_lost(text: str, words: str, opened: Opener) -> None:
    with pytest.raises(LostError, match=words):
        opened(text).estimate(FRAMES, {}, POSES)


@pytest.mark.parametrize("text", [served("Odd?how=hangs"), served("Odd?how=hangs", "pipe"), lying("silent")])
def test_one_that_hangs_is_ended_at_the_deadline(text: str, opened: Opener) -> None:
    remote = opened(text)
    remote.deadline_s = 0.5
    channel: Any = remote._channel
    pid, began = channel.pid, time.monotonic()
    with pytest.raises(LostError, match=r"timed out after 0.5 s without an answer"):
        remote.estimate(FRAMES, {}, POSES)
    assert time.monotonic() - began < 10
    wait_until(lambda: not is_alive(pid))


def test_requests_that_do_not_apply_or_cannot_be_sent(opened: Opener) -> None:
    with pytest.raises(NotApplicableError, match="too dark"):
        opened(served("Odd?how=not+applicable")).estimate(FRAMES, {}, POSES)
    remote = opened(served("Sums"))
    with pytest.raises(UsageError, match="cannot be sent this: array 'a' is float16"):
        remote.estimate({"a": np.zeros(2, np.float16)}, {}, SUM)
    with pytest.raises(UsageError, match="cannot be sent this: a header that is no strict JSON"):
        remote.estimate({}, {"x": float("nan")}, SUM)
    assert remote.estimate({"a": np.ones(2)}, {}, SUM).arrays["sum"] == 2


def test_addresses_that_are_none_and_models_beside_estimators() -> None:
    with pytest.raises(UsageError, match="estimator 'sums': served ones are named cmd:, pipe:"):
        open_estimator("sums")
    with closing(open_model(f"cmd:{command('Fade')}")) as model:
        assert len(np.concatenate(list(model.rollout(question())))) == 6


def test_a_cancelled_question_ends_as_cancelled_and_the_next_is_answered() -> None:
    channel = ProcessChannel(served("Odd?how=slow").removeprefix("cmd:"), pipes=False, who="it")
    with closing(channel):
        channel.connect()
        line = channel._child.line
        line.allow(20)
        for name in ("q1", "q2"):
            write_message(line.send, {"type": "estimate", "id": name, "kind": "decoder"}, FRAMES)
        write_message(line.send, {"type": "cancel", "id": "q1"})
        said = [read_message(line.recv_into) for _ in range(2)]
    assert [(header["type"], header.get("kind"), header["id"]) for header, _ in said] == [
        ("error", "cancelled", "q1"),
        ("estimated", None, "q2"),
    ]
    assert said[1][1]["poses"].shape == (4, 4, 4)
