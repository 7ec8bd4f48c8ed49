"""Import a user's code by module name or file path, and locate it again from another process."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from worldgauge.core.errors import ModelError, UsageError, WorldgaugeError
from worldgauge.core.io import read_json_object, write_file
from worldgauge_serve import code_files, contents_of, digest, fingerprint

_FILE_MODULE_PREFIX = "_worldgauge_model_"
_OWN_FOLDER = os.path.realpath(Path(__file__).parents[1])
_NEIGHBOURS = frozenset({"worldgauge_train", "worldgauge_lab"})
_NAMED = "named.json"
_importing: list[str] = []
_imported: dict[str, str] = {}
"""Digest of each file of a user's code as it was when it was imported, by path."""


def locate_module(module: str) -> str | None:
    """What another process imports to get a module: its name, or the path of a script; None for typed-in code."""
    if module != "__main__" and not module.startswith(_FILE_MODULE_PREFIX):
        return module
    known = sys.modules.get(module)
    if module == "__main__" and known is not None and known.__spec__ is not None:
        return known.__spec__.name  # of `python -m`
    file = getattr(known, "__file__", None) or ""
    return os.path.abspath(file) if file.endswith(".py") else None


def import_located(home: str, what: str) -> None:
    """Import what `locate_module` returned."""
    if home.endswith(".py"):
        import_file(Path(home), what)
    else:
        import_module(home, what)


def import_module(name: str, what: str, hint: str = "") -> ModuleType:
    """Import an installed module, or one in the working folder."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # as `python -m` does: a project is tested from its own folder
    try:
        known = getattr(sys.modules.get(name), "__file__", None)
        if known:
            _forget_changed(known)
        with _mark_importing(name):
            module = importlib.import_module(name)
        _imported.update(_digests(str(getattr(module, "__file__", None) or "")))
        return module
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise ModelError(f"{what}: importing '{name}' needs '{error.name}', not installed") from error
        raise UsageError(f"{what}: there is no module '{name}' here or installed{hint}") from None
    except WorldgaugeError:
        raise
    except Exception as error:
        raise ModelError(f"{what}: importing '{name}' raised {type(error).__name__}: {error}") from error


def import_file(path: Path, what: str) -> tuple[ModuleType, str]:
    """Import a Python file as a module, with its source: "sha256:" and the fingerprint of the file and its imports."""
    try:
        path.open("rb").close()
        found = fingerprint(path, contents_of(path))
        _forget_changed(str(path))
    except OSError as error:
        raise UsageError(f"{what} file {path}: cannot be read ({error.strerror})") from None
    name = f"{_FILE_MODULE_PREFIX}{re.sub(r'[^A-Za-z0-9]', '_', path.stem)}_{found[:12]}"
    there = sys.modules.get(name)
    if there is not None and os.path.isfile(str(there.__file__)):  # a copy that is gone has no fingerprint
        return there, f"sha256:{found}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # its neighbours can be imported, and shadow nothing
    sys.modules[name] = module
    try:
        with _mark_importing(str(path)):
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, WorldgaugeError) or not isinstance(error, Exception):
            raise
        # What is missing here may be installed where the model lives.
        other = what == "model" and isinstance(error, ModuleNotFoundError)
        how = f'; it has its own environment? --model "cmd:PYTHON -m worldgauge_serve {path}:CLASS"' if other else ""
        raise ModelError(f"{what} file {path}: importing it raised {type(error).__name__}: {error}{how}") from error
    return module, f"sha256:{found}"


def module_digest(module: ModuleType) -> str:
    """Fingerprint of the file of a module and of what it imports. Empty for a module without a file."""
    file = str(getattr(module, "__file__", None) or "")
    return fingerprint(file, contents_of(file))


def _forget_changed(file: str) -> None:
    """Make the next import read a user's code again, if any of it that `file` runs was edited since its import."""
    now = _digests(file)
    if any(_imported.get(path, found) != found for path, found in now.items()):
        for name, module in list(sys.modules.items()):
            place = os.path.realpath(str(getattr(module, "__file__", None) or ""))
            if place in _imported and name != "__main__" and not name.startswith(_FILE_MODULE_PREFIX):
                del sys.modules[name]
        _imported.clear()
        importlib.invalidate_caches()
    _imported.update(now)


def _digests(file: str) -> dict[str, str]:
    """Digests of a user's code, without this project's: imported twice, its classes would exist twice."""
    return {
        path: digest(path)
        for path in code_files(file)
        if not Path(path).is_relative_to(_OWN_FOLDER) and _NEIGHBOURS.isdisjoint(Path(path).parts)
    }


def refuse_while_importing() -> None:
    """Refuse a run while a user's module is being imported: each worker would start more workers without end."""
    if _importing:
        raise UsageError(
            f"{_importing[-1]} starts a run when it is imported, which every worker does; "
            "put that part under: if __name__ == '__main__':"
        )


@contextmanager
def _mark_importing(name: str) -> Generator[None]:
    # Python's cache of code goes by seconds: an edit of the same length within one is not seen, in late imports too.
    sys.dont_write_bytecode = True
    _importing.append(name)
    try:
        yield
    finally:
        _importing.remove(name)


def remember(kind: str, name: str, text: str) -> None:
    """Note where the user named a component, so that later commands find it by its name.

    Runs and data hold only the name: a path in them would let their author run code here.
    """
    place, _, attribute = text.rpartition(":")
    whole = f"{os.path.abspath(Path(place).expanduser())}:{attribute}" if place.endswith(".py") else text
    noted = _noted()
    if noted.get(kind, {}).get(name) != whole:
        file = _named_file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_file(file, json.dumps({**noted, kind: {**noted.get(kind, {}), name: whole}}, indent=1))
        except OSError as error:
            raise UsageError(
                f"{kind} '{text}': {file} cannot be written ({error.strerror}); "
                "set WORLDGAUGE_CONFIG to a folder for such notes"
            ) from None


def recall(kind: str, name: str) -> str | None:
    """Where the user named a component, such as "/path/file.py:Class". A suite and its collection share it."""
    noted, twin = _noted(), {"suite": "collection", "collection": "suite"}.get(kind, kind)
    text = noted.get(kind, {}).get(name) or noted.get(twin, {}).get(name)
    return text if isinstance(text, str) else None


def _noted() -> dict[str, Any]:
    file = _named_file()
    noted = read_json_object(file) if file.is_file() else {}
    return {kind: names for kind, names in noted.items() if isinstance(names, dict)}


def _named_file() -> Path:
    from platformdirs import user_config_dir

    return Path(os.environ.get("WORLDGAUGE_CONFIG") or user_config_dir("worldgauge")) / _NAMED
