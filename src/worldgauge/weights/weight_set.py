"""What is known of a set of weights before it is here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WeightFile:
    """One file of a set.

    name: what it is called in the set's folder. url: where its owner publishes it. bytes: its size, None where that is
    not known before. sha256: hexadecimal, all 64 digits, or as many first ones as are published; empty where none are,
    and then the first copy that comes is recorded and held to.
    """

    name: str
    url: str
    bytes: int | None = None
    sha256: str = ""

    @property
    def published(self) -> bool:
        """Whether all of its digest is known before it comes."""
        return len(self.sha256) == 64


@dataclass(frozen=True)
class WeightSet:
    """The files that one network loads.

    name: of the set and of its network. source: page of the owner. licence: in short, as the owner names it. serves:
    metrics and parts that need it. gated: whether the owner wants an account that has accepted the licence. runs_code:
    whether the file is a program (TorchScript), which is run only where its digest is known.
    """

    name: str
    title: str
    source: str
    licence: str
    serves: tuple[str, ...]
    files: tuple[WeightFile, ...]
    gated: bool = False
    runs_code: bool = False

    @property
    def bytes(self) -> int | None:
        """Size of all files; None where that of one is not known before."""
        sizes = [file.bytes for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)
