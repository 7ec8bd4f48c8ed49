"""The tutorial builds a working suite as it is written: from a package of one's own, and inside worldgauge."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import worldgauge

pytestmark = pytest.mark.process

PAGE = Path(__file__).parents[1] / "docs" / "tutorials" / "build_a_suite.md"
PACKAGE = Path(worldgauge.__file__).parent


def tutorial_files() -> dict[str, str]:
    """The files that the page builds up, by name: blocks of one file follow each other."""
    files: dict[str, str] = {}
    for name, code in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        files[name] = f"{files[name]}\n\n{code}" if name in files else code
    return files


def typed_command(verb: str) -> list[str]:
    """The first command of the page that begins with `worldgauge VERB`, without its first word."""
    line, *_ = re.findall(rf"^worldgauge ({verb} .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    return shlex.split(line)


def tutorial_command(verb: str) -> list[str]:
    """The same, with the name of the suite in place of its file: for the installed package."""
    return ["spin" if word == "./spin.py:Spin" else word for word in typed_command(verb)]


def worldgauge_command(folder: Path, path: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`worldgauge ...` in `folder`, in a Python of its own that looks for packages in `path` first."""
    code = "from worldgauge.cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200", "WORLDGAUGE_CONFIG": str(folder / "config")}
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's files in `project`, and what setuptools makes of their pyproject.toml in `site`.

    These are the steps of `pip install .` that need neither the network nor another package.
    """
    folder = tmp_path_factory.mktemp("spin")
    project = folder / "project"
    project.mkdir()
    for name, text in tutorial_files().items():
        (project / name).write_text(text, "utf-8")
    (folder / "site").mkdir()
    steps = ["build_py", "--build-lib", "../site", "egg_info", "--egg-base", "../site"]
    code = "from setuptools import setup; setup()"
    done = subprocess.run([sys.executable, "-c", code, *steps], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def collected(installed: Path) -> Path:
    """The same folder after the page's `collect`. Its files are not in the working folder, only installed."""
    done = worldgauge_command(installed, search_path(installed), *tutorial_command("collect"))
    assert done.returncode == 0, done.stderr
    assert "spins: 2, frames: 48" in done.stdout
    return installed


def search_path(installed: Path) -> str:
    return os.pathsep.join([str(installed / "site"), str(PACKAGE.parent)])


def test_three_files_make_the_suite() -> None:
    files = tutorial_files()
    assert sorted(files) == ["pyproject.toml", "spin.py", "test_spin.py"]
    assert files["spin.py"].count("\n") < 200


def test_the_project_installs_its_module_alone(installed: Path) -> None:
    """Without `py-modules`, setuptools refuses two modules side by side, or installs the test as well."""
    assert [path.name for path in (installed / "site").glob("*.py")] == ["spin.py"]
    points = (installed / "site" / "spin.egg-info" / "entry_points.txt").read_text("utf-8")
    assert points.count("spin = spin:") == 2


def test_the_collection_makes_videos_and_goes_on(collected: Path) -> None:
    data = collected / "data"
    spins = ["spin-000.json", "spin-000.mp4", "spin-001.json", "spin-001.mp4"]
    assert sorted(path.name for path in data.glob("spin-*")) == spins
    manifest = json.loads((data / "worldgauge.json").read_text())
    assert sorted(manifest["worlds"]) == ["village-000", "village-001"]
    again = worldgauge_command(collected, search_path(collected), *tutorial_command("collect"), "--dry-run")
    assert "spins: 2 expected, 2 already done" in again.stdout
    words = [{"64x36": "96x54"}.get(word, word) for word in tutorial_command("collect")]
    refused = worldgauge_command(collected, search_path(collected), *words)
    assert refused.returncode == 2
    assert "was collected with size" in refused.stderr
    help = worldgauge_command(collected, search_path(collected), "collect", "spin", "--help")
    assert "Full turns, each in its own village." in help.stdout


def test_the_check_finds_a_damaged_file(collected: Path, tmp_path: Path) -> None:
    path = search_path(collected)
    fine = worldgauge_command(collected, path, *tutorial_command("check"))
    assert fine.returncode == 0, fine.stderr
    assert "spins: 2 of 2 valid; frames: 48; usable" in fine.stdout
    damaged = tmp_path / "data"
    damaged.mkdir()
    for file in (collected / "data").glob("spin-*"):
        (damaged / file.name).write_bytes(file.read_bytes())
    (damaged / "spin-001.json").write_text("{}")
    found = worldgauge_command(tmp_path, path, *tutorial_command("check"))
    assert found.returncode == 1
    assert "1 spin, not usable (first: spin-001)" in found.stdout
    assert "spins: 1 of 2 valid" in found.stdout


def test_truth_closes_the_turn_and_stands_first_in_table_and_report(collected: Path) -> None:
    path = search_path(collected)
    done = worldgauge_command(collected, path, *tutorial_command("run"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Closure of the turn" in done.stdout
    means = {model: closure(collected / "runs" / model) for model in ("truth", "freeze", "noise", "memory")}
    assert means["truth"] == 1
    assert means["noise"] < means["freeze"] < means["truth"]
    assert means["memory"] > means["freeze"]
    done = worldgauge_command(collected, path, *tutorial_command("report"))
    assert done.returncode == 0, done.stderr
    page = (collected / "spin.html").read_text("utf-8")
    for words in ("Closure of the turn", "PSNR", "spin-001"):
        assert words in page


def test_the_commands_run_as_they_are_typed(tmp_path: Path) -> None:
    """By the file alone, without a package; the report finds the suite by the name in the runs."""
    (tmp_path / "spin.py").write_text(tutorial_files()["spin.py"], "utf-8")
    for verb in ("collect", "check", "run", "report"):
        done = worldgauge_command(tmp_path, str(PACKAGE.parent), *typed_command(verb))
        assert done.returncode == 0, done.stderr
    assert closure(tmp_path / "runs" / "truth") == 1
    assert json.loads((tmp_path / "runs" / "truth" / "run.json").read_text())["suite"] == "spin"
    assert "Closure of the turn" in (tmp_path / "spin.html").read_text("utf-8")
    named = json.loads((tmp_path / "config" / "named.json").read_text())
    assert named["suite"] == {"spin": f"{tmp_path / 'spin.py'}:Spin"}


def test_its_own_test_passes(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_spin.py"],
        cwd=installed / "project",
        env={**os.environ, "PYTHONPATH": search_path(installed)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_put_into_the_package_it_is_found_without_an_entry_point(tmp_path: Path) -> None:
    copy = tmp_path / "src" / "worldgauge"
    (copy / "suites").mkdir(parents=True)
    for folder, other in ((PACKAGE, copy), (PACKAGE / "suites", copy / "suites")):
        for path in folder.iterdir():
            if path.name not in ("suites", "__pycache__"):
                (other / path.name).symlink_to(path)
    (copy.parent / "worldgauge_serve.py").symlink_to(PACKAGE.parent / "worldgauge_serve.py")
    (copy / "suites" / "spin.py").write_text(tutorial_files()["spin.py"], "utf-8")
    path = str(copy.parent)
    listed = worldgauge_command(tmp_path, path, "list", "suites", "--json")
    assert {row["name"]: row["origin"] for row in json.loads(listed.stdout)["suites"]}[
        "spin"
    ] == "worldgauge.suites.spin"
    done = worldgauge_command(tmp_path, path, *tutorial_command("collect"))
    assert done.returncode == 0, done.stderr
    arguments = ["--data", "data", "--model", "freeze", "--model", "truth", "--workers", "2", "--out", "runs"]
    done = worldgauge_command(tmp_path, path, "run", "spin", *arguments)
    assert done.returncode == 0, done.stderr
    assert closure(tmp_path / "runs" / "truth") == 1 > closure(tmp_path / "runs" / "freeze")


def closure(run: Path) -> float:
    """Mean closure of the two spins that a run has scored."""
    rows = [json.loads(line) for line in (run / "scores.jsonl").read_text("utf-8").splitlines()]
    values = [row["value"] for row in rows if row["metric"] == "spin_closure"]
    assert len(values) == 2
    return sum(values) / 2
