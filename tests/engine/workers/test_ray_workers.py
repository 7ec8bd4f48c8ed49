"""Workers on a Ray cluster: the same bytes, the same deaths, the same clear errors. A real Ray is started here."""

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from engine.conftest import FOLDER
from engine.test_run import contents
from engine.workers.test_pool import gone, job
from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.model import Needs
from worldgauge.engine.collect import collect
from worldgauge.engine.run import run, score
from worldgauge.engine.workers import ray_workers
from worldgauge.engine.workers.pool import Pool
from worldgauge.engine.workers.ray_workers import Cluster, RayWorker, Relay
from worldgauge.engine.workers.site import open_site

pytestmark = pytest.mark.process

ray = pytest.importorskip("ray", reason='needs the extra "cluster"')

STEADY = "enginedoubles:Steady"


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """One node with two processors and two made-up GPUs, whose processes know the doubles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [FOLDER, os.environ.get("PYTHONPATH")])))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        ray.init("local", num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def test_a_run_on_a_cluster_leaves_the_same_bytes(data: Path, tmp_path: Path) -> None:
    folders = []
    for on in ("local", "ray"):
        out = tmp_path / on
        settings = {"video": True}
        assert (
            run("echo", model=STEADY, data=data, out=out, workers=2, on=on, settings=settings, scoring=False).ok is True
        )
        assert score(out, workers=2, on=on).counts.scored == 4
        folders.append(contents(out / "steady"))
        assert [path.name for path in out.iterdir()] == ["steady"]
    assert folders[0] == folders[1]
    assert len(folders[0]) == 4 * 3 + 1
    assert ray.is_initialized(), "a connection that was there before stays"


def test_a_task_is_done_again_when_its_actor_and_then_its_process_are_killed(data: Path, tmp_path: Path) -> None:
    found = []
    for on, times in (("local", 0), ("ray", 2)):
        (log := tmp_path / f"log-{on}").mkdir()
        model = f"enginedoubles:Fragile?log={log}&times={times}&how=actor"
        result = run("echo", model=model, data=data, out=tmp_path / on, on=on)
        assert result.ok
        (folder,) = result.directories.values()
        found.append({name: text.replace(folder.name.encode(), b"it") for name, text in contents(folder).items()})
    assert found[0] == found[1]
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert len(lines) == 4
    (lost,) = [line["lost"] for line in lines if "lost" in line]
    assert lost[0].startswith("the node or the Ray worker was lost: ")
    assert lost[1] == (
        "the worker process was killed by SIGKILL (out of memory?); its last words: alas "
        f"(node {platform.node()}); more in {tmp_path}/ray/logs/worker-0.log"
    )


@pytest.mark.slow
def test_a_job_that_hangs_is_killed_with_its_children(doubles: ModuleType, tmp_path: Path) -> None:
    note = tmp_path / "note"
    with open_site("ray", shared=[tmp_path]) as site, site.pool(1) as pool:
        results = [*pool.run([job("hung", "child and hang", 2.0, note=str(note)), job("next", "echo", x=1)])]
    assert [result.error for result in results] == ["timed out after 2 s without progress", None]
    assert all(gone(int(pid)) for pid in note.read_text().split())


@pytest.mark.slow
def test_a_collection_on_a_cluster_has_the_same_bytes(tmp_path: Path) -> None:
    few: Any = {"settlements": 1, "ranges": (5,), "types": ("ABA",), "per_combination": 1, "size": (48, 27)}
    roots = []
    for on in ("local", "ray"):
        collect("loopnav", tmp_path / on, **few, on=on)
        files = [path for path in (tmp_path / on).rglob("*") if path.is_file()]
        roots.append({str(path.relative_to(tmp_path / on)): path.read_bytes() for path in files})
    assert roots[0] == roots[1]
    assert len(roots[0]) == 3


def test_ray_says_who_sees_which_gpu(doubles: ModuleType, tmp_path: Path) -> None:
    meet = {"log": str(tmp_path), "number": 2, "variable": "CUDA_VISIBLE_DEVICES"}
    with open_site("ray") as site, site.pool(2, Needs(gpus=1)) as pool:
        seen = [result.value for result in pool.run([job("a", "meet", **meet), job("b", "meet", **meet)])]
    assert sorted(seen) == ["0", "1"]


@pytest.mark.slow
def test_workers_that_find_no_room_do_not_hold_up_the_others(doubles: ModuleType) -> None:
    with open_site("ray") as site, site.pool(4) as pool:
        assert len({result.value for result in pool.run(job(str(n), "pid") for n in range(20))}) <= 2


def test_what_no_node_has_is_refused_where_none_can_come(doubles: ModuleType) -> None:
    cluster = Cluster(ray, None, {}, [])
    with pytest.raises(UsageError, match="model 'x' needs 1 CPUs, 3 GPUs, 0 GB; no node of the cluster has that"):
        cluster.pool(1, Needs(gpus=3), "model 'x'")


def test_another_version_on_a_node_ends_the_run(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_workers, "__version__", "9.9")
    with pytest.raises(
        RunError, match=rf"node {platform.node()} has worldgauge [\d.]+, the driver 9.9; install the same"
    ):
        run("echo", model=STEADY, data=data, out=tmp_path, on="ray")


def test_an_error_of_our_own_on_a_node_ends_the_run_with_its_last_line(doubles: ModuleType) -> None:
    actor = ray.remote(Relay)
    with (
        Pool(1, lambda place, events: RayWorker(ray, actor.remote("no JSON"), events)) as pool,
        pytest.raises(
            RunError, match=r"a node of the cluster cannot run worldgauge [\d.]+: json.*JSONDecodeError: Expect"
        ),
    ):
        list(pool.run([job("a", "pid")]))


def test_a_node_that_does_not_see_the_folders_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_workers, "SEE_S", 0.0)
    (tmp_path / "mark").write_text("another text")

    def refusal(**facts: Any) -> str | None:
        common = {
            "version": ray_workers.__version__,
            "path": [],
            "directory": "/",
            "log": None,
            "marks": {},
            "data": [],
        }
        return Relay(json.dumps({**common, **facts})).begin()

    for mark in (tmp_path / "mark", tmp_path / "none"):
        expected = (
            f"node {platform.node()} does not see {tmp_path} as the driver does; the run folder must lie on a file"
        )
        assert (refusal(marks={str(mark): "text"}) or "").startswith(expected)
    assert f"does not see the data set {tmp_path}/data" in (refusal(data=[str(tmp_path), str(tmp_path / "data")]) or "")
