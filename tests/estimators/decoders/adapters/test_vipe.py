"""ViPE: the clip that it is shown, what it is asked, and from a served process to a path."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest

from support.served import MODELS, PYTHON
from support.upstream import ROOT, isolated
from worldgauge.estimators.decoders import DecodeRequest
from worldgauge.estimators.decoders.adapters import vipe
from worldgauge.estimators.decoders.adapters.vipe import SLAM, Vipe, write_clip
from worldgauge.estimators.decoders.served import ServedDecoder

IsTheWalk = Callable[..., None]


class Pipeline:
    """Gives `rows`; keeps where the clip was."""

    identity = {"version": "0"}  # noqa: RUF012

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.clips: list[tuple[Path, int]] = []
        self.seeds: list[int] = []

    def seed(self, seed: int) -> None:
        self.seeds.append(seed)

    def poses(self, clip: Path, folder: Path) -> np.ndarray:
        self.clips.append((clip, clip.stat().st_size))
        return np.tile(np.array([1.0, 2, 3, 0, 0, 0, 1]), (1, self.rows, 1))


def test_a_clip_of_30_frames_a_second(tmp_path: Path) -> None:
    colours = np.array([(200, 40, 40), (40, 200, 40), (40, 40, 200)], np.uint8)
    write_clip(tmp_path / "a.mp4", np.broadcast_to(colours[:, None, None], (3, 48, 64, 3)))
    video = cv2.VideoCapture(str(tmp_path / "a.mp4"))
    assert video.get(cv2.CAP_PROP_FPS) == 30
    seen = [video.read()[1] for _ in range(3)]
    assert not video.read()[0], "as many frames as were given"
    assert seen[0].shape == (48, 64, 3)
    for frame, colour in zip(seen, colours, strict=True):
        np.testing.assert_allclose(frame.mean((0, 1))[::-1], colour, atol=6)


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="OpenCV cannot write"):
        write_clip(tmp_path / "nowhere" / "a.mp4", np.zeros((1, 48, 64, 3), np.uint8))


def test_one_row_a_frame_and_nothing_left_behind() -> None:
    pipeline = Pipeline(9)
    frames = np.zeros((9, 48, 64, 3), np.uint8)
    arrays, facts = Vipe(backend=pipeline).estimate({"frames": frames}, {"seed": 8})
    assert arrays["poses"].shape == (9, 7)
    assert facts == {}
    ((clip, size),) = pipeline.clips
    assert size > 0
    assert not clip.parent.exists()
    assert pipeline.seeds == [8]
    with pytest.raises(ValueError, match="ViPE gave 9 poses of 8 frames"):
        Vipe(backend=pipeline).estimate({"frames": frames[1:]}, {})


def test_declares_itself() -> None:
    spec = Vipe(backend=Pipeline(1)).spec
    assert (spec.name, spec.kind, spec.layout) == ("vipe", "decoder", "vipe")
    assert spec.settings == {"pipeline": "published", "version": "0"}
    assert Vipe.needs == {"gpus": 1}


def test_from_a_served_process_to_a_path(brightening: DecodeRequest, is_the_walk: IsTheWalk) -> None:
    at = f"cmd:{PYTHON} -m worldgauge_serve {MODELS / 'decoders.py'}:Vipe"
    with closing(ServedDecoder(at)) as decoder:
        path = decoder.decode(brightening)
    is_the_walk(path, 1 / 255, tolerance=0.02)  # metres as it says, of a clip with losses
    assert (path.scale, path.anchor_estimated) == (1.0, None)


def test_says_what_is_not_installed() -> None:
    with isolated(), pytest.raises(ImportError, match=r"vipe cannot import '(torch|vipe)' .* give root=CLONE"):
        Vipe()


@pytest.mark.parametrize("pipeline", ["published", "no_vda"])
def test_drives_the_repository(
    pipeline: str, tmp_path: Path, brightening: DecodeRequest, is_the_walk: IsTheWalk
) -> None:
    pytest.importorskip("torch", reason="the repository's poses are torch")
    shutil.copy(vipe.__file__, tmp_path)  # beside it, `import vipe` must find the repository all the same
    settings = f"root={ROOT / 'vipe'}&pipeline={pipeline}&cache={tmp_path}"
    at = f"cmd:sh -c 'cd {tmp_path} && exec {PYTHON} -m worldgauge_serve \"vipe.py:Vipe?{settings}\"'"
    with closing(ServedDecoder(at)) as decoder:
        path = decoder.decode(brightening)
        assert decoder.settings["settings"] == {"pipeline": pipeline, "version": "0.1.0"}
    is_the_walk(path, 1 / 255, tolerance=0.02)


def test_what_the_pipeline_is_asked() -> None:
    pytest.importorskip("torch", reason="the repository's poses are torch")
    with isolated():
        model = Vipe(root=str(ROOT / "vipe"))
        model.estimate({"frames": np.zeros((2, 48, 64, 3), np.uint8)}, {})
        init, slam, post, output = model._backend._modules["vipe.pipeline.default"].DefaultAnnotationPipeline.made[-1]
    assert dict(slam) == dict(SLAM)
    assert (slam.keyframe_depth, slam.height, slam.width, slam.ba.dense_disp_alpha) == (
        "metric3d-small",
        384,
        512,
        0.01,
    )
    assert (init.camera_type, init.instance, post.depth_align_model) == ("pinhole", None, None)
    assert not output.save_artifacts
