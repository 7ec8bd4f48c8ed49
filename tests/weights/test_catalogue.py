"""The sets that are known: nothing that could change, be guessed or be fetched in the open."""

import re
from pathlib import PurePath

import pytest

from support.places import DOCS
from worldgauge.weights import WeightSet, catalogue, sets_for

NAMES = {
    *("lpips-alex", "lpips-vgg", "i3d", "dinov3-b16", "dinov2-b14", "clip-laion", "musiq-spaq"),
    *("sam3", "sam2", "grounding-dino", "depth-anything", "stlpips-alex", "stlpips-vgg", "xfeat", "smollm2"),
}


def test_every_network_has_its_set_by_name_or_need() -> None:
    assert set(catalogue) == NAMES
    assert all(name == one.name for name, one in catalogue.items())
    assert {one.name for one in catalogue.values() if one.gated} == {"dinov3-b16", "sam3"}
    assert {one.name for one in catalogue.values() if one.runs_code} == {"i3d"}
    assert sets_for(["lpips", "sam3", "lpips-vgg"]) == ["lpips-alex", "lpips-vgg", "sam3"]
    assert sets_for(["fvd"]) == ["i3d"]


@pytest.mark.parametrize("one", catalogue.values(), ids=lambda one: one.name)
def test_files_are_held_to_what_is_known(one: WeightSet) -> None:
    assert one.licence
    assert one.serves
    assert one.source.startswith("https://")
    assert len({file.name for file in one.files}) == len(one.files)
    for file in one.files:
        assert PurePath(file.name).name == file.name
        assert file.url.startswith("https://") or (one.pip and not file.url)
        assert re.fullmatch("[0-9a-f]{0,64}", file.sha256)
        assert file.bytes is None or file.bytes > 0
        if digits := re.search(r"-([0-9a-f]{8})\.pth$", file.name):
            assert file.sha256.startswith(digits[1])
        if "huggingface.co" in file.url:
            assert re.search(r"/resolve/[0-9a-f]{40}/", file.url), "a branch may move"
        if one.runs_code or file.name.endswith((".pth", ".safetensors")):
            assert file.published


@pytest.mark.parametrize("one", catalogue.values(), ids=lambda one: one.name)
def test_the_page_says_the_same(one: WeightSet) -> None:
    page = (DOCS / "howto" / "learned_metrics.md").read_text("utf-8")
    (row,) = [line for line in page.split("\n") if line.startswith(f"| `{one.name}` |")]
    for fact in (one.title, ", ".join(one.serves), one.licence, f"]({one.source})"):
        assert fact in row
    assert ("to be accepted first" in row) == one.gated
