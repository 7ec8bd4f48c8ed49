"""What README and docs show runs, and what they point at exists."""

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import command

ROOT = Path(__file__).parents[1]
HOWTO = ROOT / "docs" / "howto"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src" / "worldgauge" / "suites").rglob("README.md")),
]
COMMANDED = [page for page in PAGES if page.name != "build_a_suite.md"]
"""The tutorial's commands are of the suite that it makes: test_tutorial.py types them."""
OWN = {"test_spin.py"}
"""Test files that a reader writes."""


def block(page: Path, language: str, containing: str) -> str:
    """The fenced block of `page` in `language` that contains a string."""
    for found in re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        if containing in found:
            return found
    raise AssertionError(f"{page.name} has no {language} block with {containing!r}")


def files_of(page: Path) -> dict[str, str]:
    """The files that a page shows in full, by name."""
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", page.read_text("utf-8"), re.DOTALL))


@pytest.fixture
def readme_model(tmp_path: Path) -> str:
    (tmp_path / "wm.py").write_text(block(ROOT / "README.md", "python", "class MyModel"), "utf-8")
    return "wm.py:MyModel"


def test_readme_model_is_checked(readme_model: str, tmp_path: Path) -> None:
    done = command(tmp_path, "check-model", "--model", f"./{readme_model}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("way", ["./{}", f"cmd:{sys.executable} -m worldgauge_serve {{}}"])
def test_readme_model_runs_here_and_in_its_own_process(
    way: str, readme_model: str, walks: Path, tmp_path: Path
) -> None:
    done = command(
        tmp_path,
        "run",
        "loopnav",
        "--data",
        walks,
        "--model",
        way.format(readme_model),
        "--out",
        "runs",
        "--limit",
        "1",
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "my-model" / "scores.jsonl").exists()


def test_camera_model_of_the_guide_gets_its_caption_and_its_convention(walks: Path, tmp_path: Path) -> None:
    code = block(HOWTO / "wrap_camera.md", "python", "class MyCameraModel")
    assert len(code.strip().split("\n")) <= 15
    (tmp_path / "cam.py").write_text(code, "utf-8")
    way = f"cmd:{sys.executable} -m worldgauge_serve cam.py:MyCameraModel"
    report = json.loads(command(tmp_path, "check-model", "--model", way, "--json").stdout)
    assert report["ok"], report
    assert {one["name"]: one["status"] for one in report["verdicts"]}["control"] == "ok"
    arguments = ["--limit", "1", "--no-baselines", "--out", "runs", "--json"]
    done = command(tmp_path, "run", "loopnav", "--data", walks, "--model", way, *arguments)
    assert json.loads(done.stdout)["counts"]["scored"] == 1, done.stderr
    (record,) = (tmp_path / "runs").rglob("record.json")
    facts = json.loads(record.read_text())["facts"]
    assert "village" in facts["caption"]
    assert facts["bridge"]["own_fps"] == 16


def test_models_of_the_tutorials_keep_the_protocol(tmp_path: Path) -> None:
    for name, page in (("MyCameraModel", "evaluate.md"), ("MyModel", "quickstart.md")):
        code = block(ROOT / "docs" / "tutorials" / page, "python", f"class {name}")
        (tmp_path / "own.py").write_text(code, "utf-8")
        done = command(tmp_path, "check-model", "--model", f"./own.py:{name}", "--json")
        report = json.loads(done.stdout)
        assert report["ok"], report
        assert not report["unfit"]


def test_keys_model_of_the_guide_obeys_on_real_clips(clips: Path, tmp_path: Path) -> None:
    code = block(HOWTO / "wrap_keys.md", "python", "class MyKeysModel")
    assert len(code.strip().split("\n")) < 20
    (tmp_path / "keys.py").write_text(code, "utf-8")
    arguments = ["--limit", "1", "--set", "tests=mem", "--set", "poses=exact", "--set", "horizon=8"]
    arguments += ["--out", "runs", "--json"]
    done = command(tmp_path, "run", "mind", "--data", str(clips), "--model", "./keys.py:MyKeysModel", *arguments)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "runs" / "my-keys-model" / "scores.jsonl").read_text("utf-8").splitlines()
    found = {score["metric"]: score["value"] for score in map(json.loads, lines)}
    assert 0 < found["lcm/mse_720p"] < 1


def test_readme_shows_a_model_of_ones_own_in_under_20_lines() -> None:
    assert len(block(ROOT / "README.md", "python", "class MyModel").strip().split("\n")) < 20


@pytest.mark.parametrize("name", ["MyTextModel", "MyClipModel"])
def test_text_models_of_the_guide_get_their_words(name: str, walks: Path, tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(block(HOWTO / "wrap_text.md", "python", f"class {name}"), "utf-8")
    way = f"cmd:{sys.executable} -m worldgauge_serve words.py:{name}"
    report = json.loads(command(tmp_path, "check-model", "--model", way, "--json").stdout)
    assert report["ok"], report
    assert {one["name"]: one["status"] for one in report["verdicts"]}["control"] == "ok"
    arguments = ["--limit", "1", "--no-baselines", "--out", "runs", "--json"]
    done = command(tmp_path, "run", "loopnav", "--data", walks, "--model", way, *arguments)
    assert json.loads(done.stdout)["counts"]["scored"] == 1, done.stderr


def test_files_of_the_guide_pass_their_tests(tmp_path: Path) -> None:
    """The test of a model that docs/howto/check_and_calibrate.md shows, on the model of docs/howto/wrap_camera.md."""
    files = files_of(HOWTO / "check_and_calibrate.md")
    tests = [name for name in files if name.startswith("test_")]
    assert len(tests) == 1
    files["cam.py"] = block(HOWTO / "wrap_camera.md", "python", "class MyCameraModel")
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")])}
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_python_of_the_readme_runs(readme_model: str, tmp_path: Path) -> None:
    code = block(ROOT / "README.md", "python", "wg.run(")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^my-model: 2 expected = 2 scored", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"freeze +0\.\d+\nmemory +0\.\d+\nmy-model +0\.", done.stdout), done.stdout
    assert (tmp_path / "first.html").stat().st_size > 100_000


def test_the_two_commands_are_in_the_makefile_and_first_in_the_readme() -> None:
    readme, makefile = (ROOT / "README.md").read_text("utf-8"), (ROOT / "Makefile").read_text("utf-8")
    for command_line in ("make demo", "make test"):
        assert f"\n{command_line} " in readme
        assert re.search(rf"^{command_line.split()[1]}:", makefile, re.MULTILINE)


OURS = "packages/train|packages/lab|adapters|tests|benchmarks|docs|src/worldgauge"


def test_files_that_the_docs_name_exist() -> None:
    """Paths from the root, and test files that are named without their folder."""
    folders = [ROOT / "tests", *(ROOT / "packages").glob("*/tests")]
    tests, missing = {path.name for folder in folders for path in folder.rglob("test_*.py")}, []
    for page in PAGES:
        text = page.read_text("utf-8")
        named = re.findall(
            r"(?<![\w/])((?:packages|adapters|tests|benchmarks|docs|src/worldgauge)/[\w/.-]*[\w/])", text
        )
        missing += [f"{page.name}: {name}" for name in named if not (ROOT / name).exists()]
        missing += [f"{page.name}: {name}" for name in re.findall(r"`(test_\w+\.py)`", text) if name not in tests | OWN]
    assert not missing


def test_design_names_every_room_and_an_example_of_each() -> None:
    text = (ROOT / "docs" / "explanation" / "design.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \| `([\w/.]+)` \|$", text, re.MULTILINE)
    source = ROOT / "src" / "worldgauge"
    rooms = {path.name for path in source.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {room for room, _ in rows} == rooms
    assert [example for _, example in rows if not (source / example).exists()] == []


def test_design_names_every_folder_of_a_suite() -> None:
    text = (ROOT / "docs" / "explanation" / "design.md").read_text("utf-8")
    suites = ROOT / "src" / "worldgauge" / "suites"
    folders = {path.name for path in suites.glob("*/*/") if any(path.glob("*.py"))}
    assert folders
    assert {name for name in folders if f"`{name}/`" not in text} == set()


def test_modules_that_the_docs_name_exist() -> None:
    """`worldgauge.x.y` in prose and code is a module, or a name in one."""
    missing = []
    for page in PAGES:
        text = page.read_text("utf-8")
        for name in set(re.findall(r"\bworldgauge(?:_train|_lab)?\.[a-z_]+(?:\.[A-Za-z_]\w*)+", text)):
            if importlib.util.find_spec(name.partition(".")[0]) and not is_importable(name):
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    assert not missing


def is_importable(name: str) -> bool:
    """Whether `name` is a module, or what attributes of a module lead to."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_point_at_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", COMMANDED, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_in_the_docs_exist(page: Path) -> None:
    """Every `worldgauge VERB --option` that the pages show is one the command line knows."""
    text = page.read_text("utf-8")
    shown = re.findall(r"^\s{4}(worldgauge .*)$", text, re.MULTILINE)
    for fenced in re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL):
        shown += re.findall(r"^\s*(worldgauge .*)$", fenced.replace("\\\n", " "), re.MULTILINE)
    for line in shown:
        words = shlex.split(line.split("#")[0])
        has_verbs = words[1] in ("collect", "data", "minecraft", "mineanybuild", "study", "weights", "world")
        verb = words[1:3] if has_verbs else words[1:2]
        known = command(ROOT, *verb, "--help")
        if "comes with the package worldgauge-" in known.stderr:
            continue  # the neighbour is not installed, and its own tests know its commands
        assert known.returncode == 0, line
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert option in known.stdout, f"{option} in: {line}"


def test_agent_of_the_build_page_answers_every_kind(builds: Path, tmp_path: Path) -> None:
    code = block(ROOT / "src" / "worldgauge" / "suites" / "mineanybuild" / "README.md", "python", "class MyAgent")
    assert len(code.strip().split("\n")) < 15
    (tmp_path / "mine.py").write_text(code, "utf-8")
    arguments = ["--data", str(builds), "--agent", "./mine.py:MyAgent", "--out", "runs", "--json"]
    done = command(tmp_path, "run", "mineanybuild", *arguments, "--no-baselines")
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)["counts"]
    assert counts["scored"] == counts["expected"] == 56


def test_environment_of_the_build_page_steps(tmp_path: Path) -> None:
    code = block(ROOT / "src" / "worldgauge" / "suites" / "mineanybuild" / "README.md", "python", "gymnasium.make")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_environment_of_the_closedloop_page_steps(tmp_path: Path) -> None:
    code = block(ROOT / "src" / "worldgauge" / "suites" / "worldinworld" / "README.md", "python", "gymnasium.make")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
