"""Prompts of text-driven models: the scenario's sentence in a wording of ours, versioned, replaceable by a file.

The prompts of the published videos are not public, so every record keeps its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.io import digest_of, read_caption

DEFAULT = "robot-v1"
MAX_CHARACTERS = 20_000


@dataclass(frozen=True)
class Template:
    """A prompt with a gap for the sentence.

    Attributes:
        name: As given.
        text: Holds {target} where the sentence goes, and may hold {seconds}.
    """

    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return digest_of(self.text)

    def filled(self, target: str, seconds: float) -> str:
        """Fill in the prompt for one scenario; braces in the sentence stay as they are.

        Args:
            target: The sentence that names the target.
            seconds: Length of the video.
        """
        before, _, after = self.text.partition("{target}")
        length = f"{seconds:g}"
        return before.replace("{seconds}", length) + target + after.replace("{seconds}", length)


def template_of(name: str) -> Template:
    """The template called `name`, or the one in the file of that name.

    Raises:
        UnknownNameError: For an unknown name; suggests the nearest.
        UsageError: For a file that cannot be read, is too long or lacks {target}.
    """
    folder = files(__package__) / "prompts"
    known = {entry.name.removesuffix(".txt"): entry for entry in folder.iterdir() if entry.name.endswith(".txt")}
    if name in known:
        return Template(name, known[name].read_text("utf-8").strip())
    path = Path(name).expanduser()
    if path.suffix != ".txt" and not path.is_file():
        raise UnknownNameError("prompt", name, known)
    try:
        text = "\n".join(read_caption(path).splitlines())
    except DataError as error:
        raise UsageError(f"target setting 'prompt': the file cannot be read ({error})") from error
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"target setting 'prompt': {path} has more than {MAX_CHARACTERS} characters")
    if text.count("{target}") != 1:
        raise UsageError(f"target setting 'prompt': {path} must hold {{target}} once, where the sentence goes")
    return Template(name, text)
