"""What a server says is checked before it is used; each lie is one clear line, in bounded time and memory."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.served import MODELS, PYTHON, question
from worldgauge.core.errors import ModelError, UsageError, WorldgaugeError
from worldgauge.core.model import checked_rollout
from worldgauge.engine.model_entries import resolve_model
from worldgauge.serving import RemoteModel, open_model


def text_of(how: str) -> str:
    return f"cmd:{PYTHON} {MODELS / 'client_lies.py'} '{how}'"


@pytest.fixture
def liar(request: pytest.FixtureRequest) -> Iterator[RemoteModel]:
    model = open_model(text_of(request.param))
    yield model
    model.close()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("version 3", "speaks version 3 of the protocol, this worldgauge versions 1 and 2; copy worldgauge_serve.py"),
        ("no hello", "says 'pong' where a hello belongs"),
        ("no spec", "holds no spec with a name"),
        ("no name", "holds no spec with a name"),
        ("name of a number", "holds no spec with a name"),
        ("long name", "calls itself 'xxx.*; expected a name of at most 200"),
        ("control characters", r"calls itself 'a\\x1b\[2Jb'"),
        ("wants the truth", "wants \\['truth'\\]: world and truth are for references in this process"),
        ("size of text", "frame_size is \\('a', 'b'\\); give width and height"),
        ("unknown control", "control is \\['x'\\]; give one of"),
        ("more fields", "its spec has unknown fields: \\['gift'\\]"),
        ("endless fps", "breaks the protocol: a header that is no strict JSON: Infinity"),
        ("passes for a reference", "names its source as 'truth'"),
        ("odd needs", "needs gpus is -1"),
        ("odd given", "'given' and 'needs' of its hello must be objects"),
        ("huge hello", "a header of 2147483648 bytes; the limit is"),
        ("nested hello", "a header that is no strict JSON"),
        ("hello with arrays", "a hello that holds arrays"),
    ],
)
def test_a_hello_that_cannot_be_meant(how: str, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        open_model(text_of(how))
    text = str(caught.value)
    assert "client_lies.py" in text, "the server is named"
    assert len(text) < 600
    assert text.isprintable()


@pytest.mark.parametrize(
    ("liar", "words"),
    [
        ("huge header", "breaks the protocol: a header of 4294967295 bytes; the limit is"),
        ("html", "breaks the protocol: a header of 1836345404 bytes"),
        ("huge shape", "breaks the protocol: arrays of 3377699720527872 bytes; the limit is"),
        ("many frames", "1000 frames where 6 were asked for"),
        ("no frame beside huge sides", "expected shape \\(n, 12, 16, 3\\), got \\(0, "),
        ("large floats", "expected uint8 frames in 0..255, got float64"),
        ("another rate", "model 'liar' answers at 25 frames/s where 20 were asked for; declare the rate"),
        ("rate of text", "model 'liar' answers at '20' frames/s where 20 were asked for"),
        ("memory of text", "gpu_peak_bytes is '9 GB'; give a whole number of bytes, or leave it out"),
        ("memory below zero", "gpu_peak_bytes is -1; give a whole number"),
        ("notes of a number", "notes is \\[7\\]; give at most 100 texts of 500 characters, or leave it out"),
        ("endless notes", "notes is .*; give at most 100 texts"),
        ("a long note", "notes is .*; give at most 100 texts"),
        ("wrong id", "answers question 'other', which was not asked"),
        ("id of a list", "answers question \\[1\\], which was not asked"),
        ("wrong index", "answers with 'chunk' of request 1 holding \\['frames'\\]"),
        ("other arrays", "holding \\['../../x'\\]; expected a chunk of frames"),
        ("unknown type", "answers with 'pong'"),
        ("endless chunks", "model 'liar' returned more than the 6 frames asked for"),
        ("endless empty chunks", "an empty chunk"),
        ("nothing", "model 'liar' stopped after 0 of 6 frames"),
        ("dribble", "timed out after 0.5 s without a frame"),
        ("closes within", "exited with code 0, 3 times before its first frame"),
        ("escapes", "^\ufffd\\[2J\ufffdxxx"),
        ("odd error", "refuses: {}"),
    ],
    indirect=["liar"],
)
def test_an_answer_that_was_not_asked_for(liar: RemoteModel, words: str) -> None:
    liar.deadline_s = 0.5
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelError, match=words) as caught:
        list(checked_rollout(liar, question()))
    assert len(str(caught.value)) < 11_000
    with pytest.raises(ModelError):
        list(checked_rollout(liar, question()))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kB: nothing was made room for"


@pytest.mark.parametrize(
    ("how", "label"),
    [("climbs", "x"), ("html", "script-alert-1-script"), ("climbing setting", f"liar-..-..-etc-{'x' * 500}"[:97])],
)
def test_a_name_cannot_leave_the_run_folder(how: str, label: str) -> None:
    model = resolve_model(text_of(how))
    assert isinstance(model.model, RemoteModel)
    model.model.close()
    assert model.label.startswith(label)
    assert Path("runs", model.label).resolve().parent == Path("runs").resolve()
    assert len(model.label) <= 200


@pytest.mark.parametrize("how", ["nothing to show", "empty name"])
def test_a_name_without_a_letter_is_refused(how: str) -> None:
    with pytest.raises(WorldgaugeError, match="holds no letter or digit") as caught:
        resolve_model(text_of(how))
    assert isinstance(caught.value, (UsageError, ModelError))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("dribble", "timed out after 0.5 s without a frame"),
        ("endless chunks", "model 'liar' returned more than the 6 frames asked for"),
        ("endless empty chunks", "an empty chunk"),
        ("huge shape", "breaks the protocol: arrays of 3377699720527872 bytes"),
    ],
)
def test_a_stream_without_end_is_bounded_over_pipes_too(how: str, words: str) -> None:
    model = open_model("pipe:" + text_of(how).removeprefix("cmd:"))
    try:
        model.deadline_s = 0.5
        with pytest.raises(ModelError, match=words):
            list(checked_rollout(model, question()))
    finally:
        model.close()
