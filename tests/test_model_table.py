"""The table of the docs says of every adapter which suites can ask it, as its spec declares."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from adapters.diamond import Diamond
from adapters.fastvideo import MODELS, FastVideo
from adapters.lingbot import LingBot
from adapters.matrix_game2 import MatrixGame2
from adapters.mineworld import MineWorld
from adapters.nwm import NWM
from adapters.oasis import Oasis
from adapters.realtime import Realtime
from adapters.sana_wm import SanaWM
from adapters.worldmem import WorldMem
from adapters.worldplay import WorldPlay
from adapters.yume import Yume

from adapters import fastvideo, image_to_video
from support.upstream import ROOT, standing_in
from worldgauge.core.actions import HAND_POSES, LOOP_WALK
from worldgauge.core.model import ModelSpec, knows
from worldgauge.models.calibration import motion_word
from worldgauge.serving.foreign import adopt
from worldgauge.suites.mind.actions import walk_look
from worldgauge.suites.targetbench.planners import ROBOT_WALK
from worldgauge.worlds.walking.primitives import NAV_STEPS

PAGE = Path(__file__).parents[1] / "docs" / "adapters.md"
START, END = "<!-- table: models and suites -->\n", "<!-- end of the table -->"
SUITES = ("loopnav", "mind", "targetbench", "walk", "arm")
RATES = {"loopnav": LOOP_WALK.fps, "mind": walk_look(1.0, 1.0).fps}
SPACES = {
    "loopnav": LOOP_WALK.name,
    "mind": walk_look(1.0, 1.0).name,
    "targetbench": ROBOT_WALK.name,
    "walk": NAV_STEPS.name,
    "arm": HAND_POSES.name,
}


def none(**spec: Any) -> Any:
    """In place of networks: nothing is asked of them here."""
    return SimpleNamespace(identity={}, **spec)


@pytest.fixture
def adapters(tmp_path: Path) -> Iterator[Mapping[str, list[Callable[[], Any]]]]:
    """By row of the table what makes its models, with the settings that their pages show."""
    (tmp_path / "diffusion_pytorch_model.safetensors").write_bytes(b"1")
    header = b'{"net": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
    (tmp_path / "base_distilled_model").mkdir()
    net = tmp_path / "base_distilled_model" / "base_distill.safetensors"
    net.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    where = {"weights": str(tmp_path)}
    with standing_in("fastvideo", "yume", "matrix_game2"):
        import torch

        if hasattr(torch, "save"):
            torch.save({name: torch.zeros(1) for name in ("decoder.a", "conv2.a", "encoder.a")}, tmp_path / VAE)
        else:
            (tmp_path / VAE).write_bytes(b"1")
        yield {
            "Oasis": [lambda: Oasis(backend=none())],
            "MineWorld": [lambda: MineWorld(backend=none(window=32))],
            "DIAMOND": [lambda: Diamond(backend=none())],
            "NWM": [lambda: NWM(backend=none())],
            "WorldMem": [lambda: WorldMem(backend=none())],
            "LingBot-World": [lambda: LingBot(backend=none())],
            "HY-WorldPlay": [lambda: WorldPlay(backend=none())],
            "SANA-WM": [lambda: SanaWM(backend=none())],
            "Matrix-Game 2.0": [lambda: MatrixGame2(str(ROOT / "matrix_game2"), device="cpu", **where)],
            "YUME 1.5": [lambda: Yume(str(ROOT / "yume"), **where)],
            "a session of SGLang": [lambda: Realtime("ws://127.0.0.1:1")],
            "a session of vLLM-Omni": [lambda: Realtime("ws://127.0.0.1:1", protocol="vllm-omni")],
            "a pipeline of diffusers": [lambda: image_to_video.ImageToVideo("p", backend=none())],
            "Cosmos 3, camera": [lambda: image_to_video.Cosmos3("p", backend=none())],
            "Cosmos 3, arm": [
                lambda: image_to_video.Cosmos3("p", domain="droid_lerobot", backend=none()),
                lambda: image_to_video.Cosmos3("p", domain="robomind-franka", backend=none()),
            ],
            **{row: [lambda key=key: FastVideo(key) for key in keys] for row, keys in FAMILIES.items()},  # type: ignore[misc]
        }


VAE = "Wan2.1_VAE.pth"
FAMILIES = {
    "Matrix-Game 2.0 (FastVideo)": ["Matrix-Game-2.0-Base", "Matrix-Game-2.0-GTA"],
    "Matrix-Game 3.0": ["Matrix-Game-3.0"],
    "HY-WorldPlay (FastVideo)": ["HY-WorldPlay"],
    "LingBot-World 1, 2 (FastVideo)": ["LingBot-World-Base-Cam", "lingbot-world-v2"],
    "Hunyuan-GameCraft": ["HunyuanGameCraft"],
    "DreamX-World": ["DreamX-World-5B-Cam"],
    "GEN3C": ["GEN3C-Cosmos"],
    "Wan 2.2 TI2V, LTX-2, Cosmos-Predict 2.5": ["Wan2.2-TI2V-5B", "LTX2", "LTX-2", "Cosmos-Predict2.5"],
    "Wan 2.1, 2.2 I2V": ["Wan2.1-I2V-14B-480P", "Wan2.1-I2V-14B-720P", "Wan2.2-I2V-A14B"],
}


def answer(spec: ModelSpec, suite: str) -> str:
    """The cell of a model and a suite: "no", or "yes" and a letter for each thing that is approximated."""
    acts = spec.control == "actions" or "actions" in spec.inputs
    if suite == "arm" and (spec.control == "camera" or (acts and spec.action_spaces is None)):
        return "no"  # a camera that stands still says nothing of an arm, and keys of a walker neither
    if spec.view != "perspective" or not knows(spec, SPACES[suite]):
        return "no"
    shown = suite in RATES  # a recording; the arm's camera shows what it has seen so far, without a rate
    letters = {
        "r": shown and spec.fps not in (None, RATES[suite]),
        "i": (shown or suite == "arm") and spec.max_context == 1,
        "p": spec.lengths is not None or (spec.chunk or 1) > 1,
        "c": spec.crop is not None,
        "w": spec.control == "text",
        "l": suite == "targetbench" and spec.control != "text",
        "u": spec.control != "text" and motion_word(spec.settings, spec.inputs) == "unknown",
    }
    told = "".join(letter for letter, holds in letters.items() if holds)
    return f"yes: {told}" if told else "yes"


def rows_of_page() -> dict[str, list[str]]:
    table = PAGE.read_text("utf-8").split(START)[1].split(END)[0].strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
    return {row[0]: row[2 : 2 + len(SUITES)] for row in cells}


def test_every_adapter_stands_in_the_table_as_it_declares(adapters: Mapping[str, list[Callable[[], Any]]]) -> None:
    found: dict[str, list[str]] = {}
    for row, made in adapters.items():
        cells = {tuple(answer(adopt(make()).spec, suite) for suite in SUITES) for make in made}
        assert len(cells) == 1, f"{row}: these models differ, and need rows of their own: {cells}"
        found[row] = list(cells.pop())
    told = rows_of_page()
    wrong = [f"| {row} | ... | {' | '.join(cells)} |" for row, cells in found.items() if told.get(row) != cells]
    assert not wrong, "docs/adapters.md should say:\n" + "\n".join(wrong)
    assert set(told) == set(found)


def test_no_adapter_is_left_out() -> None:
    named = {key for keys in FAMILIES.values() for key in keys}
    assert named == set(MODELS)
    folder = Path(fastvideo.__file__).parent
    rows = PAGE.read_text("utf-8").split(START)[1].split(END)[0]
    models = [file.stem for file in folder.glob("*.py") if "def rollout" in file.read_text("utf-8")]
    assert len(models) > 10
    missing = [name for name in models if f"`{name}`" not in rows]
    assert not missing
