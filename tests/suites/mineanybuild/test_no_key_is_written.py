"""A key is a canary: wherever an endpoint repeats it, no file of a run, its report and its bundle holds it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from support.build_fixture import make_published
from support.chat_endpoint import FakeEndpoint, error, ok
from worldgauge.engine.run import run
from worldgauge.report import write_report
from worldgauge.tools.bundle import write_bundles

KEY = "sk-canary-5a9d3c71e0"


def test_a_key_that_the_endpoint_repeats_is_written_nowhere(
    endpoint: FakeEndpoint,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("CANARY_KEY", KEY)
    endpoint.then(error(401, f"Incorrect API key provided: {KEY}"), ok(f"I was sent {KEY}: [[[1, 1], [2, 1]]]"))
    endpoint.always = ok(f"[[[1, 1]]] # {KEY}")
    result = run(
        "mineanybuild",
        model=f"chat?model=m@{endpoint.url}&key_env=CANARY_KEY&recording={tmp_path / 'replies'}",
        data=make_published(tmp_path / "data"),
        out=tmp_path / "runs",
        settings={"task": "planning"},
    )
    assert result.counts.scored == 2
    assert f"Bearer {KEY}" in {one.headers.get("authorization") for one in endpoint.asked}, "it was sent"
    (failure,) = result.failures
    assert "401" in str(failure)
    write_report([tmp_path / "runs"], tmp_path / "page")
    write_bundles([tmp_path / "runs"], tmp_path / "bundles")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and "data" not in path.parts]
    assert len(files) > 10
    held = {str(path): path.read_bytes() for path in files}
    for path in (tmp_path / "bundles").glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            held |= {f"{path}/{name}": archive.read(name) for name in archive.namelist()}
    assert not [name for name, data in held.items() if KEY.encode() in data]
    assert KEY not in caplog.text + "".join(capfd.readouterr()) + str(failure)
