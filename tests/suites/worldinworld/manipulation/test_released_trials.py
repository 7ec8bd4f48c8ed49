"""World-in-World's released trials: what is read of their files, and their layouts on our table."""

import json
import math
import os
import pickletools
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from support.folders import contents
from support.released_trials import TASKS, Stream, demo_of, plain_row, write_trial
from support.vectors import cases
from worldgauge.core.errors import DataError, RunError, UsageError, WorldError
from worldgauge.engine.collect import collect, count
from worldgauge.suites.worldinworld.format.check import check
from worldgauge.suites.worldinworld.format.load import load
from worldgauge.suites.worldinworld.manipulation.object_stream import ObjectRecord
from worldgauge.suites.worldinworld.manipulation.released_trials import (
    RELEASED_TASKS,
    ReleasedTrial,
    find_trials,
    read_trial,
)
from worldgauge.suites.worldinworld.manipulation.task import ManipulationTask
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop import Tabletop, carried_out
from worldgauge.worlds.tabletop.contract import Setup

CASES = cases("wiw_trials", "trials")
FILES = os.environ.get("WORLDGAUGE_RELEASED_TRIALS")
"""Folder of the release, which comes without a licence and is not here."""


def trial_of(root: Path, row: dict[str, Any]) -> ReleasedTrial:
    return read_trial(TASKS[row["task"]], write_trial(root, row))


def check_numbers(trial: ReleasedTrial, row: dict[str, Any]) -> None:
    """Compare a trial with the numbers of a vector."""
    found = (RELEASED_TASKS[trial.task].folder, trial.variation, trial.episode, trial.wordings[0])
    assert found == (row["task"], row["variation"], row["episode"], row["instruction"])
    assert trial.gripper_open == row["gripper_open"]
    np.testing.assert_allclose(trial.hand_pose, row["hand_pose"], atol=1e-6)
    np.testing.assert_allclose(trial.state, row["task_low_dim_state"], atol=1e-6)


def in_frame(thing: dict[str, Any], other: dict[str, Any]) -> tuple[float, float]:
    """Where another thing lies, seen from a thing."""
    x, y = np.subtract(other["place_m"], thing["place_m"])
    c, s = math.cos(thing["yaw_rad"]), math.sin(thing["yaw_rad"])
    return c * x + s * y, c * y - s * x


@pytest.mark.parametrize("row", CASES)
def test_the_numbers_and_the_layout_are_those_of_the_files(tmp_path: Path, row: dict[str, Any]) -> None:
    trial = trial_of(tmp_path, row)
    check_numbers(trial, row)
    layout = trial.layout().plain
    wanted, bodies = layout["wanted"], [thing["body"] for thing in layout["things"]]
    choices = [thing for thing in layout["things"] if thing["body"][-1].isdigit()]
    colours = [thing["colour"] for thing in choices]
    assert colours[wanted] in row["instruction"]
    if trial.task == "slide_block":
        # The four targets lie around the block in the same way in every released trial.
        block, seen = layout["things"][0], [(0.0, 0.175), (0.2, 0.1), (0.0, -0.275), (-0.244, -0.104)]
        np.testing.assert_allclose([in_frame(block, one) for one in choices], seen, atol=2e-3)
        assert colours == ["green", "blue", "pink", "yellow"]
    if trial.task in ("push_buttons", "insert_ring"):
        assert len(set(colours)) == 3
    if trial.task == "insert_ring":
        goal = trial.state[63:65]
        assert math.dist(choices[wanted]["place_m"], goal) < 1e-3
    built = Tabletop(trial.task, trial.variation, layout=layout)
    assert [thing.body for thing in built.task.things] == bodies
    assert (built.task.instruction, *built.task.wordings) == trial.wordings
    foot = "_foot" if trial.task == "push_buttons" else ""
    at = [built.model.body(f"{body}{foot}").pos[:2] for body in bodies]
    np.testing.assert_array_equal(at, [thing["place_m"] for thing in layout["things"]])


@pytest.mark.slow
@pytest.mark.parametrize("row", CASES)
def test_the_expert_solves_all_within_reach(tmp_path: Path, row: dict[str, Any]) -> None:
    trial = trial_of(tmp_path, row)
    done = carried_out(Tabletop(trial.task, trial.variation, layout=trial.layout().plain))
    assert done.reason in (None, "the arm cannot reach this pose")
    if done.solved:
        lengths = {"push_buttons": (2,), "slide_block": (3, 7), "insert_ring": (7,), "stack_cups": (11,)}
        assert len(done.poses) in lengths[trial.task]
    else:
        assert trial.task != "push_buttons", "all buttons are within reach"


@pytest.mark.skipif(FILES is None, reason="WORLDGAUGE_RELEASED_TRIALS names no folder of the release")
def test_the_released_files_hold_the_numbers_of_the_vectors() -> None:
    import zlib

    rows = {(row["task"], row["variation"], row["episode"]): row for (row,) in (case.values for case in CASES)}
    compared = 0
    for task, folders in find_trials(Path(str(FILES))).items():
        for folder in folders:
            trial = read_trial(task, folder)
            row = rows.get((RELEASED_TASKS[task].folder, trial.variation, trial.episode))
            if row is not None:
                check_numbers(trial, row)
                assert trial.observations == row["observations"]
                assert zlib.crc32(trial.seed_state.tobytes()) == row["seed_state_crc32"]
                assert trial.seed_position == row["seed_position"]
                compared += 1
    assert compared


@pytest.mark.slow
@pytest.mark.skipif(FILES is None, reason="WORLDGAUGE_RELEASED_TRIALS names no folder of the release")
def test_another_instruction_in_a_released_file_is_refused(tmp_path: Path) -> None:
    (task, folders), *_ = find_trials(Path(str(FILES))).items()
    folder = tmp_path / Path(*folders[0].parts[-4:])
    folder.mkdir(parents=True)
    for path in folders[0].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    check_other_instructions(task, folder, 1000)


def check_other_instructions(task: str, folder: Path, tries: int) -> None:
    """Exchange instructions of a trial for other known ones: each is refused."""
    path, rng = folder / "low_dim_obs.pkl", Random(1)
    data = path.read_bytes()
    places = [at for _, _, at in pickletools.genops(data) if at is not None]
    codes = sorted({data[at] for at in places})
    for _ in range(tries):
        at = rng.choice(places)
        code = rng.choice([code for code in codes if code != data[at]])
        path.write_bytes(data[:at] + bytes([code]) + data[at + 1 :])
        with pytest.raises(DataError, match="download"):
            read_trial(task, folder)


def test_another_instruction_in_a_file_is_refused(tmp_path: Path) -> None:
    check_other_instructions("push_buttons", write_trial(tmp_path, plain_row("push_buttons")), 300)


def test_cups_and_pegs_have_the_colours_that_the_generator_gave(tmp_path: Path) -> None:
    draw = np.random.RandomState(4)
    draw.choice(3)
    rest = [n for n in range(20) if n != 4]
    names = ["red", "maroon", "lime", "green", "blue", "navy", "yellow", "cyan", "magenta", "silver"]
    names += ["gray", "orange", "olive", "purple", "teal", "azure", "violet", "rose", "black", "white"]
    expected = [names[rest[n]] for n in draw.choice(19, 2, replace=False)]
    layout = trial_of(tmp_path, plain_row("insert_ring", 4)).layout().plain
    # Object 9, the place of success, lies nearest to peg 2 of objects 1, 2 and 3.
    assert [thing["colour"] for thing in layout["things"][1:]] == [*expected, "blue"]
    draw, others = np.random.RandomState(3), []
    while len(others) < 2:
        if (n := int(draw.choice(20))) != 3:
            others.append(names[n])
    layout = trial_of(tmp_path, plain_row("stack_cups", 3)).layout().plain
    assert [thing["colour"] for thing in layout["things"]] == [others[0], "green", others[1]]


def spoilt(change: Any) -> ObjectRecord:
    demo = demo_of(plain_row("stack_cups"))
    change(demo.fields, demo.fields["_observations"][1].fields)  # type: ignore[index]
    return demo


def first(demo: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = demo["_observations"][0].fields
    return fields


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda demo, seen: demo.clear(), "'_observations' is missing"),
        (lambda demo, seen: demo.update(_observations=[]), "list of 1 to"),
        (lambda demo, seen: demo.update(_observations=[1]), "no Observation"),
        (lambda demo, seen: demo.update(random_seed=("PCG64", 1, 2)), "MT19937"),
        (lambda demo, seen: demo.update(random_seed=("MT19937", np.zeros(624, "<u4"), 700, 0, 0.0)), "MT19937"),
        (lambda demo, seen: demo.update(random_seed=1.5), "unpack"),
        (lambda demo, seen: seen.pop("gripper_pose"), "an observation is not as"),
        (lambda demo, seen: seen.update(gripper_open=np.zeros(1)), "an observation is not as"),
        (lambda demo, seen: seen.update(task_low_dim_state=np.zeros(108)), "an observation is not as"),
        (lambda demo, seen: first(demo).update(task_low_dim_state=np.full(126, np.nan)), "not within 10 m"),
        (lambda demo, seen: first(demo).update(gripper_pose=np.full(7, 11.0)), "not within 10 m"),
        (lambda demo, seen: demo.update(random_seed=("MT19937", np.zeros(624, "<u4"), 7, 0, 0.0)), "MT19937"),
        (lambda demo, seen: seen.update(front_rgb=np.zeros(3)), "an observation is not as"),
        (lambda demo, seen: seen["misc"].update(front_camera_near=(0.01,)), "cameras are not as"),
        (lambda demo, seen: seen.pop("front_mask"), "pictures or cameras"),
        (lambda demo, seen: seen.update(misc=None), "an observation is not as"),
    ],
)
def test_a_file_that_is_not_as_released_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    folder = write_trial(tmp_path, plain_row("stack_cups"))
    (folder / "low_dim_obs.pkl").write_bytes(Stream().whole(spoilt(change)))
    with pytest.raises(DataError, match=said) as error:
        read_trial("stack_cups", folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("variation_number", 2, "not that of its folder"),
        ("variation_number", True, "not that of its folder"),
        ("variation_descriptions", [], "list of 1 to 100 texts"),
        ("variation_descriptions", ["a", 1], "list of 1 to 100 texts"),
        ("variation_descriptions", ["a\nb"], "control characters"),
        ("low_dim_obs", 1, "no Demo"),
    ],
)
def test_another_file_beside_it_is_refused(tmp_path: Path, name: str, value: Any, said: str) -> None:
    folder = write_trial(tmp_path, plain_row("stack_cups"))
    (folder / f"{name}.pkl").write_bytes(Stream().whole(value))
    with pytest.raises(DataError, match=said):
        read_trial("stack_cups", folder)


def test_trials_are_found_by_number(tmp_path: Path) -> None:
    for variation, episode in ((10, 0), (2, 11), (2, 3)):
        write_trial(tmp_path, plain_row("push_buttons", variation, episode))
    (tmp_path / "push_buttons" / "notes").mkdir()
    found = find_trials(tmp_path)["push_buttons"]
    assert [(path.parents[1].name, path.name) for path in found] == [
        ("variation2", "episode3"),
        ("variation2", "episode11"),
        ("variation10", "episode0"),
    ]


REACHABLE = plain_row("push_buttons") | {"instruction": "push the green button"}


def beyond_reach() -> dict[str, Any]:
    """A trial at whose first button the arm does not arrive."""
    row = plain_row("push_buttons", 2)
    for n in range(1, 4):
        row["task_low_dim_state"][7 * n : 7 * n + 2] = [0.9, 0.2 * n]
    return row


def test_trials_are_laid_out_and_those_beyond_the_arm_are_kept_and_marked(tmp_path: Path) -> None:
    for row in (REACHABLE, beyond_reach()):
        write_trial(tmp_path / "released", row)
    given: dict[str, Any] = {"from_released": str(tmp_path / "released")}
    assert count("worldinworld", tmp_path / "a", **given) == (2, 0)
    result = collect("worldinworld", tmp_path / "a", **given)
    assert (result.items, result.failures, dict(result.discarded)) == (2, (), {})
    data = load(tmp_path / "a")
    solved, beyond = data.episodes["manipulation"]
    assert len(data) == 2
    assert (solved.id, solved.reference_poses, solved.beyond_expert) == ("released-push_buttons-1-0", 2, False)
    assert (beyond.id, beyond.reference_poses, beyond.beyond_expert) == ("released-push_buttons-2-0", 0, True)
    assert [ManipulationTask.group(one)["expert"] for one in (solved, beyond)] == ["solves", "cannot solve"]
    table: Any = open_world(data.scenes[solved.scene])  # type: ignore[arg-type]
    assert table.task.instruction == solved.instruction == "push the green button"
    assert "with green, yellow and purple buttons, " in table.describe(**table.facts.params)
    findings = check(tmp_path / "a", decode=True).findings
    assert [(one.severity, "cannot solve" in one.text) for one in findings] == [("info", True)]
    assert str(tmp_path) not in (tmp_path / "a" / "worldgauge.json").read_text()
    # Again, from a copy of the release in another place: nothing changes.
    before = contents(tmp_path / "a")
    (tmp_path / "released").rename(tmp_path / "moved")
    moved: dict[str, Any] = {"from_released": str(tmp_path / "moved")}
    collect("worldinworld", tmp_path / "a", **moved)
    assert contents(tmp_path / "a") == before
    write_trial(tmp_path / "moved", plain_row("stack_cups"))
    with pytest.raises(RunError, match="was collected with released"):
        collect("worldinworld", tmp_path / "a", **moved)


def test_what_cannot_be_collected_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no trial is there"):
        collect("worldinworld", tmp_path / "a", from_released=str(tmp_path))
    with pytest.raises(UsageError, match="leave --world or --from-released out"):
        collect("worldinworld", tmp_path / "a", from_released=str(tmp_path), world="scan", scenes="example/room")
    folder = write_trial(tmp_path, plain_row("push_buttons"))
    (folder / "low_dim_obs.pkl").write_bytes(b"cos\nsystem\n")
    (failure,) = collect("worldinworld", tmp_path / "a", from_released=str(tmp_path)).failures
    assert failure.startswith("released-push_buttons: ")
    assert "no stream of protocol 5" in failure


LAYOUT: dict[str, Any] = {
    "things": [
        {"body": f"button{n}", "place_m": [0.1 + 0.15 * n, 0.0], "yaw_rad": 0.0, "colour": colour}
        for n, colour in enumerate(("red", "rose", "gray"))
    ],
    "wanted": 2,
    "wordings": ["push it", "press it"],
}


def test_a_layout_is_a_part_of_the_facts_and_only_where_it_is_given() -> None:
    table = Tabletop("push_buttons", 1, layout=LAYOUT)
    assert dict(table.facts.params) == {"task": "push_buttons", "variation": 1, "seed": 0, "layout": LAYOUT}
    assert open_world(table.facts).facts == table.facts
    assert carried_out(table).solved
    other = Tabletop("push_buttons", 1, layout={**LAYOUT, "wanted": 1})
    assert len({one.facts.digest for one in (table, other, Tabletop("push_buttons", 1))}) == 3
    json.dumps(table.facts.params)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"things": LAYOUT["things"][:2]}, "its bodies are not button0, button1, button2"),
        ({"things": [{**thing, "colour": "beige"} for thing in LAYOUT["things"]]}, "'colour' is none"),
        ({"things": [{**thing, "colour": []} for thing in LAYOUT["things"]]}, "unhashable"),
        ({"things": [{**thing, "place_m": [0.1]} for thing in LAYOUT["things"]]}, "reshape"),
        ({"things": [{**thing, "place_m": [0.1, float("nan")]} for thing in LAYOUT["things"]]}, "place_m"),
        ({"things": [{**thing, "yaw_rad": 9} for thing in LAYOUT["things"]]}, "yaw_rad"),
        ({"things": 3}, "not iterable"),
        ({"wanted": 3}, "wanted"),
        ({"wanted": True}, "wanted"),
        ({"wordings": []}, "wordings"),
        ({"wordings": [""]}, "wordings"),
    ],
)
def test_a_layout_that_is_none_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(WorldError, match=said):
        Tabletop("push_buttons", layout={**LAYOUT, **change})


def test_a_task_that_takes_no_layout_says_so() -> None:
    with pytest.raises(WorldError, match="the task takes no layout"):
        Setup.of(LAYOUT, (), {"red": None})
