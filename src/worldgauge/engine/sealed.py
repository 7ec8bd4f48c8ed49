"""Sealed data sets: nobody knows them until their seal is published, after the answers.

A seal is a JSON file with the options of a collection and a secret. The organiser publishes its SHA-256 with the
questions, and the file itself after all answers are bundled. The secret gives the seed of the data set and the names
of the questions.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import dumps, read_json_object, write_file
from worldgauge.core.model import Blinding
from worldgauge.engine.collect import SEEDS, open_collection
from worldgauge.engine.options import plain

FORMAT = "worldgauge-seal"


@dataclass(frozen=True)
class Seal:
    """What makes a sealed data set."""

    collection: str
    options: Mapping[str, Any]
    secret: str

    @property
    def text(self) -> str:
        """Content of the file; `sha256sum` of it is the commitment."""
        held = {"format": FORMAT, "collection": self.collection, "options": self.options, "secret": self.secret}
        return dumps(held, indent=1) + "\n"

    @property
    def commitment(self) -> str:
        """What is published first."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def names(self) -> Blinding:
        """Names and seeds of the questions."""
        return Blinding(self._derived("names"), int(self._derived("questions")[:8], 16))

    @property
    def all_options(self) -> dict[str, Any]:
        """Options of the collection, with the seed that follows from the secret."""
        return {**self.options, "seed": int(self._derived("data"), 16) % SEEDS}

    def check_data(self, data: Path) -> None:
        """Raises UsageError for data that this seal does not make."""
        collection = open_collection(self.collection, data, self.all_options)
        held, wanted = collection.manifest(), collection.settings()
        if held is None or any(held.get(name) != value for name, value in wanted.items()):
            make = f"worldgauge collect {self.collection} --sealed FILE"
            raise UsageError(f"{data}: not the data set of this seal; make it: {make}")

    def _derived(self, use: str) -> str:
        return hashlib.sha256(f"{use}/{self.secret}".encode()).hexdigest()


def read_seal(path: Path) -> Seal:
    """Read a seal."""
    held = read_json_object(path)
    secret, options = held.get("secret"), held.get("options")
    if held.get("format") != FORMAT or not isinstance(options, dict) or not re.fullmatch("[0-9a-f]{64}", str(secret)):
        raise DataError(f"{path}: no seal; worldgauge collect NAME --sealed FILE makes one")
    return Seal(str(held["collection"]), options, str(secret))


def open_seal(path: Path, collection: str, options: Mapping[str, Any]) -> Seal:
    """The seal of a file, or a new one for these options if there is no such file."""
    defaults = open_collection(collection, path.parent, {})
    given = plain(open_collection(collection, path.parent, options).options)
    usual = plain(defaults.options)
    if given["seed"] != usual["seed"]:
        raise UsageError("--seed does not go with --sealed: the secret gives the seed")
    del given["seed"]
    if not path.exists():
        made = Seal(collection, given, secrets.token_hex(32))
        write_file(path, made.text)
        path.chmod(0o600)
        return made
    seal = read_seal(path)
    other = [name for name, value in given.items() if value not in (usual[name], seal.options.get(name))]
    if seal.collection != collection or other:
        what = f"option '{other[0]}'" if seal.collection == collection else f"collection '{seal.collection}'"
        raise UsageError(f"{path}: a seal of another {what}; give its collection and leave the options out")
    return seal
