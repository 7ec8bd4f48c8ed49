"""Small closed-loop data: episodes in a real home in our layout, and the files of the release, which lack their scenes.

root = make_closedloop_data(tmp_path / "data");  root = make_published_data(tmp_path / "release")
"""

import gzip
import json
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from worldgauge.core.geometry import Panorama
from worldgauge.engine.collection import write_manifest
from worldgauge.suites.worldinworld.format.rows import as_stored
from worldgauge.suites.worldinworld.navigation.format import NavigationEpisode, write_navigation
from worldgauge.suites.worldinworld.questions.format import QuestionEpisode, write_questions
from worldgauge.suites.worldinworld.recognition.episodes import (
    DIFFICULTIES,
    HomeTargets,
    RecognitionStart,
    Wish,
    recognitions,
)
from worldgauge.suites.worldinworld.recognition.format import HIDDEN, RecognitionEpisode, write_recognition
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Stance

SCENE, SEED = "home-0003", 3
MP3D = "mp3d/17DRP5sb8fy/17DRP5sb8fy.glb"
HM3D = "hm3d/val/00800-TEEsavR23oF/TEEsavR23oF.basis.glb"
PANORAMA = Panorama(64, 36)


def make_closedloop_data(folder: Path, n: int = 3) -> Path:
    """Write n episodes of each kind in one home, goal images 64x36; returns `folder`. The same bytes every time."""
    recognition, navigation, questions = home_episodes(n)
    home = _home()
    images = {one.id: home.view(one.goal.eye(one.height_m), PANORAMA).rgb for one in navigation}
    write_recognition(folder, recognition)
    write_navigation(folder, navigation, images)
    write_questions(folder, questions)
    write_manifest(folder, "closedloop", {SCENE: home.facts}, {"seed": 0}, {"hfov_deg": 90})
    return folder


def home_episodes(n: int) -> tuple[list[RecognitionEpisode], list[NavigationEpisode], list[QuestionEpisode]]:
    """n episodes of each kind in `SCENE`, where there is room to stand; what they ask for is not looked for."""
    rng = np.random.default_rng(0)
    home = _home()
    things = [thing for thing in home.objects if thing.category == "chair"]
    here = [_stance(rng) for _ in range(4 * n)]
    recognition = [
        RecognitionEpisode(f"{k}", SCENE, k % 3, things[k % len(things)].instance, "chair", here[k]) for k in range(n)
    ]
    navigation = [
        NavigationEpisode(f"{k:04d}", SCENE, here[n + k], here[2 * n + k], step_to_goal=60 + k) for k in range(n)
    ]
    questions = [
        QuestionEpisode(
            f"q-{k}",
            SCENE,
            "What colour is the chair?",
            "brown",
            ("dark brown",) if k else (),
            "attribute recognition",
            here[3 * n + k],
            reference_m=5.0 + k,
            blind_answer="white",
            evidence=(things[0].instance,),
        )
        for k in range(n)
    ]
    return recognition, navigation, questions


def make_published_data(folder: Path, *, packed: bool = True) -> Path:
    """Write the files of the release as it lays them out, three rows each; returns `folder`. Nothing by our writer.

    packed: the JSON files are gzipped.
    """
    write_json(folder / "AR" / "episodes_AR.json", {"episodes": recognition_rows()}, packed)
    content = {"version": "1.0", "num_items": 3, "meta": {}, "data": navigation_rows()}
    write_json(folder / "IGNav" / "episodes_IGNav.json", content, packed)
    _, png = cv2.imencode(".png", np.full((36, 64, 3), 90, np.uint8))
    with zipfile.ZipFile(folder / "IGNav" / "igdataset_goal_imgs.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        for k in range(3):
            zipped.writestr(f"images/{k}.png", png.tobytes())
    write_json(folder / "AEQA" / "episodes_AEQA.json", question_rows(), packed)
    return folder


def recognition_rows() -> list[dict[str, Any]]:
    turned = [0.9238795, 0.0, 0.3826834, 0.0]
    return [
        {
            "episode_id": k,
            "scene_id": MP3D,
            "difficulty": k % 3,
            "target_id": 100 + k,
            "target_categrory": "chest_of_drawers",
            "start_position": [1.0, 0.072447, -2.0],
            "start_rotation": turned,
        }
        for k in range(3)
    ]


def navigation_rows() -> list[dict[str, Any]]:
    return [
        {
            "datum_id": k,
            "episode_id": k,
            "scene_relpath": HM3D,
            "goal_image_relpath": f"images/{k}.png",
            "start_position": [0.0, 0.1, 0.0],
            "start_rotation": [1.0, 0.0, 0.0, 0.0],
            "goal_position": [-1.0, 0.1, -3.0],
            "goal_rotation": [-0.9870320558547974, 0.0, 0.16052371263504028, 0.0],
            "goal_radius": 0.5,
            "step_to_goal": 21,
        }
        for k in range(3)
    ]


def question_rows() -> list[dict[str, Any]]:
    rows = [
        {
            "question": "Where is the kettle?",
            "answer": "On the stove",
            "category": "object localization",
            "question_id": f"a605c40f-96e7-4bec-a1cb-6d48e88e39c{k}",
            "episode_history": "00824-Dd4bFSTQ8gi",
            "scene_id": HM3D,
            "hfov": 105,
            "start_position": [6.9, 0.07, 1.5],
            "start_rotation": [0.3714148, 0.0, 0.9284671, 0.0],
        }
        for k in range(3)
    ]
    rows[0]["extra_answers"] = ["on top of the stove"]
    return rows


def write_json(path: Path, content: Any, packed: bool) -> Path:
    """The file at `path`, or at `path`.gz where it is packed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(content).encode()
    path = path.with_name(f"{path.name}.gz") if packed else path
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@lru_cache(maxsize=1)
def _home() -> Home:
    return Home(seed=SEED)


def _stance(rng: np.random.Generator) -> Stance:
    free = np.argwhere(_home().floor.clearance_m > 0.3)
    x, y = _home().floor.points_of(free[int(rng.integers(len(free)))])
    return as_stored(Stance(float(x), float(y), float(rng.uniform(-np.pi, np.pi))))


def spoilt(rows: Sequence[dict[str, Any]], number: int, **changes: Any) -> list[dict[str, Any]]:
    """The rows with some fields of one changed; a field of `...` is taken away."""
    changed = {key: value for key, value in {**rows[number], **changes}.items() if value is not ...}
    return [changed if k == number else row for k, row in enumerate(rows)]


def find_recognition(
    home: Home,
    geodesic: Geodesic,
    rng: np.random.Generator,
    n: int,
    *,
    wishes: Sequence[Wish] | None = None,
    design: int = HIDDEN,
) -> list[RecognitionStart]:
    """Return the first n of `recognitions` in a home; fewer if no more are found."""
    if wishes is None:
        order = rng.permutation(len(LABELS))
        wishes = [Wish(LABELS[order[k % len(order)]], k % DIFFICULTIES) for k in range(n)]
    return list(recognitions(HomeTargets(home, geodesic, design), rng, wishes[:n]))
