"""A push and a pull whose process is killed at once, in the middle of a file, and started again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fsspec", reason="extra remote")

from suites.targetbench.target_data import make_target_data, make_wm_videos
from support.commands import command
from support.hub_server import REPOSITORY, TOKEN, Hub, hub_server
from tools.test_transfer import contents
from worldgauge.core.errors import DataError
from worldgauge.core.io import digest_of

pytestmark = pytest.mark.process

# It kills itself soon after the file number `at` was begun, and at the next one at the latest.
CHILD = """
import os, signal, sys, threading
from pathlib import Path
from worldgauge.tools import transfer_remote
from worldgauge.tools.transfer import pull, push

what, folder, address, at, seconds = sys.argv[1:]
transfer_remote.TOGETHER = 3

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def progress(name, done, total):
    if done == int(at):
        threading.Timer(float(seconds), die).start()
    elif done > int(at):
        die()

moved = push(Path(folder), address, progress) if what == "push" else pull(address, Path(folder), progress)
print(moved.sent)
"""
VIDEOS = 8
NEVER = 99


@pytest.fixture
def data(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    (root / "walks").mkdir(parents=True)
    for number in range(VIDEOS):
        (root / "walks" / f"{number}.json").write_text(f"[{number}]")
        (root / "walks" / f"{number}.mp4").write_bytes(random.Random(number).randbytes(6 << 20))
    (root / "README.md").write_text("# card")
    return root


@pytest.fixture
def hub() -> Iterator[Hub]:
    pytest.importorskip("huggingface_hub.hf_file_system", reason="huggingface_hub is not installed")
    with hub_server() as running:
        yield running


@pytest.fixture(params=["folder", "s3", "hub"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """An address, and the environment in which a process reaches it."""
    if request.param == "folder":
        return str(tmp_path / "place"), {}
    if request.param == "hub":
        return f"hf://datasets/{REPOSITORY}", surroundings(request.getfixturevalue("hub"), tmp_path)
    url = request.getfixturevalue("s3")
    import s3fs

    bucket = f"bucket-{digest_of(str(tmp_path))[:12]}"
    s3fs.S3FileSystem(endpoint_url=url, key="k", secret="s").mkdir(bucket)
    return f"s3://{bucket}/toy", {
        "FSSPEC_S3_ENDPOINT_URL": url,
        "FSSPEC_S3_KEY": "k",
        "FSSPEC_S3_SECRET": "s",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def surroundings(hub: Hub, tmp_path: Path, token: str = TOKEN) -> dict[str, str]:
    """Where huggingface_hub is told to find the Hub; without Xet, whose store the server does not speak."""
    return {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": token,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }


def start(
    what: str, folder: Path, place: tuple[str, dict[str, str]], at: int = NEVER, seconds: float = 0.0
) -> subprocess.CompletedProcess[str]:
    address, more = place
    command = [sys.executable, "-c", CHILD, what, str(folder), address, str(at), str(seconds)]
    return subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("at", "seconds"), [(0, 0.0), (1, 0.004), (4, 0.002)])
def test_a_killed_push_goes_on_and_sends_nothing_twice(
    data: Path, place: tuple[str, dict[str, str]], tmp_path: Path, at: int, seconds: float
) -> None:
    killed = start("push", data, place, at, seconds)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    early = start("pull", tmp_path / "early", place)
    assert early.returncode != 0  # no index yet: nobody takes a part for the whole
    assert "index.json: not there" in early.stderr
    again = start("push", data, place)
    assert again.returncode == 0, again.stderr
    # What was sent before the file at which it died is not sent again; of the Hub's, what was in finished commits.
    in_batch = 3 if place[0].startswith("hf:") else 1
    whole = 1 + (at - 1) // in_batch * in_batch if at else 0
    assert 1 + VIDEOS - whole - in_batch <= int(again.stdout) <= 1 + VIDEOS - whole
    back = start("pull", tmp_path / "back", place)
    assert back.returncode == 0, back.stderr
    assert contents(tmp_path / "back") == contents(data)
    assert int(start("push", data, place).stdout) == 0


@pytest.mark.parametrize(("at", "seconds"), [(0, 0.0), (1, 0.004), (4, 0.001)])
def test_a_killed_pull_goes_on_and_brings_nothing_twice(
    data: Path, place: tuple[str, dict[str, str]], tmp_path: Path, at: int, seconds: float
) -> None:
    assert start("push", data, place).returncode == 0
    back = tmp_path / "back"
    killed = start("pull", back, place, at, seconds)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    had = contents(back) if back.exists() else {}
    assert had.items() <= contents(data).items()  # a file has its name only once it is whole
    again = start("pull", back, place)
    assert again.returncode == 0, again.stderr
    assert 1 + VIDEOS - at - 1 <= int(again.stdout) <= 1 + VIDEOS - at
    assert contents(back) == contents(data)
    assert not (back / ".pull").exists()
    assert int(start("pull", back, place).stdout) == 0


def test_the_hub_gets_every_object_once_and_many_in_a_commit(data: Path, hub: Hub, tmp_path: Path) -> None:
    place = f"hf://datasets/{REPOSITORY}", surroundings(hub, tmp_path)
    for at, seconds in ((0, 0.05), (1, 0.05), (4, 0.05)):
        assert start("push", data, place, at, seconds).returncode == -signal.SIGKILL
    assert start("push", data, place).returncode == 0
    assert set(hub.arrivals.values()) == {1}
    assert len(hub.arrivals) == 1 + VIDEOS
    assert hub.commits[-1] == ["index.json"]
    assert max(map(len, hub.commits)) == 3
    assert start("pull", tmp_path / "back", place).returncode == 0
    assert contents(tmp_path / "back") == contents(data)


@pytest.mark.parametrize(
    ("repository", "token", "words"),
    [
        (REPOSITORY, "hf_of_another", "not allowed to write; log in"),
        ("our-lab/none", TOKEN, "the Hub shows no such repository; make it there first"),
    ],
)
def test_a_refusing_hub_is_one_line(
    data: Path, hub: Hub, tmp_path: Path, repository: str, token: str, words: str
) -> None:
    refused = start("push", data, (f"hf://datasets/{repository}", surroundings(hub, tmp_path, token)))
    assert refused.returncode != 0
    assert refused.stderr.strip().splitlines()[-1].startswith(f"{DataError.__module__}.{DataError.__name__}: hf://")
    assert words in refused.stderr
    assert not hub.files


def test_published_videos_come_from_the_hub_and_are_scored(hub: Hub, tmp_path: Path) -> None:
    """Data and videos in the layout of Target-Bench's release, interrupted and then damaged."""
    data = make_target_data(tmp_path / "made", n=2) / "dataset" / "Benchmark"
    videos = make_wm_videos(tmp_path / "made" / "wm_videos", data, models=("gt_video", "still"))
    address = f"hf://datasets/{REPOSITORY}"
    place = address, surroundings(hub, tmp_path)
    for folder in (data, videos):
        (folder / "README.md").write_text("# card")
        hub.files = contents(folder) | {".gitattributes": b"*.mp4 filter=lfs"}
        back = tmp_path / folder.name
        assert start("pull", back, place, at=1).returncode == -signal.SIGKILL
        again = start("pull", back, place)
        assert again.returncode == 0, again.stderr
        assert len(contents(folder)) - 2 <= int(again.stdout) < len(contents(folder))
        assert contents(back) == contents(folder)
        known = {name: digest_of(content) for name, content in contents(folder).items()}
        assert json.loads((back / ".pulled.json").read_text()) == {"address": address, "files": known}
        wrong = {min(known), next(name for name in known if name.endswith(".mp4"))}  # a digest of Git, one of LFS
        for name in wrong:
            (back / name).write_bytes(bytes(len(hub.files[name])))
        assert int(start("pull", back, place).stdout) == len(wrong)
        assert contents(back) == contents(folder)
    words = ["--videos", "wm_videos", "--set", "decoder=klt-vo", "--no-baselines", "--json"]
    done = command(tmp_path, "score", "targetbench", "--data", "Benchmark", *words)
    scored = {name: run["counts"]["scored"] for name, run in json.loads(done.stdout)["runs"].items()}
    assert scored == {"gt_video": 2, "still": 2}, done.stderr


def test_a_hub_that_sends_other_bytes_than_it_lists_is_refused(hub: Hub, tmp_path: Path) -> None:
    place = f"hf://datasets/{REPOSITORY}", surroundings(hub, tmp_path)
    for name in ("model/a.mp4", "a.csv"):
        hub.files, hub.sent = {name: b"as listed"}, {name: b"otherwise"}
        refused = start("pull", tmp_path / "back", place)
        assert f"{name}: not what its place lists; start the same command again" in refused.stderr
        assert not contents(tmp_path / "back")
