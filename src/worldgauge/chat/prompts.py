"""Prompts of language models: versioned templates in a folder of each suite, which files of the user can replace.

A template is a text file. It begins with `version: N`. Lines `[system]` and `[user]` begin its two messages; without
them the whole text is the user's message. `$name` is replaced by a text or pictures, `$$` is a dollar sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from worldgauge.chat.question import Message
from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.image import Image
from worldgauge.core.io import digest_of, read_text

MAX_CHARACTERS = 50_000
Part = str | Image
Field = Part | Sequence[Part]
"""Value of a place in a template: a text, a picture (H, W, 3) uint8, or several of them in order."""

_PLACE = re.compile(r"\$(?:(\$)|([a-z][a-z_]*)|\{([a-z][a-z_]*)\})")
_ROLE = re.compile(r"^\[(system|user)\][ \t]*$", re.MULTILINE)
_VERSION = re.compile(r"\Aversion: *([^\n]{1,40})\n")


@dataclass(frozen=True)
class Template:
    """A template of a prompt.

    Attributes:
        name: Name of its file, without ".txt".
        version: The stated version; "own" when a file of the user states none.
        text: The rest of the file.
        own: Whether the user has replaced the template of the package.
    """

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
    """Templates in the folder `prompts` of a package; files of the same names in a user's folder replace them.

    Args:
        package: Name of the package.
        folder: Folder of the user.

    Raises:
        UnknownNameError: A file of the user has no name of a template; the message suggests the nearest one.
        UsageError: A file cannot be read, is no text, or has other places than the template that it replaces.
    """

    def __init__(self, package: str, folder: str | Path | None = None) -> None:
        self._templates = dict(_ours(package))
        if folder is not None:
            self._templates |= _replaced(Path(folder).expanduser(), self._templates)

    def __getitem__(self, name: str) -> Template:
        """The template called `name`. Raises UnknownNameError."""
        if name not in self._templates:
            raise UnknownNameError("prompt", name, self._templates)
        return self._templates[name]

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._templates)

    @property
    def digest(self) -> str:
        """SHA-256 of all templates: two runs with the same digest use the same words."""
        return digest_of("".join(self[name].digest for name in self.names()))


@cache
def _ours(package: str) -> Mapping[str, Template]:
    found = [entry for entry in (files(package) / "prompts").iterdir() if entry.name.endswith(".txt")]
    names = {entry.name.removesuffix(".txt"): entry.read_text("utf-8") for entry in found}
    return {name: _read(name, text) for name, text in sorted(names.items())}


def _replaced(folder: Path, ours: Mapping[str, Template]) -> dict[str, Template]:
    if not folder.is_dir():
        raise UsageError(f"prompts: {folder} is no folder; give one with files such as {next(iter(ours))}.txt")
    kept: dict[str, Template] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        name = path.name.removesuffix(".txt")
        if name not in ours or not path.name.endswith(".txt"):
            raise UnknownNameError("prompt file", path.name, [f"{known}.txt" for known in ours])
        template = _read(name, _content(path), own=True)
        _check_places(path, template.places, ours[name].places)
        kept[name] = template
    return kept


def _read(name: str, text: str, *, own: bool = False) -> Template:
    text = text.replace("\r\n", "\n")
    head = _VERSION.match(text)
    version = head[1].strip() if head else "own"
    return Template(name, version, text[head.end() if head else 0 :].strip(), own)


def _content(path: Path) -> str:
    try:
        text = read_text(path)
    except DataError as error:
        raise UsageError(f"prompts: a file cannot be read ({error})") from error
    if len(text) > MAX_CHARACTERS or not text.strip():
        raise UsageError(f"prompts: {path} must hold 1 to {MAX_CHARACTERS} characters")
    return text


def _check_places(path: Path, given: frozenset[str], needed: frozenset[str]) -> None:
    for name in sorted(given - needed):
        raise UnknownNameError(f"{path}: place", name, needed)
    if missing := needed - given:
        raise UsageError(f"prompts: {path} lacks {_listed(missing)}; without it the model is not shown what it needs")


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
