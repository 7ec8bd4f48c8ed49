"""Answers are reused only where nothing that they depend on has changed, and replaced answers are kept."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import worldgauge_serve
from support.commands import command
from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.user_modules import import_module
from worldgauge.engine.model_entries import resolve_model
from worldgauge.engine.model_run import execute_task
from worldgauge.engine.result import find_runs
from worldgauge.engine.run import RunRequest, dry_run, run, score
from worldgauge.engine.suite.settings import digests_of_served
from worldgauge.metrics import metrics
from worldgauge.serving import served_code
from worldgauge.tools.leaderboard import read_entries
from worldgauge.tools.viewer_runs import Library
from worldgauge_serve import digest

MODEL = """
import importlib
from pathlib import Path
import numpy as np
from worldgauge_serve import ModelSpec
{imports}

class Grey:
    def __init__(self, {settings}):
        self.level = {level}
        self.spec = ModelSpec("grey", settings={stated})

    def rollout(self, request):
        width, height = request.frame_size
        for _ in range(request.horizon):
            yield np.full((1, height, width, 3), self.level, np.uint8)
"""
READ = "int((Path(__file__).parent / {}).read_text())"
WAYS = ("file", "module", "cmd")


def write_model(folder: Path, *, level: str, imports: str = "", settings: str = "unused=0", stated: str = "{}") -> None:
    folder.mkdir(exist_ok=True)
    text = MODEL.format(level=level, imports=imports, settings=settings, stated=stated)
    (folder / "reuse_wm.py").write_text(text)


def named(way: str, query: str = "") -> str:
    target = {"file": "./reuse_wm.py:Grey", "module": "reuse_wm:Grey"}.get(way)
    return (target or f"cmd:{sys.executable} -m worldgauge_serve reuse_wm.py:Grey") + query


def write(path: Path, level: int) -> None:
    """Content of the same length, with the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{level}")
    os.utime(path, (1_700_000_000, 1_700_000_000))


def code(path: Path, level: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"LEVEL = {level}\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))


CASES: dict[str, tuple[dict[str, str], str, str, Callable[[Path, int], None]]] = {
    # what the model is, its query, the file that changes, and how it is written
    "a setting beside the model": (
        {"settings": "weights=''", "level": READ.format("weights")},
        "?weights=w.txt",
        "w.txt",
        write,
    ),
    "a setting in a list in a mapping": (
        {"settings": "options=None", "level": READ.format('options["parts"][0]')},
        '?options={"parts":["w.txt"]}',
        "w.txt",
        write,
    ),
    "a default": ({"settings": "weights='w.txt'", "level": READ.format("weights")}, "", "w.txt", write),
    "a stated setting": ({"level": READ.format("'w.txt'"), "stated": "{'weights': 'w.txt'}"}, "", "w.txt", write),
    "a setting with the word output in its name": (
        {"settings": "output_head=''", "level": READ.format("output_head")},
        "?output_head=w.txt",
        "w.txt",
        write,
    ),
    "a folder": (
        {"settings": "folder=''", "level": READ.format("(folder + '/deep/w.txt')")},
        "?folder=ckpt",
        "ckpt/deep/w.txt",
        write,
    ),
    "a name without its suffix": (
        {"settings": "which=''", "level": READ.format("(which + '.pt')")},
        "?which=final",
        "final.pt",
        write,
    ),
    "weights that the code names": ({"level": READ.format("'ckpt' / Path('w.npy')")}, "", "ckpt/w.npy", write),
    "a module": ({"imports": "from reuse_net import LEVEL", "level": "LEVEL"}, "", "reuse_net.py", code),
    "a module of a package": (
        {"imports": "import reuse_pkg.net", "level": "reuse_pkg.net.LEVEL"},
        "",
        "reuse_pkg/net.py",
        code,
    ),
    "a module in a method": ({"level": "__import__('reuse_late').LEVEL"}, "", "reuse_late.py", code),
    "a module by a computed name": (
        {"settings": "net=''", "level": "importlib.import_module('reuse_nets.' + net).LEVEL"},
        "?net=small",
        "reuse_nets/small.py",
        code,
    ),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return folder


def level_of(result: Any) -> float:
    frame = result.frame
    return float(frame[frame.metric == "level"].value.iloc[0])


@pytest.mark.parametrize(("way", "case"), [(WAYS[n % 3], case) for n, case in enumerate(CASES)])
def test_what_a_model_reads_or_imports_makes_another_model(
    way: str, case: str, data: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, query, changed, change = CASES[case]
    write_model(project, **model)
    out = project.parent / "out"

    def again(level: int, said: str) -> None:
        change(project / changed, level)
        result = run("echo", model=named(way, query), data=data, out=out)
        assert level_of(result) == level
        assert said in capsys.readouterr().err
        assert level_of(score(out)) == level, "only the latest run counts in the folder"
        capsys.readouterr()

    again(11, "")
    again(11, ": 4 answers from 20")
    again(22, ".1: other code or files of the model\n")
    if case in [*CASES][: len(WAYS)]:  # whatever the file, so each way once
        again(22, " reused, 0 generated (--fresh regenerates)\n")
        again(11, " holds answers of this model and is continued\n")
    assert len(list(out.glob("grey*"))) == 2


def test_the_ways_agree_and_an_edit_is_seen_in_one_process(project: Path) -> None:
    write_model(project, imports="from reuse_net import LEVEL", level="LEVEL")
    for level in (11, 22):
        code(project / "reuse_net.py", level)
        resolved = [resolve_model(named(way)) for way in WAYS]
        models: list[Any] = [getattr(one.model, "_model", one.model) for one in resolved[:2]]
        assert [one.level for one in models] == [level, level]
        assert resolved[0].identity == resolved[2].identity
        resolved[2].model.close()  # type: ignore[union-attr]


def test_edited_code_registers_again_and_the_package_is_never_read_twice(project: Path) -> None:
    """Classes of a module that is read twice exist twice, and a registry refuses the second one."""
    import_module("worldgauge.suites.loopnav.collection", "suite")
    before = sys.modules["worldgauge.suites.loopnav.collection"]
    for level in (11, 22):
        (project / "reuse_metric.py").write_text(
            "from worldgauge.metrics import metrics\n"
            f"@metrics.register('reuse_metric')\ndef reuse_metric(): return {level}\n"
        )
        import_module("reuse_metric", "metric")
        assert metrics.get("reuse_metric")() == level
    assert sys.modules["worldgauge.suites.loopnav.collection"] is before
    metrics._entries.pop("reuse_metric")


def test_code_that_cannot_be_parsed_here_counts_with_its_folder(project: Path) -> None:
    """A server may run another Python, whose syntax this one does not know."""
    (project / "server.py").write_text("from net import LEVEL\ndef broken(:\n")
    found = []
    for level in (11, 22):
        code(project / "net.py", level)
        found.append(worldgauge_serve.contents_of(project / "server.py"))
    assert found[0] != found[1]


def test_what_changes_no_answer_is_no_change(data: Path, project: Path) -> None:
    write_model(project, settings="folder='.', other=''", level="7")
    for name in ("weights/w.pt", "weights/__pycache__/x.pyc", "weights/.git/HEAD", "weights/train.log"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("x")
    model = named("file", "?other=weights")
    first = resolve_model(model).identity
    run("echo", model=model, data=data, out=project / "weights" / "runs")
    run("echo", model=model, data=data, out=project / "runs")
    (project / "table.csv").write_text("written into the working folder")
    (project / "weights" / "train.log").write_text("longer")
    (project / "weights" / ".git" / "HEAD").write_text("other")
    os.utime(project / "weights" / "w.pt", (1, 1))
    os.utime(project / "reuse_wm.py", (1, 1))
    assert resolve_model(model).identity == first
    (project / "weights" / "w.pt").write_text("y")
    assert resolve_model(model).identity != first


class Live:
    def __init__(self, doubles: ModuleType, **settings: Any) -> None:
        self.spec = worldgauge_serve.ModelSpec("live", settings=settings)
        self.level = 11

    def rollout(self, request: Any) -> Any:
        width, height = request.frame_size
        yield np.full((request.horizon, height, width, 3), self.level, np.uint8)


def test_a_live_object_is_asked_again_unless_it_states_a_digest(
    data: Path, tmp_path: Path, doubles: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    model: Any = Live(doubles)
    for level in (11, 22):
        model.level = level
        assert level_of(run("echo", model=model, data=data, out=tmp_path / "out")) == level
    assert "live.1: answers of a Python object are not reused" in capsys.readouterr().err
    (plan,) = dry_run(RunRequest("echo", models=(model,), data=data, out=tmp_path / "out"))
    assert [one.todo for one in plan.items] == ["ask"] * 4
    assert level_of(score(tmp_path / "out" / "live.1")) == 11
    model = Live(doubles, digest="step 100")
    for level in (11, 22):
        model.level = level
        assert level_of(run("echo", model=model, data=data, out=tmp_path / "stated")) == 11
    assert "live: 4 answers from" in capsys.readouterr().err
    model.spec = worldgauge_serve.ModelSpec("live", settings={"digest": "step 200"})
    assert level_of(run("echo", model=model, data=data, out=tmp_path / "stated")) == 22


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"seed": 5}, "seed 0"),
        ({"settings": {"bias": 3}}, "other settings (bias)"),
        ({"model": "./other.py:Grey"}, "other code or files of the model"),
        ({"model": "./reuse_wm.py:Grey?unused=1"}, None),
        ({"fresh": True}, "all answers are generated again"),
    ],
)
def test_replaced_answers_are_kept_and_found_again(
    changes: dict[str, Any], why: str | None, data: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(project, level="7")
    (project / "other.py").write_text((project / "reuse_wm.py").read_text() + "# a comment\n")
    out = project.parent / "out"
    given: dict[str, Any] = {"model": named("file"), "data": data, "out": out}
    run("echo", **given)
    before = {path.name: path.read_bytes() for path in (out / "grey").rglob("*") if path.is_file()}
    run("echo", **{**given, **changes})
    if why is None:  # another label, another folder
        assert not (out / "grey.1").exists()
        return
    assert f"grey: the earlier run with 4 answers is now grey.1: {why}\n" in capsys.readouterr().err
    kept = {path.name: path.read_bytes() for path in (out / "grey.1").rglob("*") if path.is_file()}
    assert kept == before
    if "fresh" not in changes:
        run("echo", **given)
        assert "0 generated" in capsys.readouterr().err
        assert {path.name: path.read_bytes() for path in (out / "grey").rglob("*") if path.is_file()} == before


def test_a_crash_between_keeping_and_running_loses_nothing(data: Path, project: Path) -> None:
    write_model(project, level="7")
    out = project.parent / "out"
    run("echo", model=named("file"), data=data, out=out)
    (out / "grey").rename(out / "grey.1")
    assert [one.directory.name for one in find_runs([out])] == ["grey.1"], "alone, it is what is there"
    (plan,) = dry_run(RunRequest("echo", models=(named("file"),), data=data, out=out))
    assert {one.todo for one in plan.items} == {"nothing"}
    run("echo", model=named("file"), data=data, out=out)
    assert [path.name for path in out.glob("grey*")] == ["grey"]
    (out / "grey").rename(out / "grey.1")
    (out / "grey").mkdir()
    (out / "grey" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="files that are of no run"):
        run("echo", model=named("file"), data=data, out=out)


def test_readers_count_an_earlier_run_only_where_it_is_named(data: Path, project: Path) -> None:
    write_model(project, level="7")
    out = project.parent / "out"
    for seed in (0, 1):
        run("echo", model=named("file"), data=data, out=out, seed=seed)
    assert [one.directory.name for one in find_runs([out])] == ["grey"]
    assert [one.directory.name for one in find_runs([out / "grey.1"])] == ["grey.1"]
    (group,) = Library(out).refresh()
    assert list(group.runs) == ["grey"]
    assert ("grey.1", "an earlier run of the model") in read_entries(out, project / "scratch").left_out
    # A name that ends like that is a run of its own.
    shutil.copytree(out / "grey", out / "grey.7")
    facts = json.loads((out / "grey.7" / "run.json").read_text())
    facts["model"]["name"] = "grey.7"
    (out / "grey.7" / "run.json").write_text(json.dumps(facts))
    assert [one.directory.name for one in find_runs([out])] == ["grey", "grey.7"]


def test_the_command_prints_what_it_reuses_beside_its_json(data: Path, project: Path) -> None:
    write_model(project, level="7")
    words = ("run", "echo", "--data", data, "--model", named("file"), "--out", project / "out", "--json")
    done = [command(project, *words) for _ in range(2)]
    assert "reused" not in done[0].stderr
    assert "grey: 4 answers from 20" in done[1].stderr
    assert "reused, 0 generated (--fresh regenerates)" in done[1].stderr
    assert json.loads(done[1].stdout) == json.loads(done[0].stdout)
    fresh = command(project, *words, "--fresh")
    assert "is now grey.1: all answers are generated again" in fresh.stderr
    assert "reused" not in fresh.stderr
    again = command(project, "score", project / "out", "--json")
    assert "4 answers from" in again.stderr
    json.loads(again.stdout)


def test_a_run_on_another_part_of_the_data_says_so(
    data: Path, tmp_path: Path, doubles: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    run("echo", model="enginedoubles:Steady", data=data, out=tmp_path / "out")
    doubles.make_data(data, 3)
    run("echo", model="enginedoubles:Steady", data=data, out=tmp_path / "out")
    assert "1 tasks gone, 0 new, 0 changed" in capsys.readouterr().err


def test_a_model_that_changes_during_a_run_fails_its_tasks(tmp_path: Path, doubles: ModuleType) -> None:
    outcome = execute_task(
        suite="echo",
        home="enginedoubles",
        settings="{}",
        task="{}",
        key="k",
        model="enginedoubles:Steady",
        label="steady",
        seed=0,
        folder=str(tmp_path),
        score=None,
        deadline_s=None,
        progress=lambda done, total: None,
        steady="another",
    )
    assert (outcome["status"], outcome["stage"]) == ("failed", "perform")
    assert "has changed since the run began" in outcome["error"]


def test_a_large_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(worldgauge_serve, "SETTLED_S", -1.0)
    file = tmp_path / "w.bin"
    file.write_bytes(bytes(2 << 20))
    first = digest(file)
    (note,) = (tmp_path / "cache" / "digests").iterdir()
    note.write_text(note.read_text().replace(first, "remembered"))
    assert digest(file) == "remembered"
    assert digest(tmp_path) != digest(tmp_path / "cache"), "of a folder, too"
    times = file.stat()
    with file.open("r+b") as held:
        held.write(b"1")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert digest(file) not in (first, "remembered"), "the same size, time and inode, but changed"
    note.write_text("{ damaged")
    assert digest(file) == digest(str(file))
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    assert digest(file) == digest(file)


def test_digests_of_folders_and_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "w.pt").write_text("x")
    (tmp_path / "a" / "loop").symlink_to(".")
    before = digest(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b", symlinks=True)
    assert digest(tmp_path / "b") == before, "wherever it is"
    (tmp_path / "b" / "w.pt").rename(tmp_path / "b" / "v.pt")
    assert digest(tmp_path / "b") != before
    monkeypatch.setattr(worldgauge_serve, "MAX_FILES", 0)
    with pytest.raises(ValueError, match="holds more than 0 files"):
        digest(tmp_path / "a")
    with pytest.raises(OSError, match="No such file"):
        digest(tmp_path / "none")


def test_a_served_decoder_network_or_policy_is_known_by_its_files(project: Path) -> None:
    (project / "server.py").write_text("import reuse_net\n")
    (project / "w.pt").write_text("1")
    code(project / "reuse_net.py", 1)
    text = f"cmd:{sys.executable} -m worldgauge_serve server.py:Net?weights=w.pt"
    settings = {"lpips": text, "aesthetic": f"head.npz,{text}", "decoder": "sfm-global", "count": 3, "page": None}
    found = [digests_of_served(settings, {})]
    code(project / "reuse_net.py", 2)
    found.append(digests_of_served(settings, {}))
    (project / "w.pt").write_text("2")
    found.append(digests_of_served(settings, {}))
    assert all(one.keys() == {"lpips", "aesthetic"} for one in found)
    assert len({one["lpips"] for one in found}) == 3
    assert digests_of_served({"lpips": "http://127.0.0.1:9"}, {"lpips": "known"}) == {"lpips": "known"}
    assert served_code("http://127.0.0.1:9") == ""


def test_a_calibration_of_other_weights_is_refused(project: Path, tmp_path: Path) -> None:
    from worldgauge.models.calibration import Calibration, ControlGain, check_owner, digest_of_spec

    write_model(project, settings="weights='w.txt'", level=READ.format("weights"))
    write(project / "w.txt", 11)
    before = resolve_model(named("file"))
    spec = before.model.spec
    gains = {"forward": ControlGain("follows", 1.0, 0.1)}
    owner = Calibration("grey", digest_of_spec(spec), "actions", (), 0, gains, "asked", "asked", "", before.source)  # type: ignore[arg-type]
    check_owner(owner, spec, "c.json", before.source)  # type: ignore[arg-type]
    write(project / "w.txt", 22)
    with pytest.raises(UsageError, match="other code or weights than when it was calibrated"):
        check_owner(owner, spec, "c.json", resolve_model(named("file")).source)  # type: ignore[arg-type]
