"""How often each frame of each video is decoded."""

from collections import Counter

import pytest

from worldgauge.core._decoding import _Reader


def count_decodes(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """Count from here on, by the path of the video and the index of the frame."""
    decodes: Counter[tuple[str, int]] = Counter()
    decode = _Reader.frame

    def counting(reader: _Reader, index: int) -> object:
        decodes[str(reader._source.path), index] += 1
        return decode(reader, index)

    monkeypatch.setattr(_Reader, "frame", counting)
    return decodes
