"""The command `validate-metric`: what it prints in every form, and what it refuses."""

import csv
import io
import json
from pathlib import Path

import pytest

from support.commands import command


def test_the_study_of_one_metric(tmp_path: Path) -> None:
    done = command(tmp_path, "validate-metric", "sgcs", "--scenes", "2", "--json")
    assert done.returncode == 1, "two views are too few to accept a metric"
    found = json.loads(done.stdout)
    assert (found["accepted"], found["segmenter"]) == (False, "balanced")
    rows = [*csv.reader(io.StringIO(command(tmp_path, "validate-metric", "sgcs", "--scenes", "2", "--csv").stdout))]
    assert rows[0] == ["metric", "perturbation", "n", "mean", "std"]
    assert len(rows) > 4
    assert {len(row) for row in rows} == {5}


def test_the_study_of_all_metrics(tmp_path: Path) -> None:
    few = ("validate-metric", "all", "--scenes", "2", "--metrics")
    done = command(tmp_path, *few, "psnr,imaging", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    assert "worldgauge weights pull musiq-spaq" in " ".join(done.stdout.split())
    assert (tmp_path / "page.html").read_text().startswith("<!")
    printed = json.loads(command(tmp_path, *few, "psnr", "--json").stdout)
    assert (printed["page"], printed["frames"]) == (None, 2)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("sgcs", "--segmenter", "none"), "'none' is not one of"),
        (("fid",), "error: no study of a metric 'fid'. Known: all, people, rules, sgcs\n"),
        (("all", "--network", "imaging"), "METRIC=TEXT"),
        (("all", "--metrics", "psrn"), "Did you mean 'psnr'"),
        (("all", "--out", "x.png"), "x.png: a page ends in .html"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], error: str, tmp_path: Path) -> None:
    done = command(tmp_path, "validate-metric", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert error in done.stderr
