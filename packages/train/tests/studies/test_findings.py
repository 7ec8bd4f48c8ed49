"""Conclusions of a study from made-up scores, and its page."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from worldgauge_train.study_findings import (
    DATA,
    DENOISING,
    DISTILLATION,
    MEMORY,
    TRANSFER,
    Arm,
    ArmScores,
    Measure,
    beside_arms,
    conclude,
    fit_law,
    page_of,
    write_finding,
)

ERROR = Measure("mse", "Mean squared error", "lower")
DETAIL = Measure("detail", "Detail", "higher")


def scores(shift: float, seed: int = 0) -> dict[str, float | None]:
    level = np.random.default_rng(0).normal(0.02, 0.004, 16)
    noise = np.random.default_rng(seed).normal(0, 0.0005, 16)
    return {f"t{k}": float(level[k] + shift + noise[k]) for k in range(16)}


def arms() -> list[ArmScores]:
    less, more = (
        Arm("m at 1", "m?context_frames=1", "m", 1.0),
        Arm("m at 24", "m?context_frames=24", "m", 24.0, "m at 1"),
    )
    same = Arm("m at all", "m", "m", 72.0, "m at 1", "all")
    rows = [(less, 0.0, 0), (more, -0.005, 1), (same, 0.0, 2), (beside_arms({"freeze": "freeze"})[0], 0.01, 3)]
    return [
        ArmScores(arm, {"mse": scores(shift, seed), "detail": scores(-shift, seed)}, [10.0 * (seed + 1)] * 3)
        for arm, shift, seed in rows
    ]


def test_what_is_told_apart_and_what_is_not() -> None:
    found = conclude(MEMORY, "mind", [ERROR], arms(), {})
    assert [(gain.label, gain.base) for gain in found.gains] == [("m at 24", "m at 1"), ("m at all", "m at 1")]
    assert found.gains[0].difference.n == 16
    better, left = found.words
    assert better.startswith("Mean squared error: significantly better, p corrected: m at 24 than m at 1 (-0.00")
    assert "no significant difference from base: m at all" in left
    assert "nothing below about" in left
    (table,) = found.tables
    assert table.columns == ("mean", "difference from its base")
    assert [row.kind for row in table.rows] == ["model", "model", "model", "baseline"]
    assert table.rows[0].cells[1].n == 0
    assert table.rows[1].cells[1].low is not None


def test_more_is_better_where_the_metric_says_so() -> None:
    found = conclude(MEMORY, "mind", [DETAIL], arms(), {})
    assert found.words[0].startswith("Detail: significantly better, p corrected: m at 24 than m at 1 (+0.00")


def test_clusters_leave_fewer_to_compare() -> None:
    found = conclude(MEMORY, "mind", [ERROR], arms(), {f"t{k}": f"c{k % 2}" for k in range(16)})
    assert found.gains[0].difference.clusters == 2
    assert not any("significantly " in words for words in found.words), "two scenes prove nothing"


def test_speed_stands_beside() -> None:
    found = conclude(DENOISING, "mind", [ERROR], arms(), {})
    assert found.tables[0].columns[-1] == "frames/s"
    assert [row.cells[2].mean for row in found.tables[0].rows] == [10.0, 20.0, 30.0, 40.0]
    assert any("m at 24 2.0 times as fast as m at 1" in words for words in found.words)
    assert found.words[-1] == DENOISING.caveat


def test_a_table_says_what_is_known_of_scenes() -> None:
    none = "trained on none of these 8 scenes"
    told = [replace(one, scenes=text) for one, text in zip(arms(), (none, none, "", ""), strict=True)]
    (table,) = conclude(MEMORY, "mind", [ERROR], told, {}).tables
    assert table.notes[-1] == "m at 1, m at 24: trained on none of these 8 scenes."
    (plain,) = conclude(MEMORY, "mind", [ERROR], arms(), {}).tables
    assert len(plain.notes) == 1


def test_nothing_measured_is_nothing_said() -> None:
    empty = [ArmScores(one.arm, {"mse": dict.fromkeys(scores(0.0))}) for one in arms()]
    found = conclude(MEMORY, "mind", [ERROR], empty, {})
    assert [row.cells[0].n for row in found.tables[0].rows] == [0, 0, 0, 0]
    assert found.words == (
        "Mean squared error: no significant difference from base: m at 24, m at all; no proof of equality (too few "
        "tasks).",
    )


def test_pages_of_all_kinds_are_drawn(tmp_path: Path) -> None:
    for study in (MEMORY, DENOISING, DISTILLATION, TRANSFER):
        found = conclude(study, "mind", [ERROR, DETAIL], arms(), {})
        page = write_finding(found, tmp_path / f"{study.name}.html", "worldgauge study <x>")
        text = page.read_text()
        assert study.question in text
        assert "worldgauge study &lt;x&gt;" in text
        assert "significantly better" in text
        files = sorted(one.name for one in tmp_path.glob(f"{study.name}-*.svg"))
        assert len(files) == (3 if study is DENOISING else 2)
        assert all((tmp_path / name).read_text().startswith("<svg") for name in files)


def test_a_law_is_said_and_drawn_from_nothing_on() -> None:
    rows = [
        ArmScores(
            Arm(f"b {count} seed {seed}", f"b{count}{seed}", "b", float(count), base), {"mse": scores(shift, seed)}
        )
        for count, seed, shift, base in (
            (0, 0, 0.0, None),
            (10, 1, -0.002, "b 0 seed 0"),
            (10, 2, -0.002, "b 0 seed 0"),
            (100, 3, -0.004, "b 0 seed 0"),
            (100, 4, -0.004, "b 0 seed 0"),
        )
    ]
    law = fit_law(
        {10: [rows[1].values["mse"], rows[2].values["mse"]], 100: [rows[3].values["mse"], rows[4].values["mse"]]},
        {},
        rng=np.random.default_rng(0),
    )
    assert law is not None
    found = conclude(DATA, "mind", [ERROR], rows, {}, laws={("mse", "b"): law})
    assert "more data changes it; 2 numbers of clips, 2 trainings each, 16 tasks" in found.words[0]
    flat = conclude(DATA, "mind", [ERROR], rows, {}, laws={("mse", "b"): law._replace(a=11.7, b=3e-16)})
    assert "11.7 +0 log10 n, so ten times the clips change it by +0 (" in flat.words[0], "rounding is no slope"
    page = page_of(found)
    assert "clips trained on" in page.figures[0].drawn
    assert page.figures[0].drawn.count(">0<") >= 1, "no clips stand at the left end of the axis"
