"""Sheets of pictures, words and small arrows: what the frames of a replay are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.image import Image

Colour = tuple[int, int, int]
PAPER, INK, FAINT, VOID = (24, 26, 30), (236, 234, 228), (150, 154, 162), (44, 46, 52)
CHOSEN, ALARM, BOX = (255, 205, 70), (255, 120, 90), (235, 40, 40)
LINE_PX = 19
SIZE, SMALL = 0.47, 0.4
ARROW_PX = 12


class FrameSheet:
    """A dark sheet of `width` x `height` px; all places are in px from its upper left corner."""

    def __init__(self, width: int, height: int) -> None:
        self._pixels: NDArray[np.uint8] = np.full((height, width, 3), PAPER, np.uint8)

    def done(self) -> Image:
        """The sheet (height, width, 3)."""
        return self._pixels

    def picture(self, picture: Image, x: int, y: int, edge: Colour | None = None) -> None:
        """A picture (h, w, 3) whose upper left corner is at x, y."""
        height, width = picture.shape[:2]
        self._pixels[y : y + height, x : x + width] = picture
        if edge is not None:
            _cv2().rectangle(self._pixels, (x, y), (x + width - 1, y + height - 1), edge, 2)

    def empty(self, x: int, y: int, width: int, height: int) -> None:
        """A place where there is no picture."""
        self._pixels[y : y + height, x : x + width] = VOID

    def text(self, text: str, x: int, y: int, colour: Colour = INK, size: float = SIZE) -> None:
        """A line whose baseline begins at x, y. What is not ASCII becomes "?": the font has no more."""
        cv2 = _cv2()
        cv2.putText(self._pixels, _ascii(text), (x, y), cv2.FONT_HERSHEY_SIMPLEX, size, colour, 1, cv2.LINE_AA)

    def note(self, text: str, x: int, y: int, colour: Colour = INK) -> None:
        """A few words on a dark ground in the upper left corner of a picture at x, y."""
        wide = text_px(text, SMALL) + 10
        self._pixels[y : y + LINE_PX, x : x + wide] = self._pixels[y : y + LINE_PX, x : x + wide] // 4
        self.text(text, x + 5, y + LINE_PX - 6, colour, SMALL)

    def plan(self, steps: str, turn_left_rad: float, x: int, y: int, width: int, colour: Colour) -> None:
        """Steps F, L, R, S as arrows, equal ones in a row joined with their number, after the turn in degrees."""
        at = x
        if abs(turn_left_rad) > 1e-3:
            self._arrow("L" if turn_left_rad > 0 else "R", at, y, colour)
            said = f"{abs(math.degrees(turn_left_rad)):.0f}"
            self.text(said, at + ARROW_PX + 2, y + ARROW_PX, colour, SMALL)
            at += ARROW_PX + text_px(said, SMALL) + 8
        for letter, count in _runs(steps):
            said = str(count) if len(steps) > 5 and count > 1 else ""
            repeated = 1 if said else count
            if at + repeated * (ARROW_PX + 2) + text_px(said, SMALL) > x + width:
                self.text("..", at, y + ARROW_PX, colour, SMALL)
                return
            for _ in range(repeated):
                self._arrow(letter, at, y, colour)
                at += ARROW_PX + 2
            if said:
                self.text(said, at, y + ARROW_PX, colour, SMALL)
                at += text_px(said, SMALL) + 4

    def _arrow(self, letter: str, x: int, y: int, colour: Colour) -> None:
        cv2 = _cv2()
        if letter == "S":
            cv2.rectangle(self._pixels, (x + 2, y + 3), (x + ARROW_PX - 3, y + ARROW_PX - 2), colour, -1)
            return
        low, high, left, right = y + ARROW_PX, y + 1, x + 1, x + ARROW_PX - 1
        middle = (x + x + ARROW_PX) // 2
        if letter == "F":
            cv2.arrowedLine(self._pixels, (middle, low), (middle, high), colour, 1, cv2.LINE_AA, tipLength=0.45)
            return
        start, end = (right, left) if letter == "L" else (left, right)
        cv2.line(self._pixels, (start, low), (start, y + 5), colour, 1, cv2.LINE_AA)
        cv2.arrowedLine(self._pixels, (start, y + 5), (end, y + 5), colour, 1, cv2.LINE_AA, tipLength=0.45)


def draw_box(picture: Image, box: Sequence[float]) -> Image:
    """A copy of `picture` with a red box around (x0, y0, x1, y1) px."""
    marked = picture.copy()
    x0, y0, x1, y1 = (round(value) for value in box)
    _cv2().rectangle(marked, (x0, y0), (x1 - 1, y1 - 1), BOX, 2)
    return marked


def text_px(text: str, size: float = SIZE) -> int:
    """Width of a line in px."""
    cv2 = _cv2()
    return int(cv2.getTextSize(_ascii(text), cv2.FONT_HERSHEY_SIMPLEX, size, 1)[0][0])


def wrap_text(text: str, width: int, size: float = SIZE) -> list[str]:
    """Lines of whole words of at most `width` px; a word that is longer stands alone."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_px(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _runs(letters: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for letter in letters:
        if found and found[-1][0] == letter:
            found[-1] = letter, found[-1][1] + 1
        else:
            found.append((letter, 1))
    return found


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()


def _cv2() -> Any:
    import cv2

    return cv2
