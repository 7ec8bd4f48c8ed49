"""One page for runs of several suites."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from report.toybench import write_run
from worldgauge.core.errors import RunError
from worldgauge.report.overview import suite_card, write_reports


@pytest.fixture(scope="module")
def overview(runs: Path, plan_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reports([runs, plan_runs], tmp_path_factory.mktemp("overview") / "all.html", films=2)


def test_each_suite_has_a_card_and_a_report_beside_the_page(overview: Path) -> None:
    text = overview.read_text("utf-8")
    for suite in ("toyloop", "toyplans"):
        assert f'<article class="suite" id="{suite}">' in text
        assert f'href="all-{suite}.html"' in text
        assert (overview.parent / f"all-{suite}.html").is_file()
    assert text.count("data:video/mp4;base64,") == 2
    assert "http" not in text.replace("http-equiv", "")


def test_what_models_say_is_escaped(overview: Path) -> None:
    assert "<script>" not in overview.read_text("utf-8")


def test_runs_of_one_suite_are_its_report(runs: Path, tmp_path: Path) -> None:
    page = write_reports([runs], tmp_path / "one.html", films=0)
    assert [path.name for path in tmp_path.iterdir()] == ["one.html"]
    assert '<article class="suite"' not in page.read_text("utf-8")


def test_a_card_says_from_which_rows_a_model_is_not_separated(runs: Path) -> None:
    card = suite_card([runs], "x.html")
    assert set(card["open"]) == set(card["tested"])
    assert "keeper" in card["tested"]
    labels = {row["label"] for row in card["rows"]}
    assert all(set(others or ()) <= labels - {label} for label, others in card["open"].items())
    assert card["film"] is None


def test_a_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="neither a run folder"):
        write_reports([tmp_path], tmp_path / "x.html")


def test_a_baseline_whose_scores_ship_has_no_video_and_no_warning(
    toyloop: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for model in ("keeper", "freeze"):
        write_run(tmp_path / model, model, each=1)
    facts = json.loads((tmp_path / "freeze" / "run.json").read_text())
    (tmp_path / "freeze" / "run.json").write_text(json.dumps({**facts, "shipped": 1}))
    for film in (tmp_path / "freeze").rglob("*.mp4"):
        film.unlink()
    page = write_reports([tmp_path], tmp_path / "page.html", films=1)
    assert "freeze is not shown: its scores ship without videos" in page.read_text("utf-8")
    assert not [line for line in caplog.messages if "no film" in line]
