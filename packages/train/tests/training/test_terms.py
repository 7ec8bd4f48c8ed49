"""Terms of pictures and of brought weights, and what a checkpoint tells of them."""

from pathlib import Path

import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.worlds.scan import sources
from worldgauge_train.training.clip import terms_of_pipeline, terms_of_world


def test_terms_of_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {
        name: sources.ScanFolder(name, Path(), kind, "z")
        for name, kind in (("rooms", "replicacad"), ("mine", "folder"))
    }
    monkeypatch.setattr("worldgauge_train.training.clip.sources", lambda: held)
    for facts, told in (
        (None, "unknown"),
        (WorldFacts("voxel", {"seed": 1}), "none"),
        (WorldFacts("indoor", {"seed": 1}), "none"),
        (WorldFacts("minecraft", {}), "unknown"),
        (WorldFacts("scan", {"scene": "example/room"}), "none"),
        (WorldFacts("scan", {"scene": "mine/a"}), "unknown"),
        (WorldFacts("scan", {"scene": "gone/a"}), "unknown"),
    ):
        assert terms_of_world(facts) == told, facts
    assert terms_of_world(WorldFacts("scan", {"scene": "rooms/a"})).startswith("CC BY 4.0")


@pytest.mark.parametrize(
    ("card", "told"),
    [
        ("---\nlicense: apache-2.0\ntags:\n- video\n---\n# Model", "apache-2.0"),
        ("---\nlicense: other\nlicense_name: 'a-research-licence'\n---\n", "a-research-licence"),
        ("---\ntags: [video]\n---\nlicense: mit\n", "unknown"),
        ("# Model\nlicense: mit\n", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_terms_of_brought_pipelines(card: str | None, told: str, tmp_path: Path) -> None:
    if card is not None:
        (tmp_path / "README.md").write_text(card)
    assert terms_of_pipeline(tmp_path) == told
