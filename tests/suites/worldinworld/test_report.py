"""Pages, films and published tables."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.commands import Done, command
from support.task_context import QuietContext
from worldgauge.core.errors import DataError
from worldgauge.core.intervals import wilson
from worldgauge.core.video import Clip, resize
from worldgauge.engine.collect import collect
from worldgauge.engine.suite.contract import Record, Table, Task
from worldgauge.models import models
from worldgauge.suites.worldinworld import report as the_replay
from worldgauge.suites.worldinworld.drawing import ALARM, BOX, LINE_PX, VOID, FrameSheet, text_px, wrap_text
from worldgauge.suites.worldinworld.published import published, successes
from worldgauge.suites.worldinworld.report import GAP, GOAL_SHARE, MARGIN, PANEL, THUMB_PX, WIDTH
from worldgauge.suites.worldinworld.suite import ClosedLoop
from worldgauge.suites.worldinworld.task import FPS
from worldgauge.suites.worldinworld.task_index import open_task
from worldgauge.suites.worldinworld.trace import IMAGINED, SEEN, TRACE, read_trace

SMALL = {"view_px": 48, "panorama_px": 128, "decisions": 3}


RIGHT = MARGIN + PANEL + GAP


def acted(folder: Path, task: Task, model: str) -> Record:
    folder.mkdir(parents=True)
    return ClosedLoop(**SMALL).perform(task, models.get(model)(), QuietContext(folder))


@pytest.fixture(scope="module")
def tasks(episodes: Path) -> dict[str, Task]:
    return {task.id: task for task in ClosedLoop(**SMALL).tasks(episodes)}


@pytest.fixture(scope="module")
def walked(tasks: dict[str, Task], tmp_path_factory: pytest.TempPathFactory) -> Record:
    return acted(tmp_path_factory.mktemp("replay") / "oracle", tasks["navigation/0000"], "oracle")


def panels(frame: np.ndarray, record: Record) -> tuple[np.ndarray, np.ndarray]:
    """What is seen and what was imagined, without what is written on them."""
    top = MARGIN + the_replay.drawing.LINE_PX * 2 + 40
    rows = slice(top, top + 60)
    return frame[rows, MARGIN : MARGIN + PANEL], frame[rows, RIGHT : RIGHT + PANEL]


def test_a_frame_before_each_decision_and_after_each_step_and_one_for_the_end(walked: Record) -> None:
    film = ClosedLoop(**SMALL).film(walked)
    trace = read_trace(walked.directory)
    assert (len(film), film.width) == (sum(1 + len(line["executed"]) for line in trace) + 1, WIDTH)
    assert film.fps == FPS


def test_left_is_what_was_seen_and_right_what_was_imagined_for_that_step(walked: Record) -> None:
    film, line = ClosedLoop(**SMALL).film(walked), read_trace(walked.directory)[0]
    seen, imagined = Clip.open(walked.directory / SEEN), Clip.open(walked.directory / IMAGINED)
    first = line["candidates"][line["chosen"]]["imagined"][0]
    assert line["executed"]
    for step in range(1, len(line["executed"]) + 1):
        left, right = panels(film[step], walked)
        for shown, meant in ((left, seen[line["seen"][0] + step]), (right, imagined[first + step - 1])):
            there = resize(meant, PANEL, PANEL)[40:100]
            assert np.abs(shown[:, :90].astype(int) - there[:, :90]).mean() < 1


def test_without_a_world_model_the_right_side_is_empty(tasks: dict[str, Task], tmp_path: Path) -> None:
    record = acted(tmp_path / "none", tasks["navigation/0000"], "none")
    _, right = panels(ClosedLoop(**SMALL).film(record)[1], record)
    assert (right[:, :90] == VOID).all()


def test_the_table_when_all_is_done_stands_beside_what_was_imagined(tmp_path: Path) -> None:
    collect("worldinworld", tmp_path / "data", recognition=0, navigation=0, questions=0, manipulation=1)
    (task,) = ClosedLoop(**SMALL).tasks(tmp_path / "data")
    record = acted(tmp_path / "arm", task, "freeze")
    film = ClosedLoop(**SMALL).film(record)
    goal = open_task(task, ClosedLoop(**SMALL).options).goal_picture()
    assert goal is not None
    top = film.height - MARGIN - 2 * LINE_PX - THUMB_PX - 2 * GAP - PANEL
    whole = film[0][top : top + PANEL, RIGHT : RIGHT + PANEL]
    assert np.abs(whole[30:].astype(int) - resize(goal, PANEL, PANEL)[30:]).mean() < 1
    side = PANEL // GOAL_SHARE
    small = film[1][top + LINE_PX : top + LINE_PX + side, RIGHT + PANEL - side : RIGHT + PANEL]
    assert np.abs(small[3:-3, 3:-3].astype(int) - resize(goal, side, side)[3:-3, 3:-3]).mean() < 1
    imagined = Clip.open(record.directory / IMAGINED)[0]
    left = film[1][top + 40 : top + PANEL, RIGHT : RIGHT + PANEL - side - 2]
    assert np.abs(left.astype(int) - resize(imagined, PANEL, PANEL)[40:, : PANEL - side - 2]).mean() < 1


def test_frames_are_the_same_in_any_order(walked: Record) -> None:
    film = ClosedLoop(**SMALL).film(walked)
    whole = list(film)
    for index in (len(film) - 1, 2, 0):
        assert np.array_equal(film[index], whole[index])


@pytest.mark.parametrize("noted", [True, False], ids=["noted", "worked out"])
def test_the_red_box_is_drawn_where_the_target_is(noted: bool, tasks: dict[str, Task], tmp_path: Path) -> None:
    """A trace whose reviser noted the box, and one whose box must be worked out: here nobody sees the target."""
    task = tasks["recognition/0"]
    record = acted(tmp_path / "r", tasks["navigation/0000"], "none")
    lines = read_trace(record.directory)
    for line in lines:
        line["notes"] = {"box": [24, 12, 36, 24]} if noted else {}
    (record.directory / TRACE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    facts = {**record.facts, "label": "chair", "confidence": 0.5}
    frame = ClosedLoop(**SMALL).film(Record(task, "none", record.directory, facts, SEEN))[0]
    red = np.argwhere((frame == BOX).all(2))
    if noted:
        top = MARGIN + the_replay.drawing.LINE_PX * 2
        low, high = red.min(0), red.max(0)
        scale = PANEL / 48
        assert np.abs(low - (top + 12 * scale, MARGIN + 24 * scale)).max() <= 2
        assert np.abs(high - (top + 24 * scale, MARGIN + 36 * scale)).max() <= 2
    else:
        assert len(red) == 0


def test_a_record_whose_trace_is_gone_is_one_line(walked: Record, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"trace\.jsonl"):
        ClosedLoop(**SMALL).film(Record(walked.task, "oracle", tmp_path, walked.facts, SEEN))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"chosen": 1, "answer": None}, ["takes the second of 2 plans", "regret 3.00"]),
        (
            {"chosen": 0, "answer": "a chair"},
            ["takes the first of 2 plans", "answer: a chair (50% sure)", "the best of them"],
        ),
        ({"chosen": None, "answer": None, "plan": "FF"}, ["takes a plan of its own"]),
    ],
)
def test_decisions_in_words(line: dict[str, Any], said: list[str]) -> None:
    candidates = [{"true_value": value, "aim": None} for value in (-1.0, -4.0)]
    assert list(the_replay._decided({"candidates": candidates, "confidence": 0.5, "plan": None, **line})) == said


def test_plans_are_drawn_as_arrows_that_differ() -> None:
    drawn = []
    for steps, turn in (("F", 0.0), ("L", 0.0), ("R", 0.0), ("S", 0.0), ("FF", 0.0), ("F", 1.0), ("F" * 13, 0.0)):
        sheet = FrameSheet(160, 20)
        sheet.plan(steps, turn, 4, 2, 150, ALARM)
        drawn.append(sheet.done().tobytes())
    assert len(set(drawn)) == len(drawn)


def test_lines_are_no_wider_than_they_may_be() -> None:
    text = "what is to the left of the purple chair that stands in the living room " * 3
    lines = wrap_text(text, 200)
    assert " ".join(lines) == text.strip()
    assert max(text_px(line) for line in lines) <= 200


def test_both_films_of_an_episode_are_in_step(walked: Record) -> None:
    films = ClosedLoop(**SMALL).episode_films(walked)
    assert films.imagined is not None
    trace = read_trace(walked.directory)
    shown = [line["candidates"][line["chosen"]] for line in trace if line["chosen"] is not None]
    taken = [min(len(one["steps"]), len(line["executed"])) for one, line in zip(shown, trace, strict=True)]
    assert len(films.imagined) == len(films.imagined_at) == sum(taken) > 3
    assert sorted(set(films.imagined_at)) == list(films.imagined_at)
    seen = films.seen.to_array().astype(float)

    def apart(frame: np.ndarray, at: int) -> float:
        return float(np.abs(resize(frame, films.seen.width, films.seen.height).astype(float) - seen[at]).mean())

    # The oracle imagines what comes: each frame is most like the one that it foresees, not the one before.
    there = [apart(frame, at) for frame, at in zip(films.imagined, films.imagined_at, strict=True)]
    before = [apart(frame, at - 1) for frame, at in zip(films.imagined, films.imagined_at, strict=True)]
    assert np.mean(there) < 0.5 * np.mean(before)


COLLECT = ["collect", "worldinworld", "--out", "d", "--recognition", "2", "--navigation", "2", "--questions", "1"]


COLLECT += ["--manipulation", "2"]


SMALL_CHECK_AND_REPORT = [*COLLECT, "--scenes", "2", "--split", "train", "--seed", "7", "--size", "64x36"]


def cli(folder: Path, *arguments: str) -> Done:
    return command(folder, *arguments, columns=120)


def test_collect_then_check(tmp_path: Path) -> None:
    assert cli(tmp_path, "collect", "worldinworld", "--out", "d", "--dry-run").stdout == (
        "episodes: 1079 expected, 0 already done; in d\n"
        "Power: 320 clusters can order 50 or more models that differ by 2 standard deviations.\n"
    )
    done = cli(tmp_path, *SMALL_CHECK_AND_REPORT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("d: episodes: 7, frames: 2\n")
    assert "next: worldgauge run worldinworld --data d" in done.stdout
    assert "[7/7] " in done.stderr
    planned = json.loads(cli(tmp_path, *SMALL_CHECK_AND_REPORT, "--dry-run", "--json").stdout)
    assert (planned["expected"], planned["done_already"]) == (7, 7)
    assert planned["settings"]["split"] == "train"
    again = json.loads(cli(tmp_path, *SMALL_CHECK_AND_REPORT, "--json").stdout)
    assert (again["ok"], again["items"]) == (True, 7)

    checked = cli(tmp_path, "check", "worldinworld", "--data", "d", "--decode")
    assert checked.returncode == 0, checked.stdout
    # The table comes first; sentences below it may break at the same words.
    lines = [words for words in map(str.split, checked.stdout.splitlines()) if words]
    rows = {words[0]: words[1:] for words in reversed(lines)}
    assert rows["recognition"][:5] == ["2", "551", "2", "2", "2"]
    assert rows["navigation"][:5] == ["2", "144", "2", "2", "2"]
    assert rows["questions"][:5] == ["1", "184", "1", "1", "1"]
    assert rows["manipulation"][:5] == ["2", "200", "2", "2", "2"]
    assert "by difficulty: " in checked.stdout
    assert checked.stdout.splitlines()[-1] == "d: episodes: 7 of 7 valid; frames: 2; usable"
    told = json.loads(cli(tmp_path, "check", "worldinworld", "--data", "d", "--json").stdout)
    assert (told["ok"], told["n_episodes"], len(told["rows"])) == (True, 7, 4)


def test_an_option_out_of_range_is_one_line(tmp_path: Path) -> None:
    for change, said in (
        (["--split", "tets"], "worldinworld option 'split' must be one of train, val, test, got 'tets'"),
        (["--size", "64"], "--size takes whole numbers"),
        (["--scenes", "0"], "worldinworld option 'scenes' must be a whole number from 1 to 1000, or names, got 0"),
    ):
        done = cli(tmp_path, *COLLECT, *change)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


EPISODES = {"AR": 551, "ImageNav": 144}


TABLES = json.loads((files("worldgauge.suites.worldinworld") / "published.json").read_text("utf-8"))


def rates() -> list[Any]:
    """(table, rate, count, episodes, digits) of every printed success rate."""
    found = []

    def walk(value: Any, where: str, n: int, digits: int) -> None:
        if isinstance(value, list):
            for one in value:
                walk(one, where, n, digits)
        elif isinstance(value, dict):
            n = EPISODES.get(value.get("task", ""), n)
            if value.get("sr") is not None:
                found.append(pytest.param(value["sr"], value["k"], n, digits, id=f"{where}-{value['sr']}-{len(found)}"))
            for key, one in value.items():
                walk(one, where, EPISODES.get(key, n), digits)

    for number in (1, 4, 6, 7):
        walk(TABLES[f"table{number}"], f"table{number}", 0, 2)
    walk(TABLES["table5"], "table5", 144, 2)
    for row in TABLES["table3"]["rows"]:
        walk(row, "table3", 200 if row["base_policy"] == "VLM" else 150, 1)
    return found


@pytest.mark.parametrize(("rate", "count", "n", "digits"), rates())
def test_every_rate_is_of_a_whole_number_of_episodes(rate: float, count: int, n: int, digits: int) -> None:
    assert successes(rate, n, digits) == count
    assert abs(100 * count / n - rate) < (0.0101 if digits == 2 else 0.0501)


def test_none_was_left_out() -> None:
    assert len(rates()) == 21 + 22 + 11 + 16 + 5 + 10 + 4


def test_rates_of_no_whole_number_are_refused() -> None:
    assert successes(43.05, 144) == successes(43.06, 144) == 62, "cut off or rounded"
    for rate, n in ((43.10, 144), (39.10, 551), (-1.0, 144), (100.5, 551)):
        with pytest.raises(DataError, match="no whole number"):
            successes(rate, n)
    with pytest.raises(DataError, match="no whole number"):
        successes(44.7, 150, 2)


def table(words: str) -> Table:
    (found,) = [one for one in published() if one.title.startswith(words)]
    return found


def test_tables_one_to_seven() -> None:
    tables = published()[:-1]
    assert [one.title.split(",")[0] for one in tables] == [
        f"Table {number}" for number in (1, 1, 2, 3, 4, 4, 5, 6, 6, 7, 7, 7)
    ]
    assert [len(one.rows) for one in tables] == [22, 22, 17, 11, 8, 8, 5, 5, 5, 2, 2, 2]
    for one in tables:
        assert len(one.betters) == len(one.columns) == len(one.rows[0].cells)
        assert {row.kind for row in one.rows} == {"published"}
        assert len({row.label for row in one.rows}) == len(one.rows), "no two rows of one name"
        assert any("2510.18135" in note for note in one.notes)
        assert any(row.cells[column].mean is not None for row in one.rows for column in range(len(one.columns)))
        for row in one.rows:
            for cell in row.cells:
                assert (cell.mean is None) == (cell.n == 0)


def test_the_leaderboard_adds_a_quality_to_sixteen_rows_of_table_1() -> None:
    board = published()[-1]
    assert board.metric == "recognition/success"
    rows = {row.label: row.cells for row in board.rows}
    assert len(rows) == len(board.rows) == 16
    assert (rows["Runway Gen4"][1].mean, rows["SVD, post-trained"][1].mean) == (0.450638, 0.362787)
    assert max(rows, key=lambda name: rows[name][1].mean or 0) == "Cosmos-Predict2"
    assert rows["NWM"][0] == {row.label: row.cells for row in table("Table 1, recognition").rows}["NWM, VLM"][0]
    rates = [cells[0].mean for cells in rows.values()]
    assert rates == sorted(rates, reverse=True), "the page's own order"
    assert all(0.32 < (cells[1].mean or 0) < 0.49 for cells in rows.values())
    assert any("e788c69" in note for note in board.notes)


def test_cells_by_hand() -> None:
    rows = {row.label: row.cells for row in table("Table 1, navigation").rows}
    rate, steps, spl = rows["Wan2.2-A14B, post-trained, VLM"]
    assert (rate.mean, steps.mean, spl.mean, rate.n) == (46.53, 44.6, 34.61, 144)
    interval = wilson(67, 144)
    assert (rate.low, rate.high) == (100 * interval.low, 100 * interval.high)
    assert steps.low is spl.low is None, "the paper has no spread"
    assert rows["Runway Gen4, VLM"][0].mean is None
    assert (rows["Runway Gen4, VLM"][0].n, rows["Runway Gen4, VLM"][0].expected) == (0, 144)
    assert rows["Heuristic without world model"][0].mean == 2.08
    questions = table("Table 2")
    assert questions.columns == ("answer score", "metres", "SPL, %")
    assert max(row.cells[0].mean or 0 for row in questions.rows) == 48.6
    assert {row.cells[0].n for row in table("Table 3").rows} == {200, 150}
    assert table("Table 4, navigation").columns == ("success rate, %", "steps"), "without a column that is not printed"
    assert table("Table 6, navigation").columns == ("success rate, %", "SPL, %")
