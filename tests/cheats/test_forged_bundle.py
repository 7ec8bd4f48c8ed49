"""Bundles with forged scores, films or answers: each is found, and the honest one is not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.intervals import wilson
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.run import run
from worldgauge.tools.bundle import Archive, tasks_kept_whole, write_answer, write_archive, write_bundles
from worldgauge.tools.score_tolerance import agrees
from worldgauge.tools.verify import Verification, _score_again, look_over, verify

Change = Callable[[str, str, float | None], float | None]
STEP = 0.05
"""A forgery below the tolerance of a film."""


@pytest.fixture(scope="module")
def runs(loopnav_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two baselines on two loops."""
    root = tmp_path_factory.mktemp("forged")
    for model in ("hedge", "freeze"):
        run("loopnav", model=model, data=loopnav_data, out=root)
    return root


@pytest.fixture(scope="module")
def honest(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundles([runs / "hedge"], tmp_path_factory.mktemp("honest"), whole=1)[0].path


def forged(run_folder: Path, out: Path, change: Change, whole: int = 1) -> Path:
    """The bundle of an author who writes other scores into every file of the run."""
    copy = shutil.copytree(run_folder, out / "hedge")
    for path in (copy / "scores.jsonl", *copy.glob("records/*/scores.json")):
        lines = []
        for line in path.read_text().splitlines():
            if line.startswith('{"better"'):
                score = json.loads(line.rstrip(","))
                value = change(score["task"], score["metric"], score["value"])
                if value is None:
                    score |= {"reason": "not measured"}
                line = json.dumps({**score, "value": value}, sort_keys=True) + "," * line.endswith(",")
            lines.append(line)
        path.write_text("\n".join(lines) + "\n")
    return write_bundles([copy], out / "bundles", whole=whole)[0].path


def with_files(bundle: Path, out: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    with Archive(bundle) as archive:
        files = {name: archive.read(name) for name in archive.files}
    change(files)
    write_archive(out, files)
    return out


def violated(found: Verification) -> set[str]:
    assert found.ok == (not any(one.status == "violated" for one in found.checks))
    return {one.name for one in found.checks if one.status == "violated"}


def sgcs(by: float) -> Change:
    return lambda task, metric, value: value + by if metric == "sgcs" and value is not None else value


def test_an_honest_bundle_is_not_refused(honest: Path, loopnav_data: Path) -> None:
    found = verify(honest, data=loopnav_data)
    assert violated(found) == set()
    (number,) = [one for one in found.numbers if one.metric == "sgcs"]
    assert number.verdict == "1 of 2 tasks reproduced, 1 within tolerance of the small video"


def test_scores_forged_as_in_the_review_are_found(runs: Path, loopnav_data: Path, tmp_path: Path) -> None:
    found = verify(forged(runs / "hedge", tmp_path, sgcs(0.27), whole=0), data=loopnav_data)
    assert "small videos" in violated(found)


def test_a_ground_bundle_is_found(runs: Path, loopnav_data: Path, tmp_path: Path) -> None:
    """The author tries many roots until the forged task is not among the whole videos."""
    tasks = sorted(json.loads((runs / "hedge" / "run.json").read_text())["task_keys"])
    path = forged(
        runs / "hedge", tmp_path, lambda task, *rest: sgcs(0.27)(task, *rest) if task == tasks[0] else rest[1]
    )
    for second in range(60):
        facts = json.loads((tmp_path / "hedge" / "run.json").read_text())
        facts["created"] = f"2026-01-01T00:00:{second:02}+00:00"
        (tmp_path / "hedge" / "run.json").write_text(json.dumps(facts))
        (made,) = write_bundles([tmp_path / "hedge"], tmp_path / str(second), whole=1)
        if made.whole == (tasks[1],):
            path = made.path
            break
    assert made.whole == (tasks[1],)
    assert violated(verify(path, data=loopnav_data)) == {"small videos"}


def test_a_small_forgery_is_found_when_its_task_is_drawn(runs: Path, loopnav_data: Path, tmp_path: Path) -> None:
    path = forged(runs / "hedge", tmp_path, sgcs(STEP), whole=0)
    found = verify(path, data=loopnav_data, ask=2)
    assert violated(found) == set()
    sent = write_answer(tmp_path / "hedge", tmp_path, found.asked).path
    again = verify(path, data=loopnav_data, ask=2, draw=found.draw, answer=sent)
    assert again.asked == found.asked
    assert violated(again) == {"whole videos"}


def test_many_small_forgeries_move_the_mean(runs: Path, loopnav_data: Path, tmp_path: Path) -> None:
    found = verify(forged(runs / "hedge", tmp_path, sgcs(0.11), whole=0), data=loopnav_data)
    (number,) = [one for one in found.numbers if one.metric == "sgcs"]
    assert number.verdict == "differs"


def test_a_bad_score_that_is_hidden_is_found(runs: Path, loopnav_data: Path, tmp_path: Path) -> None:
    path = forged(runs / "hedge", tmp_path, lambda t, metric, value: None if metric == "sgcs" else value, whole=0)
    assert "small videos" in violated(verify(path, data=loopnav_data))


def test_films_of_another_model_are_found(honest: Path, runs: Path, loopnav_data: Path, tmp_path: Path) -> None:
    other = write_bundles([runs / "freeze"], tmp_path, whole=0)[0].path
    with Archive(other) as archive:
        films = {name: archive.read(name) for name in archive.files if name.startswith("films/")}
    found = verify(with_files(honest, tmp_path / "f.zip", lambda files: files.update(films)), data=loopnav_data)
    assert {"films", "small videos"} <= violated(found)


def test_films_of_ground_truth_for_the_whole_videos_only_are_found(
    honest: Path, runs: Path, loopnav_data: Path, tmp_path: Path
) -> None:
    run("loopnav", model="truth", data=loopnav_data, out=tmp_path)
    made = write_bundles([tmp_path / "truth"], tmp_path / "b", whole=0)[0].path
    with Archive(made) as archive, Archive(honest) as own:
        (whole,) = [name for name in own.files if name.startswith("records/") and name.endswith(".mp4")]
        film = archive.read(whole.replace("records/", "films/"))
    path = with_files(
        honest, tmp_path / "f.zip", lambda files: files.update({whole.replace("records/", "films/"): film})
    )
    assert violated(verify(path, data=loopnav_data)) == {"films"}


def test_a_short_film_is_found(honest: Path, loopnav_data: Path, tmp_path: Path) -> None:
    with Archive(honest) as archive:
        whole = {name for name in archive.files if name.startswith("records/") and name.endswith(".mp4")}
        name = next(
            one for one in archive.files if one.startswith("films/") and one.replace("films", "records") not in whole
        )
        archive.extract(name, tmp_path / "film.mp4")
    with Writer(tmp_path / "short.mp4", fps=20, kind="archive") as out:
        for frame in Clip.open(tmp_path / "film.mp4")[:9]:
            out.write(frame)
    short = (tmp_path / "short.mp4").read_bytes()
    path = with_files(honest, tmp_path / "f.zip", lambda files: files.update({name: short}))
    assert violated(verify(path, data=loopnav_data)) == {"films"}


def test_other_videos_and_fewer_than_were_drawn_are_no_answer(runs: Path, loopnav_data: Path, tmp_path: Path) -> None:
    path = write_bundles([runs / "hedge"], tmp_path, whole=0)[0].path
    asked = verify(path, ask=2)
    few = write_answer(runs / "hedge", tmp_path / "few", asked.asked[:1]).path
    other = write_answer(runs / "freeze", tmp_path / "other", asked.asked).path
    good = write_answer(runs / "hedge", tmp_path / "good", asked.asked).path
    for answer, ends in ((few, {"answer"}), (other, {"answer"}), (good, set())):
        assert violated(verify(path, ask=2, draw=asked.draw, answer=answer)) == ends
    assert verify(path, ask=1).draw != asked.draw


def test_the_author_cannot_know_the_draw(honest: Path) -> None:
    """It is no function of the bundle, as the choice of whole videos is."""
    assert len({verify(honest, ask=1).draw for _ in range(3)}) == 3
    answers, tasks = {"a": "00" * 32}, {f"t{k}": ["v"] for k in range(20)}
    assert tasks_kept_whole(answers, tasks, 5) == tasks_kept_whole(answers, tasks, 5)


def test_one_hundred_random_forgeries_of_one_score(runs: Path, loopnav_data: Path, tmp_path: Path) -> None:
    """SGCS of one task raised to a random value up to 1: at least 60 % are found from films alone."""
    path = write_bundles([runs / "hedge"], tmp_path, whole=0)[0].path
    with Archive(path) as archive:
        _, bundle = look_over(archive, tmp_path / "run")
        assert bundle is not None
        _, pairs = _score_again([archive], bundle, loopnav_data, bundle.done, lambda *_: None)
    rng, found = np.random.default_rng(7), 0
    for _ in range(100):
        one = pairs[sorted(pairs)[rng.integers(len(pairs))]]
        stated = [
            replace(score, value=score.value + rng.random() * (1 - score.value))
            if score.metric == "sgcs" and score.value is not None
            else score
            for score in one.stated
        ]
        assert agrees(one, "loopnav")
        found += not agrees(replace(one, stated=stated), "loopnav")
    rate = wilson(found, 100)
    assert rate is not None
    assert rate.low > 0.6, found
