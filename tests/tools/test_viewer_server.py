"""The viewer's server: what it tells of runs, who may ask, and what no request can reach."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import cv2
import numpy as np
import pytest

from report.toybench import METRICS
from worldgauge.core.errors import UsageError
from worldgauge.report import page_server
from worldgauge.tools.viewer import Viewer, Vote

TASK = "ABA/plains_0/5/00"


@pytest.fixture
def viewer(runs: Path, tmp_path: Path) -> Iterator[Viewer]:
    shutil.copytree(runs, tmp_path / "runs")
    made = Viewer(tmp_path / "runs")
    made.start()
    yield made
    made.close()


def ask(viewer: Viewer, path: str, *, body: Any = None, headers: dict[str, str] | None = None, **fields: Any) -> Any:
    """Status, type and content of an answer; JSON is read."""
    link = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=30)
    where = f"{path}?{urlencode(fields)}" if fields else path
    if body is None:
        link.request("GET", where, headers=headers or {})
    else:
        link.request("POST", where, json.dumps(body), {"Content-Type": "application/json", **(headers or {})})
    answer = link.getresponse()
    data = answer.read()
    kind = answer.headers.get_content_type()
    link.close()
    return answer.status, kind, json.loads(data) if kind == "application/json" else data


def group_of(viewer: Viewer) -> str:
    return str(ask(viewer, "/api/runs")[2]["groups"][0]["id"])


def test_runs_are_listed_with_their_progress(viewer: Viewer) -> None:
    status, _, found = ask(viewer, "/api/runs")
    assert status == 200
    (group,) = found["groups"]
    assert (group["suite"], group["place"], found["problems"]) == ("toyloop", ".", [])
    rows = {run["label"]: run for run in group["runs"]}
    assert rows["truth"]["kind"] == "baseline"
    for run in rows.values():
        assert run["expected"] == sum(run[end] for end in ("left", "scored", "skipped", "failed", "unscored"))
    assert rows["dreamer"]["failed"] == 1


def test_tasks_have_the_values_of_scores(viewer: Viewer, runs: Path) -> None:
    _, _, found = ask(viewer, "/api/tasks", g=group_of(viewer), m="ssim")
    assert found["metric"] == "ssim"
    at = [one["label"] for one in found["models"]].index("keeper")
    lines = map(json.loads, (runs / "keeper/scores.jsonl").read_text().splitlines())
    expected = {line["task"]: line["value"] for line in lines if line["metric"] == "ssim"}
    told = dict(zip(found["tasks"], found["values"][at], strict=True))
    assert {task: value for task, value in told.items() if value is not None} == pytest.approx(
        {task: value for task, value in expected.items() if value is not None}, rel=1e-4
    )
    assert found["columns"] == ["location", "range", "type"]
    metrics = [one["name"] for one in ask(viewer, "/api/tasks", g=group_of(viewer))[2]["metrics"]]
    assert metrics[:4] == list(METRICS)  # the headline first
    _, _, found = ask(viewer, "/api/task", g=group_of(viewer), t=TASK)
    assert found["clips"][0]["name"] == found["truth"] == "ground truth"
    assert found["frames"] == 24
    assert {row["label"] for row in found["rows"]} >= {"keeper", "truth", "freeze"}
    assert found["curves"][0]["lines"]["keeper"]


def test_frames_are_those_of_the_film_which_has_all_tiles(viewer: Viewer) -> None:
    group = group_of(viewer)

    def frame(**fields: Any) -> np.ndarray:
        status, kind, data = ask(viewer, "/frame", g=group, t=TASK, **fields)
        assert (status, kind) == (200, "image/png")
        return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).astype(float)

    truth = viewer.footages.open(viewer.library.group(group), TASK).clips["ground truth"]
    for at in (0, 7, 23):
        assert np.abs(frame(c="ground truth", i=at)[:, :, ::-1] - truth[at]).max() == 0
    assert np.abs(frame(c="ground truth", i=0) - frame(c="ground truth", i=7)).mean() > 5
    assert frame(c="truth", i=7, d=1).mean() < 20  # the coding of its rollout alone
    assert frame(c="noise", i=7, d=1).mean() > 60
    _, _, facts = ask(viewer, "/api/film", g=group, t=TASK)
    _, kind, data = ask(viewer, "/film.mp4", g=group, t=TASK)
    assert kind == "video/mp4"
    assert data[4:8] == b"ftyp"
    assert set(facts["names"]) >= {"ground truth", "keeper", "freeze"}


def test_a_run_that_grows_is_seen_without_a_new_start(viewer: Viewer) -> None:
    run = viewer.library.root / "keeper"
    journal = (run / "journal.jsonl").read_bytes()
    scores = (run / "scores.jsonl").read_bytes()
    lines = journal.splitlines(keepends=True)
    (run / "scores.jsonl").unlink()
    (run / "journal.jsonl").write_bytes(lines[0] + lines[1][:20])
    grown = Viewer(viewer.library.root)

    def row() -> dict[str, Any]:
        return next(one for one in grown.runs()["groups"][0]["runs"] if one["label"] == "keeper")

    def values() -> list[Any]:
        found = grown.tasks(grown.library.refresh()[0], "sgcs")
        at = [one["label"] for one in found["models"]].index("keeper")
        return [value for value in found["values"][at] if value is not None]

    assert row()["scored"] == 1
    assert len(values()) == 1  # from its record: scores.jsonl comes last
    (run / "journal.jsonl").write_bytes(journal)
    assert row()["scored"] == len(lines)
    assert len(values()) == len(lines)
    (run / "scores.jsonl").write_bytes(scores)
    assert len(values()) == len(lines)
    grown.close()


def test_flags_are_kept(viewer: Viewer) -> None:
    group = group_of(viewer)
    assert ask(viewer, "/api/flag", body={"g": group, "t": TASK, "on": True})[0] == 200
    assert ask(viewer, "/api/tasks", g=group)[2]["flags"] == [TASK]
    assert json.loads((viewer.library.root / "flags.json").read_text()) == {". toyloop": [TASK]}
    ask(viewer, "/api/flag", body={"g": group, "t": TASK, "on": False})
    assert ask(viewer, "/api/tasks", g=group)[2]["flags"] == []
    assert ask(viewer, "/api/flag", body={"g": group, "t": "no/task", "on": True})[0] == 404


def test_votes_are_on_pairs_that_were_shown_and_count_for_their_runs(viewer: Viewer) -> None:
    body = {"g": group_of(viewer), "p": "nowhere", "voter": "ann", "choice": "first"}
    status, kind, data = ask(viewer, "/api/vote", body=body)
    assert (status, kind) == (400, "text/plain")
    assert b"a pair that was not shown here; open the voting page again" in data
    assert not viewer.votes.read()
    (group,) = viewer.library.refresh()
    for voter, place in (("Ann", "."), ("Bo", "."), ("Cy", "elsewhere")):
        viewer.votes.add(Vote(voter, "toyloop", place, group.tasks[0], "keeper", "noise", "first"))
    told = viewer.tally(group)
    assert (told["votes"], told["voters"]) == (2, 2)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/api/task", {"t": "../../etc/passwd"}),
        ("/frame", {"t": TASK, "c": "../x", "i": 0}),
        ("/frame", {"t": TASK, "c": "keeper", "i": "x"}),
        ("/frame", {"t": TASK}),
        ("/film.mp4", {"t": ""}),
        ("/plate", {"t": TASK, "c": "keeper"}),
        ("/side", {"p": "x", "s": 0}),
    ],
)
def test_what_is_not_there_is_one_line(viewer: Viewer, path: str, fields: dict[str, Any]) -> None:
    status, kind, data = ask(viewer, path, g=group_of(viewer), **fields)
    assert status in (400, 404)
    assert kind == "text/plain"
    assert data.count(b"\n") == 1


def test_requests_of_others_are_refused_and_no_path_leads_to_a_file(viewer: Viewer) -> None:
    for path in ("/../../etc/passwd", "/view.html/..", "/run.json", "/%2e%2e/x", "/api/none"):
        assert ask(viewer, path)[0] == 404
    body = {"g": group_of(viewer), "t": TASK, "on": True}
    assert ask(viewer, "/", headers={"Host": f"evil.example:{viewer.port}"})[0] == 403
    assert ask(viewer, "/", headers={"Host": f"localhost:{viewer.port}"})[0] == 200
    assert ask(viewer, "/api/flag", body=body, headers={"Origin": "http://evil.example"})[0] == 403
    assert ask(viewer, "/api/flag", body=body, headers={"Content-Type": "text/plain"})[0] == 400
    assert ask(viewer, "/api/flag", body=[1])[0] == 400
    assert ask(viewer, "/api/flag", body="x" * 100_000)[0] == 400
    assert not (viewer.library.root / "flags.json").exists()
    link = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=30)
    link.request("POST", "/api/flag", b"[" * 1900, {"Content-Type": "application/json"})
    answer = link.getresponse()
    assert (answer.status, answer.read().count(b"\n")) == (400, 1)
    link.close()


def test_another_address_needs_the_token(runs: Path) -> None:
    viewer = Viewer(runs, "0.0.0.0")
    viewer.start()
    try:
        token = urlsplit(viewer.link).query.removeprefix("token=")
        assert len(token) >= 32
        assert ask(viewer, "/api/runs")[0] == 403
        assert ask(viewer, "/api/runs", token="x" * 32)[0] == 403
        assert ask(viewer, "/api/runs", token=token)[0] == 200
        assert ask(viewer, "/api/runs", headers={"Cookie": f"worldgauge-{viewer.port}={token}"})[0] == 200
    finally:
        viewer.close()


def test_pages_may_load_nothing_from_elsewhere(viewer: Viewer) -> None:
    link = http.client.HTTPConnection("127.0.0.1", viewer.port)
    link.request("GET", "/")
    answer = link.getresponse()
    answer.read()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_damaged_run_is_told_and_the_others_are_shown(viewer: Viewer) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        Viewer(viewer.library.root / "none")
    (viewer.library.root / "noise" / "run.json").write_text("{")
    _, _, found = ask(viewer, "/api/runs")
    assert any("noise" in one for one in found["problems"])
    assert "keeper" in [run["label"] for run in found["groups"][0]["runs"]]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /api/runs HTTP/1.1\r\nHost: loc",
        b"POST /api/flag HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
    ],
)
def test_who_says_nothing_more_is_let_go(
    said: bytes, viewer: Viewer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page_server, "PATIENCE_S", 0.2)
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=20) as link:
        link.sendall(said)
        while link.recv(4096):
            pass
    assert ask(viewer, "/api/runs")[0] == 200
    assert not capfd.readouterr().err
