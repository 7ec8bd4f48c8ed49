"""A decoder by its text: whose settings go first, which it takes, and what tells it from another."""

import sys
from pathlib import Path

import pytest

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.perception.decoders import digest_of, open_decoder, settings_taken


def test_settings_of_a_decoder() -> None:
    decoder = open_decoder("klt-vo?key_frames=9", key_frames=11, followed=50)
    assert (decoder.settings["key_frames"], decoder.settings["followed"]) == (9, 50)
    with pytest.raises(UsageError, match=r"'klt-vo' has no setting 'frames'.*'key_frames'.*followed"):
        open_decoder("klt-vo", frames=9)
    assert settings_taken("exact") == ()
    assert settings_taken("precomputed") == ("folder", "layout", "compat")
    assert "cross_check" in settings_taken("sfm-global?frames=33")
    assert settings_taken("cmd:no-such-program x") == ("at", "layout", "compat", "deadline_s")
    with pytest.raises(UnknownNameError, match="sfm-global"):
        settings_taken("sfm-globl")
    with pytest.raises(UsageError, match=r"decoder 'klt-vo\?a': settings look like"):
        settings_taken("klt-vo?a")


def test_a_digest_is_of_a_decoder_that_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("exact", "klt-vo", "klt-vo?key_frames=9", "sfm-global", f"precomputed?folder={tmp_path}")
    digests = [digest_of(text) for text in texts]
    assert len(set(digests)) == len(texts)
    assert digests == [digest_of(text) for text in texts]
    assert digest_of("cmd:no-such-program") is digest_of("served?at=cmd%3Ano-such-program") is None
    with pytest.raises(UsageError, match="no folder"):
        digest_of(f"precomputed?folder={tmp_path / 'gone'}")
    monkeypatch.setitem(sys.modules, "pycolmap", None)
    assert digest_of("sfm-global") is None
