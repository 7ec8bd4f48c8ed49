"""Metrics against people, on a small made set in the public form and on votes of the viewer."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from report.conftest import runs, toyloop
from worldgauge.core.errors import DataError, UnknownNameError
from worldgauge.core.video import Clip, Writer
from worldgauge.metrics import metrics
from worldgauge.tools.viewer import Vote, Votes
from worldgauge.tools.viewer_runs import Library
from worldgauge_lab.validate_metrics.people import AXES, people_study, read_worldreward
from worldgauge_lab.validate_metrics.people_measures import LEARNED, MADE, WEIGHTLESS, Measures

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


JUDGE = """
import numpy as np
from worldgauge_serve import EstimatorSpec


class Judge:
    spec = EstimatorSpec("judge", kind="imaging")

    def estimate(self, arrays, options):
        return {"scores": np.abs(np.diff(arrays["frames"], axis=2)).mean((1, 2, 3), dtype=np.float64)}, {}
"""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sharp against blurred, in turn on the left and on the right; people prefer the sharp one in appearance."""
    monkeypatch.setattr("worldgauge_lab.validate_metrics.people_measures.SAMPLED", 4)
    monkeypatch.setattr("worldgauge_lab.validate_metrics.people_measures.PAIRS", 1)
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
    assert "no ceiling" in found.table()  # one verdict a pair
    names, lines = found.to_rows()
    assert len(lines) == len(found.rows) == len(AXES) * (len(WEIGHTLESS) + len(MADE))
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
        with Measures.open() as measures:
            return measures.of(Clip.from_array(frames(12, **change), 8.0), frames(1)[0])  # type: ignore[arg-type]

    plain = of()
    assert of(blur=2.0)["sharpness"] < plain["sharpness"]
    assert of(tint=4)["colour_change"] > plain["colour_change"] + 5
    assert of(still=True)["motion"] == 0 < plain["motion"]
    assert plain["first_ssim"] == pytest.approx(1.0)
    with Measures.open() as measures:
        alone = measures.of(Clip.from_array(frames(1), 8.0), None)
    assert set(alone) == {"sharpness", "sharpness_kept", "visual_quality"}


FORMS = {
    ("a",),
    ("frame",),
    ("got", "first"),
    ("start", "turn"),
    ("video",),
    ("video", "start"),
    ("video", "distances"),
    ("video", "start", "distances"),
    ("feature", "weight", "bias"),
    ("raw",),
}
"""What a metric may ask for that a video without its truth has."""


def test_every_metric_that_needs_no_truth_is_asked() -> None:
    others = {"sgcs_macro", "sgcs_objects"}  # their "frame" is a compared one
    alone = {one.name for one in metrics if tuple(inspect.signature(one.load()).parameters) in FORMS}
    assert {*WEIGHTLESS, *LEARNED} == alone - others


def test_a_way_out_and_back_is_consistent_and_out_again_is_not() -> None:
    out = frames(13)
    with Measures.open() as measures:
        back = measures.of(Clip.from_array(np.concatenate([out[1:], out[-2::-1]]), 8.0), out[0])
        on = measures.of(Clip.from_array(np.concatenate([out[1:], out[:12]]), 8.0), out[0])
    # States are paired exactly: 12 frames out, 12 back to the start.
    assert (back["gsc_aligned_mse"], back["gsc_aligned_ssim"]) == (0.0, 1.0)
    assert back["gsc_aligned_detail"] == pytest.approx(1.0)
    assert back["gsc_mse"] > 0  # the released pairing is one step off
    assert on["gsc_aligned_mse"] > 0.01
    assert back["out_leg_motion"] > 0


def test_values_are_those_of_the_registered_metrics() -> None:
    clip, start = Clip.from_array(frames(16), 8.0), frames(1)[0]
    with Measures.open() as measures:
        found = measures.of(clip, start)
    for name in WEIGHTLESS:
        if name.startswith("gsc"):
            ask = metrics.get(name)
            value = ask(clip, start) if "aligned" in name else ask(clip)
            assert found[name] == pytest.approx(value), name


def test_a_network_that_is_present_is_asked_and_others_stand_aside(bench: Path, tmp_path: Path) -> None:
    code = tmp_path / "judge.py"
    code.write_text(JUDGE)
    serve = f"cmd:{sys.executable} -m worldgauge_serve {code}:Judge"
    found = people_study(bench, networks={"imaging": serve})
    assert {row.share for row in found.rows if (row.axis, row.metric) == ("appearance", "imaging")} == {1.0}
    assert any("Aside for want of a network: aesthetic, gsc_lpips, gsc_aligned_lpips" in note for note in found.notes)
    with pytest.raises(UnknownNameError, match="imaging"):
        people_study(bench, networks={"imagin": serve})


def test_a_video_that_cannot_be_read_is_told(bench: Path) -> None:
    (bench / "videos/p3/left.mp4").write_bytes(b"no film")
    found = people_study(bench)
    assert max(row.n for row in found.rows) == 11
    assert any("1 videos could not be read" in note for note in found.notes)


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


PAIRS = "pair,video_a,video_b,annotator,verdict,axis,source,question"


@pytest.fixture
def judged(bench: Path) -> Path:
    """Twelve pairs as WRBench tells of its own: several annotators, ties, one pair with one person alone."""
    rows = [PAIRS]
    for n in range(12):
        sharp, other = ("a", "b") if n % 2 else ("b", "a")
        said = {"Ann": sharp, "Bo": sharp if n < 9 else "tie", "Cy": sharp if n < 6 else other}
        for who, verdict in said.items():
            if n < 11 or who == "Ann":
                videos = f"videos/p{n}/left.mp4,videos/p{n}/right.mp4"
                rows.append(f"p{n},{videos},{who},{verdict},integrity,videos/p{n}/source.png,scene{n // 2}")
    (bench / "bench.jsonl").unlink()
    (bench / "pairs.csv").write_text("\n".join(rows) + "\n")
    return bench


def test_pairs_with_several_annotators_have_their_agreement_and_a_ceiling(judged: Path) -> None:
    found = people_study(judged)
    rows = {row.metric: row for row in found.rows}
    # Pairs 0-5: all three agree, 3 of 3. 6-8: Cy against two, 1 of 3. 9, 10: Ann against Cy, with two ties each.
    people = rows["people"]
    assert (people.n, people.share, people.left_out) == (29, pytest.approx(21 / 29), 4)
    # The majority meets 18 of 18, 6 of 9, 1 of 2 twice and the verdict of one person.
    ceiling = rows["ceiling"]
    assert (ceiling.n, ceiling.share, ceiling.left_out) == (32, pytest.approx(27 / 32), 2)
    best = rows["sharpness"]
    assert (best.share, best.n, best.left_out) == (ceiling.share, 32, 2)  # it prefers what most people do
    assert all(row.share <= ceiling.share for row in found.rows if row.metric != "people" and row.share is not None)
    assert {row.axis for row in found.rows} == {"integrity"}
    assert "12 pairs of 6 questions, 3 people" in found.table()
    assert "1 pairs were judged by one person only" in found.table()


def test_intervals_of_pairs_take_pairs_of_one_question_as_one(judged: Path) -> None:
    table = judged / "pairs.csv"
    wide = {row.metric: row for row in people_study(judged).rows}["people"]
    table.write_text("\n".join(line.rpartition(",")[0] + ",one" for line in table.read_text().splitlines()))
    table.write_text(PAIRS + "\n" + table.read_text().split("\n", 1)[1])
    one = {row.metric: row for row in people_study(judged).rows}["people"]
    assert one.share == wide.share
    assert one.low < wide.low  # nothing is known of how questions differ


def test_annotators_in_another_order_and_sides_exchanged_change_nothing(judged: Path) -> None:
    before = people_study(judged).to_json()["rows"]
    head, *rows = (judged / "pairs.csv").read_text().splitlines()
    turned = []
    for row in reversed(rows):
        pair, a, b, who, verdict, *rest = row.split(",")
        turned.append(",".join([pair, b, a, who, {"a": "b", "b": "a"}.get(verdict, verdict), *rest]))
    (judged / "pairs.csv").write_text("\n".join([head, *turned]))
    assert sorted(map(str, people_study(judged).to_json()["rows"])) == sorted(map(str, before))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("pair,video_a,video_b,annotator\n", "no column 'verdict'"),
        (f"{PAIRS}\n", "holds no verdicts"),
        (f"{PAIRS}\np,v.mp4,w.mp4,Ann,left\n", "'left' is none of a, b, tie"),
        (f"{PAIRS}\np,v.mp4,w.mp4,,a\n", "need a value each"),
        (f"{PAIRS}\np,v.mp4\n", "need a value each"),
        (f"{PAIRS}\np,../v.mp4,w.mp4,Ann,a\n", "leads out"),
        (f"{PAIRS}\np,v.mp4,w.mp4,Ann,a\np,v.mp4,x.mp4,Bo,a\n", "line 3: pair 'p' has other videos"),
        (f"{PAIRS}\np,v.mp4,w.mp4,Ann,a\np,v.mp4,w.mp4,Ann,b\n", "has judged pair 'p' on overall before"),
    ],
)
def test_a_damaged_table_of_pairs_is_one_line(tmp_path: Path, rows: str, words: str) -> None:
    (tmp_path / "pairs.csv").write_text(rows)
    with pytest.raises(DataError, match=words):
        people_study(tmp_path)
