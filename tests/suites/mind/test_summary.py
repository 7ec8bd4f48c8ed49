"""Tables of MIND from made-up scores: means by hand, failures counted, stillness flagged, perspectives apart."""

from dataclasses import replace

import pytest

from worldgauge.engine.suite.contract import Failure, Score
from worldgauge.suites.mind.suite import Mind
from worldgauge.suites.mind.summary import HEADLINE, PAPER, STILL

REAL = 0.02
AS_ASKED = {
    **{"real_motion": REAL, "frames_scored": 48, "frames_asked": 48},
    **{"control": "actions", "fps": 24.0, "recorded_fps": 24.0},
}
"""Facts of a video that is as it was asked for."""


def lcm(task, value, *, view="1st", motion=REAL, **facts):
    return Score(
        f"{view}_data/mem_test/data-{task}",
        HEADLINE,
        value,
        better="lower",
        reason=None if value is not None else "no frame",
        group={"test": "mem", "perspective": {"1st": "first person", "3rd": "third person"}[view], "family": "urban"},
        facts={**AS_ASKED, "motion": motion, **facts},
    )


def returned(path, value, motion):
    group = {"test": "mirror", "perspective": "first person", "family": "urban", "path": path}
    facts = {**AS_ASKED, "motion": motion}
    task = f"1st_data/mirror_test/data-0/path-{path}"
    return [
        Score(task, name, number, better=better, group=group, facts=facts)
        for name, number, better in (
            ("gsc_aligned_mse", value, "lower"),
            ("gsc_mse", value * 2, "lower"),
            ("out_leg_motion", motion, "neither"),
        )
    ]


def acted(task, trans, actions, frozen=0.08):
    stats = {
        name: {"count": 5, "trans_mean": value, "trans_median": value, "rot_deg_mean": value * 10, "rot_deg_median": 0}
        for name, value in actions.items()
    }
    facts = {"actions": stats, "groups": {}, "frozen_trans_m": frozen, "frozen_rot_deg": 1.0}
    facts |= {"scale": 1.0, "truth_step_m": frozen}
    group = {"test": "mem", "perspective": "first person", "family": "urban"}
    return [
        Score(f"1st_data/mem_test/data-{task}", f"lcm/{name}", value, unit, "lower", 96, group=group, facts=facts)
        for name, value, unit in (("rpe_trans", trans, "m"), ("rpe_rot_deg", trans * 10, "deg"))
    ]


def tables(scores, failed=None, **kinds):
    known = {name: kinds.get(name, "model") for name in scores}
    made = Mind().summarize(scores, known, failed or {})
    found = {table.metric: table for table in made}
    assert len(found) == len(made)
    return found


def cells(table, label):
    row = next(row for row in table.rows if row.label == label)
    return {column: cell.mean for column, cell in zip(table.columns, row.cells, strict=True)}


def flags(table):
    return {row.label: row.flag for row in table.rows}


def test_perspectives_stand_apart_and_both_is_over_all_clips():
    scores = [lcm(0, 0.1), lcm(1, 0.3), lcm(2, 0.6, view="3rd")]
    table = tables({"mine": scores})[HEADLINE]
    assert cells(table, "mine") == {
        "first person": pytest.approx(0.2),
        "third person": 0.6,
        "both": pytest.approx(1 / 3),
    }
    assert (table.better, table.unit) == ("lower", "1")
    assert tables({"mine": [lcm(0, 0.1, view="3rd")]})[HEADLINE].columns == ("third person",)
    assert next(iter(tables({"mine": [lcm(0, 0.1), *returned("w", 0.1, REAL)]}))) == HEADLINE


def test_failed_and_missing_clips_are_expected_and_not_zero():
    group = {"perspective": "first person", "family": "urban"}
    lost = Failure("1st_data/mem_test/data-9", {"test": "mem", **group}, "broken")
    other = Failure("1st_data/mirror_test/data-0/path-1", {"test": "mirror", "path": "w", **group}, "broken")
    table = tables({"mine": [lcm(0, 0.2), lcm(1, None)]}, {"mine": [lost, other]})[HEADLINE]
    cell = table.rows[0].cells[0]
    assert (cell.mean, cell.n, cell.expected) == (0.2, 1, 3)
    assert any("1 score is missing: no frame" in note for note in table.notes)
    damaged = Failure("1st_data/mem_test/data-9", {}, "damaged")  # without its group
    made = tables({"mine": [lcm(0, 0.2)], "lost": []}, {"mine": [damaged], "lost": [damaged]})
    assert (made[HEADLINE].rows[0].cells[0].n, made[HEADLINE].rows[0].cells[0].expected) == (1, 2)
    assert [row.label for row in made[PAPER["first person"]].rows] == ["mine", "lost"]


def test_what_failed_whole_has_its_column_and_its_row():
    lost = [
        Failure(f"3rd_data/mirror_test/data-125/path-{n}", {"test": "mirror", "path": path}, "broken")
        for n, path in ((1, "w"), (2, "s"))
    ]
    made = tables({"mine": returned("w", 0.1, REAL)}, {"mine": lost})
    table = made["gsc_aligned_mse"]
    assert table.columns == ("first person", "third person", "both")
    assert [(cell.n, cell.expected) for cell in table.rows[0].cells] == [(1, 1), (0, 2), (1, 3)]
    by_path = made["gsc_aligned_mse/path/first person"]
    assert by_path.columns == ("w",)
    assert [(cell.n, cell.expected) for cell in by_path.rows[0].cells] == [(1, 1)]
    theirs = made["gsc_aligned_mse/path/third person"]
    assert [(cell.n, cell.expected) for cell in theirs.rows[0].cells] == [(0, 1), (0, 1)]


def test_metres_are_only_said_of_the_engines_poses():
    ours, theirs = (
        {
            table.metric: table
            for table in Mind(truth_poses=source).summarize({"m": acted(0, 0.1, {})}, {"m": "model"}, {})
        }["lcm/rpe_trans"]
        for source in ("engine", "decoded")
    )
    assert (ours.unit, theirs.unit) == ("m", "1")
    assert any("units of the true poses" in note for note in theirs.notes)


def moving_by(*motions):
    return [score for path, motion in zip("wasd", motions, strict=False) for score in returned(path, 0.1, motion)]


@pytest.mark.parametrize(
    ("scores", "metric", "flag"),
    [
        ([lcm(0, 0.1, is_longer=True)], HEADLINE, "longer than asked for"),
        ([lcm(0, 0.1, fps=16, recorded_fps=24)], HEADLINE, "16 frames/s"),
        ([replace(s, facts={**s.facts, "real_motion": None}) for s in moving_by(0.1)], "gsc_mse", "motion not judged"),
        (moving_by(0, REAL, REAL, REAL), "gsc_aligned_mse", ""),
        (moving_by(0, 0, REAL, REAL), "gsc_aligned_mse", STILL),
        (moving_by(REAL / 10), "gsc_mse", ""),
        (moving_by(REAL / 10.1), "gsc_mse", STILL),
    ],
)
def test_a_flag_says_why_a_row_must_not_be_taken_at_its_face(scores, metric, flag):
    assert flags(tables({"mine": scores})[metric])["mine"] == flag


def test_a_frozen_video_is_perfect_flagged_and_last():
    moving = [score for path in "was" for score in returned(path, 0.01, REAL)]
    frozen = [score for path in "was" for score in returned(path, 0.0, 0.0)]
    table = tables({"frozen": frozen, "mine": moving})["gsc_aligned_mse"]
    assert [row.label for row in table.rows] == ["mine", "frozen"]
    assert flags(table) == {"mine": "", "frozen": STILL}
    assert any("10%" in note for note in table.notes)


def test_a_frozen_rollout_is_flagged_on_the_memory_test_too():
    table = tables({"frozen": [lcm(0, 0.01, motion=0.0)], "mine": [lcm(0, 0.2)]})[HEADLINE]
    assert [row.label for row in table.rows] == ["mine", "frozen"]


def test_short_videos_and_given_poses_are_told():
    short = [lcm(0, 0.1, frames_scored=12)]
    posed = [lcm(0, 0.1, control="camera")]
    made = tables({"short": short, "posed": posed, "known": posed}, known="baseline")[HEADLINE]
    assert flags(made) == {"known": "", "posed": "", "short": "25% of the frames"}
    assert {row.label: (row.group, row.marks) for row in made.rows} == {
        "known": ("", ()),
        "posed": ("given poses", ()),
        "short": ("", ()),
    }
    keyed = [lcm(0, 0.1, control="actions", posed=True)]  # keys drive it, and it asks for poses beside them
    assert tables({"sly": keyed})[HEADLINE].rows[0].group == "given poses"


def test_rows_of_other_horizons_are_noted():
    table = tables({"a": [lcm(0, 0.1, horizon=24)], "b": [lcm(0, 0.1, horizon=None)]})[HEADLINE]
    assert any("different horizons" in note for note in table.notes)


def test_the_papers_columns_by_perspective():
    scores = [lcm(0, 0.1), lcm(1, 0.5, view="3rd"), *returned("w", 0.02, REAL), *acted(0, 0.03, {"forward": 0.03})]
    made = tables({"mine": scores})
    assert cells(made[PAPER["first person"]], "mine") == {
        "memory (MSE)": 0.1,
        "consistency (MSE)": 0.02,
        "action space (MSE)": None,
        "aesthetic": None,
        "imaging": None,
        "RPE trans": 0.03,
        "RPE rot (deg)": pytest.approx(0.3),
    }
    assert cells(made[PAPER["third person"]], "mine")["memory (MSE)"] == 0.5
    assert made[PAPER["first person"]].betters == ("lower", "lower", "lower", "higher", "higher", "lower", "lower")


def test_the_pairing_in_force_is_the_papers_column():
    made = Mind(pairing="released").summarize({"m": [lcm(0, 0.1), *returned("w", 0.02, REAL)]}, {"m": "model"}, {})
    table = next(table for table in made if table.metric == PAPER["first person"])
    assert cells(table, "m")["consistency (MSE)"] == 0.04
    assert "one action apart" in table.notes[0]


def test_published_tables_have_the_columns_of_ours():
    ours = tables({"mine": [lcm(0, 0.1), lcm(1, 0.5, view="3rd")]})
    printed = {table.metric: table for table in Mind().published()}
    for metric in PAPER.values():
        assert (printed[metric].columns, printed[metric].betters) == (ours[metric].columns, ours[metric].betters)
        assert {row.kind for row in printed[metric].rows} == {"published"}
    assert [cell.n for cell in printed[PAPER["first person"]].rows[0].cells] == [50, 500, 25, 50, 50, 50, 50]
    best = next(r for r in printed[PAPER["first person"]].rows if r.label == "MIND-World, with context memory")
    assert [cell.mean for cell in best.cells] == [0.1035, 0.0309, 0.1226, 0.459, 0.5702, 0.0384, 0.5534]


def test_errors_by_action_are_means_over_clips():
    scores = [*acted(0, 0.02, {"forward": 0.02, "look_left": 0.1}), *acted(1, 0.04, {"forward": 0.04})]
    table = tables({"mine": scores})["lcm/rpe_trans/actions/first person"]
    assert table.bars
    assert table.columns == ("forward", "look_left")
    row = table.rows[0]
    assert [cell.mean for cell in row.cells] == [pytest.approx(0.03), 0.1]
    assert [cell.n for cell in row.cells] == [2, 1]


def test_a_still_camera_stands_beside_action_errors():
    table = tables({"mine": acted(0, 0.02, {"forward": 0.02}, frozen=0.07)})["lcm/rpe_trans"]
    assert (cells(table, "a still camera"), flags(table)["a still camera"]) == ({"first person": 0.07}, STILL)
