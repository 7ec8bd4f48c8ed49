"""Prompts of language models: versioned templates in a folder of each suite, which files of the user can replace.

A template is a text file. It begins with `version: N`. Lines `[system]` and `[user]` begin its two messages; without
them the whole text is the user's message. `$name` is replaced by a text or pictures, `$$` is a dollar sign.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from worldgauge.chat.question import Message
from worldgauge.core.errors import DataError, ShapeError, UnknownNameError, UsageError
from worldgauge.core.image import Box, Image
from worldgauge.core.io import digest_of, read_text

MAX_CHARACTERS = 50_000
Part = str | Image
Field = Part | Sequence[Part]
"""Value of a place in a template: a text, a picture (H, W, 3) uint8, or several of them in order."""

_PLACE = re.compile(r"\$(?:(\$)|([a-z][a-z_]*)|\{([a-z][a-z_]*)\})")
_ROLE = re.compile(r"^\[(system|user)\][ \t]*$", re.MULTILINE)
_VERSION = re.compile(r"\Aversion: *([^\n]{1,40})\n")


@dataclass(frozen=True)
class PromptTemplate:
    """A prompt template; `own` if the user replaced it, with `version` "own" if that file states none."""

    name: str
    version: str
    text: str
    own: bool = False

    @property
    def digest(self) -> str:
        """SHA-256 of version and text."""
        return digest_of(f"{self.version}\n{self.text}")

    @property
    def label(self) -> str:
        """Name, version and the start of the digest, as in records."""
        return f"{self.name}/{self.version}@{self.digest[:12]}"

    @property
    def places(self) -> frozenset[str]:
        """Names of the places that are filled."""
        return frozenset(name for _, name in self._split(self.text) if name)

    def messages(self, **fields: Field) -> tuple[Message, ...]:
        """Fill the template."""
        if set(fields) != self.places:
            raise UsageError(f"prompt '{self.name}' takes {_listed(self.places)}, got {_listed(fields)}")
        filled = []
        for role, text in self._sections():
            parts = list(_joined(self._parts(text, fields)))
            if parts:
                filled.append(Message("system" if role == "system" else "user", parts))
        return tuple(filled)

    def _parts(self, text: str, fields: Mapping[str, Field]) -> Iterator[Part]:
        for words, name in self._split(text):
            yield words
            if name:
                given = fields[name]
                yield from given if isinstance(given, (list, tuple)) else (given,)

    def _sections(self) -> list[tuple[str, str]]:
        pieces = _ROLE.split(self.text)
        before = [("user", pieces[0].strip())] if pieces[0].strip() else []
        return [*before, *((role, text.strip()) for role, text in zip(pieces[1::2], pieces[2::2], strict=True))]

    @staticmethod
    def _split(text: str) -> Iterator[tuple[str, str]]:
        """Words, and the name of the place that follows them, empty at the end."""
        start, words = 0, ""
        for match in _PLACE.finditer(text):
            words += text[start : match.start()]
            start = match.end()
            if match[1]:
                words += "$"
            else:
                yield words, match[2] or match[3]
                words = ""
        yield words + text[start:], ""


class Prompts:
    """Templates in the folder `prompts` of a package; files of the same names in a user's folder replace them."""

    def __init__(self, package: str, folder: str | Path | None = None) -> None:
        self._templates = dict(_ours(package))
        if folder is not None:
            self._templates |= _replaced(Path(folder).expanduser(), self._templates)

    def __getitem__(self, name: str) -> PromptTemplate:
        """The template called `name`. Raises UnknownNameError."""
        if name not in self._templates:
            raise UnknownNameError("prompt", name, self._templates)
        return self._templates[name]

    def extended(self, name: str, end: str) -> Prompts:
        """These templates, with a text after the end of one of them."""
        made = copy(self)
        text = f"{self[name].text}\n\n{end.replace('$', '$$')}"
        made._templates = {**self._templates, name: replace(self[name], text=text)}
        return made

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._templates)

    @property
    def digest(self) -> str:
        """SHA-256 of all templates: two runs with the same digest use the same words."""
        return self.digest_without(())

    def digest_without(self, unused: Collection[str]) -> str:
        """SHA-256 of all templates but those that nobody uses."""
        return digest_of("".join(self[name].digest for name in self.names() if name not in unused))


@cache
def _ours(package: str) -> Mapping[str, PromptTemplate]:
    found = [entry for entry in (files(package) / "prompts").iterdir() if entry.name.endswith(".txt")]
    names = {entry.name.removesuffix(".txt"): entry.read_text("utf-8") for entry in found}
    return {name: _read(name, text) for name, text in sorted(names.items())}


def _replaced(folder: Path, ours: Mapping[str, PromptTemplate]) -> dict[str, PromptTemplate]:
    if not folder.is_dir():
        raise UsageError(f"prompts: {folder} is no folder; give one with files such as {next(iter(ours))}.txt")
    kept: dict[str, PromptTemplate] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        name = path.name.removesuffix(".txt")
        if name not in ours or not path.name.endswith(".txt"):
            raise UnknownNameError("prompt file", path.name, [f"{known}.txt" for known in ours])
        try:
            text = read_text(path)
        except DataError as error:
            raise UsageError(f"prompts: a file cannot be read ({error})") from error
        if len(text) > MAX_CHARACTERS or not text.strip():
            raise UsageError(f"prompts: {path} must hold 1 to {MAX_CHARACTERS} characters")
        template = _read(name, text, own=True)
        for place in sorted(template.places - ours[name].places):
            raise UnknownNameError(f"{path}: place", place, ours[name].places)
        if missing := ours[name].places - template.places:
            why = "without it the model is not shown what it needs"
            raise UsageError(f"prompts: {path} lacks {_listed(missing)}; {why}")
        kept[name] = template
    return kept


def _read(name: str, text: str, *, own: bool = False) -> PromptTemplate:
    text = text.replace("\r\n", "\n")
    head = _VERSION.match(text)
    version = head[1].strip() if head else "own"
    return PromptTemplate(name, version, text[head.end() if head else 0 :].strip(), own)


def _joined(parts: Iterator[Part]) -> Iterator[Part]:
    """Texts that follow each other made one; empty ones left out."""
    words = ""
    for part in parts:
        if isinstance(part, str):
            words += part
            continue
        if words.strip():
            yield words.strip()
        yield part
        words = ""
    if words.strip():
        yield words.strip()


def _listed(names: Iterator[str] | frozenset[str] | Mapping[str, Field]) -> str:
    return ", ".join(f"${name}" for name in sorted(names)) or "nothing"


RED = (230, 20, 20)
TITLE_PX = 28
"""Height of the strip with a title."""
_PAPER, _INK, _GAP_PX = 255, (20, 20, 20), 6


def titled(image: Image, title: str) -> Image:
    """Add a white strip with a title, cut to fit, above a picture (H, W, 3) uint8. The font has only ASCII."""
    import cv2

    width = image.shape[1]
    strip = np.full((TITLE_PX, width, 3), _PAPER, np.uint8)
    said = title.encode("ascii", "replace").decode()
    font, size = cv2.FONT_HERSHEY_SIMPLEX, 0.6
    while said and cv2.getTextSize(said, font, size, 1)[0][0] > width - 8:
        if size > 0.4:
            size -= 0.05
        else:
            said = said[:-1]
    cv2.putText(strip, said, (4, TITLE_PX - 8), font, size, _INK, 1, cv2.LINE_AA)
    return np.vstack([strip, image])


def boxed(image: Image, box: Box | None, colour: tuple[int, int, int] = RED) -> Image:
    """A copy of a picture (H, W, 3) uint8 with the outline of a box just inside its edges, in an RGB colour."""
    if box is None:
        return image
    x0, y0, x1, y1 = box
    if not (0 <= x0 < x1 <= image.shape[1] and 0 <= y0 < y1 <= image.shape[0]):
        raise ShapeError(f"box {box} does not lie in an image of {image.shape[1]} x {image.shape[0]}")
    drawn = image.copy()
    thick = max(2, round(min(image.shape[:2]) / 128))
    inner = drawn[y0 + thick : max(y0 + thick, y1 - thick), x0 + thick : max(x0 + thick, x1 - thick)].copy()
    drawn[y0:y1, x0:x1] = colour
    drawn[y0 + thick : y0 + thick + inner.shape[0], x0 + thick : x0 + thick + inner.shape[1]] = inner
    return drawn


def sheet(images: Sequence[Image], columns: int = 3) -> Image:
    """Put pictures (H, W, 3) uint8 on a white sheet in reading order; smaller ones get white below and to the right."""
    if not images or columns < 1:
        raise UsageError("a sheet needs at least one picture and one column")
    columns = min(columns, len(images))
    height, width = (max(image.shape[axis] for image in images) for axis in (0, 1))
    rows = -(-len(images) // columns)
    page = np.full((rows * (height + _GAP_PX) - _GAP_PX, columns * (width + _GAP_PX) - _GAP_PX, 3), _PAPER, np.uint8)
    for place, image in enumerate(images):
        top, left = place // columns * (height + _GAP_PX), place % columns * (width + _GAP_PX)
        page[top : top + image.shape[0], left : left + image.shape[1]] = image
    return page


def smaller(image: Image, divisor: int) -> Image:
    """Divide each side of a picture by `divisor`, averaged by area; 1 returns the picture itself."""
    import cv2

    if divisor == 1:
        return image
    height, width = image.shape[:2]
    size = (max(1, width // divisor), max(1, height // divisor))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
