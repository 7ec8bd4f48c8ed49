"""Wheel and sdist: all that the package reads, and nothing else.

`make test-plain` builds them and names their folder in WORLDGAUGE_DIST; `tests/test_plain_install.py` uses the wheel.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import worldgauge
from support.places import ROOT

DIST = os.environ.get("WORLDGAUGE_DIST", "")
built = pytest.mark.skipif(not DIST, reason="no wheel and sdist: make test-plain")

SRC = ROOT / "src"
NAME = f"worldgauge-{worldgauge.__version__}"
IN_SDIST = {
    *("src", "packages", "adapters", "tests", "benchmarks", "docs", "examples"),
    *("AGENTS.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"),
    *(
        "pyproject.toml",
        "requirements.lock",
        "requirements-base.lock",
        "requirements-site.lock",
        "mkdocs.yml",
        "conftest.py",
    ),
    *("Dockerfile", "compose.yaml", ".dockerignore", ".gitignore", "PKG-INFO"),
}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def source_files() -> dict[str, str]:
    """Digests of all files under src, but for what Python and numba leave there, and of the adapters."""
    left_behind = (".pyc", ".nbi", ".nbc")
    files = {path.relative_to(SRC).as_posix(): path for path in SRC.rglob("*")}
    files |= {f"worldgauge/adapters/{path.name}": path for path in (ROOT / "adapters").glob("*.py")}
    return {
        name: digest(path.read_bytes())
        for name, path in files.items()
        if path.is_file() and path.suffix not in left_behind
    }


@pytest.fixture(scope="module")
def wheel() -> dict[str, str]:
    """Digests of the files of the wheel."""
    with zipfile.ZipFile(Path(DIST) / f"{NAME}-py3-none-any.whl") as archive:
        return {name: digest(archive.read(name)) for name in archive.namelist()}


@pytest.fixture(scope="module")
def sdist() -> set[str]:
    """Names of the files of the sdist, below its one folder."""
    with tarfile.open(Path(DIST) / f"{NAME}.tar.gz") as archive:
        names = [member.name for member in archive if member.isfile()]
    assert all(name.startswith(f"{NAME}/") for name in names)
    return {name.removeprefix(f"{NAME}/") for name in names}


@built
def test_wheel_holds_every_file_of_the_source(wheel: dict[str, str]) -> None:
    """Templates, styles, scripts, tables and prompts as well as modules, byte for byte."""
    files = source_files()
    assert {Path(name).suffix for name in files} >= {".py", ".j2", ".css", ".js", ".json", ".txt", ".gz"}
    installed = {name: value for name, value in wheel.items() if ".dist-info/" not in name}
    assert installed == files


@built
def test_wheel_brings_its_licence_and_its_two_commands() -> None:
    with zipfile.ZipFile(Path(DIST) / f"{NAME}-py3-none-any.whl") as archive:
        facts = f"{NAME}.dist-info"
        assert archive.read(f"{facts}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        commands = archive.read(f"{facts}/entry_points.txt").decode()
    assert "worldgauge = " in commands
    assert "worldgauge-serve = " in commands


@built
def test_sdist_holds_what_building_and_testing_needs_and_no_more(sdist: set[str]) -> None:
    assert {name.split("/")[0] for name in sdist} == IN_SDIST
    in_source = {name for name in source_files() if not name.startswith("worldgauge/adapters/")}
    assert {f"src/{name}" for name in in_source} <= sdist
    junk = [name for name in sdist if "__pycache__" in name or name.endswith((".pyc", ".nbi", ".nbc", ".whl", ".log"))]
    assert not junk


@built
def test_sdist_installs_as_the_wheel_does(wheel: dict[str, str], tmp_path: Path) -> None:
    words = ["--no-deps", "--no-build-isolation", "--no-compile", "--no-index", "--disable-pip-version-check"]
    sdist = Path(DIST) / f"{NAME}.tar.gz"
    command = [sys.executable, "-m", "pip", "install", "--quiet", *words, "--target", str(tmp_path), str(sdist)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = [tmp_path / "worldgauge_serve.py", *(tmp_path / "worldgauge").rglob("*")]
    found = {path.relative_to(tmp_path).as_posix(): digest(path.read_bytes()) for path in ours if path.is_file()}
    assert found == {name: value for name, value in wheel.items() if ".dist-info/" not in name}


def test_badges_and_citation_say_what_the_project_file_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    images = ROOT / "docs" / "images"
    assert f">{project['requires-python'].removeprefix('>=')} or newer<" in (images / "python.svg").read_text("utf-8")
    assert f">{project['license']}<" in (images / "licence.svg").read_text("utf-8")
    citation = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
    assert {f"version: {project['version']}", f"license: {project['license']}"} <= set(citation)
    assert project["version"] == worldgauge.__version__
