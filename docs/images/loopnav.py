"""The picture of the README, from the runs of `make demo`: python docs/images/loopnav.py demo/runs"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

from worldgauge.core.video import Clip

SUBJECTS = ("truth", "memory", "forgetful", "freeze")
MOMENTS = (0.05, 0.4, 0.7, 1.0)
TILE = (320, 180)


def main(runs: Path, record: str) -> None:
    """Four moments of one way back, a row for each model."""
    rows = []
    for model in SUBJECTS:
        clip = Clip.open(runs / model / "records" / record / "rollout.mp4").resized(*TILE)
        rows.append(np.hstack([clip[round(share * (len(clip) - 1))] for share in MOMENTS]))
    out = Path(__file__).with_suffix(".jpg")
    Image.fromarray(np.vstack(rows)).save(out, quality=88)
    print(out)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    chosen = sys.argv[2] if len(sys.argv) > 2 else sorted(p.name for p in (folder / "truth" / "records").iterdir())[0]
    main(folder, chosen)
