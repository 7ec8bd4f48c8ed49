"""Training clips of LoopNav: collected folders are of one split, published villages of theirs."""

import json
import shutil
from pathlib import Path

import pytest

from worldgauge.core.errors import UsageError
from worldgauge.suites.loopnav.collection import LoopNavCollection, LoopNavOptions
from worldgauge_train.training.clip import read_clips


def test_a_folder_is_for_the_test_unless_it_says_otherwise(walks: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only test parts; worldgauge collect loopnav --split train"):
        read_clips([("loopnav", walks)])
    folder = shutil.copytree(walks, tmp_path / "train")
    manifest = folder / "worldgauge.json"
    content = json.loads(manifest.read_text())
    assert "split" not in content["settings"]
    content["settings"]["split"] = "train"
    manifest.write_text(json.dumps(content))
    found = read_clips([("loopnav", folder)]).clips
    assert [one.actions.space.name for one in found] == ["loop-walk", "loop-walk"]
    assert {one.scene for one in found} == {content["locations"]["plains_village_1"]["digest"]}


def test_published_villages_have_their_splits(walks: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(walks, tmp_path / "published")
    (folder / "worldgauge.json").unlink()
    assert len(read_clips([("loopnav", folder)]).clips) == 2  # of village 1
    (folder / "ABA" / "plains_village_1").rename(folder / "ABA" / "plains_village_20")
    (only,) = read_clips([("loopnav", folder)], "test").clips
    assert only.scene is None


def test_worlds_of_the_splits_differ() -> None:
    seeds = {
        split: {item.args["world_seed"] for item in LoopNavCollection(Path(), LoopNavOptions(split=split)).items()}
        for split in ("test", "train", "val")
    }
    assert max(seeds["test"]) < 2**32 <= min(seeds["train"])
    assert max(seeds["train"]) < 2**33 <= min(seeds["val"])
    assert LoopNavCollection(Path(), LoopNavOptions(split="val")).settings()["split"] == "val"


def test_a_server_has_no_splits() -> None:
    with pytest.raises(UsageError, match="leave --split out"):
        LoopNavCollection(
            Path(), LoopNavOptions(world="minecraft", server="a:1", places="plains_village_20", split="val")
        ).check_options()


@pytest.mark.parametrize(("pictures", "terms"), [("ours", "none"), ("viewer", "unknown"), ("released", "unknown")])
def test_pictures_by_the_renderer_of_the_game_are_not_told_as_free(
    pictures: str, terms: str, walks: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(walks, tmp_path / "game")
    manifest = folder / "worldgauge.json"
    content = json.loads(manifest.read_text())
    content["settings"]["game"] = {"mode": "offline", "pictures": pictures}
    manifest.write_text(json.dumps(content))
    assert {one.terms for one in read_clips([("loopnav", folder)], "test").clips} == {terms}
