"""Settings, and whole episodes."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.closedloop_data import make_published_data
from support.standins import ColourDetector, standing_in
from support.task_context import QuietContext
from worldgauge.cli.main import main
from worldgauge.core.errors import DataError, ModelError, NotApplicableError, UsageError, WorldgaugeError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.engine.options import given_fields
from worldgauge.engine.resume import task_key
from worldgauge.engine.suite.contract import Record, Score, Task
from worldgauge.models import models
from worldgauge.suites.worldinworld import task_index
from worldgauge.suites.worldinworld.format.files import fingerprint_of
from worldgauge.suites.worldinworld.policies.contract import Candidate, Decision, revisers
from worldgauge.suites.worldinworld.questions import landmarks as detecting
from worldgauge.suites.worldinworld.questions.judge import JudgeError, judges
from worldgauge.suites.worldinworld.recognition.recogniser import FILE_VARIABLE, recogniser, save
from worldgauge.suites.worldinworld.suite import ClosedLoop
from worldgauge.suites.worldinworld.task import LoopSettings, closed_loop_tasks, settings_type, task_names
from worldgauge.suites.worldinworld.trace import COMPARED, SEEN, TRACE, read_trace
from worldgauge.weights import AbsentWeightsError

SMALL = {"view_px": 48, "panorama_px": 128, "decisions": 4}


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))


def test_defaults_need_no_network() -> None:
    settings = LoopSettings.of({})
    assert (settings.landmarks, settings.tracker, settings.networks_digest) == ("exact", "geometry", None)
    assert not any(settings.networks(task) for task in settings.asked)
    ClosedLoop().prepare([], lambda what, done, of: None)


def test_each_is_of_its_task() -> None:
    both = LoopSettings.of({"protocol": "published", "landmarks": "detected", "tracker": "sam2"})
    assert {task: both.networks(task) for task in both.asked} == {
        "recognition": ("sam2",),
        "navigation": (),
        "questions": ("grounding-dino", "sam2"),
        "manipulation": (),
    }
    assert LoopSettings.of({"task": "navigation", "reviser": "lpips"}).networks("navigation") == ("lpips-alex",)
    assert LoopSettings.of({"task": "navigation", "reviser": "lpips", "lpips": "lpips-vgg"}).networks("navigation") == (
        "lpips-vgg",
    )
    served = {"task": "navigation", "reviser": "lpips", "lpips": "http://localhost:1"}
    assert LoopSettings.of(served).networks("navigation") == ()
    with pytest.raises(UsageError, match="'tracker' must be one of geometry, sam2"):
        LoopSettings.of({"tracker": "sam3"})
    with pytest.raises(UsageError, match="'landmarks' must be one of exact, detected"):
        LoopSettings.of({"landmarks": "sam2"})


@pytest.mark.parametrize(
    ("setting", "wrong", "near"),
    [("proposer", "heuristics", "heuristic"), ("reviser", "oracel", "oracle"), ("judge", "rule", "rules")],
)
def test_an_unknown_policy_names_its_setting(setting: str, wrong: str, near: str) -> None:
    words = f"worldinworld setting '{setting}': no {setting} '{wrong}'. Did you mean '{near}'"
    with pytest.raises(UsageError, match=words):
        LoopSettings.of({"task": "navigation", setting: wrong})


def test_weights_that_policies_look_with_are_part_of_what_is_asked() -> None:
    for options in ({"protocol": "published", "landmarks": "detected"}, {"tracker": "sam2"}):
        suite = ClosedLoop(**options)
        assert suite.settings["networks_digest"] is not None
        assert "networks_digest" not in suite.scoring_settings
        assert "lpips" in suite.scoring_settings, "no policy looks with that one"
        aside: Any = {**options, "task": "navigation"}
        assert "networks_digest" in ClosedLoop(**aside).scoring_settings
        assert ClosedLoop(**aside).settings["networks_digest"] is None


def test_detected_landmarks_need_a_proposer_that_names_some() -> None:
    with pytest.raises(UsageError, match=r"landmarks=detected: the proposer 'rooms' names no landmarks; set proposer="):
        LoopSettings.of({"landmarks": "detected"})


def test_policies_are_told() -> None:
    settings = LoopSettings.of({"protocol": "published", "landmarks": "detected", "tracker": "sam2"})
    for task, own in (("recognition", {"tracker": "sam2"}), ("questions", {"landmarks": "detected"})):
        options = closed_loop_tasks.get(task).kit(settings).options
        assert {name: options[name] for name in ("landmarks", "tracker") if name in options} == own


def test_what_policies_of_a_task_are_told_are_settings() -> None:
    names = {field.name for field in given_fields(settings_type())}
    for task in task_names():
        kind = closed_loop_tasks.get(task)
        assert {*kind.policy_options.values(), *kind.noted_settings, *kind.scoring_settings} <= names


def test_a_setting_of_a_task_that_is_not_asked_is_noted(episodes: Path) -> None:
    aside = ClosedLoop(task="navigation", tracker="sam2", expert_wrong=0.5, goal_check="every_step")
    assert aside.missing_data(episodes) == [
        "the setting 'tracker' changes nothing: it is for recognition, of which no episode is asked",
        "the setting 'expert_wrong' changes nothing: it is for manipulation, of which no episode is asked",
    ]
    assert ClosedLoop(task="navigation", parity="released").missing_data(episodes) == []
    assert ClosedLoop().missing_data(episodes) == []


def test_absent_weights_are_told_before_anything_is_asked(episodes: Path) -> None:
    for task, options, name in (
        ("questions", {"landmarks": "detected", "proposer": "landmarks"}, "grounding-dino"),
        ("recognition", {"tracker": "sam2"}, "sam2"),
        ("navigation", {"reviser": "lpips"}, "lpips-alex"),
    ):
        suite = ClosedLoop(task=task, **options)
        with pytest.raises(AbsentWeightsError, match=f"worldgauge weights pull {name}"):
            suite.prepare(list(suite.tasks(episodes)), lambda what, done, of: None)


def test_on_the_command_line_that_is_one_line_and_code_2(episodes, tmp_path, monkeypatch, capsys):
    words = ["run", "worldinworld", "--data", str(episodes), "--model", "freeze", "--out", str(tmp_path / "run")]
    monkeypatch.setattr("sys.argv", ["worldgauge", *words, "--set", "task=recognition", "--set", "tracker=sam2"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert said[-1].endswith("weights 'sam2' are not here: worldgauge weights pull sam2")
    assert not any("Traceback" in line for line in said)


def test_an_episode_goes_by_what_was_detected(episodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks that see nothing leave only where the floor goes on; every view of a decision is shown to them."""
    blind = ColourDetector({})
    monkeypatch.setattr(detecting, "network", lambda name: standing_in(blind))

    def acted(name: str, **settings: Any) -> Record:
        suite = ClosedLoop(**SMALL, task="questions", protocol="published", **settings)
        (folder := tmp_path / name).mkdir()
        return suite.perform(next(iter(suite.tasks(episodes))), models.get("none")(), QuietContext(folder))

    exact, detected = acted("a"), acted("b", landmarks="detected")
    assert blind.asked >= 4
    assert blind.asked % 4 == 0
    assert detected.facts["decisions"] > 0
    assert exact.facts["end"]


PAPER = {
    "recognition": (10, 2, 4, "heuristic", "recogniser"),
    "navigation": (20, 3, 5, "heuristic", "similarity"),
    "questions": (250, 3, 13, "landmarks", "scripted-answerer"),
    "manipulation": (15, 5, 5, "scripted", "similarity"),
}


@pytest.mark.parametrize("task", PAPER)
@pytest.mark.parametrize("given", [{"protocol": "published"}, {"parity": "released"}])
def test_the_published_protocol_has_the_paper_s_numbers(task: str, given: dict[str, Any]) -> None:
    own = LoopSettings.of(given).of_task(task)
    assert (own.decisions, own.candidates, own.length, own.proposer, own.reviser) == PAPER[task]


def test_options_win_over_the_published_protocol() -> None:
    own = LoopSettings.of({"protocol": "published", "candidates": 10, "task": "navigation"}).of_task("navigation")
    assert (own.decisions, own.candidates, own.length, own.proposer) == (20, 10, 5, "heuristic")


def test_navigation_departs_from_the_paper_by_default() -> None:
    own = LoopSettings.of({}).of_task("navigation")
    assert own.candidates >= 8
    assert (own.proposer, own.reviser) == ("ways", "nearness")


def test_episodes_of_the_former_design_keep_their_protocol(episodes: Path) -> None:
    found = {task.group["task"]: task for task in task_index.tasks(episodes, LoopSettings.of({}))}
    task = task_index.open_task(found["navigation"], LoopSettings.of({}))
    assert task.episode.design == 1
    assert (task.parameters.decisions, task.parameters.candidates, task.parameters.length) == (6, 12, 12)
    assert task.policies()[0]._length == 12
    hidden = type(task)(replace(task.episode, design=2), task.world, LoopSettings.of({"decisions": 2}))
    assert (hidden.parameters.decisions, hidden.parameters.proposer) == (2, "ways")
    assert fingerprint_of(hidden.episode) != fingerprint_of(task.episode)
    named = task_index.open_task(found["recognition"], LoopSettings.of({}))
    assert (named.episode.design, named.parameters.length, named.parameters.reviser) == (1, 8, "clearest")


def test_recognition_departs_from_the_paper_by_default() -> None:
    own, paper = (
        LoopSettings.of({}).of_task("recognition"),
        LoopSettings.of({"protocol": "published"}).of_task("recognition"),
    )
    assert (own.decisions, own.length, own.proposer, own.reviser) == (1, 14, "around", "uncovered")
    assert (own.clip, paper.clip) == (0, 13), "only the paper's clips are filled up beyond the plan"


SMALL_EPISODES = {"view_px": 48, "panorama_px": 128, "decisions": 3}


ONLY = {"task": "navigation"}


@pytest.fixture(scope="module")
def tasks(episodes: Path) -> dict[str, Task]:
    return {task.id: task for task in ClosedLoop(**SMALL_EPISODES).tasks(episodes)}


def acted(folder: Path, episode: Task, model: Any, **settings: Any) -> tuple[Record, dict[str, Score]]:
    suite = ClosedLoop(**{**SMALL_EPISODES, **settings})
    task_context = QuietContext(folder)
    folder.mkdir(parents=True)
    record = suite.perform(episode, model, task_context)
    return record, {score.metric: score for score in suite.score(record, task_context)}


def test_tasks_of_all_three_kinds(tasks: dict[str, Task]) -> None:
    kinds = [name.partition("/")[0] for name in tasks]
    assert kinds == ["recognition"] * 2 + ["navigation"] * 2 + ["questions"] * 2
    assert not any(task.skip for task in tasks.values())


@pytest.mark.parametrize("name", ["recognition/0", "navigation/0000", "questions/q-0"])
def test_an_episode_is_the_same_again_to_the_byte(name: str, tasks: dict[str, Task], tmp_path: Path) -> None:
    options = {"decisions": 20} if name.startswith("questions") else {}
    made = [acted(tmp_path / str(k), tasks[name], models.get("oracle")(), **options) for k in range(2)]
    files = sorted(path.name for path in (tmp_path / "0").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "1").iterdir())
    for file in files:
        assert (tmp_path / "0" / file).read_bytes() == (tmp_path / "1" / file).read_bytes()
    assert (made[0][0].facts, made[0][1]) == (made[1][0].facts, made[1][1])


def test_the_trace_holds_each_decision_and_its_frames(tasks: dict[str, Task], tmp_path: Path) -> None:
    record, _ = acted(tmp_path / "a", tasks["navigation/0000"], models.get("oracle")())
    trace = read_trace(record.directory)
    assert ([line["decision"] for line in trace], record.facts["decisions"]) == ([0, 1, 2], 3)
    assert len(Clip.open(tmp_path / "a" / SEEN)) == record.facts["steps"] + 1 == trace[-1]["seen"][1]
    for line in trace:
        assert line["plan"].startswith(line["executed"])
        assert (line["executed"], line["seen"][1] - line["seen"][0]) == (line["plan"], 1 + len(line["plan"]))
        for one in line["candidates"]:
            assert one["imagined"][1] - one["imagined"][0] == len(one["steps"]) <= 12
    kept = [one["compared"] for line in trace for one in line["candidates"] if one["compared"]]
    assert len(Clip.open(tmp_path / "a" / COMPARED)) == kept[-1][1]


def test_the_published_protocol_is_that_of_the_paper(tasks: dict[str, Task], tmp_path: Path) -> None:
    record, _ = acted(tmp_path / "a", tasks["navigation/0000"], models.get("oracle")(), protocol="published")
    trace = read_trace(record.directory)
    assert (record.facts["proposer"], record.facts["reviser"]) == ("heuristic", "similarity")
    for line in trace:
        assert line["executed"] == line["plan"][:3]
        assert 1 <= len(line["candidates"]) <= 3
        assert all(len(one["steps"]) == 5 for one in line["candidates"])


def test_records_and_scores_say_where_the_protocol_is_not_the_paper_s(tasks: dict[str, Task], tmp_path: Path) -> None:
    record, scores = acted(tmp_path / "a", tasks["navigation/0000"], models.get("none")())
    assert record.facts["protocol"] == scores["task/success"].facts["protocol"] == "default"
    record, scores = acted(tmp_path / "b", tasks["navigation/0000"], models.get("none")(), protocol="published")
    assert "protocol" not in {**record.facts, **scores["task/success"].facts}


def test_the_oracle_imagines_what_then_happens(tasks: dict[str, Task], tmp_path: Path) -> None:
    _, scores = acted(tmp_path / "a", tasks["navigation/0000"], models.get("oracle")())
    assert scores["controllability_psnr"].value == float("inf")
    assert scores["controllability_ssim"].value == pytest.approx(1.0)
    _, frozen = acted(tmp_path / "b", tasks["navigation/0000"], models.get("freeze")())
    assert frozen["controllability_psnr"].value < 40


def test_every_rollout_is_timed(tasks: dict[str, Task], tmp_path: Path) -> None:
    for name in ("oracle", "none"):
        (tmp_path / name).mkdir()
        task_context = QuietContext(tmp_path / name)
        record = ClosedLoop(**SMALL_EPISODES).perform(tasks["navigation/0000"], models.get(name)(), task_context)
        speed = task_context.speed.plain()
        assert (0 if speed is None else speed["questions"]) == record.facts["calls"]
        assert (speed is None) == (name == "none")


def test_without_a_model_the_first_plan_is_carried_out(tasks: dict[str, Task], tmp_path: Path) -> None:
    record, scores = acted(tmp_path / "a", tasks["navigation/0000"], models.get("none")())
    assert ({line["chosen"] for line in read_trace(record.directory)}, record.facts["calls"]) == ({0}, 0)
    assert scores["model_calls"].value == 0.0
    assert scores["visual_quality"].value is None
    assert scores["visual_quality"].reason == "nothing was imagined"


def test_the_same_proposals_with_and_without_a_model(tasks: dict[str, Task], tmp_path: Path) -> None:
    plans = []
    for name in ("none", "freeze"):
        record, _ = acted(tmp_path / name, tasks["navigation/0000"], models.get(name)())
        plans.append([one["steps"] for one in read_trace(record.directory)[0]["candidates"]])
    assert plans[0] == plans[1]


def test_a_ratio_of_zero_is_the_base_policy(tasks: dict[str, Task], tmp_path: Path) -> None:
    asked, _ = acted(tmp_path / "a", tasks["navigation/0000"], models.get("oracle")(), tts_ratio=0.0)
    base, _ = acted(tmp_path / "b", tasks["navigation/0000"], models.get("none")())
    assert (asked.facts["xy"], asked.facts["calls"]) == (base.facts["xy"], 0)


def test_the_oracle_reviser_has_no_regret(tasks: dict[str, Task], tmp_path: Path) -> None:
    _, scores = acted(
        tmp_path / "a", tasks["navigation/0000"], models.get("freeze")(), task="navigation", reviser="oracle"
    )
    assert scores["decision_regret"].value == 0.0
    _, chance = acted(
        tmp_path / "b",
        tasks["navigation/0000"],
        models.get("freeze")(),
        task="navigation",
        reviser="random",
        decisions=8,
    )
    assert chance["decision_regret"].value > 0


def test_saying_so_counts_only_at_the_goal(tasks, tmp_path, monkeypatch):
    class Declares:
        def __init__(self, kit: Any) -> None:
            pass

        def revise(self, candidates: Sequence[Candidate], *others: Any) -> Decision:
            return Decision(candidates[0].plan, 0, stop=True)

    entry = revisers.entry("none")
    facts = {**entry.facts, "declares": True}
    monkeypatch.setitem(revisers._entries, "none", replace(entry, target=Declares, facts=facts))
    record, scores = acted(
        tmp_path / "a", tasks["navigation/0000"], models.get("none")(), **ONLY, reviser="none", track="declared_stop"
    )
    assert (record.facts["end"], record.facts["steps"]) == ("declared", 0)
    assert scores["task/success"].value == 0.0


class Breaks:
    """Draws grey, and dies at its third rollout."""

    def __init__(self) -> None:
        self.spec = ModelSpec("breaks")
        self.asked = 0

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        self.asked += 1
        if self.asked == 3:
            raise RuntimeError("out of memory")
        width, height = request.frame_size
        yield np.full((request.horizon, height, width, 3), 9, np.uint8)


def test_a_model_that_dies_in_mid_episode_fails_the_episode(tasks: dict[str, Task], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"'breaks' raised RuntimeError.*out of memory"):
        acted(tmp_path / "a", tasks["navigation/0000"], Breaks())
    assert not (tmp_path / "a" / SEEN).exists()


def test_finished_videos_cannot_act(tasks: dict[str, Task], tmp_path: Path) -> None:
    (tmp_path / "navigation").mkdir()
    (tmp_path / "navigation" / "0000.mp4").touch()
    with pytest.raises(NotApplicableError, match="finished videos"):
        acted(tmp_path / "a", tasks["navigation/0000"], models.get("videos")(str(tmp_path)))


def test_scenes_that_need_a_licence_are_skipped_with_what_to_do(tmp_path: Path) -> None:
    found = list(ClosedLoop().tasks(make_published_data(tmp_path / "release")))
    assert len(found) == 9
    assert all(task.skip and "worldgauge world add" in task.skip for task in found)


def test_a_faulty_episode_is_a_task_that_fails(episodes: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    shutil.copytree(episodes, root)
    path = root / "navigation" / "episodes.json"
    content = json.loads(path.read_text())
    content["data"][1]["start_position"] = [1.0, 2.0]
    path.write_text(json.dumps(content))
    suite = ClosedLoop(**SMALL_EPISODES, task="navigation")
    found = {task.id: task for task in suite.tasks(root)}
    assert len(found) == 2
    broken = next(task for task in found.values() if "broken" in task.sample)
    with pytest.raises(DataError, match="start_position"):
        suite.perform(broken, models.get("none")(), QuietContext(tmp_path))


def test_a_damaged_trace_is_named(tasks: dict[str, Task], tmp_path: Path) -> None:
    record, _ = acted(tmp_path / "a", tasks["navigation/0000"], models.get("none")())
    (tmp_path / "a" / TRACE).write_text("{")
    with pytest.raises(DataError, match=r"trace\.jsonl.*run again"):
        ClosedLoop(**SMALL_EPISODES).score(record, QuietContext(tmp_path / "a"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tts_ratio": 1.5}, "0 to 1"),
        ({"view_px": 8}, "from 32 to 1024"),
        ({"panorama_px": 9000}, "from 64 to 4096"),
        ({"candidates": 0}, "at least 1"),
        ({"track": "oracle"}, "oracle_stop, declared_stop"),
        ({"parity": "released", "budget": "paper"}, "parity=released means budget=inclusive"),
        ({"chat": "model"}, "MODEL@URL"),
        ({"budgets": "paper"}, "Did you mean 'budget'"),
        ({"reviser": "similarity", "task": "recognition"}, "does not serve recognition"),
        ({"reviser": "similarity"}, "set task=navigation"),
        ({"proposer": "chat"}, "asks a language model"),
        ({"judge": "chat"}, "asks a language model"),
        ({"track": "declared_stop"}, "never says that it has arrived; choose chat"),
        ({"chat_prices": "abc"}, "IN,OUT"),
        ({"chat_budget": -3}, "more than 0"),
        ({"chat_budget": 3.0}, "needs chat_recording"),
        ({"tts_ratio": True}, "0 to 1"),
        ({"reviser": "similaritty", "task": "navigation"}, "Did you mean 'similarity'"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(WorldgaugeError, match=said):
        ClosedLoop(**settings)


def test_what_a_task_depends_on_does_not_change_with_the_choice_of_tasks(episodes: Path) -> None:
    all_of_them, one = ClosedLoop(), ClosedLoop(task="navigation")
    chosen = {task.id: task.fingerprint for task in one.tasks(episodes)}
    assert chosen.items() <= {task.id: task.fingerprint for task in all_of_them.tasks(episodes)}.items()
    differing = {name for name in one.settings if one.settings[name] != all_of_them.settings[name]}
    assert differing == {"task"} <= one.choosing_settings


def test_another_recogniser_makes_other_tasks_only_where_it_is_used(episodes, tmp_path, monkeypatch):
    before = {task.id: task.fingerprint for task in ClosedLoop().tasks(episodes)}
    shipped = recogniser()
    save(replace(shipped, boxes=replace(shipped.boxes, mean=shipped.boxes.mean + 1)), tmp_path / "another.npz")
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "another.npz"))
    after = {task.id: task.fingerprint for task in ClosedLoop().tasks(episodes)}
    changed = {name.partition("/")[0] for name in before if before[name] != after[name]}
    assert "recognition" in changed
    assert "navigation" not in changed


def test_records_made_before_a_later_setting_stay_valid() -> None:
    """Those of a suite that does not know it."""

    class Former(ClosedLoop):
        @property
        def settings(self) -> dict[str, Any]:
            return {name: value for name, value in super().settings.items() if name != "shots"}

    chat = {"chat": "m@http://localhost:1/v1", "task": "manipulation", "proposer": "chat"}
    asked = Task("worldinworld", "manipulation/t", {}, "f")
    former, unset, none, one = (
        task_key(suite, asked, {"source": "m"}, 0)
        for suite in (Former(**chat), ClosedLoop(**chat), ClosedLoop(**chat, shots=0), ClosedLoop(**chat, shots=1))
    )
    assert former == unset == none != one


def test_answers_can_be_judged_again_without_asking_again() -> None:
    rules, chat = ClosedLoop(), ClosedLoop(judge="chat", chat="m@http://localhost:1/v1")
    read = rules.scoring_settings | rules.choosing_settings
    differing = {name for name in rules.settings if rules.settings[name] != chat.settings[name]}
    assert {"judge", "chat", "prompts_digest"} == differing <= read
    talking = ClosedLoop(task="navigation", reviser="chat", chat="m@http://localhost:1/v1")
    assert "chat" not in talking.scoring_settings


class Cropped:
    """Draws the truth, of which it takes the middle."""

    def __init__(self) -> None:
        self.spec = ModelSpec("cropped", inputs=frozenset({"truth"}), crop=(4, 3))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        assert request.truth is not None
        for frame in request.truth:
            yield frame[None]


def test_a_model_of_a_crop_is_compared_with_that_crop(tasks: dict[str, Task], tmp_path: Path) -> None:
    _, scores = acted(tmp_path / "a", tasks["navigation/0000"], Cropped())
    assert scores["controllability_psnr"].value > 28
    assert scores["controllability_ssim"].value > 0.9


def test_the_oracle_is_exact_after_turns_of_any_angle(tasks: dict[str, Task], tmp_path: Path) -> None:
    how = {"protocol": "published", "decisions": 60, "view_px": 96}
    record, scores = acted(tmp_path / "a", tasks["questions/q-0"], models.get("oracle")(), **how)
    assert any(one["turn_left_rad"] for line in read_trace(record.directory) for one in line["candidates"])
    assert scores["controllability_psnr"].value == float("inf")
    assert scores["controllability_psnr"].n > 1


def changed(task: Task, episodes: Path, root: Path, **values: Any) -> Task:
    """The same task of data in which its row of navigation holds other values."""
    shutil.copytree(episodes, root)
    path = root / "navigation" / "episodes.json"
    content = json.loads(path.read_text())
    content["data"][0].update(values)
    path.write_text(json.dumps(content))
    return next(one for one in ClosedLoop(**SMALL_EPISODES).tasks(root) if one.id == task.id)


def test_who_is_there_already_has_arrived_and_a_way_of_no_length_has_ratio_1(tasks, episodes, tmp_path):
    row = json.loads((episodes / "navigation" / "episodes.json").read_text())["data"][0]
    there = changed(
        tasks["navigation/0000"], episodes, tmp_path / "data", goal_position=row["start_position"], step_to_goal=0
    )
    record, scores = acted(tmp_path / "a", there, models.get("oracle")())
    assert (record.facts["end"], record.facts["steps"], record.facts["calls"]) == ("arrived", 0, 0)
    assert scores["navigation/spl"].value == 100.0


def test_a_goal_that_cannot_be_reached_is_a_failure_marked_invalid(tasks, episodes, tmp_path):
    out = changed(tasks["navigation/0000"], episodes, tmp_path / "data", goal_position=[500.0, 0.0, 500.0])
    record, scores = acted(tmp_path / "a", out, models.get("none")())
    assert record.facts["end"] == "budget"
    assert record.facts["distance_m"] is None
    assert scores["task/success"].value == 0.0
    assert scores["task/success"].facts["flags"] == ("unreachable",)
    assert scores["navigation/spl"].value == 0.0
    assert scores["decision_regret"].value is None


def test_a_start_where_nobody_can_stand_is_no_score(tasks: dict[str, Task], episodes: Path, tmp_path: Path) -> None:
    out = changed(tasks["navigation/0000"], episodes, tmp_path / "data", start_position=[500.0, 0.0, 500.0])
    with pytest.raises(DataError, match="no place to stand"):
        acted(tmp_path / "a", out, models.get("none")())


class Silent:
    """A judge whose replies are none, or whose endpoint is down."""

    outage = False

    def __init__(self, kit: Any) -> None:
        pass

    def mark(self, *asked: Any) -> Any:
        raise JudgeError("no mark in 6 replies", outage=self.outage)


@pytest.mark.parametrize("outage", [False, True])
def test_a_judge_that_fails(outage, tasks, tmp_path, monkeypatch):
    monkeypatch.setitem(judges._entries, "rules", replace(judges.entry("rules"), target=Silent))
    monkeypatch.setattr(Silent, "outage", outage)
    if outage:
        with pytest.raises(JudgeError, match="no mark"):
            acted(tmp_path / "a", tasks["questions/q-0"], models.get("none")(), decisions=4)
        return
    _, scores = acted(tmp_path / "a", tasks["questions/q-0"], models.get("none")(), decisions=4)
    assert scores["task/success"].value == 0.0
    assert "judge_error" in scores["task/success"].facts["flags"]
    how = {"judge_failure": "released", "decisions": 4}
    _, scores = acted(tmp_path / "b", tasks["questions/q-0"], models.get("none")(), **how)
    assert scores["questions/answer_score"].value == -25.0, "the blind answer, which the judge gave no mark either"


def test_true_values_depend_on_the_plans_alone(tasks: dict[str, Task], tmp_path: Path) -> None:
    told = {}
    for name, reviser in (("a", "oracle"), ("b", "none")):
        record, _ = acted(tmp_path / name, tasks["navigation/0000"], models.get("none")(), **ONLY, reviser=reviser)
        line = read_trace(record.directory)[0]
        told[name] = [(one["steps"], one["true_value"]) for one in line["candidates"]]
    assert told["a"] == told["b"]
