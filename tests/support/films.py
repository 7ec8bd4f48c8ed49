"""Small films for tests of clips and writers."""

from pathlib import Path

import numpy as np

from worldgauge.core.video import Writer

KINDS = {"mjpg": "avi", "lossless": "mp4", "viewable": "mp4", "archive": "mp4"}
N, HEIGHT, WIDTH = 37, 48, 64  # more than one key frame interval of "lossless" and "viewable"


def scene(n: int = N, height: int = HEIGHT, width: int = WIDTH) -> np.ndarray:
    """Smooth gradient with a block that moves and a frame number in grey levels: no two frames alike."""
    rows, columns = np.mgrid[:height, :width]
    frames = np.empty((n, height, width, 3), np.uint8)
    for t in range(n):
        frames[t] = np.stack([rows * 2 % 200, columns * 2 % 200, (rows + columns) % 200], -1)
        frames[t, : height // 2, : width // 2] = 5 * t % 250
        x = 2 * t % max(width - 8, 1)
        frames[t, height // 2 : height // 2 + 8, x : x + 8] = (250, 20, 20)
    return frames


def write(path: Path, frames: np.ndarray, kind: str) -> Path:
    with Writer(path, fps=20, kind=kind) as out:
        out.write(frames)
    return path


def write_all(folder: Path) -> dict[str, Path]:
    """The scene in a file of every kind."""
    return {kind: write(folder / f"{kind}.{suffix}", scene(), kind) for kind, suffix in KINDS.items()}
