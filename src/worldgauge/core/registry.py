"""One registry for every kind of component: suites, models, metrics, worlds, estimators.

A component of this package registers with a decorator in its own file. The registry finds it by walking the package
folder, and the folder of that name in every suite. A component of another package joins through a packaging entry point
and is not imported before it is asked for. There is no central list to edit. A kind without an entry-point group of its
own is found by import: the group `worldgauge.plugins` names modules that register such components.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from worldgauge.core.errors import UnknownNameError, UsageError, WorldgaugeError, check_neighbour, did_you_mean
from worldgauge.core.user_modules import import_file, import_module, recall, remember

T = TypeVar("T")
_SUITES = "worldgauge.suites"
PLUGINS = "worldgauge.plugins"
"""Entry-point group of modules that register components of any kind when they are imported."""
_TEXT = re.compile(r"(?:.+\.py|[\w.]+):\w+")
"""A component named by its file or module: "./spin.py:Spin", "package.module:Spin"."""


@dataclass(frozen=True)
class Entry(Generic[T]):
    """One registered component."""

    name: str
    origin: str
    target: T | EntryPoint
    facts: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> T:
        """The component itself; it is imported first when it came from an entry point."""
        if not isinstance(self.target, EntryPoint):
            return self.target
        try:
            loaded: T = self.target.load()
        except WorldgaugeError:
            raise
        except (Exception, SystemExit) as error:
            package = f" of {self.target.dist.name} {self.target.dist.version}" if self.target.dist else ""
            why = f"{type(error).__name__}: {error}"[:300]
            raise UsageError(
                f"'{self.name}'{package} cannot be imported from {self.origin} ({why}); "
                "update or uninstall that package"
            ) from error
        return loaded

    @property
    def summary(self) -> str:
        """First line of the docstring; empty for entry points, which are not imported for a listing."""
        doc = "" if isinstance(self.target, EntryPoint) else (self.target.__doc__ or "")
        return doc.strip().split("\n")[0]


class Registry(Generic[T]):
    """Names of one kind of component.

    Args:
        kind: Word used in messages ("model").
        packages: Modules, and folders of modules, that register components when imported.
        group: Entry-point group in which other packages offer theirs; None where modules of `PLUGINS` register them.
        in_suites: Name of the module, or of the folder of modules, in which a suite keeps its own.

    Examples:
        >>> tools = wg.Registry("tool")
        >>> tools.register("adder")(sum) is sum, tools.get("adder")([1, 2])
        (True, 3)
    """

    def __init__(self, kind: str, *packages: str, group: str | None = None, in_suites: str | None = None) -> None:
        self.kind = kind
        self._packages = packages
        self._in_suites = in_suites
        self._group = group
        self._entries: dict[str, Entry[T]] = {}
        self._complete = False
        self._found: set[str] = set()
        self._searching: set[int] = set()
        self._modules: dict[str, Any] = {}

    def register(self, name: str, **facts: Any) -> Callable[[T], T]:
        """Decorator that registers its target.

        Args:
            name: Name of the component.
            facts: What it declares about itself.

        Returns:
            The decorator; it returns its target unchanged.

        Raises:
            UsageError: Another component has the same name.
        """

        def decorate(target: T) -> T:
            module = getattr(target, "__module__", "?")
            self._add(Entry(name, module, target, facts))
            return target

        return decorate

    def get(self, name: str) -> T:
        """The component with this name.

        Args:
            name: Name of the component.

        Returns:
            The component, imported if necessary.

        Raises:
            UnknownNameError: There is no such name; the message suggests the nearest one.
        """
        return self.entry(name).load()

    def entry(self, name: str) -> Entry[T]:
        """The entry with this name, without loading the target of an entry point.

        Args:
            name: Name of the component.

        Returns:
            The entry.

        Raises:
            UnknownNameError: There is no such name; the message suggests the nearest one.
        """
        if name not in self and (name := current_suite(name)) not in self:
            check_neighbour(self.kind, name)
            raise UnknownNameError(self.kind, name, self._entries)
        return self._entries[name]

    def named(self, text: str) -> Entry[T]:
        """The entry that the user names: by its name, "./file.py:Class" or "package.module:Class".

        A file or module is named once. What it registers is then known by its name, also in other processes and later
        commands of this user. Only words of the user go here: `entry` takes what stands in data and runs, and runs no
        file that these name.

        Args:
            text: What the user wrote.

        Returns:
            The entry.

        Raises:
            UnknownNameError: There is no such name; the message suggests the nearest one.
            UsageError: The file or module registers no such component.
        """
        if text.endswith(".py"):
            raise UsageError(f"{self.kind} '{text}': name the class in it: {text}:CLASS")
        if _TEXT.fullmatch(text):
            return self._import_named(text)
        entry = self.entry(text)
        if entry.name != text:
            print(f"note: {self.kind} '{text}' is now '{entry.name}'", file=sys.stderr)
        return entry

    def names(self) -> list[str]:
        """All names, sorted."""
        self._discover()
        return sorted(self._entries)

    def __iter__(self) -> Iterator[Entry[T]]:
        return (self._entries[name] for name in self.names())

    def __contains__(self, name: str) -> bool:
        if not self._find_suite(name):
            self._discover()
        if name not in self._entries and (text := recall(self.kind, name)) is not None:
            self._import_named(text)
        return name in self._entries

    def _import_named(self, text: str) -> Entry[T]:
        """Import a user's file or module, and find what it registers."""
        place, _, attribute = text.rpartition(":")
        owner = f"{self.kind} '{text}'"
        if place.endswith(".py"):
            module, _ = import_file(Path(place).expanduser(), owner)
        else:
            module = import_module(place, owner, "; or name its file: ./file.py:Class")
        self._discover()
        target = getattr(module, attribute, None)
        # A suite also stands for the collection of its name in the same file, and the other way round.
        names = [entry.name for entry in self._entries.values() if entry.target is target]
        name = next(iter(names), getattr(target, "name", None))
        entry = self._entries.get(name) if isinstance(name, str) else None
        if entry is None or not (names or entry.origin == module.__name__):
            raise UsageError(
                f"{owner}: {place} registers no {self.kind} '{attribute}'; decorate it with register(NAME)"
            )
        remember(self.kind, entry.name, text)
        return entry

    def _add(self, entry: Entry[T]) -> None:
        known = self._entries.get(entry.name)
        module = sys.modules.get(entry.origin)
        imported_again = known is not None and known.origin == entry.origin and module is not self._modules[entry.name]
        if known is not None and not imported_again and not _is_same(known, entry):
            raise UsageError(
                f"two {self.kind}s are called '{entry.name}': one in {known.origin}, one in {entry.origin}; rename one"
            )
        if known is None or not isinstance(entry.target, EntryPoint):
            self._entries[entry.name], self._modules[entry.name] = entry, module

    def _find_suite(self, name: str) -> bool:
        """Import what the suite of this name registers under its own name, and leave the other suites alone.

        They take most of the start of a process, and a worker needs one. Another package's component of that name is
        refused as in the whole search.
        """
        if self._in_suites is None or self._complete or not name.isidentifier():
            return self._complete
        if name in self._found:
            return True
        ours = Path(importlib.import_module(_SUITES).__path__[0])
        if (ours / name / f"{self._in_suites}.py").exists():
            self._import(f"{_SUITES}.{name}.{self._in_suites}")
        elif self._packages or (ours / f"{name}.py").exists():
            return False
        self._add_entry_points(name=name)
        if name in self._entries:
            self._found.add(name)
        return name in self._entries

    def _add_entry_points(self, name: str | None = None) -> None:
        """Add what other packages offer, under one name or all; of a kind with a group nothing is imported."""
        for point in entry_points(group=self._group or PLUGINS):
            if self._group is None:
                Entry[Any](point.name, point.value, point).load()
            elif name in (None, point.name):
                self._add(Entry(point.name, point.value, point))

    def _discover(self) -> None:
        """Import the modules of this package and read the entry points, once.

        Threads that ask meanwhile search as well, so that none of them sees a partial list. Python imports a module
        once, and they wait for that. A module that asks while the search imports it sees what was found so far.
        """
        me = threading.get_ident()
        if self._complete or me in self._searching:
            return
        self._searching.add(me)
        try:
            for package in self._packages:
                self._import_folder(package)
            if self._in_suites is not None:
                self._import_from_suites(self._in_suites)
            self._add_entry_points()
            self._complete = True
        finally:
            self._searching.discard(me)

    def _import_folder(self, package: str) -> None:
        self._import(package)
        for module in pkgutil.iter_modules(getattr(sys.modules[package], "__path__", ())):
            if not module.name.startswith("_"):
                self._import(f"{package}.{module.name}")

    def _import_from_suites(self, name: str) -> None:
        """Import the module `name` of every suite that is a folder, and suites that are one file as they are."""
        for suite in pkgutil.iter_modules(importlib.import_module(_SUITES).__path__):
            module = f"{_SUITES}.{suite.name}"
            if not suite.ispkg:
                self._import(module)
                continue
            (folder,) = importlib.import_module(module).__path__
            if (Path(folder) / f"{name}.py").exists():
                self._import(f"{module}.{name}")
            elif (Path(folder) / name / "__init__.py").exists():
                self._import_folder(f"{module}.{name}")

    def _import(self, module: str) -> None:
        """Import a module of this package; if it fails, what it registered before is removed, for the next attempt."""
        try:
            importlib.import_module(module)
        except BaseException:
            # In place: what another thread registers meanwhile is never registered again.
            for name in [name for name, entry in list(self._entries.items()) if entry.origin == module]:
                self._entries.pop(name, None)
            raise


def current_suite(name: str) -> str:
    """Name of a suite today: the new one where it was renamed."""
    renamed: Mapping[str, str] = importlib.import_module(_SUITES).RENAMED
    return renamed.get(name, name)


def first_suite_name(name: str) -> str:
    """Name of a suite in fingerprints: the one that it had first."""
    renamed: Mapping[str, str] = importlib.import_module(_SUITES).RENAMED
    return next((old for old, new in renamed.items() if new == name), name)


def check_arguments(make: Callable[..., Any], given: Mapping[str, Any], owner: str) -> None:
    """Check that a class or function can be called with the given settings."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except ValueError:
        return
    named = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    names = [one.name for one in named]
    takes = ", ".join(one.name if one.default is one.empty else f"{one.name}={one.default!r}" for one in named)
    listing = f"It takes: {takes}" if takes else "It takes no settings"
    unknown = [name for name in given if name not in names]
    if unknown and not any(one.kind is one.VAR_KEYWORD for one in parameters):
        raise UsageError(f"{owner} has no setting '{unknown[0]}'. {did_you_mean(unknown[0], names)}{listing}")
    missing = [one.name for one in named if one.default is one.empty and one.name not in given]
    if missing:
        raise UsageError(f"{owner} needs the setting '{missing[0]}'. {listing}")
    for one in named:
        declared = one.annotation.__name__ if isinstance(one.annotation, type) else str(one.annotation)
        rule = _PLAIN.get(declared.removesuffix(" | None"))
        is_left_out = one.name not in given or (given[one.name] is None and declared.endswith(" | None"))
        if rule is not None and not is_left_out and not rule.holds(given[one.name]):
            raise UsageError(f"{owner}: {one.name} must be {rule.words}, got {given[one.name]!r}")


class _Plain(NamedTuple):
    words: str
    holds: Callable[[Any], bool]


_PLAIN: Mapping[str, _Plain] = {
    "int": _Plain("a whole number", lambda given: isinstance(given, Integral) and not isinstance(given, bool)),
    "float": _Plain("a number", lambda given: isinstance(given, Real) and not isinstance(given, bool)),
    "bool": _Plain("true or false", lambda given: isinstance(given, bool)),
}
"""Declared types whose values can be told apart in plain text. Text may look like a number, so "str" takes all."""


def _is_same(one: Entry[Any], other: Entry[Any]) -> bool:
    """Whether two entries are the same: a file can be imported under two names, and an entry point can name it too."""
    if one.target is other.target:
        return True
    written_anew = one.origin == other.origin and not isinstance(one.target, EntryPoint)
    return not written_anew and _place(one.target) == _place(other.target)


def _place(target: Any) -> tuple[str, Any]:
    """Where a component is defined: its file, if there is one, and its name there."""
    if isinstance(target, EntryPoint):
        module, name = target.module, target.attr
    else:
        module, name = getattr(target, "__module__", "?"), getattr(target, "__qualname__", target)
    file = getattr(sys.modules.get(module), "__file__", None)
    return (module if file is None else os.path.realpath(file)), name
