import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from report.outline import Outline, between, words_of
from report.toybench import METRICS, ToyLoop, write_run
from worldgauge.core.errors import RunError, UsageError
from worldgauge.engine.sets import named_sets
from worldgauge.engine.store import RunFolder
from worldgauge.engine.suite.contract import Table, Task, TaskView
from worldgauge.report import write_report
from worldgauge.report.page import shorten
from worldgauge.report.wording import number


@pytest.fixture(scope="module")
def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def outline(text: str) -> Outline:
    return Outline(text)


def counts_of(text: str) -> dict[str, list[str]]:
    """Rows of the counts table: scored, skipped, failed, not scored, not run."""
    rows = re.findall(r'<th scope="row" class="who">([^<]*)</th>((?:<td[^>]*>\d+(?: of \d+)?</td>){5})', text)
    return {name: re.findall(r">(\d[^<]*)<", cells) for name, cells in rows}


def test_the_page_is_whole_and_asks_nothing_of_the_network(page: Path, outline: Outline, text: str) -> None:
    assert (page.name, outline.open) == ("index.html", [])
    assert 50_000 < page.stat().st_size < 10_000_000
    assert list(page.parent.iterdir()) == [page]
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?\s*(?:https?:)?//", text)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", text)
    assert outline.all("link") == []
    policy = next(m["content"] for m in outline.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_every_score_is_on_the_page(runs: Path, outline: Outline) -> None:
    words = set(" ".join(outline.text).split())
    for folder in runs.iterdir():
        for _, score in RunFolder(folder).scores():
            assert number(score.value) in words, score


def test_the_verdict_and_the_references_are_first(text: str, outline: Outline) -> None:
    headline = re.search(r"<h1>(.*?)</h1>", text, re.S)
    assert len(headline[1]) <= 90
    top = words_of(text[: text.index("<h1>")])
    assert " · toyloop v1 · no named set · 4 trajectories, 4 clusters · 2026-01-01" in top
    assert text.index('id="walk-1" open') < text.index('id="result"'), "the video of the first task is above the tables"
    # Four trajectories cannot show more, however far apart the means are.
    assert "Nothing shows that keeper redraws the place" in headline[1]
    said = words_of(between(text, "<h1>", "<nav"))
    assert "Verdict: It is not measurably better than baselines that cannot remember. No ranks: a test needs 6" in said
    assert "Not in the running: dreamer (2 of 4 tasks missing: 1 failed, 1 not applicable)." in text
    assert text.count("saw the truth") >= 1
    assert text.count("saw the world") >= 1
    assert text.index("Models under test") < text.index("Baselines</span>")


def test_means_and_ages_are_explained(text: str, runs: Path) -> None:
    assert "±" not in text
    assert text.count("How to read this table") == 1
    assert 'title="last frame, repeated" class="label">freeze' in text
    assert "Context ablation" not in text
    assert all(not score.cluster for folder in runs.iterdir() for _, score in RunFolder(folder).scores())
    assert "older than clusters, which are taken from the ids of tasks" in text


@pytest.mark.parametrize(
    ("headline", "short"),
    [
        ("mine has MSE 0.02.", "mine has MSE 0.02."),
        (
            f"Nothing shows that mine keeps it: it is not measurably better than {'hedge, ' * 9}late.",
            "Nothing shows that mine keeps it.",
        ),
        (f"mine keeps it, better than baselines that cannot remember{' and others' * 5}.", "mine keeps it."),
        (
            f"Baselines only; that tiny keeps it is not shown, since it is not better than {'hedge, ' * 9}late.",
            "Baselines only; that tiny keeps it is not shown.",
        ),
        (
            f"Neither of 2 models keeps it measurably better than {'hedge, ' * 9}late.",
            "Neither of 2 models keeps it measurably better than hedge, hedge, hedge, hedge, hedge,…",
        ),
    ],
)
def test_a_long_headline_is_cut_where_its_claim_stays_true(headline: str, short: str) -> None:
    assert shorten(headline) == short
    assert len(short) <= 90


def test_the_command_names_the_benchmark_set_that_it_makes(runs: Path, tmp_path: Path) -> None:
    named = named_sets()["worldgauge-mini"]
    for version, is_told in ((named.version, True), (named.version + 1, False)):
        root = tmp_path / str(version)
        shutil.copytree(runs / "keeper", root)
        facts = json.loads((root / "run.json").read_text())
        facts["set"] = {"name": named.name, "version": version, "tasks": 4, "of": 4}
        (root / "run.json").write_text(json.dumps(facts))
        page = write_report([root], tmp_path).read_text(encoding="utf-8")
        assert ("--data worldgauge-mini " in page) == is_told


def test_counts_add_up_and_published_numbers_are_stamped(text: str) -> None:
    assert counts_of(text) == {"5 models, each": ["4 of 4", *"0000"], "dreamer": ["2 of 4", *"1100"]}
    assert text.index("Published, other data: ") < text.index("Oasis")


def test_hostile_names_and_errors_stay_text(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    error = "\"><script>alert(1)</script> </script><!-- {{ 7 * 7 }} '"
    write_run(tmp_path / "evil", evil, each=1, error=error, frames=6)
    write_run(tmp_path / "freeze", "freeze", each=1, frames=6)
    made = write_report([tmp_path], tmp_path / "evil.html").read_text(encoding="utf-8")
    outline = Outline(made)
    assert (outline.open, outline.all("img")) == ([], [])
    kinds = [s.get("type") for s in outline.all("script")]
    assert (kinds.count(None), set(kinds)) == (1, {None, "application/json", "text/plain"})
    spoken = "".join(outline.text)
    assert error in spoken
    assert evil in spoken


def test_tables_and_charts_can_be_heard(outline: Outline) -> None:
    assert all(th.get("scope") for th in outline.all("th"))
    drawings = [svg for svg in outline.all("svg") if svg.get("aria-hidden") != "true"]
    ids = [a["id"] for _, a in outline.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    for drawing in drawings:
        assert drawing["role"] == "img"
        for ident in (drawing["aria-labelledby"] or "").split():
            assert ident in ids
    assert all(a.get("href", "#")[1:] in ids for a in outline.all("a") if (a.get("href") or "").startswith("#"))


def test_runs_one_by_one_and_films_left_out(runs: Path, tmp_path: Path, page: Path) -> None:
    path = write_report([runs / "truth", runs / "freeze"], tmp_path / "deep" / "two.html")
    assert path == tmp_path / "deep" / "two.html"
    made = path.read_text(encoding="utf-8")
    assert "dreamer" not in made
    assert "no model under test was run" in made
    made = write_report([runs], tmp_path, films=1).read_text(encoding="utf-8")
    assert made.count('class="walk"') == 1
    assert "1 trajectory is shown; 3 are left out" in re.sub(r"\s+", " ", made)
    assert "SGCS of every trajectory" in made
    assert 'class="walk"' not in write_report([runs], tmp_path, films=0).read_text(encoding="utf-8")
    assert write_report([runs], tmp_path).read_bytes() == page.read_bytes()


def test_the_memory_budget_is_of_several_contexts(runs: Path, tmp_path: Path) -> None:
    for context in (4, 16):
        write_run(tmp_path / f"k{context}", "keeper", each=1, context=context, films=False)
    made = write_report([tmp_path, runs / "keeper", runs / "freeze"], tmp_path).read_text(encoding="utf-8")
    assert "Context ablation" in made
    assert all(f"keeper @{c}" in made for c in (4, 16, "all"))
    assert "Settings that differ between these runs: context" in made
    spoken = re.search(r'id="budget-d">(.*?)</desc>', made)
    assert re.match(r"keeper: 4 frames 0\.\d+, 16 frames 0\.\d+, all frames 0\.\d+", spoken[1])
    write_run(tmp_path / "held" / "k8", "keeper", each=1, max_context=8, films=False)
    write_run(tmp_path / "held" / "k4", "keeper", each=1, max_context=8, context=4, films=False)
    made = write_report([tmp_path / "held", runs / "keeper", runs / "freeze"], tmp_path).read_text(encoding="utf-8")
    assert all(f"keeper @{c}" in made for c in (4, 8, "all"))
    spoken = re.search(r'id="budget-d">(.*?)</desc>', made)
    assert re.match(r"keeper: 4 frames 0\.\d+, 8 frames 0\.\d+, all frames 0\.\d+", spoken[1])


def test_data_that_are_gone_leave_scores_and_films(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: ToyLoop, task: Task) -> TaskView:
        raise UsageError("the <data> are gone")

    monkeypatch.setattr(ToyLoop, "task_view", gone)
    made = write_report([runs], tmp_path).read_text(encoding="utf-8")
    assert made.count("The ground truth is not shown: the &lt;data&gt; are gone") == 4
    assert made.count("<canvas") == 4 * 6 - 2, "every model, but of two tasks one that failed or was skipped"
    assert made.count('class="mapbox"') == 0


def test_a_rollout_that_is_gone_leaves_its_tile_out(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "keeper", tmp_path / "keeper")
    gone, damaged, *_ = sorted((tmp_path / "keeper").rglob("rollout.mp4"))
    gone.unlink()
    damaged.write_bytes(b"no film")
    made = write_report([tmp_path / "keeper", runs / "freeze"], tmp_path).read_text(encoding="utf-8")
    columns = [json.loads(data)["columns"] for data in re.findall(r'-data">(.*?)</script>', made)]
    assert sorted(columns) == [2, 2, 3, 3]
    assert made.count("keeper is not shown: its record holds no video.") == 1
    assert len(re.findall(r"keeper is not shown: [^<]*rollout.mp4: not a readable video", made)) == 1
    assert made.count('class="mapbox"') == 4


def test_films_and_maps_come_from_where_the_data_lie_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_run(tmp_path / "keeper", "keeper", each=1)
    facts = folder / "run.json"
    facts.write_text(facts.read_text().replace('"source": "data"', '"source": "moved"'))
    asked = []
    picture = ToyLoop.task_view
    monkeypatch.setattr(ToyLoop, "task_view", lambda self, task: asked.append(task) or picture(self, task))
    write_report([folder], tmp_path / "page")
    assert [task.sample["source"] for task in asked] == ["moved"] * 4


def test_a_headline_that_was_not_measured_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a scan, which has none of the labels that a headline of labels asks for."""
    write_run(tmp_path / "a", "keeper", each=1)
    scores = tmp_path / "a" / "scores.jsonl"
    first = json.loads(scores.read_text().splitlines()[0])
    missing = first | {"metric": "labels", "value": None, "reason": "this world has other ones"}
    scores.write_text(scores.read_text() + json.dumps(missing) + "\n")
    made = ToyLoop.summarize

    def summarize(self: ToyLoop, *given: Any, **more: Any) -> list[Table]:
        return [Table("labels", "Labels", "1", "higher", ("all",), (), ()), *made(self, *given, **more)]

    monkeypatch.setattr(ToyLoop, "summarize", summarize)
    page = write_report([tmp_path / "a"], tmp_path / "page").read_text(encoding="utf-8")
    assert "<h1>No verdict: Labels was not measured.</h1>" in page
    assert "This world has other ones. What was measured is below." in page
    assert "No scores:" not in page


def test_a_run_without_scores_shows_what_became_of_its_tasks(tmp_path: Path) -> None:
    """Only generated, or failed: there is nothing to lead with."""
    write_run(tmp_path / "a", "keeper", each=1, error="it broke", scored=False)
    made = write_report([tmp_path / "a"], tmp_path / "page").read_text(encoding="utf-8")
    outline = Outline(made)
    assert outline.open == []
    assert "<h1>No scores: the runs are unfinished or failed.</h1>" in made
    assert counts_of(made) == {"keeper": ["0 of 4", *"1120"]}
    assert "it broke" in made
    assert "worldgauge run toyloop --model keeper" in made
    ids = {a["id"] for _, a in outline.tags if a.get("id")}
    assert all(str(a["href"])[1:] in ids for a in outline.all("a"))


def test_a_suite_that_claims_nothing_is_given_no_claim(runs: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delattr(ToyLoop, "claim")
    monkeypatch.delattr(ToyLoop, "floor_baselines")
    monkeypatch.delitem(METRICS, "sharpness")
    made = write_report([runs], tmp_path).read_text(encoding="utf-8")
    assert re.search(r"<h1>keeper has SGCS 0\.8", made)
    assert not re.search("redraw|remember|Sharp, yet wrong|sharp, wrong place", made)


def test_a_page_that_cannot_be_written_is_one_line_and_leaves_nothing(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "a.html").mkdir()
    (tmp_path / "file").touch()
    for out in (tmp_path / "a.html", tmp_path / "file" / "page.html"):
        with pytest.raises(RunError, match="cannot be written"):
            write_report([runs / "freeze"], out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "file"]


def test_an_older_page_survives_a_failure(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index.html"
    path.write_text("old")

    def broken(*args: object) -> str:
        raise RuntimeError

    monkeypatch.setattr("worldgauge.report.page.render", broken)
    with pytest.raises(RuntimeError):
        write_report([runs], tmp_path)
    assert path.read_text() == "old"


def test_what_is_no_run_is_said(tmp_path: Path, runs: Path) -> None:
    with pytest.raises(RunError, match="run"):
        write_report([tmp_path], tmp_path)
    with pytest.raises(UsageError, match="at least one"):
        write_report([], tmp_path)
    shutil.copytree(runs / "freeze", tmp_path / "other")
    facts = (tmp_path / "other" / "run.json").read_text().replace('"toyloop"', '"loopnav"', 1)
    (tmp_path / "other" / "run.json").write_text(facts)
    with pytest.raises(UsageError, match="one report for each"):
        write_report([runs / "truth", tmp_path / "other"], tmp_path)
