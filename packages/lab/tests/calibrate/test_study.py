"""A whole calibration of models that draw the true world: asked, decoded, written, used."""

import html
import json
import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import cv2
import numpy as np
import pytest

from support.calibrated_starts import start
from support.commands import command
from support.places import DOCS, TESTS
from support.wrong_movers import WrongMover
from worldgauge.core.actions import camera_path
from worldgauge.core.errors import ModelError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, checked_rollout
from worldgauge.engine.model_entries import resolve_model
from worldgauge.models import models
from worldgauge.models.address import ModelAddress
from worldgauge.models.calibration import Calibrated, read_calibration
from worldgauge_lab.calibrate import CalibrationStudy, calibrate, plan_calibration, question
from worldgauge_lab.calibrate_estimate import DIAGONALS, SPEEDS, controls_of, space_for
from worldgauge_lab.calibrate_page import COLUMNS, csv_rows, render_page, sentences

GAINS = {"forward": 0.5, "back": 0.0, "left": -1.3, "right": -1.3, "yaw_left": 2.0, "pitch_up": 0.7}
SMALL = 192, 108
MOVERS = TESTS / "support" / "wrong_movers.py"


def mover(**changed: object) -> WrongMover:
    return WrongMover(**{"gains": GAINS, "delay": 3, "size": SMALL, **changed})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[CalibrationStudy, Path]:
    folder = tmp_path_factory.mktemp("calibration")
    return calibrate(mover(), folder, starts=2), folder


def test_gains_signs_and_delay_are_found_in_frames(made: tuple[CalibrationStudy, Path]) -> None:
    found = made[0].estimates
    assert found.frames == 3
    for one in found.controls:
        true = GAINS.get(one.control, 1.0)
        if not true:
            assert (one.status, one.gain) == ("does not follow", None)
            continue
        assert one.gain is not None, one.reason
        assert abs(one.gain.mean / true - 1) < 0.05
        assert (one.gain.n, one.decoded, one.asked) == (2, 6, 6)


def test_the_file_is_read_and_the_model_is_put_right(made: tuple[CalibrationStudy, Path]) -> None:
    told = read_calibration(made[1])
    assert told.delay == 3
    assert told.gains["back"].status == "does not follow"
    model = Calibrated(mover(), made[1])
    asked = next(a for a in controls_of(space_for(model.spec, "walk-look")) if a.name == "forward+left-2")
    request = question(model.spec, start(1), asked, 0)
    path = model.camera_path(request)
    assert path is not None
    assert np.abs(path[:, :3, 3] - request.poses[:, :3, 3]).max() < 0.05  # type: ignore[index]
    assert model.spec.settings["calibration"] == told.digest[:16]


def test_the_same_call_asks_nothing_again_and_gives_the_same_bytes(
    made: tuple[CalibrationStudy, Path], tmp_path: Path
) -> None:
    before = (made[1] / "calibration.json").read_bytes()
    silent = mover()
    silent.rollout = lambda request: pytest.fail("asked again")  # type: ignore[method-assign, assignment, return-value]
    assert plan_calibration(silent, made[1], starts=2).done == plan_calibration(silent, made[1], starts=2).answers
    calibrate(silent, made[1], starts=2)
    assert (made[1] / "calibration.json").read_bytes() == before


def test_an_answer_of_another_model_or_a_damaged_one_is_asked_again(tmp_path: Path) -> None:
    noisy = mover(noise=True)
    calibrate(noisy, tmp_path, starts=1)
    kept = sorted(tmp_path.glob("answers/*/*.json"))
    (tmp_path / kept[0].relative_to(tmp_path)).write_text("{")
    kept[1].write_text(json.dumps({**json.loads(kept[1].read_text()), "key": "other"}))
    asked = []
    again = mover(noise=True)
    draw = again.rollout
    again.rollout = lambda request: asked.append(request.task) or draw(request)  # type: ignore[method-assign, assignment, func-returns-value]
    study = calibrate(again, tmp_path, starts=1)
    assert len(asked) == 2
    assert {one.status for one in study.estimates.controls} == {"unknown"}
    assert not study.works
    with pytest.raises(UsageError, match="nothing to undo"):
        Calibrated(mover(noise=True), tmp_path)


class Broken:
    """A model that fails on every question but those with nothing asked."""

    def __init__(self) -> None:
        self.spec = ModelSpec("broken", control="camera", frame_size=SMALL)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        if "still" not in request.task:
            raise ValueError("out of <memory>")
        yield np.repeat(request.context.clip[0][None], request.horizon, axis=0)


def test_a_model_that_fails_is_unknown_with_its_reason(tmp_path: Path) -> None:
    study = calibrate(Broken(), tmp_path, starts=1)
    assert {one.status for one in study.estimates.controls} == {"unknown"}
    assert len(study.refused) == len(study.plan.controls) - 1
    assert "out of <memory>" in study.estimates.controls[0].reason
    page = render_page(study)
    assert "out of <memory>" not in page
    assert html.escape("out of <memory>") in page


def test_a_model_that_never_answers_is_an_error(tmp_path: Path) -> None:
    broken = Broken()
    broken.spec = ModelSpec("broken", control="camera", frame_size=(16, 8))
    broken.rollout = lambda request: iter(())  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(ModelError, match="answered nothing"):
        calibrate(broken, tmp_path, starts=1)


def test_what_is_asked(tmp_path: Path) -> None:
    plan = plan_calibration(mover(control="actions"), tmp_path, starts=4)
    assert plan.answers == 4 * (1 + 3 * (8 + len(DIAGONALS)))
    assert plan.starts == ("voxel-plains-0", "indoor-0", "voxel-desert-1", "indoor-1")
    assert {f"forward-{speed:g}" for speed in SPEEDS} < set(plan.controls)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("spec", "space", "said"),
    [
        (ModelSpec("m", view="panorama"), "walk-look", "renders panoramas"),
        (ModelSpec("m", inputs=frozenset({"truth"})), "walk-look", "plays the recorded future"),
        (ModelSpec("m", settings={"calibration": "ab"}), "walk-look", "calibrate it without one"),
        (ModelSpec("m"), "walk-lok", "Did you mean 'walk-look'"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_before_it_is_asked(
    spec: ModelSpec, space: str, said: str, tmp_path: Path
) -> None:
    model = Broken()
    model.spec = spec
    with pytest.raises(Exception, match=said) as refused:
        calibrate(model, tmp_path, space=space)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_rows_and_sentences_say_what_was_found(made: tuple[CalibrationStudy, Path]) -> None:
    rows = {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in csv_rows(made[0])}
    assert rows["back"]["gain"] is None
    assert rows["back"]["reason"]
    assert rows["forward"]["unit"] == "m/m"
    assert rows["yaw_left"]["unit"] == "deg/deg"
    said = " ".join(sentences(made[0]))
    assert "does not follow back" in said
    assert "the other way by left and right" in said
    assert "3 frames late" in said


class _Page(HTMLParser):
    """What a page shows."""

    def __init__(self) -> None:
        super().__init__()
        self.charts = 0
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.charts += tag == "svg"
        self.outside += [value for name, value in attrs if name in ("src", "href") and value and "//" in value]


def test_the_page_shows_all_and_asks_the_network_for_nothing(made: tuple[CalibrationStudy, Path]) -> None:
    text = render_page(made[0], "worldgauge calibrate --model '<b>'")
    page = _Page()
    page.feed(text)
    assert page.charts == 3
    assert not page.outside
    assert "&lt;b&gt;" in text
    assert "NaN" not in text


def test_a_model_is_named_with_its_calibration(made: tuple[CalibrationStudy, Path]) -> None:
    gains = json.dumps(GAINS, separators=(",", ":"))
    text = f"{MOVERS}:WrongMover?gains={gains}&delay=3&size=[192,108]&calibration={made[1]}"
    model = resolve_model(text)
    assert isinstance(model.model, Calibrated)
    assert model.label.startswith("wrong-mover")
    assert "calibrated" in model.label
    plain = resolve_model(text.rpartition("&")[0])
    assert model.identity != plain.identity
    with pytest.raises(UsageError, match="of other settings of this model"):
        resolve_model(text.replace("delay=3", "delay=2"))
    with pytest.raises(UsageError, match="of model 'wrong-mover', not of 'render'"):
        resolve_model(f"render?calibration={made[1]}")


@pytest.mark.parametrize(
    ("text", "target", "settings", "file"),
    [
        ("render", "render", {}, None),
        ("render?calibration=a/b.json", "render", {}, "a/b.json"),
        ("drift?step_m=0.1&calibration=a%20b.json", "drift", {"step_m": 0.1}, "a b.json"),
        ("drift?calibration=x&step_m=0.1", "drift", {"step_m": 0.1}, "x"),
        (
            "recording?of=render?calibration=x&folder=y",
            "recording",
            {"of": "render?calibration=x", "folder": "y"},
            None,
        ),
        (
            "cmd:python -m worldgauge_serve wm.py:M?gain=2&calibration=c.json",
            "cmd:python -m worldgauge_serve wm.py:M?gain=2",
            {},
            "c.json",
        ),
        ("http://box:7000?calibration=c.json", "http://box:7000", {}, "c.json"),
    ],
)
def test_the_calibration_is_no_setting_of_the_model(
    text: str, target: str, settings: dict[str, object], file: str | None
) -> None:
    address = ModelAddress.parse(text)
    assert (address.target, address.settings, address.calibration) == (target, settings, file)
    assert address.is_served == text.startswith(("cmd", "http"))


@pytest.mark.parametrize("text", ["render?calibration=", "render?calibration=a&calibration=b"])
def test_a_calibration_without_a_file_or_with_two_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="calibration"):
        ModelAddress.parse(text)


def test_the_command_plans_and_refuses_in_one_line(made: tuple[CalibrationStudy, Path], tmp_path: Path) -> None:
    planned = command(tmp_path, "calibrate", "--model", "render", "--out", "c", "--dry-run", "--json")
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["answers"] == 148
    assert not (tmp_path / "c").exists()
    for arguments in (
        ("calibrate", "--model", "truth", "--out", "c"),
        ("calibrate", "--model", "render", "--out", "c", "--space", "loop-wak"),
        ("calibrate", "--model", f"render?calibration={made[1]}", "--out", "c"),
        ("calibrate", "--model", "render?calibration=none.json", "--out", "c"),
        ("check-model", "--model", "render?calibration=none.json"),
    ):
        done = command(tmp_path, *arguments)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("error: ")


@pytest.mark.slow
def test_the_command_prints_tables_json_and_csv(made: tuple[CalibrationStudy, Path], tmp_path: Path) -> None:
    gains = json.dumps(GAINS, separators=(",", ":"))
    model = f"{MOVERS}:WrongMover?gains={gains}&delay=3&size=[192,108]"
    said = ("calibrate", "--model", model, "--out", made[1], "--starts", "2")
    as_json, as_csv, plain = (command(tmp_path, *said, *more) for more in (["--json"], ["--csv"], []))
    assert as_json.returncode == as_csv.returncode == plain.returncode == 0, plain.stderr
    assert json.loads(as_json.stdout)["delay"]["frames"] == 3
    assert as_csv.stdout.splitlines()[0] == ",".join(COLUMNS)
    assert len(as_csv.stdout.splitlines()) == 9
    assert "does not follow" in plain.stdout
    assert (made[1] / "calibration.html").is_file()


def test_words_tell_of_the_whole_clip_and_of_one_move_at_a_time(tmp_path: Path) -> None:
    spec = ModelSpec("m", control="text", fps=20.0, lengths="80n+1")
    told = {
        asked.name: question(spec, start(0), asked, 0).text
        for asked in controls_of(space_for(spec, "walk-look"), diagonals=False)
    }
    assert told["still"] == "Stand still for 4 seconds."
    assert told["forward-1"] == "Walk forward 0.4 metres, then stand still for 3.6 seconds."
    assert told["left-2"] == "Step left 0.8 metres, then stand still for 3.6 seconds."
    assert told["yaw_right-0.5"] == "Turn right 4 degrees, then stand still for 3.6 seconds."
    assert told["pitch_up-2"] == "Look up 16 degrees, then stand still for 3.6 seconds."
    plan = plan_calibration(mover(control="text"), tmp_path, starts=1)
    assert set(plan.controls) == set(told)
    short = question(
        ModelSpec("m", control="text", fps=20.0), start(0), controls_of(space_for(spec, "walk-look"))[2], 0
    )
    assert short.text == "Walk forward 0.4 metres, then stand still for 0.4 seconds."


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lengths", [None, "20n+1"])
def test_a_model_that_reads_words_is_calibrated_from_frames(lengths: str | None, tmp_path: Path) -> None:
    model = mover(control="text", fps=20.0, lengths=lengths)
    found = calibrate(model, tmp_path, starts=2)
    assert found.estimates.frames == 3
    for one in found.estimates.controls:
        true = GAINS.get(one.control, 1.0)
        assert (one.status == "follows") == bool(true)
        assert one.gain is None or abs(one.gain.mean / true - 1) < 0.05
    right = Calibrated(model, tmp_path)
    asked = next(a for a in controls_of(space_for(model.spec, "walk-look")) if a.name == "forward-1")
    assert len(list(checked_rollout(right, question(right.spec, start(1), asked, 0)))) == 16


def test_every_form_of_a_question_says_the_same() -> None:
    model = models.get("render")()
    asked = controls_of(space_for(model.spec, "walk-look"))[1]
    request = question(model.spec, start(0), asked, 0)
    assert request.caption
    assert request.text
    assert request.poses is not None
    assert request.actions is not None
    assert np.allclose(request.poses, camera_path(request.actions, start(0).pose))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("control", "seed"), [("camera", 0), ("actions", 10), ("camera", 20)])
def test_accuracy_at_full_size(control: str, seed: int, tmp_path: Path) -> None:
    """Gains within 5 %, delays exactly, signs always, on four start images of each seed."""
    rng = np.random.default_rng(seed)
    names = ("forward", "back", "left", "right", "yaw_left", "yaw_right", "pitch_up", "pitch_down")
    gains = {name: float(rng.choice([-1, 1]) * rng.uniform(0.3, 2.0)) for name in names}
    delay = int(rng.integers(0, 7))
    found = calibrate(WrongMover(gains, control=control, delay=delay), tmp_path, starts=4, seed=seed).estimates
    assert found.frames == delay
    for one in found.controls:
        assert one.gain is not None, (one.control, one.reason)
        assert np.sign(one.gain.mean) == np.sign(gains[one.control])
        assert abs(one.gain.mean / gains[one.control] - 1) < 0.05, (one.control, one.gain, gains[one.control])


class Worn(WrongMover):
    """Frames that get blurred, brighter and noisier, and are compressed, as those of a model that drifts."""

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        rng = np.random.default_rng(request.seed)
        for t, frame in enumerate(super().rollout(request), start=1):
            blurred = cv2.GaussianBlur(frame[0], (0, 0), 2.5 * t / request.horizon)
            _, coded = cv2.imencode(".jpg", blurred, [cv2.IMWRITE_JPEG_QUALITY, 70])
            read = cv2.imdecode(coded, cv2.IMREAD_COLOR) * (1 + 0.1 * t / request.horizon)
            yield np.clip(read + rng.normal(0, 8, read.shape), 0, 255).astype(np.uint8)[None]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_worn_frames_cost_little(tmp_path: Path) -> None:
    gains = {"forward": 0.5, "left": -1.3, "yaw_left": 2.0, "back": 0.0}
    found = calibrate(Worn(gains, delay=3), tmp_path, starts=2).estimates
    assert found.frames == 3
    for one in found.controls:
        true = gains.get(one.control, 1.0)
        assert (one.status == "follows") == bool(true)
        assert one.gain is None or abs(one.gain.mean / true - 1) < 0.05


def test_model_of_the_calibration_page_goes_half_as_far(tmp_path: Path) -> None:
    page = (DOCS / "howto" / "check_and_calibrate.md").read_text("utf-8")
    (code,) = re.findall(r"<!-- file: half.py -->\n```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "half.py").write_text(code, "utf-8")
    words = shlex.split(re.findall(r"^ {4}worldgauge (calibrate .* half .*)$", page, re.MULTILINE)[0])
    done = command(tmp_path, *words, "--json")
    assert done.returncode == 0, done.stderr
    gains = {name: found["gain"]["mean"] for name, found in json.loads(done.stdout)["controls"].items()}
    walks = {"forward", "back", "left", "right"}
    assert {name: round(gain, 1) for name, gain in gains.items()} == {
        name: 0.5 if name in walks else 1 for name in gains
    }
    assert command(tmp_path, "calibrate", "--model", "./half.py:Half?calibration=half", "--out", "x").returncode == 2
