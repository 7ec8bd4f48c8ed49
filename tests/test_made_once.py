"""Data sets and compiled kernels are made once per machine."""

import os
from pathlib import Path

from support import kernels
from support.made_once import cached


def test_a_folder_is_made_again_only_if_its_content_would_differ(tmp_path: Path) -> None:
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "data").write_text(str(len(made)))

    for key, content in (("a" * 64, "1"), ("a" * 64, "1"), ("b" * 64, "2"), ("a" * 64, "1")):
        assert (cached(tmp_path, "set", key, make) / "data").read_text() == content
    assert len(made) == 2


def test_a_folder_whose_making_failed_is_made_again(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise ValueError

    for make in (fail, fail, lambda folder: (folder / "whole").touch()):
        try:
            made = cached(tmp_path, "set", "a", make)
        except ValueError:
            continue
    assert [path.name for path in made.iterdir()] == ["whole"]


def test_kernels_of_one_checkout_serve_another_with_the_same_sources(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for checkout in ("old", "same", "other"):
        package = tmp_path / checkout / "worldgauge"
        (package / "__pycache__").mkdir(parents=True)
        (package / "a.py").write_text("from worldgauge.b import called\n@njit(cache=True)\ndef kernel(): called()\n")
        (package / "b.py").write_text(f"@njit\ndef called(): {'pass' if checkout != 'other' else 'return 1'}\n")
        if checkout == "old":
            for name in ("a.kernel-2.py311.1.nbc", "a.kernel-2.py311.nbi"):
                (package / "__pycache__" / name).write_text(name)
            kernels.give(tmp_path / checkout, store)
        else:
            kernels.take(tmp_path / checkout, store)
        found = [path.name for path in (package / "__pycache__").iterdir()]
        assert len(found) == (0 if checkout == "other" else 2), "what a kernel calls is part of it"
    index = tmp_path / "same" / "worldgauge" / "__pycache__" / "a.kernel-2.py311.nbi"
    index.write_text("of an earlier source")
    os.utime(index, (0, 0))
    kernels.take(tmp_path / "same", store)
    assert index.read_text() == index.name
