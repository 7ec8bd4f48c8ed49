"""Makes scans.png, sheets of the starter homes as scans: python docs/images/scans.py"""

import os
import tempfile
from pathlib import Path

import cv2
import numpy as np

from worldgauge.worlds.export import export_starter
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.scan.checking import contact_sheet
from worldgauge.worlds.scan.prepared import ScanOptions

WIDE, COLOURS = 500, 40


def few_colours(image: np.ndarray) -> np.ndarray:
    """The picture in so few colours that a PNG of it is small."""
    cv2.setRNGSeed(0)
    pixels = image.reshape(-1, 3).astype(np.float32)
    stop = (cv2.TERM_CRITERIA_MAX_ITER, 12, 1.0)
    _, own, centres = cv2.kmeans(pixels, COLOURS, np.empty(0), stop, 1, cv2.KMEANS_PP_CENTERS)
    return centres.round().astype(np.uint8)[own.ravel()].reshape(image.shape)


with tempfile.TemporaryDirectory() as folder:
    os.environ["WORLDGAUGE_CACHE"] = folder
    sheets = []
    for path in export_starter(Path(folder) / "scans"):
        sheet = contact_sheet(Scan.of_file(path, ScanOptions()), np.random.default_rng(4))
        sheets.append(cv2.resize(sheet, (WIDE, WIDE * 3 // 4), interpolation=cv2.INTER_AREA))
    cv2.imwrite(
        str(Path(__file__).with_name("scans.png")),
        few_colours(np.hstack(sheets))[:, :, ::-1],
        [cv2.IMWRITE_PNG_COMPRESSION, 9],
    )
