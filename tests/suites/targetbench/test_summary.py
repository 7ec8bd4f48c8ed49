"""Tables of made-up scores: both averages worked by hand, every failure counted, other decoders told apart."""

from dataclasses import replace

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.engine.suite.contract import Failure, Score
from worldgauge.suites.targetbench.metrics import ALIGNED, PAPER_TEXT, RELEASED, evaluate
from worldgauge.suites.targetbench.scoring import METRICS
from worldgauge.suites.targetbench.suite import TargetBench
from worldgauge.suites.targetbench.summary import COLUMNS, weights_notes

TRUTH = np.column_stack([np.zeros(41), np.linspace(0, 4, 41)])
GROUPS = (
    {"label": "explicit", "category": "chair", "place": "indoors"},
    {"label": "implicit", "category": "chair", "place": "indoors"},
    {"label": "explicit", "category": "tree", "place": "outdoors"},
)


def numbers(path):
    found = {}
    for profile in (RELEASED, ALIGNED, PAPER_TEXT):
        scores = evaluate(path, TRUTH, profile)
        found[profile.name] = {field: getattr(scores, field) for field in METRICS}
    return found


def head(task, end, *, status="ok", decoder="exact", why="no path", **diagnostics):
    """The headline of a path that goes straight to `end` metres ahead; None where there is no path."""
    path = None if end is None else np.column_stack([np.zeros(9), np.linspace(0, end, 9)])
    profiles = {} if path is None else numbers(path)
    line = {"truth path": TRUTH[::5], "do nothing": np.zeros((9, 2)), "straight line": TRUTH[::5] * 0.5}
    facts = {
        "profile": "released",
        "decoder": decoder,
        "status": status,
        "profiles": profiles,
        "planner": "walker",
        "control": "camera",
        "horizon_s": 8.0,
        "is_driven": False,
        "xy": None if path is None else path.tolist(),
        "diagnostics": dict(diagnostics),
        "baselines": {name: numbers(path) for name, path in line.items()},
    }
    return Score(
        f"t{task}",
        "path/overall",
        profiles["released"]["overall"] if profiles else None,
        reason=None if profiles else why,
        group=GROUPS[task],
        facts=facts,
    )


def tables(scores, failed=None, **kinds):
    known = {name: kinds.get(name, "model") for name in scores}
    return TargetBench(decoder="exact").summarize(scores, known, failed or {})


def row(table, label):
    found = next(row for row in table.rows if row.label == label)
    return dict(zip(table.columns, found.cells, strict=True))


def overall(end):
    return numbers(np.column_stack([np.zeros(9), np.linspace(0, end, 9)]))["released"]["overall"]


def test_both_averages_by_hand():
    """Two of three scored: `scored` is their mean, `all` counts the third as the worst there is."""
    scored, every, *_ = tables({"a": [head(0, 4.0), head(1, 3.0), head(2, None, status="failed")]})
    lucky, fair = row(scored, "a"), row(every, "a")
    assert lucky["overall"].mean == pytest.approx((overall(4) + overall(3)) / 2)
    assert fair["overall"].mean == pytest.approx((overall(4) + overall(3)) / 3)
    assert fair["SE"].mean == pytest.approx(lucky["SE"].mean * 2 / 3)
    assert fair["MR (%)"].mean == pytest.approx((2 * lucky["MR (%)"].mean + 100) / 3)
    assert (fair["FDE (m)"], lucky["FDE (m)"].mean) == (lucky["FDE (m)"], pytest.approx(0.5))
    assert [cell.n for cell in (lucky["overall"], fair["overall"], fair["ADE (m)"])] == [2, 3, 2]
    assert {cell.expected for cell in (*lucky.values(), *fair.values())} == {3}


def test_a_failed_task_counts_like_a_path_that_was_not_found():
    lost = Failure("t2", GROUPS[2], "no video of this task")
    by_task = tables({"a": [head(0, 4.0), head(1, 3.0)]}, {"a": [lost]})
    by_score = tables({"a": [head(0, 4.0), head(1, 3.0), head(2, None, status="failed")]})
    for one, other in zip(by_task[:2], by_score[:2], strict=True):
        assert row(one, "a") == row(other, "a")
    assert "3 answers expected = 2 paths scored + 1 without a path." in by_task[0].notes
    assert "1 without: no video of this task." in by_task[0].notes
    assert "1 without: no path." in by_score[0].notes


def test_reasons_that_differ_in_a_number_or_a_file_are_one():
    own = [head(i, None, status="failed", why=f"{why} points a frame") for i, why in enumerate((1.5, 2.25, 3))]
    lost = [Failure(f"t{i}", {}, f"no video of this task: expected /v/a_custom_segment_{i}.mp4") for i in (3, 4)]
    notes = tables({"a": own}, {"a": lost})[0].notes
    assert "3 without: 1.5 points a frame, and alike." in notes
    assert "2 without: no video of this task: expected /v/a_custom_segment_3.mp4, and alike." in notes


def test_a_part_of_a_path_counts_where_all_count_as_a_failure_only():
    scored, every, *_ = tables({"a": [head(0, 4.0), head(1, 3.9, status="partial")]})
    assert row(scored, "a")["overall"].mean == pytest.approx((overall(4) + overall(3.9)) / 2)
    assert row(every, "a")["overall"].mean == pytest.approx(overall(4) / 2)
    assert any("only a part" in note for note in scored.notes)


def test_nothing_scored_still_makes_tables():
    found = tables({"a": [head(0, None, status="no_scale")], "b": []})
    assert (row(found[0], "a")["overall"].mean, row(found[1], "a")["overall"].mean) == (None, 0)
    assert row(found[0], "b")["overall"].n == 0
    assert found[0].title.endswith("profile released, decoder exact, 8 s")
    assert tables({"a": []})[0].rows


def test_yardsticks_stand_in_every_table_over_all_tasks_that_anyone_was_asked():
    found = tables({"a": [head(0, 4.0)], "b": [head(1, None, status="failed")]})
    for name in ("truth path", "do nothing", "straight line"):
        assert row(found[0], name)["overall"].n == 2
        assert next(r for r in found[0].rows if r.label == name).kind == "baseline"
    assert row(found[0], "truth path")["overall"].mean == pytest.approx(0.9, abs=1e-6)
    assert row(found[0], "do nothing")["AC"].mean == 1.0


def test_labels_categories_and_places():
    found = {table.title: table for table in tables({"a": [head(0, 4.0), head(1, 3.0), head(2, 2.0)]})}
    explicit = next(table for title, table in found.items() if "(explicit)" in title)
    implicit = next(table for title, table in found.items() if "(implicit)" in title)
    assert (row(explicit, "a")["overall"].n, row(implicit, "a")["overall"].n) == (2, 1)
    assert row(implicit, "a")["overall"].mean == pytest.approx(overall(3))
    by_category = next(table for title, table in found.items() if "By target category" in title)
    assert by_category.columns == ("chair", "tree", "all")
    assert row(by_category, "a")["tree"].mean == pytest.approx(overall(2))
    assert next(table for title, table in found.items() if "By place" in title).columns == (
        "indoors",
        "outdoors",
        "all",
    )


def test_one_unknown_label_makes_no_table_of_its_own():
    score = replace(head(0, 4.0), group={"label": "unknown", "category": "unknown", "place": "unknown"})
    titles = [table.title for table in tables({"a": [score]})]
    assert len(titles) == 4, titles


def test_profiles_stand_side_by_side():
    table = next(table for table in tables({"a": [head(0, 3.0)]}) if table.title.startswith("Overall score by profile"))
    assert table.columns == ("released", "aligned", "paper_text")
    expected = numbers(np.column_stack([np.zeros(9), np.linspace(0, 3, 9)]))
    assert [cell.mean for cell in row(table, "a").values()] == [expected[name]["overall"] for name in table.columns]


def test_the_released_profile_stands_beside_another_headline():
    own = replace(head(0, 3.0), facts={**head(0, 3.0).facts, "profile": "aligned"})
    table = tables({"a": [own, Score("t1", "path/overall", None, reason="no path", group=GROUPS[1], facts=own.facts)]})[
        0
    ]
    assert table.columns[:3] == ("overall", "as released", "SE")
    assert table.betters[:3] == ("higher", "higher", "higher")
    expected = numbers(np.column_stack([np.zeros(9), np.linspace(0, 3, 9)]))
    assert row(table, "a")["overall"].mean == expected["aligned"]["overall"]
    assert row(table, "a")["as released"].mean == expected["released"]["overall"]
    assert row(table, "a")["as released"].n == 1
    assert row(table, "truth path")["overall"].mean == pytest.approx(1.0, abs=1e-6)
    assert any("to compare with the published tables" in note for note in table.notes)
    assert "as released" not in tables({"a": [head(0, 3.0)]})[0].columns


def test_what_became_of_the_videos_adds_up():
    own = [head(0, 4.0), head(1, 0.0, status="stationary"), head(2, None, status="no_scale")]
    table = tables({"a": own}, {"a": [Failure("t3", {}, "gone")]})[-1]
    cells = row(table, "a")
    assert {name: cell.mean for name, cell in cells.items() if cell.mean} == {
        "ok": 1,
        "stationary": 1,
        "no scale": 1,
        "no video": 1,
    }
    assert sum(cell.mean for cell in cells.values()) == 4 == cells["ok"].n
    assert table.unit == "tasks"


def test_other_decoders_and_profiles_are_told_apart():
    other = head(0, 4.0, decoder="vggt")
    own = replace(other, facts={**other.facts, "profile": "aligned"})
    table = tables({"a": [head(0, 4.0)], "b": [own]})[0]
    assert "aligned and released" in table.title
    assert "exact and vggt" in table.title
    assert sum("must not be compared" in note for note in table.notes) == 2


def test_weights_that_do_not_add_up_are_said_once_a_sum():
    assert list(weights_notes(["vipe_config"])) == []
    (note,) = weights_notes(["vipe_config", "aligned", "released", "paper_text"])
    assert "add up to 0.90" in note
    assert note in tables({"a": [head(0, 4.0)]})[1].notes, "under the other tables of that score too"


def test_a_lent_plan_is_said():
    text = replace(head(0, 3.0), facts={**head(0, 3.0).facts, "planner": None, "control": "text"})
    notes = " ".join(tables({"cam": [head(0, 4.0)], "txt": [text]})[0].notes)
    assert "(cam: walker)" in notes
    idle = replace(head(0, 3.0), facts={**head(0, 3.0).facts, "control": "actions"})
    assert "lent" not in " ".join(tables({"freeze": [idle]}, freeze="baseline")[0].notes)


def test_rows_are_ordered_and_columns_know_their_direction():
    table = tables({"far": [head(0, 1.0)], "near": [head(0, 4.0)]})[0]
    labels = [row.label for row in table.rows]
    assert labels.index("near") < labels.index("far")
    assert dict(zip(table.columns, table.betters, strict=True))["MR (%)"] == "lower"
    assert (table.columns, table.metric) == (tuple(COLUMNS.values()), "path/overall")
    assert any("0.90" in note for note in table.notes)


def test_intervals_and_the_smallest_difference_that_could_be_seen():
    rng = np.random.default_rng(0)
    own = {
        name: [replace(head(0, 4 - shift - rng.uniform(0, 1)), task=f"t{i}") for i in range(8)]
        for name, shift in (("a", 0.0), ("b", 0.5))
    }
    table = tables(own)[0]
    cell = row(table, "a")["overall"]
    assert cell.low < cell.mean < cell.high
    assert any("median over pairs" in note for note in table.notes)
    few = tables({name: scores[:2] for name, scores in own.items()})[0]
    assert any("A test needs 6 clusters of scenarios" in note for note in few.notes)


def test_the_published_tables_are_the_papers():
    found = {"".join(table.title.split(",")[:2]): table for table in TargetBench(decoder="exact").published()}
    assert len(found) == 6
    one = found["Table 1 decoder vggt"]
    assert len(one.rows) == 12
    cells = row(one, "Wan2.2-5B-FT-DA")
    assert {name: cell.mean for name, cell in cells.items()} == {
        "overall": 0.345,
        "SE": 0.333,
        "AC": 0.81,
        "ADE (m)": 0.816,
        "FDE (m)": 1.05,
        "MR (%)": 26.71,
    }
    assert cells["overall"].n == 125
    for table in found.values():
        assert "arXiv 2511.17792 v1" in table.notes[0]
        assert "15 april 2026" in table.notes[0].lower()
    assert row(found["Table 3 decoder vipe"], "gt_video")["overall"].mean == 0.249
    assert row(found["Table 4 horizons"], "Wan2.2-Plus, 4 s")["FDE (m)"].mean == 1.4


def test_what_the_fallback_found_is_said():
    made = tables({"m": [head(0, 4.0, decoder="sfm-global", decoder_used="klt-vo"), head(1, 4.0)]})
    assert any("1 paths were found by the fallback klt-vo" in note for note in made[0].notes)


def test_without_the_true_video_the_ceiling_is_said_to_be_missing():
    assert any("add --model truth" in note for note in tables({"m": [head(0, 4.0)]})[0].notes)
    assert not any("add --model truth" in note for note in tables({"truth": [head(0, 4.0)]})[0].notes)


@pytest.mark.parametrize("case", cases("target_metrics", "aggregation.cases"))
def test_the_average_over_the_scored_is_the_released_one(case):
    keys = dict(zip(METRICS, ("overall_score", "se", "ac", "ade", "fde", "miss_rate"), strict=True))
    own = [replace(head(0, 4.0 if line["valid"] else None), task=f"t{n}") for n, line in enumerate(case["rows"])]
    for score, line in zip(own, case["rows"], strict=True):
        if line["valid"]:
            score.facts["profiles"]["released"].update({field: float(line[key]) for field, key in keys.items()})
    cells = row(tables({"a": own})[0], "a")
    assert cells["overall"].n == case["expect"]["num_valid"]
    for field, key in keys.items():
        mean = case["expect"][key]["mean"]
        assert cells[COLUMNS[field]].mean == (mean if mean is None else pytest.approx(mean, rel=1e-9))
