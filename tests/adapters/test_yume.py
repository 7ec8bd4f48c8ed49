"""YUME: keys as its own sentences, segments that go on from all that is known, and an Euler loop that arrives."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.yume import MOVES, TURNS, Yume, levels_of, prompt_of

from adapters import yume
from support.upstream import ROOT, as_served, question, standing_in, walk_rows
from worldgauge.core.actions import Actions
from worldgauge.core.model import Needs, checked_rollout
from worldgauge.engine.suite.contract import Stopwatch
from worldgauge.suites.mind.actions import walk_look
from worldgauge.tools.check_model import check_model
from worldgauge_serve import NotApplicable

CLONE = str(ROOT / "yume")
KEYS = {"W": 0, "S": 1, "A": 2, "D": 3, "↑": 4, "↓": 5, "←": 6, "→": 7}


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(yume, "SIZES", ((128, 64),))  # small frames: those of the model take seconds
    with standing_in("yume"):
        import wan23

        wan23.CALLS.clear()
        wan23.ASKED.clear()
        yield wan23


@pytest.fixture
def weights(tmp_path: Path) -> str:
    (tmp_path / "diffusion_pytorch_model.safetensors").write_bytes(b"1")
    return str(tmp_path)


def model(weights: str, **settings: Any) -> Yume:
    return Yume(CLONE, weights, **{"size": "128x64", "steps": 2, **settings})


def asked(made: Yume, held: list[str], seen: int = 1) -> Any:
    """A question of MIND's keys: the names of those held in each frame."""
    rows = np.zeros((len(held), 8), np.float32)
    for t, names in enumerate(held):
        rows[t, [KEYS[name] for name in names]] = 1
    plain = question(walk_rows(seen - 1 + len(held)), seen=seen, spec=made.spec, seed=3)
    return replace(plain, actions=Actions(walk_look(2.0, 1.0), rows), caption="A street.")


def test_a_segment_for_every_33_frames(weights: str, stub: Any) -> None:
    made = model(weights)
    spec = made.spec
    assert (spec.control, spec.frame_size, spec.fps, tuple(spec.inputs)) == ("actions", (128, 64), 16.0, ("caption",))
    assert Needs.of(Yume).gpus == 1
    chunks = list(checked_rollout(made, asked(made, ["W"] * 33 + ["A→"] * 7)))
    assert [len(chunk) for chunk in chunks] == [33, 7]
    first, second = stub.CALLS
    assert first["prompt"] == "First-person perspective.The camera pushes forward (W). A street."
    assert second["prompt"] == (
        "First-person perspective.The camera moves to the left (A). The camera pans to the right (→). A street."
    )
    assert (first["known"], second["known"]) == (4, 13), "one picture is four latent frames, then nine more"
    assert first["seed"] != second["seed"]
    assert (first["steps"], first["shift"]) == (2, 5.0)


def test_standing_still_has_no_sentence(weights: str, stub: Any) -> None:
    list(checked_rollout(made := model(weights), asked(made, [""] * 4)))
    assert stub.CALLS[0]["prompt"] == "First-person perspective.A street."
    assert prompt_of("", "") == "First-person perspective."


def test_mixed_segments_go_by_the_majority_and_are_told(
    weights: str, stub: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    watch = Stopwatch()
    list(watch.rollout(made := model(weights), asked(made, ["W"] * 20 + ["W←"] * 13)))
    (told,) = watch.notes
    assert told == "yume: 'The camera pushes forward (W).' holds for 61 % of frames 0 to 32"
    assert stub.CALLS[0]["prompt"] == "First-person perspective.The camera pushes forward (W). A street."
    assert "(W).' holds for 61 % of frames 0 to 32" in capsys.readouterr().err


def test_opposite_keys_undo_each_other(weights: str, stub: Any) -> None:
    list(checked_rollout(made := model(weights), asked(made, ["WS"] * 4)))
    assert stub.CALLS[0]["prompt"] == "First-person perspective.A street."


def test_every_combination_of_keys_has_its_sentence() -> None:
    assert len(MOVES) == len(TURNS) == 8
    for sentence in [*MOVES.values(), *TURNS.values()]:
        assert sentence.startswith("The camera ")
        assert sentence.endswith(").")


def test_the_loop_arrives_where_the_network_leads(weights: str, stub: Any) -> None:
    made = model(weights, steps=4)
    request = asked(made, ["W"] * 33)
    frames = np.concatenate(list(checked_rollout(made, request)))
    words = 0.001 * len(stub.CALLS[0]["prompt"])
    shown = request.context.clip[-1].reshape(4, 16, 8, 16, 3).mean((1, 3)) + words * 127.5
    wanted = np.repeat(np.repeat(shown, 16, axis=0), 16, axis=1)
    assert np.abs(frames.astype(float) - wanted).max() < 3
    levels = [level for level, _ in stub.ASKED]
    assert levels == pytest.approx(levels_of(4, 5.0)[:-1].tolist(), rel=1e-2)


def test_levels_by_hand() -> None:
    np.testing.assert_allclose(levels_of(2, 5.0), [1, 2.5 / 3, 0])
    np.testing.assert_allclose(levels_of(4, 1.0), [1, 0.75, 0.5, 0.25, 0])


@pytest.mark.parametrize(("seen", "latents"), [(1, 4), (6, 4), (13, 4), (16, 4), (17, 5), (22, 6), (40, 9)])
def test_context_of_a_video(weights: str, stub: Any, seen: int, latents: int) -> None:
    """A latent for the first frame and one for each 4 more; few frames are filled up to 13, many cut to 33."""
    made = model(weights)
    request = asked(made, ["W"] * 4, seen=seen)
    request = replace(request, context=request.context.last(made.spec.max_context))
    list(checked_rollout(made, request))
    assert stub.CALLS[0]["known"] == latents


def test_the_same_in_an_environment_without_worldgauge(weights: str) -> None:
    made = model(weights)
    request = question(walk_rows(5), seen=1, spec=made.spec)
    elsewhere = np.concatenate(list(made.rollout(as_served(request))))
    np.testing.assert_array_equal(elsewhere, np.concatenate(list(made.rollout(request))))


@pytest.mark.parametrize(
    ("settings", "because"),
    [({"size": "832x480"}, "give one of 128x64"), ({"steps": 0}, "at least 1"), ({"shift": 0}, "shift is above 0")],
)
def test_settings_that_cannot_be_meant(weights: str, settings: dict[str, Any], because: str) -> None:
    with pytest.raises(ValueError, match=because):
        model(weights, **settings)


def test_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="stdstu123/Yume-5B-720P and give weights=FOLDER"):
        model(str(tmp_path))


@pytest.mark.slow
def test_keeps_the_protocol(weights: str) -> None:
    report = check_model(model(weights), suite="mind")
    found = {verdict.name: verdict.explanation for verdict in report.verdicts if verdict.status == "violated"}
    assert report.ok, found


def test_actions_of_an_arm_are_not_asked(weights: str) -> None:
    from worldgauge.core.actions import HAND_POSES

    made = model(weights)
    request = replace(asked(made, ["W"] * 3), actions=Actions(HAND_POSES, np.zeros((3, 7), np.float32)))
    with pytest.raises(NotApplicable, match="move no camera"):
        next(iter(made.rollout(request)))
