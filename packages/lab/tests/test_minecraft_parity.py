"""`worldgauge minecraft parity`: the physics of the embedded world next to the game's."""

import json
from pathlib import Path

import pytest

from support.commands import Done, command
from worldgauge.core.errors import WorldError
from worldgauge.worlds.minecraft.install import find_node, find_packages


def cli(folder: Path, *arguments: str) -> Done:
    return command(folder, "minecraft", *arguments, columns=120)


def test_an_unknown_kind_is_one_line(tmp_path: Path) -> None:
    done = cli(tmp_path, "parity", "--kind", "plains", "--kind", "interiors")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Did you mean 'interior'?" in done.stderr


@pytest.mark.minecraft
def test_parity_is_a_row_a_kind(tmp_path: Path) -> None:
    try:
        find_node()
        find_packages()
    except WorldError as error:
        pytest.skip(f"the real game needs Node and its packages: {error}")
    words = ("parity", "--kind", "plains", "--kind", "interior", "--walks", "2", "--ticks", "30")
    rows = [line.split() for line in cli(tmp_path, *words).stdout.splitlines()]
    assert rows[0] == ["n", "equal", "worst", "m", "walked", "m", "causes"]
    assert [row[:2] for row in rows[1:3]] == [["plains", "60"], ["interior", "60"]]
    facts = json.loads(cli(tmp_path, *words, "--json").stdout)
    assert (facts["seed"], facts["walks"], facts["kinds"]["plains"]["ticks"]) == (0, 2, 60)
