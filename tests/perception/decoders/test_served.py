"""A decoder behind a server: frames and anchor out, poses in, the published paths from the published poses."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from support.places import DOCS
from support.served import MODELS, PYTHON, command, http_server
from support.vectors import cases
from worldgauge.core.errors import LostError, ModelError, UnknownNameError, UsageError
from worldgauge.core.video import Clip
from worldgauge.perception.decoders import DecodeRequest, decoders, open_decoder
from worldgauge.perception.decoders.served import ServedDecoder

KEYS = {"vggt": "extrinsics_w2c", "spatracker": "c2w", "vipe": "poses_tx_ty_tz_qx_qy_qz_qw"}
RELEASED = [case for case in cases("target_scale", "cases", beside="tolerance") if case.values[0]["kind"] in KEYS]

Opened = Callable[..., ServedDecoder]
Known = Callable[..., str]


@pytest.fixture
def opened() -> Iterator[Opened]:
    with ExitStack() as stack:

        def open_it(text: str, **settings: Any) -> ServedDecoder:
            decoder = open_decoder(text, **settings)
            assert isinstance(decoder, ServedDecoder)
            return stack.enter_context(closing(decoder))

        yield open_it


def served(target: str, options: str = "", scheme: str = "cmd") -> str:
    return f"{scheme}:{PYTHON} -m worldgauge_serve {options} '{MODELS / 'estimators.py'}:{target}'"


@pytest.fixture
def known(tmp_path: Path) -> Known:
    """A server that gives the poses of a case."""

    def address(case: dict[str, Any], options: str = "", scheme: str = "cmd") -> str:
        (tmp_path / "poses.json").write_text(json.dumps(case["inputs"][KEYS[case["kind"]]]))
        return served(f"Known?poses={quote(str(tmp_path / 'poses.json'))}&layout={case['kind']}", options, scheme)

    return address


def made_up(kind: str, real_m: float = 1.05) -> dict[str, Any]:
    """A case like those of the vectors: an anchor and nine frames of a walk in a bend."""
    steps = np.arange(10)
    c2w = np.tile(np.eye(4), (10, 1, 1))
    c2w[:, :3, :3] = Rotation.from_rotvec(np.outer(0.07 * steps, [0, 1, 0])).as_matrix()
    c2w[:, 0, 3], c2w[:, 2, 3] = 0.02 * steps**2, 0.3 * steps
    turns = Rotation.from_matrix(c2w[:, :3, :3]).as_quat()
    layouts = {
        "vggt": np.roll(np.linalg.inv(c2w)[:, :3], -1, axis=0),
        "spatracker": c2w,
        "vipe": np.concatenate([c2w[:, :3, 3], turns], axis=1)[1:],
    }
    return {"kind": kind, "inputs": {KEYS[kind]: layouts[kind].tolist(), "real_displacement_m": real_m}}


def request(n_frames: int = 193, fps: float = 24.0, real_m: float | None = 1.0, **fields: Any) -> DecodeRequest:
    """A video whose frame t is full of the grey level t, and an anchor of another size."""
    levels = np.arange(n_frames, dtype=np.uint8)
    frames = np.broadcast_to(levels[:, None, None, None], (n_frames, 6, 8, 3))
    given = {"anchor": np.full((5, 7, 3), 9, np.uint8), "anchor_distance_m": real_m, "hfov_deg": 80.0, "seed": 3}
    return DecodeRequest(**{"video": Clip.from_array(frames, fps), **given, **fields})


def asked_as(case: dict[str, Any]) -> DecodeRequest:
    poses = case["inputs"][KEYS[case["kind"]]]
    return request(real_m=case["inputs"].get("real_displacement_m"), n_points=len(poses) - (case["kind"] != "vipe"))


@pytest.mark.parametrize(("case", "tolerances"), RELEASED)
def test_released_rules_give_the_published_paths_through_the_wire(
    case: dict[str, Any], tolerances: dict[str, Any], known: Known, opened: Opened
) -> None:
    path = opened(known(case), compat="released").decode(asked_as(case))
    expect, tolerance = case["expect"], tolerances[case["kind"]]
    close = {"rtol": tolerance["rtol"], "atol": tolerance["atol"]}
    assert path.status == "ok"
    np.testing.assert_allclose(path.xy, expect["trajectory_2d"], **close)
    np.testing.assert_allclose(path.positions[:, [0, 2, 1]], expect["trajectory_3d"], **close)
    if "scale_factor" in expect:
        np.testing.assert_allclose(path.scale, expect["scale_factor"], **close)
        np.testing.assert_allclose(path.anchor_estimated, expect["camera_displacement"], **close)


@pytest.mark.parametrize(
    ("case", "tolerances"), [case for case in RELEASED if case.values[0]["inputs"].get("real_displacement_m") != 0]
)
def test_our_rules_start_at_the_origin_and_keep_the_anchor_at_its_distance(
    case: dict[str, Any], tolerances: dict[str, Any], known: Known, opened: Opened
) -> None:
    path = opened(known(case)).decode(asked_as(case))
    assert path.status == "ok", path.reason
    np.testing.assert_array_equal(path.xy[0], [0, 0])
    given = np.array(case["inputs"][KEYS[case["kind"]]])
    if case["kind"] == "vggt":
        whole = np.concatenate([given, np.tile([[[0, 0, 0, 1.0]]], (len(given), 1, 1))], axis=1)
        poses = np.linalg.inv(whole)
        poses, anchor = poses[:-1], poses[-1]
        np.testing.assert_allclose(path.scale, case["corrected"]["scale_factor"], rtol=2e-6)
    elif case["kind"] == "spatracker":
        poses, anchor = given[1:], given[0]
    else:
        first = given[0]
        assert np.abs(np.linalg.norm(path.positions[-1]) - np.linalg.norm(given[-1, :3] - first[:3])) < 1e-9, "metres"
        return
    real_m = case["inputs"]["real_displacement_m"]
    scale = real_m / np.linalg.norm(anchor[:3, 3] - poses[0, :3, 3])
    local = np.linalg.inv(poses[0]) @ poses
    np.testing.assert_allclose(path.xy, scale * local[:, [0, 2], 3], atol=1e-4)


def test_anchors_that_are_missing_or_at_no_distance(known: Known, opened: Opened) -> None:
    case = made_up("vggt", real_m=0.0)
    path = opened(known(case)).decode(asked_as(case))
    assert (path.status, path.xy, path.scale) == ("no_scale", None, None)
    assert "0 m apart" in path.reason
    path = opened(known(made_up("vipe"))).decode(request(anchor=None, real_m=None))
    assert (path.status, path.scale, path.anchor_estimated) == ("ok", 1.0, None)


@pytest.mark.parametrize(
    ("kind", "fps", "seen"),
    [
        ("vggt", 24.0, [0, 24, 48, 72, 96, 120, 144, 168, 192]),
        ("vggt", 10.0, [0, 24, 48, 72, 96, 120, 144, 168, 192]),
        ("spatracker", 24.0, [0, 24, 48, 72, 96, 120, 144, 168, 192]),
        ("spatracker", 12.5, [0, 12, 25, 37, 50, 62, 75, 87, 100]),
        ("spatracker", 60.0, [0, 60, 120, 180, 192, 192, 192, 192, 192]),
        ("vipe", 60.0, [0, 24, 48, 72, 96, 120, 144, 168, 192]),
    ],
)
def test_the_frames_of_the_released_decoders_are_sent(
    kind: str, fps: float, seen: list[int], known: Known, opened: Opened
) -> None:
    path = opened(known(made_up(kind))).decode(request(fps=fps))
    assert path.frame_indices.tolist() == seen
    facts = path.diagnostics["facts"]
    assert (facts["frames_seen"], facts["frames"]) == (str(seen), "(9, 6, 8, 3)uint8")
    assert facts.get("anchor") == (None if kind == "vipe" else "(5, 7, 3)uint8")
    assert (facts["seed"], facts["hfov_deg"], facts["fps"]) == (3, 80.0, fps)
    assert (path.focal_px, path.registered.tolist()) == (300.0, [True] * 9)
    assert path.diagnostics["decoder_used"] == "known"


def test_same_decoder_however_it_is_reached(known: Known, opened: Opened) -> None:
    case = made_up("vggt")
    ways = [known(case), known(case, "--pipes", "pipe")]
    target = known(case).split("estimators.py:")[1].rstrip("'")
    with http_server(target, file="estimators.py") as server:
        decoders = [opened(text) for text in (*ways, server.url)]
        first, *others = [(decoder.settings, decoder.name, decoder.decode(asked_as(case))) for decoder in decoders]
    assert json.loads(json.dumps(first[0])) == first[0]
    for other in others:
        assert other[:2] == first[:2], "where it runs changes nothing"
        np.testing.assert_array_equal(other[2].xy, first[2].xy)
    assert decoders[0].needs.gpus == 0.5
    assert opened(known(case), compat="released").settings != first[0]


@pytest.mark.parametrize("fields", [{"anchor": None}, {"real_m": None}])
def test_without_a_real_frame_or_its_distance_nothing_is_asked(fields: dict[str, Any], opened: Opened) -> None:
    path = opened(served("Odd?how=exits")).decode(request(**fields))
    assert (path.status, path.xy) == ("no_scale", None)
    assert "needs a real frame at a known distance" in path.reason


def test_still_and_empty_videos_are_not_sent(opened: Opened) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (45, 80, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
    still = request(video=Clip.from_array(np.tile(picture, (12, 1, 1, 1)), 24.0))
    path = opened(served("Odd?how=exits")).decode(still)
    assert path.status == "stationary"
    np.testing.assert_array_equal(path.xy, np.zeros((9, 2)))
    asked = opened(served("Odd?how=raises"), compat="released").decode(still)
    assert (asked.status, "CUDA error" in asked.reason) == ("failed", True), "the released scripts ask"
    path = opened(served("Odd?how=exits")).decode(request(n_frames=0))
    assert (path.status, path.reason) == ("failed", "the video holds no frame")


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raises", "odd: estimator 'odd' raised RuntimeError: CUDA error"),
        ("nan", "pose 2 holds values that are not finite"),
        ("not applicable", "odd: too dark"),
        ("mirrored", "pose 1 is no rotation and translation: its matrix is off by 2"),
        ("skewed", "is no rotation and translation"),
        ("no pair", "expected a dict of arrays"),
    ],
)
@pytest.mark.parametrize("compat", ["", "released"])
def test_what_it_fails_at_is_a_status(how: str, reason: str, compat: str, opened: Opened) -> None:
    decoder = opened(served(f"Odd?how={quote(how)}"), compat=compat)
    path = decoder.decode(request())
    if compat and how in ("mirrored", "skewed"):
        assert path.status == "no_scale", "the released rules look at no rotation; this anchor is at the start"
        return
    assert (path.status, path.xy) == ("failed", None)
    assert reason in path.reason
    assert path.reason.isprintable()
    its_own = how in ("raises", "no pair")
    assert ("error" in path.diagnostics) == its_own, "kept in the cache only where the video is to blame"


def test_a_matrix_from_16_bits_is_put_right(opened: Opened) -> None:
    path = opened(served("Odd?how=slightly%20skewed")).decode(request())
    assert path.status == "ok", path.reason
    np.testing.assert_allclose(
        path.rotations @ path.rotations.swapaxes(1, 2), np.tile(np.eye(3), (9, 1, 1)), atol=1e-12
    )
    assert 0.001 < path.diagnostics["skew"] < 0.01


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ("exits", LostError, "exited with code 3, 3 times before its first answer"),
        ("hangs", LostError, "timed out after 0.5 s without an answer"),
        ("too many", ModelError, "gives 'poses' as float64 of"),
        ("another array", ModelError, "holding"),
    ],
)
def test_what_says_nothing_of_the_video_is_no_status(
    how: str, error: type[ModelError], words: str, opened: Opened
) -> None:
    began = time.monotonic()
    decoder = opened(served(f"Odd?how={quote(how)}"), deadline_s=0.5)
    with pytest.raises(error, match=words):
        decoder.decode(request())
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("missing", "status", "said", "points"),
    [
        ([8], "partial", "8 of 9 frames were placed, 8 from the start", 8),
        ([5], "partial", "8 of 9 frames were placed, 5 from the start", 5),
        ([0], "failed", "the first frame was not placed", 9),
        ([2], "failed", "only 2 frames from the start were placed", 9),
        ([3, 4, 5, 6, 7], "failed", "4 of 9 frames were placed", 9),
        (list(range(9)), "failed", "the first frame was not placed", 9),
        (["anchor"], "no_scale", "the anchor frame was not placed", 9),
    ],
)
@pytest.mark.parametrize("kind", ["vggt", "spatracker", "vipe"])
def test_frames_that_are_not_placed_are_rows_of_nan(
    kind: str, missing: list[Any], status: str, said: str, points: int, known: Known, opened: Opened
) -> None:
    case, whole = made_up(kind), made_up(kind)
    rows = case["inputs"][KEYS[kind]]
    if missing == ["anchor"]:
        if kind == "vipe":
            return
        missing = [-1] if kind == "spatracker" else [9]
    for frame in missing:
        row = frame + (kind == "spatracker")
        rows[row] = np.full_like(rows[row], np.nan).tolist()
    video = request(n_frames=217) if kind == "spatracker" else request()
    path = opened(known(case)).decode(video)
    assert (path.status, said in path.reason, len(path.frame_indices)) == (status, True, points), path.reason
    if status == "partial":
        assert path.registered.tolist() == [frame not in missing for frame in range(9)]
        expected = opened(known(whole)).decode(video)
        np.testing.assert_allclose(path.xy, expected.xy[:points], atol=1e-9)


def test_one_frame_of_many_that_is_not_placed_is_interpolated(known: Known, opened: Opened) -> None:
    rows = np.zeros((30, 7))
    rows[:, 2], rows[:, 6] = np.linspace(0, 3, 30), 1
    rows[7] = np.nan
    case = {"kind": "vipe", "inputs": {KEYS["vipe"]: rows.tolist()}}
    path = opened(known(case)).decode(request(n_points=30))
    assert (path.status, path.diagnostics["interpolated"]) == ("ok", path.frame_indices[[7]].tolist())
    np.testing.assert_allclose(path.xy[:, 1], np.linspace(0, 3, 30), atol=0.01)


@pytest.mark.parametrize("compat", ["", "released"])
def test_nobody_walks_that_fast(compat: str, known: Known, opened: Opened) -> None:
    path = opened(known(made_up("vipe")), compat=compat).decode(request(fps=2400.0, max_speed_m_s=3.0))
    if compat:
        assert path.status == "ok", "the released rules look at no speed"
        return
    assert (path.status, path.xy) == ("failed", None)
    assert "m/s" in path.reason


def test_metadata_and_layout_of_a_server(opened: Opened) -> None:
    path = opened(served("Odd?how=escapes")).decode(request(n_frames=9))
    note = path.diagnostics["facts"]["note"]
    assert len(note) == 200
    assert note.isprintable()
    assert "deep" not in path.diagnostics["facts"]
    with pytest.raises(
        UsageError, match="estimator 'odd' is of layout 'x'; a decoder of layout vggt, spatracker, vipe"
    ):
        opened(served("Odd?how=fine&layout=x"))
    decoder = opened(served("Odd?how=fine&layout=x"), layout="spatracker")
    assert decoder.settings["layout"] == "spatracker"


@pytest.mark.parametrize(
    ("text", "settings", "error", "words"),
    [
        (served("Sums"), {}, UsageError, "estimator 'sums' is of kind 'sum'; a decoder"),
        (f"cmd:{command('Fade')}", {}, ModelError, "serves 'model', not 'estimator'"),
        ("cmd:no-such-program x", {}, UsageError, "cannot be started"),
        ("served", {}, UsageError, "decoder 'served' needs the setting 'at'. It takes: at, layout="),
        (served("Odd?how=x"), {"compat": "x"}, UsageError, "compat is 'x'"),
        (served("Odd?how=x"), {"deadline_s": 0}, UsageError, "deadline_s is 0"),
        (
            served("Odd?how=x"),
            {"frames": 3},
            UsageError,
            "decoder 'served' has no setting 'frames'. It takes: at, layout=",
        ),
        ("servd", {}, UnknownNameError, "no decoder 'servd'. Did you mean 'served'"),
        ("colour", {}, UnknownNameError, "no decoder 'colour'"),
        ("vipe", {}, UsageError, "runs in its own environment; give its address.*vipe.py:Vipe"),
        ("served?at", {}, UsageError, "settings look like"),
        ("served?at=x&at=y", {}, UsageError, "a setting is given twice"),
        ("served?at=x", {}, UsageError, "estimator 'x': served ones are named cmd:"),
    ],
)
def test_what_cannot_be_opened(text: str, settings: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        open_decoder(text, **settings)


def test_settings_come_as_a_query_too() -> None:
    text = f"served?at={quote(served('Odd?how=fine'))}&compat=released&deadline_s=9"
    decoder = open_decoder(text)
    assert isinstance(decoder, ServedDecoder)
    with closing(decoder):
        assert (decoder.settings["compat"], decoder._remote.deadline_s) == ("released", 9)
    assert "served" in decoders


def test_the_decoder_on_the_page_is_one(tmp_path: Path, opened: Opened) -> None:
    page = (DOCS / "howto" / "models" / "decoder_details.md").read_text("utf-8")
    (block,) = (found for found in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class Still" in found)
    (tmp_path / "mine.py").write_text(block, "utf-8")
    decoder = opened(f"cmd:{PYTHON} -m worldgauge_serve {tmp_path / 'mine.py'}:Still?gain=2")
    path = decoder.decode(request(n_frames=5))
    assert (path.status, path.decoder, path.focal_px) == ("ok", "still", 300.0)
    np.testing.assert_array_equal(path.xy, np.zeros((5, 2)))
    assert decoder.settings["settings"] == {"gain": 2}
