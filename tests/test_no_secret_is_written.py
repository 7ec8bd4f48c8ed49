"""Secrets as users hand them over: typed ones are refused, named ones are used; no file and no output holds them."""

from __future__ import annotations

import logging
import shutil
import subprocess
from http.client import HTTPConnection
from pathlib import Path

import pytest

from fuzz.formats.data_sets import SOUND
from support.build_fixture import make_published
from support.canary import CANARY, LOGIN, holding, plant, tells
from support.commands import command
from support.served import MODELS, PYTHON
from worldgauge.core.errors import UsageError
from worldgauge.report import write_report
from worldgauge.serving.isolation import check_no_secret
from worldgauge.tools.bundle import write_bundles
from worldgauge.tools.viewer import Viewer

AGENT = """
import os
from worldgauge.core.agent import AgentSpec


class Teller:
    spec = AgentSpec("teller")

    def answer(self, problem):
        print("I was given", os.environ["CANARY_API_KEY"][:2])
        raise ValueError("no")
"""

TYPED = [
    ["--model", LOGIN],
    ["--model", f"{LOGIN},http://127.0.0.1:8"],
    ["--model", f"cmd:{PYTHON} -m worldgauge_serve m.py:M --token {CANARY}"],
    ["--model", f"cmd:env SOME_API_KEY={CANARY} {PYTHON} -m worldgauge_serve m.py:M"],
    ["--model", f"pipe:ssh box python m.py:M?api_key={CANARY}"],
    ["--agent", f"chat?model=m@{LOGIN}/v1"],
    ["--agent", f"chat?model=m@http://127.0.0.1:9/v1&key={CANARY}"],
    ["--agent", f"reader?password={CANARY}"],
    ["--agent", "reader", "--set", f"token={CANARY}"],
    ["--agent", "reader", "--set", f"critic=chat?model=m@{LOGIN}/v1"],
    ["--agent", "reader", "--on", f"ray://me:{CANARY}@127.0.0.1:9"],
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("canary")
    shutil.copytree(SOUND / "loopnav", folder / "loops")
    return make_published(folder / "data")


@pytest.mark.parametrize("words", TYPED, ids=lambda words: words[-1].partition("?")[0][:16])
def test_a_secret_that_is_typed_is_refused_and_never_told(
    words: list[str], data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    what = ["mineanybuild", "--data", data] if words[0] == "--agent" else ["loopnav", "--data", data.parent / "loops"]
    with caplog.at_level(logging.DEBUG):
        done = command(tmp_path, "run", *what, "--out", "runs", *words)
    told = done.stdout + done.stderr
    assert done.returncode == 2, told
    assert "environment" in told or "WORLDGAUGE_TOKEN" in told
    assert CANARY not in told + caplog.text
    assert not holding(tmp_path)


ANYWHERE = [
    ["collect", "mind", "--out", LOGIN],
    ["collect", "mind", f"--out={LOGIN}"],
    ["check", "mind", "--data", LOGIN],
    ["run", "mind", "--model", "freeze", "--data", LOGIN, "--out", "runs"],
    ["report", LOGIN],
    ["view", LOGIN],
    ["bundle", "runs", "--link", LOGIN],
    ["bundle", "runs", "--link", f"https://host/model?token={CANARY}"],
    ["verify", LOGIN],
    ["verify", "a.zip", "--by", LOGIN],
    ["board", LOGIN],
    ["board", "bundles", "--out", LOGIN],
    ["export", "runs", "--by", LOGIN],
    ["demo", "--out", LOGIN],
    ["weights", "pull", LOGIN],
    ["weights", "adopt", LOGIN],
    ["train", "--recipe", LOGIN],
    ["train", "--recipe", "mind-tiny", "--data", f"mind={LOGIN}", "--out", "c"],
    ["train", "--recipe", "mind-tiny", "--set", f"api_key={CANARY}", "--data", "walks", "--out", "c"],
    ["train", "inspect", LOGIN],
    ["post-train", "--base", LOGIN, "--data", "mind=x", "--out", "c"],
    ["check-model", "--model", LOGIN],
    ["calibrate", "--model", LOGIN, "--out", "c"],
    ["questions", "mind", "--data", "x", "--out", "q", "--for", LOGIN],
    ["data", "pull", f"https://{CANARY}@host/x", "--out", "d"],
    ["data", "pull", f"https://host/x?X-Amz-Signature={CANARY}", "--out", "d"],
    ["data", "pull", f"https://host/x?sig={CANARY}", "--out", "d"],
    ["study", "table", LOGIN],
]


@pytest.mark.parametrize("words", ANYWHERE, ids=lambda words: " ".join(words[:2]))
def test_no_command_takes_or_repeats_a_secret_that_is_typed(words: list[str], tmp_path: Path) -> None:
    done = command(tmp_path, *words)
    assert done.returncode == 2, done.stderr
    assert "environment" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert CANARY not in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words", [["push", "DATA", f"sftp://me:{CANARY}@host/x"], ["pull", f"sftp://me:{CANARY}@host/x"]]
)
def test_an_address_with_a_password_is_no_place_for_data(words: list[str], data: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    out = ["--out", str(tmp_path / "out")] if words[0] == "pull" else []
    done = command(tmp_path, "data", *(str(data) if one == "DATA" else one for one in words), *out)
    assert done.returncode == 2, done.stderr
    assert CANARY not in done.stdout + done.stderr


def test_a_secret_of_the_environment_stays_out_of_runs_logs_reports_and_bundles(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    monkeypatch.setenv("WORLDGAUGE_PASS_ENV", "CANARY_API_KEY")
    (tmp_path / "teller.py").write_text(AGENT)
    wanted = ["--agent", "./teller.py:Teller", "--agent", "reader", "--set", "task=planning", "--no-baselines"]
    done = command(tmp_path, "run", "mineanybuild", "--data", data, "--out", "runs", *wanted)
    assert done.returncode == 1, done.stderr
    assert list(tmp_path.rglob("journal.jsonl"))
    write_report([tmp_path / "runs"], tmp_path / "page")
    write_bundles(sorted(path.parent for path in tmp_path.rglob("run.json")), tmp_path / "bundles")
    looked = command(tmp_path, "doctor")
    assert CANARY not in done.stdout + done.stderr + looked.stdout + looked.stderr
    assert not holding(tmp_path)


def test_a_secret_of_the_environment_stays_out_of_servers_the_viewer_and_boards(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    loops, runs = data.parent / "loops", ["--out", "runs", "--no-baselines"]
    with open(tmp_path / "server.log", "wb") as log:
        model = f"{MODELS / 'client_models.py'}:Fade"
        server = subprocess.Popen(
            [PYTHON, "-m", "worldgauge_serve", model, "--port", "0"], stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        assert server.stdout is not None
        printed = server.stdout.readline()
        url = printed.split()[-1]
        done = command(tmp_path, "run", "loopnav", "--data", loops, *runs, "--model", url)
        assert done.returncode == 0, done.stderr
        # The child has another token: the server refuses, and neither tells the other's.
        monkeypatch.setenv("WORLDGAUGE_TOKEN", "another-token-0815")
        refused = command(tmp_path, "run", "loopnav", "--data", loops, "--out", "none", "--model", url)
        assert refused.returncode == 2, refused.stdout
        monkeypatch.setenv("WORLDGAUGE_TOKEN", CANARY)
    finally:
        server.kill()
        printed += server.communicate()[0]
    told = [printed, done.stdout + done.stderr, refused.stdout + refused.stderr]
    for words in (
        ["report", "runs", "--out", "page"],
        ["bundle", "runs", "--out", "bundles"],
        ["verify", "BUNDLE", "--data", loops],
        ["board", "bundles", "--out", "board"],
        ["export", "runs", "--to", "csv", "--out", "scores"],
        ["questions", "loopnav", "--data", loops, "--out", "questions"],
    ):
        done = command(tmp_path, *(next(tmp_path.glob("bundles/*.zip")) if one == "BUNDLE" else one for one in words))
        assert done.returncode == 0, (words, done.stderr)
        told.append(done.stdout + done.stderr)
    viewer = Viewer(tmp_path / "runs")
    viewer.start()
    try:
        for path in ("/", "/api/runs", "/api/none", "/../../proc/self/environ", "/api/task?run=x&task=y"):
            link = HTTPConnection("127.0.0.1", viewer.port, timeout=30)
            link.request("GET", path)
            answer = link.getresponse()
            told.append(repr(answer.headers.items()) + answer.read().decode())
            link.close()
    finally:
        viewer.close()
    assert not [text for text in told if tells(text)]
    assert not holding(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "chat?model=m@http://localhost:8000/v1&key_env=REACTOR_API_KEY&max_tokens=16384",
        "cmd:python -m worldgauge_serve realtime.py:Model?key=REACTOR_API_KEY",
        "cmd:python m.py --tokens ./tokens.bin --keys wasd",
        "diamond?key=frames-2",
        "http://a:7000,http://b:7000",
        "https://host:8080/a@b",
        "sftp://some-user@host/folder",
        "runs/loopnav/first?x=1",
    ],
)
def test_what_is_no_secret_passes(text: str) -> None:
    check_no_secret(text, "model")


def test_a_secret_is_refused_without_its_words() -> None:
    with pytest.raises(UsageError, match="what looks like a secret as 'api_key'") as caught:
        check_no_secret(f"x?api-key={CANARY}&b=1".replace("api-key", "api_key"), "model")
    assert CANARY not in str(caught.value)
