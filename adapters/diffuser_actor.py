"""3D Diffuser Actor (github.com/nickgkan/3d_diffuser_actor), a policy of an arm, run in its own environment.

    --set proposer=process --set "policy=cmd:conda run -n 3d_diffuser_actor python -m worldgauge_serve
        diffuser_actor.py:DiffuserActor?root=/src/3d_diffuser_actor&weights=/w/diffuser_actor_gnfactor.pth"

Needs numpy and `worldgauge_serve` next to it, never worldgauge itself. The repository and its weights have licences of
their own; read both and install it yourself. Its weights were trained on images of another simulator: how well they do
on this table has not been measured.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import EstimatorSpec, NotApplicable, Scene, digest

SIZE = 256
"""Side in pixels of the image and of the point map that the network takes."""
HANDS = 3
"""Poses of the hand that the network takes: the last ones, the present one last."""
TOKENS = 53
"""Length of an encoded instruction."""
FAR_M = 5.0
"""Depth given to pixels without one."""
BOUNDS = "tasks/18_peract_tasks_location_bounds.json"


class DiffuserActor:
    """3D Diffuser Actor with one front camera: samples of the next poses.

    Args:
        poses: Poses per sample, as trained: 1, the next key pose, if published. Longer samples are thinned.
        width: Of the network (embedding_dim).
        quaternions: "wxyz" for the published checkpoints, "xyzw" for those trained since (quaternion_format).
        buffer_m: Margin around the bounds of its workspace.
        turned: Whether its hand frame is ours turned by 180 degrees about the approach axis; not verified.
        samples: Generated at once; those that end farthest apart are returned. 0: as many as requested.
    """

    needs: ClassVar[Mapping[str, float]] = {"gpus": 1}

    def __init__(
        self,
        root: str = "",
        weights: str = "",
        poses: int = 1,
        width: int = 120,
        quaternions: str = "wxyz",
        buffer_m: float = 0.08,
        turned: bool = True,
        samples: int = 0,
        device: str = "cuda",
        backend: Any = None,
    ) -> None:
        self._backend = backend or _Upstream(root, weights, width, quaternions, buffer_m, device)
        self._poses, self._turned, self._samples = poses, turned, samples
        settings = {"poses": poses, "turned": turned, "samples": samples, **self._backend.identity}
        self.spec = EstimatorSpec("3d-diffuser-actor", kind="policy", settings=settings)

    def propose(self, scene: Scene) -> NDArray[Any]:
        """Return plans (m, l, 8)."""
        if not scene.instruction:
            raise NotApplicable("3d-diffuser-actor needs an instruction")
        colours, points = seen(scene)
        hands = recent_hands(scene.history, scene.hand)
        given = self._backend.sampled(
            colours,
            points,
            scene.instruction,
            turned(hands) if self._turned else hands,
            max(self._samples, scene.n),
            self._poses,
            scene.seed,
        )
        plans = given[:, thinned(given.shape[1], scene.length)].astype(np.float64)
        plans[..., 3:7] /= np.linalg.norm(plans[..., 3:7], axis=-1, keepdims=True)
        plans[..., :7] = turned(plans[..., :7]) if self._turned else plans[..., :7]
        plans[..., 7] = plans[..., 7] >= 0.5
        return plans


def seen(scene: Scene) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return colours (3, 256, 256) in [0, 1] and points (3, 256, 256), world frame, metres, of pixels on a grid."""
    camera, (height, width) = scene.camera, scene.depth.shape
    assert camera.fx is not None
    assert camera.fy is not None
    assert camera.cx is not None
    assert camera.cy is not None
    rows, columns = (((np.arange(SIZE) + 0.5) * side / SIZE).astype(int) for side in (height, width))
    depth = scene.depth[np.ix_(rows, columns)].astype(np.float64)
    depth = np.where(np.isfinite(depth), depth, FAR_M)
    across = (columns[None, :] + 0.5 - camera.cx) / camera.fx * depth
    down = (rows[:, None] + 0.5 - camera.cy) / camera.fy * depth
    points = np.stack([across, down, depth], -1) @ scene.pose[:3, :3].T + scene.pose[:3, 3]
    colours = scene.front[np.ix_(rows, columns)].astype(np.float32) / np.float32(255)
    return colours.transpose(2, 0, 1), points.transpose(2, 0, 1).astype(np.float32)


def recent_hands(history: NDArray[Any], hand: NDArray[Any]) -> NDArray[np.float64]:
    """The last poses of the hand, (HANDS, 7): executed ones, then the present one; the first repeats if too few. The
    pose before the first action is not in the history; the pose after it replaces it."""
    known = np.concatenate([history[:-1, :7], hand[None, :7]])[-HANDS:]
    return np.concatenate([known[:1]] * (HANDS - len(known)) + [known]).astype(np.float64)


def turned(poses: NDArray[Any]) -> NDArray[np.float64]:
    """Turn poses (..., 7) of a hand by 180 degrees about its own z axis, the approach axis; its own inverse."""
    made = np.array(poses, np.float64)
    x, y, z, w = np.moveaxis(made[..., 3:7], -1, 0)
    made[..., 3:7] = np.stack([y, -x, w, -z], -1)
    # Of the two quaternions of a rotation, the one whose w is positive, or the first of x, y, z where w is 0.
    order = made[..., [6, 3, 4, 5]]
    leading = np.take_along_axis(order, np.argmax(np.abs(order) > 1e-9, axis=-1)[..., None], -1)
    made[..., 3:7] *= np.where(leading < 0, -1.0, 1.0)
    return made


def thinned(count: int, most: int) -> Sequence[int]:
    """Return the indices of the poses that are kept: all, or `most` evenly spaced ones, the last included."""
    kept = min(count, most)
    return [(k + 1) * count // kept - 1 for k in range(kept)]


class _Upstream:
    """The network of the repository, with numpy arrays in and out."""

    def __init__(self, root: str, weights: str, width: int, quaternions: str, buffer_m: float, device: str) -> None:
        if quaternions not in ("wxyz", "xyzw"):
            raise ValueError(f"3d-diffuser-actor: quaternions are 'wxyz' or 'xyzw', not '{quaternions}'")
        for path, what in ((root, "clone github.com/nickgkan/3d_diffuser_actor and give root=CLONE"), (weights, _GET)):
            if not os.path.exists(path):
                raise FileNotFoundError(f"3d-diffuser-actor: there is no '{path}'; {what}")
        self.identity = {"weights": digest(weights), "quaternions": quaternions, "buffer_m": buffer_m, "width": width}
        self._torch = torch = _need("torch", root)
        made: Any = _need("diffuser_actor.trajectory_optimization.diffuser_actor", root).DiffuserActor
        text = _need("transformers", root)
        self._device = torch.device(device)
        self._tokens = text.CLIPTokenizer.from_pretrained(_TEXT)
        self._tokens.model_max_length = TOKENS
        self._text = text.CLIPTextModel.from_pretrained(_TEXT).to(self._device).eval()
        try:
            network = made(
                backbone="clip",
                image_size=(SIZE, SIZE),
                embedding_dim=width,
                num_vis_ins_attn_layers=2,
                use_instruction=True,
                fps_subsampling_factor=5,
                gripper_loc_bounds=bounds(os.path.join(root, BOUNDS), buffer_m),
                rotation_parametrization="6D",
                quaternion_format=quaternions,
                diffusion_timesteps=100,
                nhist=HANDS,
                relative=False,
                lang_enhanced=False,
            )
        except TypeError as error:
            raise TypeError(f"3d-diffuser-actor: the clone at '{root}' is too old ({error}); pull it") from None
        kept = torch.load(weights, map_location="cpu", weights_only=True)["weight"]
        start = len("module.")
        network.load_state_dict({name[start:] if name[:start] == "module." else name: kept[name] for name in kept})
        self._network = network.to(self._device).eval()

    def sampled(
        self,
        colours: NDArray[Any],
        points: NDArray[Any],
        instruction: str,
        hands: NDArray[Any],
        samples: int,
        poses: int,
        seed: int,
    ) -> NDArray[Any]:
        """Sample plans (samples, poses, 8): x, y, z, qx, qy, qz, qw, and the probability that the gripper is open.
        Colours (3, SIZE, SIZE) are in [0, 1], points world-frame metres."""
        torch = self._torch
        torch.manual_seed(seed)

        def repeated(array: NDArray[Any]) -> Any:
            given = torch.from_numpy(np.ascontiguousarray(array, np.float32)).to(self._device)
            return given[None].repeat(samples, *[1] * array.ndim)

        with torch.no_grad():
            made = self._network(
                torch.zeros(samples, poses, 8, device=self._device),
                torch.zeros(samples, poses, dtype=torch.bool, device=self._device),
                repeated(colours[None]),
                repeated(points[None]),
                self._encoded(instruction).repeat(samples, 1, 1),
                repeated(hands),
                run_inference=True,
            )
        return np.asarray(made.float().cpu().numpy())

    def _encoded(self, instruction: str) -> Any:
        """(1, 53, 512)."""
        numbers = self._tokens([instruction], padding="max_length", truncation=True)["input_ids"]
        return self._text(self._torch.tensor(numbers).to(self._device)).last_hidden_state


_TEXT = "openai/clip-vit-base-patch32"
_GET = "give weights=FILE, such as diffuser_actor_gnfactor.pth of the repository's page"


def bounds(path: str, buffer_m: float) -> NDArray[np.float64]:
    """Return the workspace (2, 3), metres, that normalises positions: the union over a file's tasks, plus a buffer."""
    with open(path, encoding="utf-8-sig") as file:
        known = np.array(list(json.load(file).values()), np.float64)
    return np.stack([known[:, 0].min(0) - buffer_m, known[:, 1].max(0) + buffer_m])


def _need(name: str, root: str) -> Any:
    """Import module `name` of the repository, not this file, which has the name of its package."""
    here, path = os.path.dirname(os.path.abspath(__file__)), list(sys.path)
    sys.path[:] = [os.path.abspath(root)] + [folder for folder in path if os.path.abspath(folder or ".") != here]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"3d-diffuser-actor cannot import '{name}' ({error}); install what the repository's README lists "
            "(torch, diffusers, einops, dgl, transformers) here, and keep this file in a folder of its own"
        ) from error
    finally:
        sys.path[:] = [*path, os.path.abspath(root)]
