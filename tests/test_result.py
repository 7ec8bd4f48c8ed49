"""A run from Python: collected data go in, tables, films and the page come out."""

import base64
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import worldgauge as wg
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine import run as engine


@pytest.fixture(scope="module")
def result(walks: Path, tmp_path_factory: pytest.TempPathFactory) -> wg.Result:
    return wg.run("loopnav", data=walks, model=["freeze", "truth"], out=tmp_path_factory.mktemp("runs"))


def test_a_run_shows_itself(result: wg.Result) -> None:
    assert result.counts.scored == 4
    html = result._repr_html_()
    assert "<table>" in html
    assert "freeze: 2 expected = 2 scored" in html
    text = str(result)
    assert text.splitlines()[-1].startswith("truth: 2 expected")
    assert "freeze" in text
    assert set(result.frame.model) == {"freeze", "truth"}
    assert [table.metric for table in result.table()] == [table.metric for table in engine.RunResult.table(result)]


def test_results_are_short(result: wg.Result) -> None:
    assert repr(result) == "<loopnav: freeze, truth; 4 expected = 4 scored + 0 skipped + 0 failed>"
    tables = result.table()
    assert repr(tables) == f"<{len(tables)} tables, headline {tables[0].metric}>"
    assert repr(tables[0]) == f"<table of {tables[0].metric}: 2 rows, {len(tables[0].columns)} columns>"
    assert str(tables).count("\n") < 30
    assert str(tables).startswith(str(tables[0]))
    assert ", mse" in str(tables).splitlines()[-1]


def test_one_table_by_its_metric(result: wg.Result) -> None:
    one = result.table(metric="mse")
    assert one.metric == "mse"
    assert str(one) == str(next(table for table in result.table() if table.metric == "mse"))
    with pytest.raises(UnknownNameError, match=r"no table 'msee'\. Did you mean 'mse'"):
        result.table("msee")


def test_two_rows_are_compared(result: wg.Result) -> None:
    frame = result.frame.query("metric == 'mse'").pivot(index="task", columns="model", values="value")
    pair = result.compare("freeze", "truth", "mse")
    assert (pair.a, pair.b, pair.n) == ("freeze", "truth", 2)
    assert pair.mean == pytest.approx((frame.freeze - frame.truth).mean())
    assert result.compare("truth", "freeze", "mse").mean == pytest.approx(-pair.mean)
    assert result.compare("truth", "freeze").mean > 0
    assert (pair.p, pair.p_holm) == (None, None)  # two clusters are too few
    with pytest.raises(UnknownNameError, match="no row 'freez'"):
        result.compare("freez", "truth")


def test_a_task_is_a_film_that_plays_in_a_notebook(result: wg.Result) -> None:
    film = result.film(result.frame.task[0])
    assert set(film.names) == {"ground truth", "freeze"}
    encoded = re.fullmatch(r'<video [^>]*src="data:video/mp4;base64,([^"]+)"[^>]*></video>', film._repr_html_())
    assert encoded is not None
    assert base64.b64decode(encoded[1]) == film.data
    assert film.data[4:8] == b"ftyp"
    assert len(repr(film)) < 200


def test_a_misspelled_task_is_suggested(result: wg.Result) -> None:
    task = result.frame.task[0]
    with pytest.raises(UnknownNameError, match=f"Did you mean '{task}'"):
        result.film(f"{task}x")


def test_a_suite_with_answers_has_no_films(builds: Path, tmp_path: Path) -> None:
    result = wg.run("mineanybuild", data=builds, model="reader", limit=1, out=tmp_path)
    with pytest.raises(UsageError, match="has no videos"):
        result.film("any")


def test_the_page_is_written(result: wg.Result, tmp_path: Path) -> None:
    page = result.report(tmp_path / "page.html", films=0)
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_scoring_again_gives_the_same_class(result: wg.Result) -> None:
    again = wg.score(result.directory)
    assert isinstance(again, wg.Result)
    assert again.frame.equals(result.frame)


def test_what_was_collected_is_the_data_of_a_run(tmp_path: Path) -> None:
    few = {"settlements": 1, "ranges": (5,), "types": ("ABA",), "per_combination": 1, "size": (64, 36)}
    data = wg.collect("loopnav", out=tmp_path / "data", **few)
    result = wg.run("loopnav", data=data, model="freeze", out=tmp_path / "runs")
    assert result.counts.scored == data.items == 1


def test_run_keeps_its_arguments_and_documentation() -> None:
    ours, theirs = inspect.signature(wg.run), inspect.signature(engine.run)
    assert ours.parameters == theirs.parameters
    assert ours.return_annotation == "Result"
    assert wg.run.__doc__ == engine.run.__doc__


def test_importing_the_package_is_light() -> None:
    code = (
        "import sys, worldgauge; dir(worldgauge); print(sorted({'numpy', 'av', 'jinja2', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_everything_that_is_offered_is_there() -> None:
    for name in wg.__all__:
        assert getattr(wg, name) is not None
        assert name in dir(wg)
    with pytest.raises(AttributeError, match="no attribute 'colect'"):
        wg.colect  # noqa: B018
