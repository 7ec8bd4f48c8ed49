"""Metrics against people, on a small made set in the public form and on votes of the viewer."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from report.conftest import runs, toyloop
from worldgauge.core.errors import DataError
from worldgauge.core.video import Clip, Writer
from worldgauge.tools.validate_metrics.people import AXES, measures, people_study, read_worldreward
from worldgauge.tools.viewer.library import Library
from worldgauge.tools.viewer.votes import Vote, Votes

__all__ = ["runs", "toyloop"]


def frames(count: int, *, blur: float = 0.0, tint: int = 0, still: bool = False) -> np.ndarray:
    rng = np.random.default_rng(5)
    wide = rng.integers(60, 190, (48, 160, 3), dtype=np.uint8)
    made = []
    for k in range(count):
        frame = wide[:, 0 if still else 3 * k :][:, :64].copy()
        if blur:
            frame = cv2.GaussianBlur(frame, (0, 0), blur)
        made.append(np.clip(frame.astype(int) + tint * k, 0, 255).astype(np.uint8))
    return np.stack(made)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Sharp against blurred, in turn on the left and on the right; people prefer the sharp one in appearance."""
    rows = []
    for n in range(12):
        folder = tmp_path / "videos" / f"p{n}"
        folder.mkdir(parents=True)
        sharp = "left" if n % 2 else "right"
        for side in ("left", "right"):
            with Writer(folder / f"{side}.mp4", fps=8, kind="lossless") as writer:
                writer.write(frames(9, blur=0.0 if side == sharp else 2.5))
        cv2.imwrite(str(folder / "source.png"), frames(1)[0][:, :, ::-1])
        label = {"action": "tie", "appearance": sharp, "motion": "left" if n < 6 else "right"}
        rows.append(
            {
                "pair_id": f"p{n}",
                "input_image": f"videos/p{n}/source.png",
                "left": {"video": f"videos/p{n}/left.mp4", "model": "x"},
                "right": {"video": f"videos/p{n}/right.mp4", "model": "y"},
                "label": label,
            }
        )
    (tmp_path / "bench.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_agreement_is_that_of_the_verdicts(bench: Path) -> None:
    found = people_study(bench)
    rows = {(row.axis, row.metric): row for row in found.rows}
    best = rows["appearance", "sharpness"]
    assert (best.share, best.n, best.left_out) == (1.0, 12, 0)
    assert best.low == pytest.approx(0.757, abs=0.02)  # Wilson for 12 of 12
    assert rows["appearance", "first_ssim"].share == 1.0
    assert rows["motion", "sharpness"].share == pytest.approx(0.5)
    assert (rows["action", "sharpness"].n, rows["action", "sharpness"].left_out) == (0, 12)  # ties are no comparison
    assert rows["action", "sharpness"].share is None
    assert "12 pairs" in found.table()
    names, lines = found.to_rows()
    assert len(lines) == len(found.rows) == len(AXES) * 5
    assert len(names) == len(lines[0])


def test_mirrored_pairs_give_the_same_shares(bench: Path) -> None:
    before = people_study(bench).to_json()["rows"]
    rows = [json.loads(line) for line in (bench / "bench.jsonl").read_text().splitlines()]
    for row in rows:
        row["left"], row["right"] = row["right"], row["left"]
        row["label"] = {a: {"left": "right", "right": "left", "tie": "tie"}[v] for a, v in row["label"].items()}
    (bench / "bench.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert people_study(bench).to_json()["rows"] == before


def test_measures_tell_what_they_are_named_for() -> None:
    def of(**change: object) -> dict[str, float]:
        return measures(Clip.from_array(frames(12, **change), 8.0), frames(1)[0])  # type: ignore[arg-type]

    plain = of()
    assert of(blur=2.0)["sharpness"] < plain["sharpness"]
    assert of(tint=4)["colour_change"] > plain["colour_change"] + 5
    assert of(still=True)["motion"] == 0 < plain["motion"]
    assert plain["first_ssim"] == pytest.approx(1.0)
    alone = measures(Clip.from_array(frames(1), 8.0), None)
    assert set(alone) == {"sharpness", "sharpness_kept"}


def test_a_video_that_cannot_be_read_is_told(bench: Path) -> None:
    (bench / "videos/p3/left.mp4").write_bytes(b"no film")
    found = people_study(bench)
    assert max(row.n for row in found.rows) == 11
    assert any("1 pairs could not be read" in note for note in found.notes)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 1 is no pair"),
        ("[]", "line 1 is no pair"),
        ('{"pair_id": "a", "left": {"video": "../x"}, "right": {"video": "b"}, "label": {}}', "leads out"),
        (
            '{"pair_id": "a", "left": {"video": "a"}, "right": {"video": "b"}, "label": {"motion": "up"}}',
            "none of left",
        ),
        ("", "holds no pairs"),
    ],
)
def test_damaged_verdicts_are_one_line(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "bench.jsonl").write_text(line)
    with pytest.raises(DataError, match=words):
        read_worldreward(tmp_path)


def test_a_folder_without_verdicts_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds neither"):
        people_study(tmp_path)


def test_votes_of_the_viewer_have_the_agreement_of_people_beside_the_metrics(runs: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(runs, tmp_path / "runs")
    votes = Votes(tmp_path / "runs")
    (group,) = Library(tmp_path / "runs").refresh()
    for task in group.tasks:
        for voter in ("Ann", "Bo"):
            votes.add(Vote(voter, "toyloop", ".", task, "keeper", "noise", "first"))
        votes.add(Vote("Cy", "toyloop", ".", task, "noise", "keeper", "first"))
    rows = {row.metric: row for row in people_study(tmp_path / "runs").rows}
    n = len(group.tasks)
    assert (rows["people"].n, rows["people"].share) == (3 * n, pytest.approx(1 / 3))
    assert rows["sgcs"].share == pytest.approx(2 / 3)


@pytest.fixture
def rated(bench: Path) -> Path:
    """The same videos, each judged by three people: two prefer the sharp one, the third prefers by turns."""
    rows = ["question,video,axis,annotator,score,source"]
    for n in range(12):
        sharp = "left" if n % 2 else "right"
        for side in ("left", "right"):
            for who in ("Ann", "Bo", "Cy"):
                right = side == sharp if who != "Cy" else (side == "left") == (n < 6)
                score = 4 if right else 2
                rows.append(f"q{n},videos/p{n}/{side}.mp4,appearance,{who},{score},videos/p{n}/source.png")
            rows.append(f"q{n},videos/p{n}/{side}.mp4,motion,Ann,3,")
    (bench / "bench.jsonl").unlink()
    (bench / "verdicts.csv").write_text("\n".join(rows) + "\n")
    return bench


def test_verdicts_on_single_videos_have_people_as_their_ceiling(rated: Path) -> None:
    found = people_study(rated)
    rows = {(row.axis, row.metric): row for row in found.rows}
    people = rows["appearance", "people"]
    # Ann and Bo agree on all 12 pairs, each with Cy on the half where he is right by chance.
    assert (people.n, people.share) == (36, pytest.approx((12 + 6 + 6) / 36))
    best = rows["appearance", "sharpness"]
    assert (best.share, best.n, best.left_out) == (1.0, 12, 0)
    assert best.low == pytest.approx(0.757, abs=0.02)
    assert (rows["motion", "sharpness"].n, rows["motion", "sharpness"].left_out) == (0, 12)  # equal scores
    assert (rows["motion", "people"].n, rows["motion", "people"].left_out) == (0, 0)  # one person alone
    assert "24 videos of 12 questions, 3 people" in found.table()


def test_the_order_of_rows_changes_no_share(rated: Path) -> None:
    before = {(row.axis, row.metric): (row.share, row.n) for row in people_study(rated).rows}
    head, *rows = (rated / "verdicts.csv").read_text().splitlines()
    (rated / "verdicts.csv").write_text("\n".join([head, *reversed(rows)]))
    assert {(row.axis, row.metric): (row.share, row.n) for row in people_study(rated).rows} == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("question,video,axis,annotator\n", "no column 'score'"),
        ("question,video,axis,annotator,score\n", "holds no verdicts"),
        ("question,video,axis,annotator,score\nq,v.mp4,a,Ann,good\n", "line 2 is no verdict"),
        ("question,video,axis,annotator,score\nq,v.mp4,a,Ann,nan\n", "finite"),
        ("question,video,axis,annotator,score\nq,v.mp4,a,,3\n", "every column needs a value"),
        ("question,video,axis,annotator,score\nq,v.mp4\n", "line 2 is no verdict"),
        ("question,video,axis,annotator,score\nq,../v.mp4,a,Ann,3\n", "leads out"),
    ],
)
def test_a_damaged_table_of_verdicts_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "verdicts.csv").write_text(text)
    with pytest.raises(DataError, match=words):
        people_study(tmp_path)
