"""`worldgauge minecraft` as people use it: builds into servers and saved worlds, boxes out of them, served worlds."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support import nbt_bytes as nbt
from support.commands import Done, command
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.structure_files import read_structure, write_schem
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.regions import write_world

pytest.importorskip("nbtlib")

MATERIALS = ("stone", "oak_stairs[facing=east,half=top]", "oak_log[axis=x]")


def cli(folder: Path, *arguments: str) -> Done:
    return command(folder, "minecraft", *arguments, columns=120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with hut.schem of 64 blocks and the saved world w, whose ground ends at y = 63."""
    numbers = np.random.default_rng(0).integers(1, 4, size=(4, 4, 4))
    write_schem(tmp_path / "hut.schem", Blueprint(numbers, MATERIALS))
    ground = Cells((-16, 60, -16), (AIR, "minecraft:dirt"), np.ones((32, 4, 32), np.uint16))
    write_world(tmp_path / "w", ground, "1.20.4")
    return tmp_path


def test_a_build_goes_into_a_copy_of_a_saved_world(folder: Path) -> None:
    done = cli(folder, "build", "hut.schem", "--at", "-2,64,-2", "--save", "w", "--out", "copy")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "hut.schem: 64 blocks, 4 wide, 4 high, 4 deep, at (-2, 64, -2) in copy\n  64 right, 0 wrong, 0 missing\n"
    )
    read = command(folder, "mineanybuild", "structure", "copy", "--box", "-2,64,-2:1,67,1", "--out", "again.schem")
    assert read.returncode == 0, read.stderr
    there = read_structure(folder / "again.schem").blueprint.names_only()
    assert there == read_structure(folder / "hut.schem").blueprint.names_only()
    more = cli(folder, "build", "hut.schem", "--at", "0,70,0", "--save", "copy", "--out", "two", "--json")
    facts = json.loads(more.stdout)
    assert (facts["ok"], facts["right"], facts["differences"]) == (True, 64, [])
    assert (facts["at"], facts["size"], facts["place"]) == ([0, 70, 0], [4, 4, 4], "two")


def test_a_build_that_is_not_as_planned_is_told_and_ends_with_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from worldgauge.worlds.minecraft import building

    def without_ten(world: Path, out: Path, cells: Cells) -> None:
        index = cells.index.copy()
        index[0, 0, :] = 0
        index[3, 3, :] = (index[3, 3, :] % 3) + 1
        put(world, out, Cells(cells.origin, cells.palette, index))

    put = building.put_cells
    monkeypatch.setattr(building, "put_cells", without_ten)
    words = ("build", "hut.schem", "--at", "0,64,0", "--save", "w", "--out")
    done = cli(folder, *words, "one")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[1] == "  56 right, 4 wrong, 4 missing"
    assert lines[2].startswith("  at (0, 64, 0): planned minecraft:")
    assert lines[2].endswith("found minecraft:air")
    assert (len(lines), lines[-1]) == (8, "  and 3 more")
    told = cli(folder, *words, "two", "--json")
    assert told.returncode == 1
    facts = json.loads(told.stdout)
    assert (facts["ok"], len(facts["differences"]), facts["differences"][0]["cell"]) == (False, 8, [0, 64, 0])


ERRORS = {
    "build hut.schem --at 0,64": "--at takes whole numbers x,y,z, such as -20,60,4, not '0,64'",
    "build hut.schem --at 0,64,0 --save w": "needs --save FOLDER and --out NEW_FOLDER",
    "build hut.schem --at 0,64,0 --out copy": "needs --save FOLDER and --out NEW_FOLDER",
    "build hut.schem --at 0,64,0 --save w --out copy --server here:1": "not into both",
    "build none.schem --at 0,64,0": "none.schem: no such file",
    "build hut.schem --at 40,64,0 --save w --out copy": "chunk (2, 0) was never saved",
    "build hut.schem --at 0,318,0 --save w --out copy": "y 318 to 321 is not within -64 to 319",
    "build hut.schem --at 0,64,0 --save w --out w": "lies in the world itself",
    "build hut.schem --at 0,64,0 --server here:there": "'here:there' is no server: write host:port",
    "serve --version 1.8": "--version is 1.16.5 or 1.20.4, not '1.8'",
    "serve --save w --seed 3": "a saved world has no kind and no seed",
    "serve --port 70000": "--port is 0 to 65535, not 70000",
    "serve --kind plans": "Did you mean 'plains'?",
}
READING = {
    "--server here:there --box 0,0,0:1,1,1 --out a.schem": "'here:there' is no server: write host:port",
    "--server here:1 --box 0,0,0 --out a.schem": "--box takes two corners",
    "--server here:1 --box 0,0,0:1,1 --out a.schem": "--box takes two corners",
    "--server here:1 --box 0,0,0:1,1,1 --out a.txt": "structures are written as .nbt, .schem, .png, not '.txt'",
    "--server here:1": "--server needs the corners of a box",
    "hut.schem --server here:1 --box 0,0,0:1,1,1": "give one structure file or saved world",
    "": "give one structure file or saved world",
}


@pytest.mark.parametrize(
    ("group", "words", "error"),
    [
        *(("minecraft", words, error) for words, error in ERRORS.items()),
        *(("mineanybuild structure", words, error) for words, error in READING.items()),
    ],
)
def test_what_cannot_be_meant_is_one_line(group: str, words: str, error: str, folder: Path) -> None:
    done = command(folder, *group.split(), *words.split(), columns=120)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("error: ")
    assert error in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["hut.schem", "w"]


@pytest.mark.minecraft
def test_a_build_is_tried_on_a_server_of_ours(folder: Path, packages: Path) -> None:
    done = cli(folder, "build", "hut.schem", "--at", "3,20,-5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("64 right, 0 wrong, 0 missing\n")
    assert "(1.20.4), now ended" in done.stdout
    nbt.put(folder / "odd.schem", nbt.root(nbt.schematic(Blueprint.of([[[1]]], ["nosuchblock"]))))
    done = cli(folder, "build", "odd.schem", "--at", "3,20,-5")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "nosuchblock" in done.stderr


@pytest.fixture
def served(folder: Path, packages: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves the world w, and where."""
    words = [sys.executable, "-m", "worldgauge.cli.main", "minecraft", "serve", "--save", "w", "--port", "0"]
    words += ["--version", "1.20.4"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("listening on localhost:"), line
            yield process, line.split()[2]
        finally:
            process.terminate()


@pytest.mark.slow
@pytest.mark.minecraft
def test_a_served_world_is_built_in_and_read_until_ctrl_c(
    served: tuple[subprocess.Popen[str], str], folder: Path
) -> None:
    process, where = served
    done = cli(folder, "build", "hut.schem", "--at", "-2,64,-2", "--server", where, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["right"] == 64
    read = ("mineanybuild", "structure", "--server", where)
    done = command(folder, *read, "--box", "1,67,1:-2,63,-2", "--out", "box.nbt")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{where}: server, 4 wide, 5 high, 4 deep, 80 blocks\n")
    assert done.stdout.endswith("\nwrote box.nbt\n")
    assert read_structure(folder / "box.nbt").blueprint.counts()["dirt"] == 16
    done = command(folder, *read, "--box", "-16,62,0:300,63,0", "--out", "wide.schem", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["size"], facts["materials"]) == ([317, 2, 1], {"dirt": 64})
    assert facts["format"] == "server"
    taken = cli(folder, "serve", "--port", where.partition(":")[2])
    assert (taken.returncode, taken.stderr.count("\n")) == (2, 1)
    assert "is in use" in taken.stderr
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


@pytest.mark.minecraft
def test_a_server_that_ends_is_told(served: tuple[subprocess.Popen[str], str]) -> None:
    process, _ = served
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    assert process.wait(20) == 2
