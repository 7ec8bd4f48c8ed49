"""The stand-ins of the repositories refuse what the repositories refuse: wrong shapes, types and numbers of frames.

Each adapter asks its stand-in once. That very call passes again, and fails with any one thing changed.
"""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from adapters.fastvideo import FastVideo
from adapters.lingbot import LingBot
from adapters.matrix_game2 import MatrixGame2
from adapters.openpi import OpenPi
from adapters.realtime import Realtime, pack_array, unpack_array
from adapters.worldmem import WorldMem
from adapters.worldplay import WorldPlay
from websockets.sync.client import connect

from adapters import lingbot, sana_wm, worldplay, yume
from support import model_kinds
from support.policy_server import policy_server
from support.realtime_server import realtime_server
from support.upstream import ROOT, isolated, question, standing_in, walk_rows
from worldgauge.core.geometry import Camera
from worldgauge.core.model import checked_rollout
from worldgauge_serve import Scene

REFUSALS = (AssertionError, ValueError, TypeError, RuntimeError, KeyError)


@dataclass
class Call:
    """What an adapter called with which arguments."""

    function: Any
    args: list[Any]
    kwargs: dict[str, Any]

    def again(self) -> Any:
        return self.function(*self.args, **self.kwargs)

    def changed(self, change: Callable[[list[Any], dict[str, Any]], None], folder: Path) -> "Call":
        """The same call with one thing changed; the files that it names are its own."""
        args, kwargs = list(self.args), {key: copied(value, folder) for key, value in self.kwargs.items()}
        change(args, kwargs)
        return Call(self.function, args, kwargs)


def copied(value: Any, folder: Path) -> Any:
    """A path in a copy of its folder; another value as it is."""
    path = Path(value) if isinstance(value, str) and value.startswith("/") else None
    if path is None or not path.exists():
        return value
    there = shutil.copytree(path if path.is_dir() else path.parent, folder, dirs_exist_ok=True)
    return str(there if path.is_dir() else there / path.name)


@contextmanager
def caught(owner: Any, name: str, kept: Path) -> Iterator[list[Call]]:
    """Calls of a function, which keep the files they name."""
    inner, calls = getattr(owner, name), []

    def listening(*args: Any, **kwargs: Any) -> Any:
        asked = {key: copied(value, kept / f"call{len(calls)}") for key, value in kwargs.items()}
        calls.append(Call(inner, list(args), asked))
        return inner(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, listening)
        yield calls


def ask(model: Any, horizon: int, seen: int = 1) -> None:
    """One question of as many frames as the model makes at once."""
    asked = replace(
        question(walk_rows(seen - 1 + horizon), seen=seen, spec=model.spec), caption="A street.", text="Walk."
    )
    if "poses" in model.spec.inputs:
        asked = replace(asked, poses=np.repeat(asked.context.poses[-1:], horizon, axis=0))
    list(checked_rollout(model, asked))


def fast_video(name: str, size: str = "64x32") -> Callable[[Path], Iterator[Call]]:
    def asked(folder: Path) -> Iterator[Call]:
        with standing_in("fastvideo"):
            model = FastVideo(f"FastVideo/{name}-Diffusers", size=size)
            with caught(model._generator, "generate_video", folder) as calls:
                ask(model, 20)
            yield calls[0]

    return asked


def sana(folder: Path) -> Iterator[Call]:
    with isolated(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sana_wm, "WIDTH", sana_wm.WIDTH)  # the kind makes it small, and this makes it large again
        patch.setattr(sana_wm, "HEIGHT", sana_wm.HEIGHT)
        model = model_kinds.camera_at_16()
        with caught(model._backend._pipeline, "generate", folder) as calls:
            ask(model, 8)
        yield calls[0]


def ling_bot(folder: Path) -> Iterator[Call]:
    (folder / "configuration.json").write_text("{}")
    with isolated(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(lingbot, "WIDTH", 256)
        patch.setattr(lingbot, "HEIGHT", 144)
        model = LingBot(str(folder), root=str(ROOT / "lingbot"), steps=2)
        with caught(model._backend._model, "generate", folder) as calls:
            ask(model, 8)
        yield calls[0]


def world_play(folder: Path) -> Iterator[Call]:
    (folder / "base" / "transformer" / "480p_i2v").mkdir(parents=True)
    (folder / "ar.safetensors").write_bytes(b"w")
    with standing_in(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(worldplay, "WIDTH", 208)
        patch.setattr(worldplay, "HEIGHT", 120)
        model = WorldPlay(str(folder / "base"), str(folder / "ar.safetensors"), root=str(ROOT / "worldplay"))
        with caught(type(model._backend._pipeline), "__call__", folder) as calls:
            ask(model, 12)
        yield calls[0]


def matrix_game(folder: Path) -> Iterator[Call]:
    (folder / "base_distilled_model").mkdir()
    header = b'{"net": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
    net = folder / "base_distilled_model" / "base_distill.safetensors"
    net.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with standing_in("matrix_game2"):
        import torch

        if hasattr(torch, "save"):
            states = {name: torch.zeros(1) for name in ("decoder.a", "conv2.a", "encoder.a")}
            torch.save(states, folder / "Wan2.1_VAE.pth")
        else:
            (folder / "Wan2.1_VAE.pth").write_bytes(b"1")
        model = MatrixGame2(str(ROOT / "matrix_game2"), str(folder), device="cpu")
        with caught(model._upstream._pipeline, "inference", folder) as calls:
            ask(model, 8)
        yield calls[0]


def yume_words(folder: Path) -> Iterator[Call]:
    yield from yume_part(folder, "_yume", "generate")


def yume_network(folder: Path) -> Iterator[Call]:
    yield from yume_part(folder, "_network", "__call__")


def yume_part(folder: Path, part: str, name: str) -> Iterator[Call]:
    with isolated(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(yume, "SIZES", yume.SIZES)
        model = model_kinds.sentences()
        owner = getattr(model._upstream, part)
        with caught(type(owner) if name == "__call__" else owner, name, folder) as calls:
            ask(model, 8)
        yield calls[0]


def world_mem(folder: Path) -> Iterator[Call]:
    torch = pytest.importorskip("torch", reason="the repository's networks are torch")
    paths = [str(folder / name) for name in ("diffusion_only.ckpt", "vae_only.ckpt")]
    for path in paths:
        torch.save({"state_dict": {"gain": torch.ones(())}}, path)
    with isolated():
        model = WorldMem(*paths, root=str(ROOT / "worldmem"), steps=2, device="cpu")
        with caught(model._backend._model, "validation_step", folder) as calls:
            ask(model, 2, seen=3)
        upstream = model._backend._model

        def step(*args: Any) -> None:
            with torch.no_grad():
                upstream.validation_step(*args)

        yield replace(calls[0], function=step)


def like(tensor: Any, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """An array or a tensor of zeros of another shape or type."""
    if isinstance(tensor, np.ndarray):
        return np.zeros(shape or tensor.shape, dtype or tensor.dtype)
    kind = str(dtype or tensor.dtype).rpartition(".")[2]
    made = np.zeros(shape or tuple(tensor.shape), np.float32 if kind == "bfloat16" else kind)
    torch = sys.modules["torch"]
    return torch.from_numpy(made).to(torch.bfloat16) if kind == "bfloat16" else torch.from_numpy(made)


def of(name: str, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """Another array under this name."""

    def change(args: list[Any], kwargs: dict[str, Any]) -> None:
        kwargs[name] = like(kwargs[name], shape, dtype)

    return change


def at(place: int, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """Another array at this place."""

    def change(args: list[Any], kwargs: dict[str, Any]) -> None:
        args[place] = like(args[place], shape, dtype)

    return change


def given(name: str, value: Any) -> Any:
    """Another value under this name."""

    def change(args: list[Any], kwargs: dict[str, Any]) -> None:
        kwargs[name] = value

    return change


def inside(name: str, inner: str, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """Another tensor in a mapping."""

    def change(args: list[Any], kwargs: dict[str, Any]) -> None:
        kwargs[name] = {**kwargs[name], inner: like(kwargs[name][inner], shape, dtype)}

    return change


def poses_of(folder_in: str, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Another file of poses."""

    def change(args: list[Any], kwargs: dict[str, Any]) -> None:
        np.save(Path(kwargs[folder_in]) / "poses.npy", np.zeros(shape, dtype))

    return change


def fewer_frames(args: list[Any], kwargs: dict[str, Any]) -> None:
    """Of SANA-WM: parameters of another number of frames than poses."""
    args[4] = replace(args[4], num_frames=17)


def no_eights(args: list[Any], kwargs: dict[str, Any]) -> None:
    args[4] = replace(args[4], num_frames=8)
    args[2], args[3] = args[2][:8], args[3][:8]


def smaller_picture(args: list[Any], kwargs: dict[str, Any]) -> None:
    args[0] = args[0].resize((64, 32))


def batch_of(place: int, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """Of WorldMem: another tensor of the batch."""

    def change(args: list[Any], kwargs: dict[str, Any]) -> None:
        args[0] = list(args[0])
        args[0][place] = like(args[0][place], shape, dtype)

    return change


MG2, MG3 = "Matrix-Game-2.0-Base-Distilled", "Matrix-Game-3.0-Base-Distilled"
CALLS: dict[str, tuple[Callable[[Path], Iterator[Call]], dict[str, Any]]] = {
    "FastVideo, Matrix-Game 2": (
        fast_video(MG2),
        {
            "keys of another frame": of("keyboard_cond", (1, 20, 4)),
            "six keys": of("keyboard_cond", (1, 21, 6)),
            "keys as whole numbers": of("keyboard_cond", None, "int64"),
            "mouse of three columns": of("mouse_cond", (1, 21, 3)),
            "mouse without a batch": of("mouse_cond", (21, 2)),
            "mouse as half numbers": of("mouse_cond", None, "float16"),
            "frames that make no block": given("num_frames", 25),
            "another grid": of("grid_sizes", (2,)),
            "a field that it does not know": given("camera", 1),
            "no prompt": given("prompt", None),
            "rows of no 8 pixels": given("height", 36),
        },
    ),
    "FastVideo, Matrix-Game 3": (
        fast_video(MG3),
        {"four keys": of("keyboard_cond", (1, 57, 4)), "too few rows": of("mouse_cond", (1, 56, 2))},
    ),
    "FastVideo, WorldPlay": (
        fast_video("HY-WorldPlay-Bidirectional"),
        {"a latent frame more": given("num_frames", 45)},
    ),
    "FastVideo, LingBot": (
        fast_video("LingBot-World-Base-Cam"),
        {
            "another embedding": of("c2ws_plucker_emb", (1, 384, 5, 4, 8)),
            "frames that are no 4n + 1": given("num_frames", 23),
        },
    ),
    "FastVideo, LingBot 2": (
        fast_video("lingbot-world-v2"),
        {
            "a pose too few": poses_of("action_path", (28, 4, 4)),
            "poses of three rows": poses_of("action_path", (29, 3, 4)),
            "poses as double numbers": poses_of("action_path", (29, 4, 4), np.float64),
        },
    ),
    "FastVideo, GameCraft": (
        fast_video("HunyuanGameCraft"),
        {
            "rays as float32": of("camera_states", None, "float32"),
            "a frame too few": of("camera_states", (1, 32, 6, 32, 64)),
        },
    ),
    "FastVideo, DreamX": (
        fast_video("DreamX-World-5B-Cam"),
        {
            "a key that it has not": given("action_list", ["x"] * 20),
            "too few speeds": given("action_speed_list", [1.0]),
        },
    ),
    "FastVideo, Wan": (fast_video("Wan2.2-TI2V-5B"), {"frames that are no 4n + 1": given("num_frames", 120)}),
    "SANA-WM": (
        sana,
        {
            "another number of frames": fewer_frames,
            "frames that are no 8k + 1": no_eights,
            "poses of three rows": at(2, (9, 3, 4)),
            "poses as double numbers": at(2, None, "float64"),
            "intrinsics as matrices": at(3, (9, 3, 3)),
            "a picture of another size": smaller_picture,
        },
    ),
    "LingBot-World": (
        ling_bot,
        {
            "a pose too few": poses_of("action_path", (8, 4, 4)),
            "poses as double numbers": poses_of("action_path", (9, 4, 4), np.float64),
            "frames that are no 4n + 1": given("frame_num", 10),
        },
    ),
    "HY-WorldPlay": (
        world_play,
        {
            "a latent too few": of("viewmats", (1, 3, 4, 4)),
            "views as single numbers": of("viewmats", None, "float32"),
            "lenses as rows": of("Ks", (1, 4, 4)),
            "labels as numbers": of("action", None, "float32"),
            "half a chunk": given("video_length", 9),
        },
    ),
    "Matrix-Game 2.0": (
        matrix_game,
        {
            "half a block": of("noise", (1, 16, 4, 44, 80)),
            "noise as float32": of("noise", None, "float32"),
            "a row of keys too few": inside("conditional_dict", "keyboard_cond", (1, 8, 4)),
            "keys as float32": inside("conditional_dict", "keyboard_cond", None, "float32"),
            "two keys": inside("conditional_dict", "keyboard_cond", (1, 9, 2)),
            "another picture": inside("conditional_dict", "cond_concat", (1, 20, 3, 44, 40)),
        },
    ),
    "YUME, words": (
        yume_words,
        {
            "frames that are no 4n + 1": given("frame_num", 50),
            "another number of latents": given("latent_frame_zero", 8),
            "another area": given("max_area", 1),
            "latents of 16 colours": of("img", (16, 4, 6, 10)),
            "latents as float32": of("img", None, "float32"),
        },
    ),
    "YUME, network": (
        yume_network,
        {
            "times of one row": of("t", (1, 1)),
            "another number of latents": given("latent_frame_zero", 8),
            "latents as float32": lambda args, kwargs: args.__setitem__(1, [like(args[1][0], None, "float32")]),
        },
    ),
    "WorldMem": (
        world_mem,
        {
            "pictures of another size": batch_of(0, (1, 5, 3, 180, 320)),
            "pictures as double numbers": batch_of(0, None, "float64"),
            "24 actions": batch_of(1, (1, 5, 24)),
            "a pose too few": batch_of(2, (1, 4, 5)),
            "poses as matrices": batch_of(2, (1, 5, 4, 4)),
        },
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_wrong_is_refused(name: str, tmp_path: Path) -> None:
    asking, changes = CALLS[name]
    kept, asked = tmp_path / "kept", 0
    kept.mkdir()
    for call in asking(kept):
        asked += 1
        call.again()
        for number, (what, change) in enumerate(changes.items()):
            wrong = call.changed(change, tmp_path / f"changed{number}")  # a change that fails is no refusal
            try:
                wrong.again()
            except REFUSALS:
                continue
            pytest.fail(f"the stand-in of {name} took {what}")
        call.again()  # so what was refused was refused for its change
    assert asked == 1


def refused(url: str, message: bytes, hello: bool) -> str:
    """What a session says to a message."""
    with connect(url, compression=None) as session:
        if hello:
            session.recv()
        session.send(message)
        answer = session.recv()
    if isinstance(answer, str):
        return answer
    told = msgpack.unpackb(answer, object_hook=unpack_array, strict_map_key=False)
    return str(told.get("content") or told.get("message")) if told.get("type") == "error" else ""


SGLANG: dict[str, dict[str, Any]] = {
    "no picture": {"first_frame": None},
    "another size": {"size": "128x32"},
    "keys in one list": {"condition_inputs": {"camera_actions": ["w", "a"]}},
    "a key that it has not": {"condition_inputs": {"camera_actions": [["q"]]}},
    "no chunk": {"max_chunks": 0},
    "a seed in words": {"seed": "one"},
    "a field that it does not know": {"poses": []},
    "no first message": {"type": "event"},
}


def test_a_session_of_sglang_refuses_what_sglang_does() -> None:
    with realtime_server() as server:
        ask(Realtime(server.url, size="64x32"), 12)
        (asked,) = server.asked
        url = f"{server.url}/v1/realtime_video/generate"
        assert not refused(url, msgpack.packb(asked), hello=False)
        for what, change in SGLANG.items():
            assert "invalid generate request" in refused(url, msgpack.packb({**asked, **change}), hello=False), what


VLLM: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a pose too few": lambda asked: {"camera": {**asked["camera"], "poses": asked["camera"]["poses"][:-1]}},
    "poses as double numbers": lambda asked: {
        "camera": {**asked["camera"], "poses": asked["camera"]["poses"].astype(np.float64)}
    },
    "intrinsics as matrices": lambda asked: {
        "camera": {**asked["camera"], "intrinsics": np.zeros((13, 3, 3), np.float32)}
    },
    "another picture": lambda asked: {"image": asked["image"][:, :-8]},
    "frames that are no 4n + 1": lambda asked: {"extra_body": {**asked["extra_body"], "num_frames": 12}},
}


def test_a_session_of_vllm_omni_refuses_what_the_model_does() -> None:
    with realtime_server() as server:
        ask(Realtime(server.url, protocol="vllm-omni", size="64x32"), 12)
        (asked,) = server.asked
        url = f"{server.url}/v1/realtime/world/camera"
        assert not refused(url, msgpack.packb(asked, default=pack_array), hello=True)
        for what, change in VLLM.items():
            message = msgpack.packb({**asked, **change(asked)}, default=pack_array)
            assert refused(url, message, hello=True) == "Internal inference error", what


OPENPI: dict[str, Any] = {
    "observation/image": [np.zeros((3, 64, 64), np.uint8), np.zeros((224, 224, 3), np.float32)],
    "observation/wrist_image": [np.zeros((224, 224), np.uint8), None],
    "observation/state": [np.zeros(7), np.zeros((1, 8)), np.zeros(8, np.uint8)],
    "prompt": [None, b"pick it up"],
    "observation/joint_position": [np.zeros(7)],
}


def test_the_policy_server_refuses_other_observations() -> None:
    """A name that is missing or not known, another shape, another type: a traceback, as openpi's server sends."""
    camera = Camera.from_vertical_fov(64, 48, 60)
    front, hand = np.zeros((48, 64, 3), np.uint8), np.array([0.2, -0.1, 1.1, 1.0, 0, 0, 0, 1.0])
    depth = np.ones((48, 64), np.float32)
    scene = Scene("take the cup", front, depth, camera, np.eye(4), hand, np.zeros((0, 8)), 1, 4, 7, wrist=front)
    with policy_server(np.zeros((5, 7), np.float32)) as server:
        OpenPi(server.url).propose(scene)
        (asked,) = server.asked
        assert not refused(server.url, msgpack.packb(asked, default=pack_array), hello=True)
        for name, values in OPENPI.items():
            for value in values:
                message = msgpack.packb({**asked, name: value}, default=pack_array)
                assert "Traceback" in refused(server.url, message, hello=True), name
        del asked["prompt"]
        assert "Traceback" in refused(server.url, msgpack.packb(asked, default=pack_array), hello=True)
