"""The tutorial builds a working suite as it is written: from a package of one's own, and inside worldgauge."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import worldgauge

PAGE = Path(__file__).parents[1] / "docs" / "add_a_suite.md"
PACKAGE = Path(worldgauge.__file__).parent


def tutorial_files() -> dict[str, str]:
    """The files that the page builds up, by name: blocks of one file follow each other."""
    files: dict[str, str] = {}
    for name, code in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        files[name] = f"{files[name]}\n\n{code}" if name in files else code
    return files


def tutorial_command(verb: str) -> list[str]:
    """The command of the page that begins with `worldgauge VERB`, without its first word."""
    (line,) = re.findall(rf"^    worldgauge ({verb} .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    return shlex.split(line)


def worldgauge_command(folder: Path, path: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`worldgauge ...` in `folder`, in a Python of its own that looks for packages in `path` first."""
    code = "from worldgauge.cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's files, and what `pip install --editable .` adds to them."""
    folder = tmp_path_factory.mktemp("spin")
    for name, text in tutorial_files().items():
        (folder / name).write_text(text, "utf-8")
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    facts = folder / "spin-0.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    ]
    (facts / "entry_points.txt").write_text("\n".join(groups))
    return folder


@pytest.fixture(scope="module")
def collected(installed: Path) -> Path:
    """The same folder after the page's `collect`."""
    done = worldgauge_command(installed, search_path(installed), *tutorial_command("collect"))
    assert done.returncode == 0, done.stderr
    assert "2 spins, 48 frames" in done.stdout
    return installed


def search_path(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), str(PACKAGE.parent)])


def test_three_files_make_the_suite() -> None:
    files = tutorial_files()
    assert sorted(files) == ["pyproject.toml", "spin.py", "test_spin.py"]
    assert files["spin.py"].count("\n") < 200


def test_the_collection_makes_videos_and_goes_on(collected: Path) -> None:
    data = collected / "data"
    spins = ["spin-000.json", "spin-000.mp4", "spin-001.json", "spin-001.mp4"]
    assert sorted(path.name for path in data.glob("spin-*")) == spins
    manifest = json.loads((data / "worldgauge.json").read_text())
    assert sorted(manifest["worlds"]) == ["village-000", "village-001"]
    again = worldgauge_command(collected, search_path(collected), *tutorial_command("collect"), "--dry-run")
    assert "2 spins expected, 2 done already" in again.stdout
    words = [{"64x36": "96x54"}.get(word, word) for word in tutorial_command("collect")]
    refused = worldgauge_command(collected, search_path(collected), *words)
    assert refused.returncode == 2
    assert "was collected with size" in refused.stderr
    help = worldgauge_command(collected, search_path(collected), "collect", "spin", "--help")
    assert "Full turns, each in a village of its own." in help.stdout


def test_the_check_finds_a_damaged_file(collected: Path, tmp_path: Path) -> None:
    path = search_path(collected)
    fine = worldgauge_command(collected, path, *tutorial_command("check"))
    assert fine.returncode == 0, fine.stderr
    assert "2 of 2 spins are valid, 48 frames; can be used" in fine.stdout
    damaged = tmp_path / "data"
    damaged.mkdir()
    for file in (collected / "data").glob("spin-*"):
        (damaged / file.name).write_bytes(file.read_bytes())
    (damaged / "spin-001.json").write_text("{}")
    found = worldgauge_command(tmp_path, path, *tutorial_command("check"))
    assert found.returncode == 1
    assert "1 spin, not usable (first: spin-001)" in found.stdout
    assert "1 of 2 spins are valid" in found.stdout


def test_truth_closes_the_turn_and_stands_first_in_table_and_report(collected: Path) -> None:
    path = search_path(collected)
    done = worldgauge_command(collected, path, *tutorial_command("run"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Closure of the turn" in done.stdout
    means = {subject: closure(collected / "runs" / subject) for subject in ("truth", "freeze", "noise", "memory")}
    assert means["truth"] == 1
    assert means["noise"] < means["freeze"] < means["truth"]
    assert means["memory"] > means["freeze"]
    done = worldgauge_command(collected, path, *tutorial_command("report"))
    assert done.returncode == 0, done.stderr
    page = (collected / "spin.html").read_text("utf-8")
    for words in ("Closure of the turn", "PSNR", "spin-001"):
        assert words in page


def test_its_own_test_passes(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_spin.py"],
        cwd=installed,
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
