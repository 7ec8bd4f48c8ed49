"""A folder says which collection made it, and is checked by no other."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine.collection import MANIFEST, Collection, DataReport, check_data, collection_of, collections


class Spins(Collection):
    """Full turns."""

    name = "spins"

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        return DataReport("spins", 1, 1, int(decode), ())


class Jumps(Spins):
    """Jumps, whose manifest has another name."""

    name = "jumps"
    manifest_format = "toy-jumps"


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    for kind in (Spins, Jumps):
        collections.register(kind.name)(kind)
    yield
    for kind in (Spins, Jumps):
        collections._entries.pop(kind.name)


def made_by(kind: type[Collection], folder: Path) -> Path:
    kind(folder, kind.Options()).write_manifest({}, {})
    return folder


@pytest.mark.parametrize("kind", [Spins, Jumps])
def test_a_folder_says_who_made_it(kind: type[Collection], tmp_path: Path) -> None:
    assert collection_of(tmp_path) is None, "published data have no manifest"
    made_by(kind, tmp_path)
    assert collection_of(tmp_path) == kind.name


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": 3}', '{"format": "of a later version"}'])
def test_a_manifest_that_says_nothing_is_nobodys(text: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(text)
    assert collection_of(tmp_path) is None


@pytest.mark.parametrize(("made", "asked"), [(Spins, Jumps), (Jumps, Spins)])
def test_data_of_another_collection_name_the_command_that_checks_them(
    made: type[Collection], asked: type[Collection], tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        check_data(asked.name, made_by(made, tmp_path))
    told = f"was made by collection '{made.name}': use: worldgauge check {made.name} --data {tmp_path}"
    assert str(caught.value) == f"{tmp_path} {told}"


def test_data_are_checked_by_their_own_collection(tmp_path: Path) -> None:
    assert check_data("spins", made_by(Spins, tmp_path / "made"), decode=True).n_frames == 1
    assert check_data("spins", tmp_path).n_frames == 0, "a folder without a manifest may be published data"
    (tmp_path / MANIFEST).write_text(json.dumps({"format": "spins"}))
    assert check_data("spins", tmp_path).ok
    with pytest.raises(UnknownNameError, match=r"no collection 'spin'. Did you mean 'spins'"):
        check_data("spin", tmp_path)
