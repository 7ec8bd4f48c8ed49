"""ViPE (github.com/nv-tlabs/vipe), a decoder of camera paths in metres, driven from that repository's own environment.

    worldgauge score targetbench --data D --videos V
        --set "decoder=cmd:conda run -n vipe python -m worldgauge_serve vipe.py:Vipe"
    worldgauge run mind --data D --model M
        --set "poses=cmd:conda run -n vipe python -m worldgauge_serve vipe.py:Vipe?pipeline=default&clip=x264"

Needs numpy and `worldgauge_serve` next to it, never worldgauge itself. ViPE's code is licensed Apache-2.0; the networks
that it loads have licences of their own. Install it yourself. No history is used: its depth network gives the metres.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import EstimatorSpec

FPS = 30.0
"""Of an mp4v clip, whatever the video's own rate: as Target-Bench has it, whose frames lie far apart."""
CRF = 18
"""Of an x264 clip, as MIND has it."""
SLAM: Mapping[str, Any] = {
    **{"buffer": 1024, "beta": 0.3, "filter_thresh": 1.0, "warmup": 8, "keyframe_thresh": 4.0, "init_disp": 4.0},
    **{"frontend_thresh": 12.0, "frontend_window": 20, "frontend_radius": 3, "frontend_nms": 1, "seq_init": True},
    **{"frontend_backend_iters": [8, 16, 32], "backend_thresh": 16.0, "backend_radius": 3, "backend_nms": 2},
    **{"backend_iters": 12, "optimize_intrinsics": False, "optimize_rig_rotation": False, "cross_view": False},
    **{"cross_view_idx": None, "adaptive_cross_view": False, "infill_chunk_size": 16, "infill_dense_disp": True},
    **{"map_filter_thresh": 0.1, "visualize": False, "keyframe_depth": "metric3d-small", "n_views": 1},
    **{"height": 384, "width": 512, "sparse_tracks": {"name": "dummy"}, "ba": {"dense_disp_alpha": 0.01}},
}
"""What Target-Bench's script asks of the SLAM."""


class Vipe:
    """ViPE: visual SLAM with a network for metric depth.

    Args:
        pipeline: "published": Target-Bench's settings, for ViPE 0.1 (autumn 2025). Or ViPE's own; MIND takes "default".
        clip: "mp4v" as Target-Bench writes clips, or "x264" as MIND does, at the video's rate, with PyAV.
        cache: Folder for the weights that it downloads.
        root: Clone of the repository, if it is not installed.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self, pipeline: str = "published", clip: str = "mp4v", cache: str = "", root: str = "", backend: Any = None
    ) -> None:
        if clip not in ("mp4v", "x264"):
            raise ValueError(f"vipe: clip is {clip!r}; give 'mp4v' or 'x264'")
        if clip == "x264":
            _need_av()  # fails here, not with the first video
        self._clip = clip
        self._backend = backend if backend is not None else _Upstream(pipeline, cache, root)
        settings = {"pipeline": pipeline, "clip": clip, **self._backend.identity}
        self.spec = EstimatorSpec("vipe", layout="vipe", settings=settings)

    def estimate(
        self, arrays: Mapping[str, NDArray[Any]], options: Mapping[str, Any]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Camera-to-world "poses" (n, 7) of frames: tx ty tz qx qy qz qw, metres."""
        self._backend.seed(int(options.get("seed", 0)))
        with tempfile.TemporaryDirectory(prefix="vipe-") as folder:
            clip = Path(folder) / "sampled.mp4"
            if self._clip == "x264":
                write_x264(clip, arrays["frames"], float(options.get("fps") or FPS))
            else:
                write_clip(clip, arrays["frames"])
            poses = np.asarray(self._backend.poses(clip, Path(folder)))
        poses = poses.reshape(-1, 7)
        if len(poses) != len(arrays["frames"]):
            raise ValueError(f"ViPE gave {len(poses)} poses of {len(arrays['frames'])} frames")
        return {"poses": poses}, {}


def write_clip(path: Path, frames: NDArray[Any]) -> None:
    """Write RGB frames (n, H, W, 3) at 30 frames per second, MPEG-4 part 2 as OpenCV writes it."""
    cv2 = _need("cv2")
    height, width = frames.shape[1:3]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), FPS, (width, height))
    if not writer.isOpened():
        raise OSError(f"OpenCV cannot write {path}: it lacks the encoder of mp4v")
    for frame in frames:
        writer.write(np.ascontiguousarray(frame[..., ::-1]))
    writer.release()


def write_x264(path: Path, frames: NDArray[Any], fps: float) -> None:
    """Write RGB frames (n, H, W, 3) in H.264 by x264 of quality 18; chroma subsampling pads odd sides to even."""
    av = _need_av()
    rows, columns = frames.shape[1] % 2, frames.shape[2] % 2
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000), options={"crf": str(CRF)})
        stream.pix_fmt = "yuv420p"
        stream.height, stream.width = frames.shape[1] + rows, frames.shape[2] + columns
        for frame in frames:
            whole = np.pad(frame, ((0, rows), (0, columns), (0, 0)), mode="edge")
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(whole), format="rgb24")))
        container.mux(stream.encode(None))


class _Upstream:
    """The pipeline of the repository: a clip in, poses out."""

    def __init__(self, pipeline: str, cache: str, root: str) -> None:
        if cache:
            os.environ.update(TORCH_HOME=os.path.join(cache, "torch"), HF_HOME=os.path.join(cache, "huggingface"))
        self._pipeline = pipeline
        self._torch = _need("torch", root)
        self._vipe = _need("vipe", root)
        self._stream = _need("vipe.streams.raw_mp4_stream", root).RawMp4Stream
        self._make = self._published if pipeline == "published" else self._own
        self._modules = {name: _need(name, root) for name in ("vipe.pipeline", "vipe.pipeline.default", "omegaconf")}
        self.identity = {"version": str(getattr(self._vipe, "__version__", "unknown"))}

    def seed(self, seed: int) -> None:
        """Seed all random generators."""
        self._torch.manual_seed(seed)

    def poses(self, clip: Path, folder: Path) -> NDArray[Any]:
        """Rows (n, 7) of the n frames of `clip`; `folder` is for what it writes."""
        pipeline = self._make(folder)
        pipeline.return_payload = True
        done = pipeline.run(self._stream(clip)).payload
        if done is None:
            raise RuntimeError("ViPE found no path")
        rows: NDArray[Any] = done.trajectory.data.float().cpu().numpy()
        return rows

    def _published(self, folder: Path) -> Any:
        create = self._modules["omegaconf"].OmegaConf.create
        output = {"path": str(folder), "save_artifacts": False, "save_viz": False, "save_slam_map": False}
        given = create(
            {
                "init": {"camera_type": "pinhole", "instance": None},
                "slam": dict(SLAM),
                "post": {"depth_align_model": None},
                "output": output,
            }
        )
        made = self._modules["vipe.pipeline.default"].DefaultAnnotationPipeline
        return made(init=given.init, slam=given.slam, post=given.post, output=given.output)

    def _own(self, folder: Path) -> Any:
        asked = [f"pipeline={self._pipeline}", f"pipeline.output.path={folder}"]
        asked += ["pipeline.output.save_artifacts=false", "pipeline.output.save_viz=false"]
        try:
            composed = importlib.import_module("vipe.config").parse_typed_config("default", hydra_args=asked)
        except ImportError:  # before its settings had types
            hydra = _need("hydra")
            with hydra.initialize_config_dir(config_dir=str(self._vipe.get_config_path()), version_base=None):
                composed = hydra.compose("default", overrides=asked)
        return self._modules["vipe.pipeline"].make_pipeline(composed.pipeline)


def _need_av() -> Any:
    try:
        return importlib.import_module("av")
    except ImportError as error:
        raise ImportError(
            f"vipe: clip=x264 writes H.264 with PyAV, which is not here ({error}): pip install av"
        ) from error


def _need(name: str, root: str = "") -> Any:
    """Module `name` of the repository, not this file, which is called like its package."""
    here, path = os.path.dirname(os.path.abspath(__file__)), list(sys.path)
    first = [os.path.abspath(root)] if root else []
    sys.path[:] = first + [folder for folder in path if os.path.abspath(folder or ".") != here]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"vipe cannot import '{name}' ({error}); install github.com/nv-tlabs/vipe here, or clone it and give "
            "root=CLONE, and keep this file in a folder of its own"
        ) from error
    finally:
        sys.path[:] = path + first
