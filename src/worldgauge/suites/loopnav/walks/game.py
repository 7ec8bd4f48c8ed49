"""How the real game is used to collect loops: in which mode, where, and drawn by whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.worlds.minecraft.cells.survey import seed_of
from worldgauge.worlds.minecraft.install import VIEWER, find_node, find_packages
from worldgauge.worlds.minecraft.places import SEED, VERSION, Place, place_of
from worldgauge.worlds.minecraft.servers.java import JavaServer, address

Mode = Literal["js-server", "offline", "java"]
Pictures = Literal["ours", "viewer", "released"]


@dataclass(frozen=True)
class Game:
    """How the real game is used.

    Attributes:
        mode: "js-server", a server of ours with a bot on it, in real time; "offline", the game's physics and planner
            without a server, which gives the same files sooner; "java", an external server.
        server: HOST:PORT of the external server.
        places: Places on that server: published names, or NAME@X,Y,Z.
        pictures: "ours", our own camera on the cells of the game; "viewer", the renderer of the published frames;
            "released", the same renderer with its defect, invisible stairs.

    Raises:
        UsageError: For options that do not go together.
    """

    mode: Mode = "js-server"
    server: str | None = None
    places: tuple[str, ...] = ()
    pictures: Pictures = "ours"

    def __post_init__(self) -> None:
        if self.mode != "java" and (self.server is not None or self.places):
            raise UsageError(f"mode {self.mode} takes no server and no places: leave them out, or take mode java")
        if self.mode == "java" and self.server is None:
            raise UsageError("mode java needs a server: give host:port, such as localhost:25565")
        if self.mode == "java" and not self.places:
            raise UsageError("a server needs places: such as plains_village_20, or NAME@X,Y,Z")
        if self.server is not None:
            address(self.server)
            names = [place_of(text).name for text in self.places]
            if len(set(names)) < len(names):
                raise UsageError(f"places are {' '.join(self.places)}: give every name once")

    def place(self, name: str) -> Place:
        """The one of `places` with that name."""
        return next(place for place in map(place_of, self.places) if place.name == name)

    def check(self) -> None:
        """Check that the game can be used on this machine.

        Raises:
            WorldError: When it cannot; says what to do.
        """
        find_node()
        find_packages()
        if self.pictures != "ours":
            find_packages(kind=VIEWER)
        if self.server is not None:
            with JavaServer(*address(self.server)) as server:
                self.check_server(server)

    def check_server(self, server: JavaServer) -> int | None:
        """Seed of the server's world; None where the server does not give it.

        Raises:
            WorldError: When published places lie elsewhere, or the viewer cannot draw its version.
        """
        if self.pictures != "ours" and server.version != VERSION:
            versions = f"of {VERSION}, and {self.server} runs {server.version}"
            raise WorldError(f"pictures '{self.pictures}' are drawn {versions}")
        seed = seed_of(server)
        published = next((text for text in self.places if place_of(text).published), None)
        if published is not None and (server.version, seed) not in ((VERSION, SEED), (VERSION, None)):
            raise WorldError(
                f"'{published}' is a place of the world with seed {SEED} of {VERSION}, and {self.server} runs "
                f"{server.version} with seed {seed}: set level-seed={SEED} there, or take places NAME@X,Y,Z"
            )
        return seed
