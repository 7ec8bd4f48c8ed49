"""Code that a user brings: a module by its name or a file by its path, and how another process finds it again."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from worldgauge.core.errors import SubjectError, UsageError, WorldgaugeError

_FILE_MODULE_PREFIX = "_worldgauge_model_"
_importing: list[str] = []


def locate_module(module: str) -> str | None:
    """What another process imports to have the module that is called `module` here: a name, or a path "/folder/x.py".

    A script has no name that means the same elsewhere, so its file stands for it. None for what is in no such file,
    such as code that was typed in, and for a file whose import then failed.
    """
    if module != "__main__" and not module.startswith(_FILE_MODULE_PREFIX):
        return module
    known = sys.modules.get(module)
    if module == "__main__" and known is not None and known.__spec__ is not None:
        return known.__spec__.name  # of `python -m`
    file = getattr(known, "__file__", None) or ""
    return os.path.abspath(file) if file.endswith(".py") else None


def import_located(home: str, what: str) -> None:
    """Import what `locate_module` named. what: whose code it is, for errors, such as "suite 'echo'"."""
    if home.endswith(".py"):
        import_file(Path(home), what)
    else:
        import_module(home, what)


def import_module(name: str, what: str, hint: str = "") -> ModuleType:
    """The module called `name`, of the working folder or installed.

    what: begins an error, such as "model 'my.wm:X'". hint: ends the one that says that there is none.

    Raises UsageError where there is none, SubjectError for one that cannot be imported.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # as `python -m` does: a project is tested from its own folder
    try:
        with _mark_importing(name):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise SubjectError(f"{what}: importing '{name}' needs '{error.name}', not installed") from error
        raise UsageError(f"{what}: there is no module '{name}' here or installed{hint}") from None
    except WorldgaugeError:
        raise
    except Exception as error:
        raise SubjectError(f"{what}: importing '{name}' raised {type(error).__name__}: {error}") from error


def import_file(path: Path, what: str) -> tuple[ModuleType, str]:
    """The module in file `path`; its digest is its source, so that an edited model is asked again.

    what: begins an error, such as "model". Raises UsageError for a file that cannot be read, SubjectError for one that
    cannot be imported.
    """
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{what} file {path}: cannot be read ({error.strerror})") from None
    name = f"{_FILE_MODULE_PREFIX}{re.sub(r'[^A-Za-z0-9]', '_', path.stem)}_{digest[:12]}"
    if name in sys.modules:
        return sys.modules[name], f"sha256:{digest}"
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
        raise SubjectError(f"{what} file {path}: importing it raised {type(error).__name__}: {error}") from error
    return module, f"sha256:{digest}"


def module_digest(module: ModuleType) -> str:
    """SHA-256 of the module's own file, so that an edited model is asked again; empty for one without a file."""
    try:
        return hashlib.sha256(Path(str(getattr(module, "__file__", ""))).read_bytes()).hexdigest()
    except OSError:
        return ""


def refuse_while_importing() -> None:
    """Raises UsageError when a user's module is being imported: every worker would start workers, without end."""
    if _importing:
        raise UsageError(
            f"{_importing[-1]} starts a run when it is imported, which every worker does; "
            "put that part under: if __name__ == '__main__':"
        )


@contextmanager
def _mark_importing(name: str) -> Generator[None]:
    _importing.append(name)
    try:
        yield
    finally:
        _importing.remove(name)
