"""Dockerfile and compose.yaml fit this repository, and the commands of the containers work as processes."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.places import ROOT
from test_docs import block

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MODULES = {name: target.partition(":")[0] for name, target in PROJECT["scripts"].items()}
"""Module behind each command."""


def instructions() -> list[tuple[str, str]]:
    """Word and rest of every line of the Dockerfile, continued ones joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def last(word: str) -> str:
    return [rest for found, rest in instructions() if found == word][-1]


def test_dockerfile_has_only_instructions_that_there_are() -> None:
    known = {"FROM", "RUN", "COPY", "ARG", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in instructions()} <= known
    assert instructions()[0][0] == "FROM"


def test_dockerfile_copies_what_is_here_and_is_not_ignored() -> None:
    copied = [rest.split()[:-1] for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    names = {name.removeprefix("./") for some in copied for name in some}
    assert [name for name in names if not (ROOT / name).exists()] == []
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)
    assert set(kept) == names


def test_image_is_built_in_stages_that_exist_and_does_not_run_as_root() -> None:
    stages = {rest.rpartition(" AS ")[2] for word, rest in instructions() if word == "FROM" and " AS " in rest}
    assert set(re.findall(r"--from=(\w+)", (ROOT / "Dockerfile").read_text("utf-8"))) == stages
    assert f"useradd --create-home {last('USER')}" in last("RUN")
    assert last("USER") not in ("root", "0")


def test_image_starts_our_command_with_extras_and_drivers_that_there_are() -> None:
    assert json.loads(last("ENTRYPOINT"))[0] in MODULES
    extras = last("ARG").removeprefix("EXTRAS=").split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])
    [drivers] = re.findall(r"--no-install-recommends (libegl1 [\w -]*\w)", (ROOT / "Makefile").read_text("utf-8"))
    assert drivers in " ".join(rest for word, rest in instructions() if word == "RUN")


@pytest.fixture
def services() -> dict[str, Any]:
    """The two services of compose.yaml."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    assert set(found) == {"model", "worldgauge"}
    return found


def test_the_two_containers_work_as_two_processes(services: dict[str, Any], walks: Path, tmp_path: Path) -> None:
    (tmp_path / "wm.py").write_text(block(ROOT / "README.md", "python", "class MyModel"), "utf-8")
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "data").symlink_to(walks)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {**os.environ, "WORLDGAUGE_TOKEN": "of-the-test", "PYTHONPATH": str(ROOT / "src")}
    model, asker = services["model"], services["worldgauge"]
    assert "http://model:7000" in asker["command"]

    def here(words: list[str]) -> list[str]:
        """Words of a container as they are on one machine."""
        return [word.replace("model:7000", "127.0.0.1:7000").replace("7000", port) for word in words]

    def run(words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)

    serve = [sys.executable, "-m", MODULES[model["entrypoint"][0]], *here(model["command"])]
    check = [sys.executable, *here(model["healthcheck"]["test"][2:])]
    assert model["healthcheck"]["test"][:2] == ["CMD", "python"]
    assert run(check).returncode != 0, "healthy before it serves"
    with subprocess.Popen(serve, cwd=tmp_path, env=environment) as server:
        try:
            end = time.monotonic() + 120
            while run(check).returncode:
                assert server.poll() is None
                assert time.monotonic() < end, "it never became healthy"
            command = MODULES[json.loads(last("ENTRYPOINT"))[0]]
            done = run([sys.executable, "-P", "-m", command, *here(asker["command"]), "--limit", "1"])
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "served" / "my-model" / "scores.jsonl").exists()
