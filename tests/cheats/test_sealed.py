"""Sealed sets: questions hold what a request holds, and answers that came too late or to others are found."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.errors import UsageError
from worldgauge.core.image import read_png
from worldgauge.core.io import read_json_object
from worldgauge.core.video import Writer
from worldgauge.engine.collect import collect
from worldgauge.engine.open_suite import list_tasks, open_suite
from worldgauge.engine.run import RunRequest
from worldgauge.engine.sealed import Seal, open_seal, read_seal
from worldgauge.engine.videos import score_videos
from worldgauge.tools.bundle import write_archive, write_bundles, write_sealed_answer
from worldgauge.tools.questions import read_question, write_questions
from worldgauge.tools.verify import Verification, verify

OPTIONS: dict[str, dict[str, Any]] = {
    "loopnav": {"settlements": 1, "ranges": (5,), "per_combination": 1, "size": (96, 54)},
    "mind": {"mem": 1, "mirror": 0, "train": 0, "action_space": 0, "frames": 36, "size": (96, 54)},
}


SECRET = f"{1:064x}"
"""Of a set whose small videos are all within the tolerance: at 96x54, those of some sets are not."""


@dataclass(frozen=True)
class Round:
    """A sealed round up to the reveal, and the run that follows."""

    seal: Seal
    data: Path
    questions: Path
    sent: Path
    bundle: Path

    def verify(self, **given: Any) -> Verification:
        known = {"data": self.data, "sealed": self.seal, "answer": self.sent}
        return verify(self.bundle, **{**known, **given})


def answer(questions: Path, videos: Path, *, dark: int = 0) -> Path:
    """Videos that repeat the start image, as a model anywhere could make them."""
    for task in read_json_object(questions / "questions.json")["questions"]:
        asked = read_question(questions, task)
        start = read_png(questions / task / asked["start"])
        (videos / asked["video"]).parent.mkdir(parents=True, exist_ok=True)
        with Writer(videos / asked["video"], fps=asked["fps"], kind="lossless") as out:
            for _ in range(asked["frames"]):
                out.write(start // 2 if dark else start)
    return videos


def played(suite: str, root: Path, *, dark: int = 0) -> Round:
    open_seal(root / "seal.json", suite, OPTIONS[suite])
    seal = replace(read_seal(root / "seal.json"), secret=SECRET)
    (root / "seal.json").write_text(seal.text)
    collect(suite, root / "data", **seal.all_options)
    write_questions(suite, data=root / "data", out=root / "questions", sealed=seal)
    answer(root / "questions", root / "videos" / "still")
    sent = write_sealed_answer(root / "videos" / "still", root / "questions", root).path
    if dark:  # after the reveal
        answer(root / "questions", root / "videos" / "still", dark=dark)
    request = RunRequest(suite, data=root / "data", out=root / "runs")
    score_videos(request, root / "videos", sealed=seal)
    bundle = write_bundles([root / "runs" / "still"], root / "bundles", whole=0)[0].path
    return Round(seal, root / "data", root / "questions", sent, bundle)


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Round:
    return played("loopnav", tmp_path_factory.mktemp("sealed"))


def violated(found: Verification) -> set[str]:
    return {one.name for one in found.checks if one.status == "violated"}


def reproduced(found: Verification, metric: str) -> str:
    return next(one.verdict for one in found.numbers if one.metric == metric)


def test_a_sealed_round_of_loopnav_is_reproduced_whole(loops: Round) -> None:
    found = loops.verify()
    assert violated(found) == set()
    assert reproduced(found, "sgcs") == "2 of 2 tasks reproduced"


def test_a_sealed_round_of_mind_is_reproduced_whole(tmp_path: Path) -> None:
    found = played("mind", tmp_path).verify()
    assert violated(found) == set()
    assert len(found.rescored) == 2


def test_questions_hold_neither_ids_nor_seed_nor_world(loops: Round) -> None:
    tasks = list_tasks(open_suite("loopnav", {}), loops.data)
    seeds = {str(loops.seal.all_options["seed"]), loops.seal.secret}
    told = set()
    for path in loops.questions.rglob("*.json"):
        text = path.read_text()
        assert not [task.id for task in tasks if task.id in text or task.fingerprint[:16] in text]
        assert not [seed for seed in seeds if re.search(rf"\b{seed}\b", text)]
        assert str(loops.data) not in text
        told |= read_json_object(path).keys()
    assert not told & {"key", "world", "fingerprint", "source", "sample"}
    names = {path.parent.name for path in loops.questions.rglob("question.json")}
    assert names == {loops.seal.names.name(task.id) for task in tasks}
    for name in names:
        poses = np.array(read_question(loops.questions, name)["poses"]["context"])
        np.testing.assert_allclose(poses[-1][:3, 3], 0, atol=1e-6)


def test_another_seal_is_found(loops: Round, tmp_path: Path) -> None:
    other = replace(loops.seal, secret="0" * 64)
    assert violated(loops.verify(sealed=other)) == {"seal"}
    with pytest.raises(UsageError, match="not the data set of this seal"):
        write_questions("loopnav", data=loops.data, out=tmp_path / "q", sealed=other)
    assert other.all_options["seed"] != loops.seal.all_options["seed"]


def test_changed_questions_are_found(loops: Round, tmp_path: Path) -> None:
    copy = shutil.copytree(loops.questions, tmp_path / "questions")
    about = read_json_object(copy / "questions.json")
    about["digests"][about["questions"][0]] = "0" * 64
    (copy / "questions.json").write_text(json.dumps(about))
    videos = answer(copy, tmp_path / "still")
    assert violated(loops.verify(answer=write_sealed_answer(videos, copy, tmp_path).path)) == {"questions"}


def test_videos_made_after_the_reveal_are_found(tmp_path: Path) -> None:
    late = played("loopnav", tmp_path, dark=1)
    assert violated(late.verify()) == {"answer"}
    assert violated(late.verify(root="0" * 64)) == {"root"}  # the published hash is of another archive


def test_forged_scores_of_a_sealed_round_are_found(loops: Round, tmp_path: Path) -> None:
    run = shutil.copytree(loops.bundle.parents[1] / "runs" / "still", tmp_path / "still")
    for path in (run / "scores.jsonl", *run.glob("records/*/scores.json")):
        path.write_text(re.sub(r'("metric": "sgcs".*"value": )[0-9.]+', r"\g<1>0.9", path.read_text()))
    forged = replace(loops, bundle=write_bundles([run], tmp_path / "b", whole=0)[0].path)
    assert "whole videos" in violated(forged.verify())


def test_an_archive_without_questions_is_no_answer(loops: Round, tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", {"videos/x.mp4": b""})
    with pytest.raises(Exception, match=r"questions\.json"):
        loops.verify(answer=tmp_path / "a.zip")
    with pytest.raises(UsageError, match="--seed"):
        open_seal(tmp_path / "seal.json", "loopnav", {"seed": 7})
