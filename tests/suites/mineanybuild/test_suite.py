"""The build suite on real tasks: what is asked, what is kept, and that reference agents score where theory says."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.task_context import QuietContext
from worldgauge.chat.reply import EndpointError
from worldgauge.core.agent import AgentSpec, Answer, Problem, agents
from worldgauge.core.errors import DataError, ModelError, NotApplicableError, UsageError
from worldgauge.core.intervals import wilson
from worldgauge.engine.suite.contract import Score, Task
from worldgauge.suites.mineanybuild import scoring
from worldgauge.suites.mineanybuild.critics import CriticError, Grades, critics
from worldgauge.suites.mineanybuild.format import KINDS
from worldgauge.suites.mineanybuild.protocol import ANSWER, expected_text, problem_of, row_of, truth_of
from worldgauge.suites.mineanybuild.scoring import HEADLINE, random_matching
from worldgauge.suites.mineanybuild.suite import MineAnyBuild

Ask = Callable[..., dict[str, Score]]


@pytest.fixture(scope="module")
def tasks(builds: Path) -> dict[str, list[Task]]:
    """Tasks by kind."""
    found: dict[str, list[Task]] = {}
    for task in MineAnyBuild().tasks(builds):
        found.setdefault(task.group["task"], []).append(task)
    return found


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Scores by name of an agent's answer to a task."""

    def asked(task: Task, agent: object, seed: int = 0, **settings: object) -> dict[str, Score]:
        suite = MineAnyBuild(**settings)
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        task_context = QuietContext(folder, seed)
        record = suite.perform(task, agent, task_context)
        return {score.metric: score for score in suite.score(record, task_context)}

    return asked


class Says:
    """An agent that says one thing."""

    spec = AgentSpec("says")

    def __init__(self, text: object) -> None:
        self.text = text

    def answer(self, problem: Problem) -> Answer | str:
        if isinstance(self.text, Exception):
            raise self.text
        return self.text  # type: ignore[return-value]


def test_one_task_a_row_of_all_five_kinds(tasks: dict[str, list[Task]]) -> None:
    assert [len(tasks[kind]) for kind in KINDS] == [6, 3, 9, 36, 2]
    assert set(tasks) == set(KINDS)
    assert {task.group["tier"] for task in tasks["planning"]} == {"easy", "medium", "hard"}


def test_what_an_agent_is_shown(tasks: dict[str, list[Task]]) -> None:
    options = MineAnyBuild().options
    shown = {kind: problem_of(own[0], options, seed=7, privileged=False) for kind, own in tasks.items()}
    assert [len(shown[kind].images) for kind in KINDS] == [1, 1, 0, 1, 2]
    assert shown["planning"].variant == "detailed"
    assert shown["reasoning"].choices == ("A", "B", "C", "D")
    judged = next(task for task in tasks["reasoning"] if task.group["variant"] == "judge")
    assert problem_of(judged, options, seed=7, privileged=False).choices == ("True", "False")
    assert all(shown["commonsense"].captions)
    assert all(problem.truth is None for problem in shown.values())
    assert problem_of(tasks["planning"][0], options, seed=7, privileged=True).truth == expected_text(
        tasks["planning"][0]
    )


@pytest.mark.parametrize("kind", ["planning", "understanding", "reasoning", "commonsense"])
def test_the_truth_gets_full_marks(tasks: dict[str, list[Task]], ask: Ask, kind: str) -> None:
    for task in tasks[kind][:3]:
        found = ask(task, agents.get("truth")())
        assert found[HEADLINE].value == 100.0, found[HEADLINE].facts
        if kind in ("planning", "understanding"):
            assert found[f"{kind}/build_matching"].value == 10.0
            assert found[f"{kind}/build_comprehensive"].value == 10.0
            assert found[f"{kind}/build_f1"].value == 1.0


def test_without_a_right_answer_the_truth_is_not_asked(builds: Path, tmp_path: Path, ask: Ask) -> None:
    """Creativity without an architecture: an empty answer would pass for what the truth is worth."""
    root = _without(builds, tmp_path)
    path = root / "task" / "Task_Creativity.json"
    rows = json.loads(path.read_text())
    path.write_text(json.dumps([{**row, "AR_id": None} for row in rows]))
    task = next(MineAnyBuild(task="creativity").tasks(root))
    with pytest.raises(NotApplicableError, match="no right answer"):
        ask(task, agents.get("truth")())
    assert ask(task, agents.get("solid-box")())[HEADLINE].value is not None


@pytest.mark.parametrize("kind", ["planning", "understanding", "creativity", "reasoning", "commonsense"])
def test_who_says_nothing_gets_nothing(tasks: dict[str, list[Task]], ask: Ask, kind: str) -> None:
    for task in tasks[kind][:2]:
        for answer in (Answer("", {"gives_up": True}), "I cannot do that."):
            assert ask(task, Says(answer))[HEADLINE].value == 0.0


@pytest.mark.parametrize("kind", ["planning", "reasoning", "commonsense"])
@pytest.mark.parametrize(
    "text", ["", " \n", "<think>Is it \\boxed{A}? Yes, there is.", "```json\n[[[1]]]\n```\n</think>\n"]
)
def test_a_reply_without_an_answer_fails(tasks: dict[str, list[Task]], ask: Ask, kind: str, text: str) -> None:
    with pytest.raises(ModelError, match=r"answered with (no text|reasoning only)"):
        ask(tasks[kind][0], Says(text))


def test_reasoning_the_reader_and_a_solid_box(tasks: dict[str, list[Task]], ask: Ask) -> None:
    # Reasoning costs no points.
    for kind in ("understanding", "reasoning", "commonsense"):
        task = tasks[kind][0]
        right, wrong = expected_text(task), "```json\n[[[1]]]\n```\nNo, there is none. \\boxed{E}"
        for form in ("<think>\n{}\n</think>\n\n", "{}\n</think>\n", "[THINK]{}[/THINK]"):
            assert ask(task, Says(form.format(wrong) + str(right)))[HEADLINE].value == 100.0
    # The reader understands every layer.
    for task in tasks["understanding"]:
        assert ask(task, agents.get("reader")())["understanding/build_matching"].value == 10.0
    # What the matching score, a recall, does not see: a box of the truth's size, full of its commonest block.
    task = tasks["planning"][0]
    truth = truth_of(task)
    counts = truth.counts()
    most = max(counts, key=lambda name: counts[name])
    number = truth.materials.index(most) + 1
    box = np.full(truth.cells.shape, number).tolist()
    found = ask(task, Says(f"```json\n{json.dumps(box)}\n```"))
    assert found["planning/build_matching"].value == pytest.approx(10 * counts[most] / truth.blocks)
    assert found["planning/build_precision"].value == pytest.approx(counts[most] / truth.cells.size)


def test_guessing_comes_to_its_chance(tasks: dict[str, list[Task]]) -> None:
    """Reasoning: 30 of four choices and 6 of two, 33.3 % of the time; over 40 seeds the interval holds it."""
    options = MineAnyBuild().options
    right = total = 0
    for task in tasks["reasoning"]:
        answer = row_of(task).answer
        problem = problem_of(task, options, seed=0, privileged=False)
        for seed in range(40):
            said = agents.get("random")().answer(replace(problem, seed=seed))
            right += (said.text if isinstance(said, Answer) else said).strip(". ") == answer
            total += 1
    interval = wilson(right, total, level=0.999)
    assert interval.low < (30 * 0.25 + 6 * 0.5) / 36 < interval.high


def test_random_builds_and_broken_promises(tasks: dict[str, list[Task]], ask: Ask) -> None:
    # Random builds match as often as theory says.
    task = tasks["understanding"][1]
    truth = truth_of(task)
    expected = random_matching(truth, row_of(task).materials)
    seen = [ask(task, agents.get("random")(), seed=seed)["understanding/build_matching"].value for seed in range(30)]
    error = np.std(seen) / np.sqrt(len(seen))
    assert abs(np.mean(seen) - expected) < 4 * error
    facts = ask(task, agents.get("random")())["understanding/build_executable"].facts
    assert facts["random_matching"] == expected
    # An outage is no wrong answer.
    with pytest.raises(EndpointError, match="down"):
        ask(tasks["planning"][0], Says(EndpointError("the endpoint is down")))
    # An agent that breaks its promise is named.
    with pytest.raises(ModelError, match="agent 'says' raised ZeroDivisionError: oh"):
        ask(tasks["planning"][0], Says(ZeroDivisionError("oh")))
    with pytest.raises(ModelError, match="agent 'says' answered with int"):
        ask(tasks["planning"][0], Says(3))


@pytest.mark.parametrize("notes", [None, ["a"], "a"])
def test_notes_that_are_no_mapping_break_the_promise(tasks: dict[str, list[Task]], ask: Ask, notes: object) -> None:
    with pytest.raises(ModelError, match="gave notes that are a"):
        ask(tasks["planning"][0], Says(Answer("x", notes)))  # type: ignore[arg-type]


def test_notes_reasons_and_line_ends(tasks: dict[str, list[Task]], ask: Ask) -> None:
    # Odd amounts in notes are passed over.
    for amount in ("many", [1], True, -5, float("inf"), float("nan"), None):
        facts = ask(tasks["planning"][0], Says(Answer("x", {"input_tokens": amount, "output_tokens": 3})))[
            HEADLINE
        ].facts
        assert "input_tokens" not in facts
        assert facts["output_tokens"] == 3
    # Only a missing value has a reason.
    for kind in ("planning", "creativity", "reasoning", "commonsense"):
        for text in ("no matrix", "```json\n[[[1]]]\n```"):
            for score in ask(tasks[kind][0], Says(text)).values():
                assert (score.reason is None) is (score.value is not None), score
    # The released reading refuses a fence that ends with CRLF, ours takes it.
    said = Says("```json\r\n[[[1,1]]]\r\n```")
    assert ask(tasks["planning"][0], said)["planning/build_executable"].value == 100.0
    assert ask(tasks["planning"][0], said, parser="released")["planning/build_executable"].value == 0.0


def test_half_characters_are_kept_as_far_as_they_go(tasks: dict[str, list[Task]], tmp_path: Path) -> None:
    record = MineAnyBuild().perform(tasks["planning"][0], Says("\ud800 ok"), QuietContext(tmp_path, 0))
    assert (tmp_path / ANSWER).read_text("utf-8").endswith(" ok")
    assert MineAnyBuild().score(record, QuietContext(tmp_path, 0))


def test_failed_plans_released_labels_and_exact_choices(tasks: dict[str, list[Task]], ask: Ask) -> None:
    # A failed plan is zero or left out.
    found = ask(tasks["creativity"][0], Says("no matrix"))
    assert found["creativity/build_evaluation"].value == 0.0
    assert found["creativity/build_graded"].value is None
    assert found["creativity/build_executable"].facts["reason"] == "no_block"
    released = ask(tasks["creativity"][0], Says("no matrix"), parity="released")
    assert released["creativity/build_evaluation"].value is None
    assert "cannot be built" in str(released["creativity/build_evaluation"].reason)
    # Released labels are never right on true statements.
    judged = [task for task in tasks["reasoning"] if task.group["variant"] == "judge"]
    true = next(task for task in judged if row_of(task).answer == "True")
    false = next(task for task in judged if row_of(task).answer == "False")
    assert ask(true, Says("True"))[HEADLINE].value == 100.0
    assert ask(true, Says("True"), labels="released")[HEADLINE].value == 0.0
    assert ask(true, Says(" Ture\n"), labels="released", choices="exact")[HEADLINE].value == 100.0, "as the release"
    assert ask(false, Says("False"), labels="released")[HEADLINE].value == 100.0
    # Exact choices refuse a sentence.
    task = tasks["reasoning"][0]
    said = Says(f"The answer is {row_of(task).answer}.")
    assert ask(task, said)["reasoning/reasoning_accuracy"].value == 100.0
    assert ask(task, said, choices="exact")["reasoning/reasoning_accuracy"].value == 0.0


def test_released_weights_move_the_mean(tasks: dict[str, list[Task]], ask: Ask) -> None:
    task, agent = tasks["planning"][1], agents.get("solid-box")()
    ours, theirs = ask(task, agent), ask(task, agent, weights="released")
    grades = [ours[f"planning/{name}/build_grade"].value for name in ("completeness", "complexity", "aesthetic")]
    assert ours["planning/build_evaluation"].value == pytest.approx(np.dot(grades, (0.4, 0.3, 0.3)))
    assert theirs["planning/build_evaluation"].value == pytest.approx(np.dot(grades, (0.3, 0.3, 0.4)))


class Critic:
    """Fails as told, or grades 4, 6, 8 in turn."""

    def __init__(self, error: CriticError | None = None) -> None:
        self.error = error
        self.asked = 0

    def grade(self, submission: object, seed: int) -> Grades:
        if self.error is not None:
            raise self.error
        self.asked += 1
        return Grades(
            {"completeness": 2 + 2 * self.asked}, {"completeness": f"take {self.asked}"}, {"replies": self.asked}
        )


def test_critics_that_fail_are_down_or_leave_something_out(
    tasks: dict[str, list[Task]], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, task = agents.get("truth")(), tasks["understanding"][0]
    critic = Critic(CriticError("three odd replies", outage=False))
    monkeypatch.setattr(scoring, "critic_of", lambda settings: critic)
    found = ask(task, truth)
    assert found[HEADLINE].value is None
    assert found[HEADLINE].reason == "ungraded: three odd replies"
    assert found["understanding/build_matching"].value == 10.0
    critic = Critic(CriticError("down", outage=True))
    with pytest.raises(CriticError, match="down"):
        ask(task, truth)
    # Of several gradings the median counts.
    critic = Critic()
    found = ask(task, truth, gradings=3)
    assert found["understanding/build_evaluation"].value == 6.0
    assert "take 1; take 2; take 3" in found["understanding/completeness/build_grade"].facts["comment"]
    noted = found["understanding/build_evaluation"].facts["gradings"]
    assert noted == [{"replies": 1}, {"replies": 2}, {"replies": 3}]
    with pytest.raises(UsageError, match="critic 'rules' gave no grade of aesthetic, complexity"):
        ask(tasks["planning"][0], truth)


def test_data_that_have_changed_are_read_anew(builds: Path, tmp_path: Path) -> None:
    root = _without(builds, tmp_path)
    first = next(MineAnyBuild(task="planning").tasks(root))
    assert row_of(first).instruction
    path = root / "task" / "Task_Spatial_Planning.json"
    rows = json.loads(path.read_text())
    path.write_text(json.dumps([{**row, "instruction": "Construct a ship."} for row in rows]))
    again = next(MineAnyBuild(task="planning").tasks(root))
    assert again.fingerprint != first.fingerprint
    assert row_of(again).instruction == "Construct a ship."


def test_a_card_shows_the_question_and_every_answer(tasks: dict[str, list[Task]], tmp_path: Path) -> None:
    suite, task = MineAnyBuild(), tasks["planning"][0]
    records, scores = {}, {}
    for name in ("truth", "empty"):
        folder = tmp_path / name
        folder.mkdir()
        records[name] = suite.perform(task, agents.get(name)(), QuietContext(folder, 0))
        scores[name] = suite.score(records[name], QuietContext(folder, 0))
    card = suite.answer_card(task, records, scores)
    assert card.asked == row_of(task).instruction
    assert list(card.plates) == ["expected", "truth", "empty"]
    assert card.plates["truth"].verdict == "100 % of full marks"
    assert card.plates["truth"].solid is not None
    assert np.array_equal(card.plates["truth"].solid.quads, card.plates["expected"].solid.quads)
    assert card.plates["empty"].picture is None
    assert "Cannot be built: nothing left to place." in card.plates["empty"].reasons


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"most": "50x80"}, "most"),
        ({"most": "50x80x8000"}, "most"),
        ({"gradings": 0}, "gradings"),
        ({"critic": "rulez"}, "build setting 'critic': no critic 'rulez'. Did you mean 'rules'"),
        ({"critic": "chat"}, "chat=MODEL@URL"),
        ({"chat": "no-url"}, "MODEL@URL"),
        ({"chat_prices": "1"}, "chat_prices"),
        ({"chat_budget": 3}, "chat_recording"),
        ({"task": "planing"}, "planning"),
        ({"wieghts": "paper"}, "Did you mean 'weights'"),
        ({"parity": "released", "weights": "paper"}, "parity=released means weights=released"),
    ],
)
def test_settings_that_cannot_be_meant(options: dict, said: str) -> None:
    with pytest.raises(UsageError, match=said) if "Did you" not in said else pytest.raises(Exception, match=said):
        MineAnyBuild(**options)


def test_only_scoring_depends_on_the_critic() -> None:
    suite = MineAnyBuild()
    reading = suite.scoring_settings | suite.choosing_settings
    assert set(suite.settings) - reading == {"most", "answer", "rounds", "feedback", "answer_digest"}
    assert {"rules", "chat"} <= set(critics.names())


def test_data_that_are_gone(builds: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no tasks of commonsense"):
        list(MineAnyBuild(task="commonsense").tasks(_without(builds, tmp_path)))


def _without(builds: Path, tmp_path: Path) -> Path:
    """A copy that holds no questions of commonsense."""
    import shutil

    root = tmp_path / "less"
    shutil.copytree(builds, root)
    (root / "task" / "Task_Spatial_Commonsense.json").unlink()
    return root
