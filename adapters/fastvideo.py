"""FastVideo (github.com/hao-ai-lab/FastVideo): Matrix-Game, WorldPlay, LingBot, GameCraft, DreamX, GEN3C, Wan, LTX.

    worldgauge run mind --data D --model "cmd:conda run -n fastvideo python -m worldgauge_serve
        fastvideo.py:FastVideo?model=FastVideo/Matrix-Game-3.0-Base-Distilled-Diffusers"

One class for all of them: `MODELS` says which conditions each takes. Needs numpy and `worldgauge_serve` next to it,
never worldgauge itself.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import (
    ModelSpec,
    NotApplicable,
    Request,
    camera_control,
    continued,
    digest,
    intrinsics_of,
    key_rows,
    last_length,
    motions,
    mouse_deltas,
    next_length,
    note,
    pluecker_rays,
)

CONTROLS = {"keys": "actions", "segments": "actions", "text": "text"}
"""What drives a model by the conditions it takes; "camera" for all others."""
LATENT = 4
"""Frames that the models compress into one in time."""
DREAMX_TURN_DEG = 10.0
"""Degrees that DreamX turns in a segment of speed 1, in which it walks 1 unit."""
GAMECRAFT_SCALE = 10.0
"""What FastVideo multiplies GameCraft's positions by."""
STRAIGHT_DEG = 5.0
"""A path that turns by more is none of GEN3C's straight moves."""
WALKS = {"w": "forward", "s": "back", "a": "left", "d": "right", "-": ""}
LEAST_M = 0.005
"""Slower moves in metres a frame press no key."""
UNLIMITED = 10**9
"""Frames that no model with a longest call makes."""


@dataclass(frozen=True)
class Known:
    """How FastVideo is called for a model.

    Attributes:
        takes: "keys", "segments", "pose-file", "camera-folder", "embedding", "rays", "trajectory" or "text".
        size: (width, height) in pixels.
        lengths: Frames of one call, including the start image, as in `ModelSpec.lengths`.
        keys: Key of each keyboard column, of w, s, a and d; "-" for one that is never pressed.
        turn_deg: Degrees per frame that the mouse value 1 turns.
        mouse: Largest mouse value that its makers use; 0 for any.
        loading: Arguments of `from_pretrained`.
        call: Arguments of every call.
    """

    takes: str
    size: tuple[int, int]
    fps: float
    lengths: str | tuple[int]
    keys: str = ""
    turn_deg: float = 0.0
    mouse: float = 0.0
    caption: bool = True
    loading: Mapping[str, Any] = field(default_factory=dict)
    call: Mapping[str, Any] = field(default_factory=dict)


_MG2 = {"fps": 25.0, "lengths": "9+12n to 597", "turn_deg": 15.0, "mouse": 0.1, "caption": False}
_DREAMX = {"override_pipeline_cls_name": "DreamXWorldPipeline"}
_LINGBOT2 = {"override_pipeline_cls_name": "LingBotWorld2CausalFastPipeline"}
MODELS: dict[str, Known] = {
    "Matrix-Game-2.0-Base": Known("keys", (640, 352), keys="wsad", **_MG2),  # type: ignore[arg-type]
    "Matrix-Game-2.0-GTA": Known("keys", (640, 352), keys="ws", **_MG2),  # type: ignore[arg-type]
    "Matrix-Game-3.0": Known("keys", (1280, 704), 25.0, "57+40n", keys="wsad--", turn_deg=15.0),
    "HY-WorldPlay": Known("pose-file", (832, 480), 24.0, "13+16n to 125"),
    "LingBot-World-Base-Cam": Known("embedding", (832, 480), 16.0, "5+4n to 81"),
    "lingbot-world-v2": Known("camera-folder", (832, 480), 16.0, "13+16n", loading=_LINGBOT2),
    "HunyuanGameCraft": Known("rays", (1280, 704), 24.0, (33,)),
    "DreamX-World-5B-Cam": Known("segments", (832, 480), 16.0, (161,), loading=_DREAMX),
    "GEN3C-Cosmos": Known("trajectory", (1280, 704), 24.0, (121,)),
    "Cosmos-Predict2.5": Known("text", (1280, 704), 24.0, (77,), call={"num_cond_frames": 1}),
    "Wan2.1-I2V-14B-480P": Known("text", (832, 480), 16.0, (81,)),
    "Wan2.1-I2V-14B-720P": Known("text", (1280, 720), 16.0, (81,)),
    "Wan2.2-I2V-A14B": Known("text", (832, 480), 16.0, (81,)),
    "Wan2.2-TI2V-5B": Known("text", (832, 480), 24.0, (121,)),
    "LTX2": Known("text", (1536, 1024), 24.0, (121,)),
    "LTX-2": Known("text", (1536, 1024), 24.0, (121,)),
}
"""By a part of the id of the model hub; the first that fits counts."""


class FastVideo:
    """A model of FastVideo. If one call is too short, the next starts from its last frame.

    Args:
        model: Id of the model hub, or a folder of weights in FastVideo's form.
        like: Its entry of `MODELS`, if the name does not identify it; 0 and "" below take its values.
        frames: Frames of the longest call, including the start image.
        size: WIDTHxHEIGHT.
        scale: Units of the model per metre, for models with a camera path or speeds.
        turn_deg: Degrees per frame that the mouse value 1 turns; `mouse` is the largest value that is sent.
        segment: Frames per action of a model that takes segments.
        stream: Use `StreamingVideoGenerator`, block by block: Matrix-Game 2.0 only.
        chain: Start a new call at each new sentence (`request.prompts`), with that sentence alone.
        load: Further arguments of `from_pretrained`.
        call: Further arguments of every call, such as {"guidance_scale": 5}.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        model: str,
        like: str = "",
        frames: int = 0,
        size: str = "",
        steps: int = 0,
        scale: float = 1.0,
        turn_deg: float = 0.0,
        mouse: float = 0.0,
        segment: int = 8,
        stream: bool = False,
        prompt: str = "",
        chain: bool = False,
        gpus: int = 1,
        load: Mapping[str, Any] | None = None,
        call: Mapping[str, Any] | None = None,
    ) -> None:
        self._known = known = _known(like or model)
        if chain and known.takes != "text":
            raise ValueError("fastvideo: chain is for models that words drive; this one is told every frame")
        if stream and (known.takes != "keys" or known.caption):
            raise ValueError("fastvideo: stream is for Matrix-Game 2.0; FastVideo streams no other model with keys")
        if scale <= 0 or turn_deg < 0 or mouse < 0 or segment < 1:
            raise ValueError("fastvideo: scale and segment are above 0, turn_deg and mouse not below")
        self._size = _size(size) or known.size
        self._rule = _rule(known.lengths, frames)
        self._longest = (last_length(self._rule, UNLIMITED) or 0) if next_length(self._rule, UNLIMITED) is None else 0
        self._scale, self._segment, self._prompt = scale, segment, prompt
        self._stream, self._chain = stream, chain
        self._turn_deg, self._mouse = turn_deg or known.turn_deg, mouse or known.mouse
        self._call = {**known.call, **({"num_inference_steps": steps} if steps else {}), **dict(call or {})}
        self._torch = _need("torch")
        entry = _need("fastvideo.entrypoints.streaming_generator").StreamingVideoGenerator if stream else None
        entry = entry or _need("fastvideo").VideoGenerator
        self._generator = entry.from_pretrained(model, num_gpus=gpus, **{**known.loading, **dict(load or {})})
        unit = {
            "keys": {"turn_deg": self._turn_deg, "mouse": self._mouse},
            "segments": {"segment": segment, "scale": scale},
            "text": {},
        }
        self.spec = ModelSpec(
            Path(model).name,
            control=CONTROLS.get(known.takes, "camera"),
            frame_size=self._size,
            fps=known.fps,
            max_context=1,
            chunk=(self._longest or next_length(self._rule, 2) or 1) - 1,
            # Where one call is too short another goes on from its last frame, and the last one is padded once more.
            lengths=f"{self._rule[0] - 1}n+1" if isinstance(self._rule, tuple) else self._rule.partition(" to ")[0],
            inputs=("caption",) if known.caption else (),
            settings={
                **({"weights": digest(Path(model))} if os.path.isdir(model) else {}),
                **{"model": model, "takes": known.takes, "frames": self._longest, "prompt": prompt},
                **unit.get(known.takes, {"scale": scale}),
                **({"stream": True} if stream else {}),
                **({"chain": True} if chain else {}),
                **{"call": json.loads(json.dumps(self._call)), "load": json.loads(json.dumps(dict(load or {})))},
            },
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield `horizon` frames, call by call, or block by block of a stream."""
        if self._chain and not request.prompts:
            raise NotApplicable("chain: this question has no sentences of single frames")
        cuts = tuple(prompt.frame for prompt in request.prompts or ()) if self._chain else ()
        yield from continued(request, self._rule, self._streamed if self._stream else self._drawn, cuts)

    def _drawn(self, part: Request) -> NDArray[np.uint8]:
        with tempfile.TemporaryDirectory() as folder:
            path = self._picture(part, folder)
            # LTX takes its pictures by another name: (path, frame, strength).
            ltx = "ltx" in self.spec.name.lower()
            image = {"ltx2_images": [(path, 0, 1.0)], "ltx2_image_crf": 0.0} if ltx else {"image_path": path}
            made = self._generator.generate_video(
                prompt=self._words(part),
                num_frames=part.horizon + 1,
                width=self._size[0],
                height=self._size[1],
                fps=round(self._known.fps),
                seed=part.seed,
                save_video=False,
                return_frames=True,
                output_path=folder,
                **{**image, **self._conditions(part, folder), **self._call},
            )
        return self._checked(made["frames"] if isinstance(made, Mapping) else made, part.horizon + 1)[1:]

    def _streamed(self, part: Request) -> Iterator[NDArray[np.uint8]]:
        """Blocks of 9 and then 12 frames; what is drawn stays in the model's memory between them."""
        count, keys = part.horizon + 1, self._keys(part)
        blank = {name: array * 0 for name, array in keys.items()}
        width, height = self._size
        with tempfile.TemporaryDirectory() as folder:
            self._generator.reset(
                prompt=self._words(part),
                image_path=self._picture(part, folder),
                num_frames=count,
                height=height,
                width=width,
                seed=part.seed,
                **{**self._tensors(blank), "grid_sizes": self._grid(count), **self._call},
            )
        for at in (0, *range(9, count, 12)):
            block = 12 if at else 9
            frames, _ = self._generator.step(
                **self._tensors({name: array[:, at : at + block] for name, array in keys.items()})
            )
            made = self._checked(frames, block)
            yield made if at else made[1:]

    def _picture(self, part: Request, folder: str) -> str:
        path = os.path.join(folder, "start.png")
        _need("PIL.Image").fromarray(np.ascontiguousarray(part.context.clip[-1])).save(path)
        return path

    def _words(self, request: Request) -> str:
        text = request.text if self._known.takes == "text" else None
        text = request.prompts[0].text if self._chain and request.prompts else text
        words = (self._prompt, request.caption if self._known.caption else None, text)
        return " ".join(each.strip() for each in words if each)

    def _conditions(self, part: Request, folder: str) -> dict[str, Any]:
        """Arguments of a call for the start image and the frames of `part`."""
        count = part.horizon + 1
        takes = self._known.takes
        if takes == "text":
            return {}
        if takes == "keys":
            grid = {} if self._known.caption else {"grid_sizes": self._grid(count)}
            return {**self._tensors(self._keys(part)), **grid}
        if takes == "segments":
            actions, speeds = segments(motions(part.actions), count, self._segment, self._scale)
            return {"action_list": actions, "action_speed_list": speeds}
        path = camera_control(part, scale=self._scale).poses
        if takes == "pose-file":
            return {"pose": _pose_file(path, part.context.camera, folder)}
        if takes == "trajectory":
            return straight(path)
        if takes == "rays":
            return {"camera_states": self._rays(path, part.context.camera)}
        _camera_folder(path, part.context.camera, folder)
        if takes == "camera-folder":
            return {"action_path": folder}
        prepare = _need("fastvideo.models.dits.lingbotworld.cam_utils").prepare_camera_embedding
        embedding, taken = prepare(
            action_path=folder, num_frames=count, height=self._size[1], width=self._size[0], spatial_scale=8
        )
        if taken != count:
            raise ValueError(f"fastvideo: gave {count} poses, and its embedding holds {taken}")
        return {"c2ws_plucker_emb": embedding}

    def _keys(self, part: Request) -> dict[str, NDArray[np.float32]]:
        """Keyboard (1, n + 1, K) and mouse (1, n + 1, 2); row t drives frame t to frame t + 1, the last row nothing."""
        names = [WALKS[key] for key in self._known.keys]
        keyboard = key_rows(part.actions, names, least_m=LEAST_M)
        lost = key_rows(part.actions, [key for key in WALKS.values() if key not in names], least_m=LEAST_M)
        if lost.any():
            note(f"fastvideo: no key for the move of {lost.any(axis=1).sum()} frames; left out")
        mouse = mouse_deltas(part.actions, self._turn_deg, ("up", "right"))
        beyond = int((np.abs(mouse) > self._mouse * (1 + 1e-6)).any(axis=1).sum()) if self._mouse else 0
        if beyond:
            most = f"{self._mouse * self._turn_deg:g} degrees a frame"
            note(f"fastvideo: {beyond} turns pass {most}; clipped")
            mouse = mouse.clip(-self._mouse, self._mouse)
        rows = {"keyboard_cond": keyboard, "mouse_cond": mouse}
        return {name: np.pad(each, ((0, 1), (0, 0))).astype(np.float32)[None] for name, each in rows.items()}

    def _tensors(self, arrays: Mapping[str, NDArray[np.float32]]) -> dict[str, Any]:
        return {name: self._torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}

    def _grid(self, count: int) -> Any:
        width, height = self._size
        return self._torch.from_numpy(np.array([(count - 1) // LATENT + 1, height // 8, width // 8], np.int64))

    def _rays(self, path: NDArray[np.float64], camera: Any) -> Any:
        """(1, T, 6, height, width) bfloat16: moment and direction of the ray through each pixel."""
        path = path.copy()
        path[:, :3, 3] *= GAMECRAFT_SCALE
        rays = pluecker_rays(path, intrinsics_of(camera), self._size).transpose(0, 3, 1, 2)[None]
        return self._torch.from_numpy(np.ascontiguousarray(rays, np.float32)).to(self._torch.bfloat16)

    def _checked(self, frames: Any, count: int) -> NDArray[np.uint8]:
        width, height = self._size
        made = np.stack([np.asarray(frame) for frame in frames]) if len(frames) else np.zeros((0, 0, 0, 3), np.uint8)
        if made.shape != (count, height, width, 3) or made.dtype != np.uint8:
            got = f"{len(made)} frames of {made.shape[2]}x{made.shape[1]} ({made.dtype})"
            raise ValueError(
                f"fastvideo: asked {self.spec.name} for {count} frames of {width}x{height}, it drew {got}; give "
                "frames and size that it can draw"
            )
        return made


def segments(moves: NDArray[np.float64], count: int, length: int, scale: float) -> tuple[list[str], list[float]]:
    """Actions and speeds of DreamX for a call of `count` frames, from moves (T, 5) of `motions`. A segment has keys and
    one speed, also of its turns (ten degrees per unit): if it does both, the turn is exact. Segments have about
    `length` frames, and divide the call evenly."""
    number = max(1, round(count / length))
    duration = -(-count // number)
    actions, speeds = [], []
    for start in range(0, number * duration, duration):
        total = moves[start : start + duration].sum(axis=0)
        walk, turn = total[:2] * scale, np.degrees(total[3:])
        walked, turned = np.abs(walk).max(), np.abs(turn).max() / DREAMX_TURN_DEG
        names = [(("s", "w"), walk[0]), (("d", "a"), walk[1]), (("l", "j"), turn[0]), (("k", "i"), turn[1])]
        sizes = [abs(walk[0]), abs(walk[1]), *(np.abs(turn) / DREAMX_TURN_DEG)]
        most = [walked, walked, turned, turned]
        # Of two directions the smaller one counts from half of the larger on.
        held = [pair[int(by > 0)] for (pair, by), one, of in zip(names, sizes, most) if one > 1e-3 and one >= of / 2]
        actions.append("".join(held) or "w")
        speeds.append(round(float((turned if turned > 1e-3 else walked) if held else 0.0), 6))
    return actions, speeds


def straight(path: NDArray[np.float64]) -> dict[str, Any]:
    """The straight move of GEN3C for a relative path; NotApplicable if it turns or has several directions."""
    turned = np.degrees(np.arccos(np.clip((np.trace(path[:, :3, :3], axis1=1, axis2=2) - 1) / 2, -1, 1))).max()
    way = path[-1, :3, 3]
    axis = int(np.abs(way).argmax())
    aside = np.delete(way, axis)
    if turned > STRAIGHT_DEG or np.linalg.norm(aside) > 0.2 * max(abs(way[axis]), 1e-9):
        raise NotApplicable("FastVideo moves GEN3C along one axis without turning, and this path does not")
    names = (("left", "right"), ("up", "down"), ("zoom_out", "zoom_in"))[axis]
    distance = abs(float(way[axis])) * len(path) / (len(path) - 1)  # it gets that far one frame after the last
    moves = distance > 1e-6
    return {
        "trajectory_type": names[int(way[axis] > 0)] if moves else "none",
        "movement_distance": distance if moves else 0.3,
        "camera_rotation": "no_rotation",
    }


def _pose_file(path: NDArray[np.float64], camera: Any, folder: str) -> str:
    """A file of one pose for each latent frame, camera-to-world, with its intrinsics in pixels."""
    fx, fy, cx, cy = intrinsics_of(camera).tolist()
    inner = [[fx, 0, cx], [0, fy, cy], [0, 0, 1]]
    poses = {str(k): {"extrinsic": pose.tolist(), "K": inner} for k, pose in enumerate(path[::LATENT])}
    file = Path(folder) / "pose.json"
    file.write_text(json.dumps(poses))
    return str(file)


def _camera_folder(path: NDArray[np.float64], camera: Any, folder: str) -> None:
    """Two files of LingBot: poses, and intrinsics for 832x480."""
    inner = intrinsics_of(camera, (832, 480)).astype(np.float32)
    np.save(os.path.join(folder, "poses.npy"), path.astype(np.float32))
    np.save(os.path.join(folder, "intrinsics.npy"), np.tile(inner, (len(path), 1)))


def _known(model: str) -> Known:
    for name, known in MODELS.items():
        if name.lower() in model.lower():
            return known
    raise ValueError(
        f"fastvideo: how '{model}' is driven is not known; known are {', '.join(MODELS)}. For weights of another name "
        "give like=NAME"
    )


def _rule(known: str | tuple[int], frames: int) -> str | tuple[int]:
    """Frames of one call, the longest of them `frames` where that is not 0."""
    if not frames:
        return known
    if frames < 2 or next_length(known, frames) != frames:
        what = known if isinstance(known, str) else known[0]
        raise ValueError(f"fastvideo: frames is {frames}; a call makes {what} frames, n from 0")
    return known if isinstance(known, tuple) else f"{known.partition(' to ')[0]} to {frames}"


def _size(given: str) -> tuple[int, int] | None:
    if not given:
        return None
    width, _, height = given.partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) and int(height)):
        raise ValueError(f"fastvideo: size is {given!r}; give WIDTHxHEIGHT, such as 832x480")
    if int(width) % 16 or int(height) % 16:
        raise ValueError(f"fastvideo: size is {given!r}; both sides must be divisible by 16")
    return int(width), int(height)


def _need(name: str) -> Any:
    """Import a package past this file's folder, where this very file is called like the package."""
    here, path = os.path.dirname(os.path.abspath(__file__)), list(sys.path)
    sys.path[:] = [folder for folder in path if os.path.abspath(folder or ".") != here]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"fastvideo cannot import '{name}' ({error}); in its environment: uv pip install fastvideo"
        ) from error
    finally:
        sys.path[:] = path
