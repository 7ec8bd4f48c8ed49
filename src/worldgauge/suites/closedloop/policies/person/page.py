"""The page on which a person acts, and its server."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from worldgauge.report.page import asset
from worldgauge.report.page_server import PageServer, Sent, as_json
from worldgauge.suites.closedloop.policies.person.desk import Desk, host_and_port, set_up

ANY_PORT = "127.0.0.1:0"
"""Where a page listens by default: on this machine, on any port that is free."""
FILES = {
    "/": ("person.html", "text/html"),
    "/person.js": ("person.js", "text/javascript"),
    "/person.css": ("person.css", "text/css"),
}


class PersonPage(PageServer):
    """Shows what lies on a desk, and brings what is done there.

    Args:
        desk: The desk.
        host: Address to listen on.
        port: Port; 0 for any that is free.

    Raises:
        UsageError: For an address that cannot be used.
    """

    how = "give another --set page=HOST:PORT"

    def __init__(self, desk: Desk, host: str, port: int) -> None:
        super().__init__(host, port)
        self.desk = desk

    def get(self, path: str, query: Mapping[str, str]) -> Sent | None:
        """See `PageServer.get`."""
        if path in FILES:
            name, kind = FILES[path]
            return Sent((files(__package__) / name).read_bytes(), f"{kind}; charset=utf-8")
        if path == "/page.css":
            return Sent(asset("page.css").encode(), "text/css; charset=utf-8")
        if path == "/api/now":
            return as_json(self.desk.now())
        if path == "/picture":
            return Sent(self.desk.picture(query["turn"], query["name"]), "image/png", keep=True)
        return None

    def change(self, path: str, said: Mapping[str, Any]) -> bool:
        """See `PageServer.change`."""
        if path != "/api/act":
            return False
        self.desk.act(said)
        return True

    def close_desk(self) -> None:
        """Close it for good, once an open page has learnt that the run is over."""
        self.desk.end()
        set_up(None)
        self.close()


def open_page(who: str, at: str, episodes: int) -> PersonPage:
    """Open the page of a run, and print its link.

    Args:
        who: Name of the person.
        at: HOST:PORT.
        episodes: How many there are to be acted in.

    Raises:
        UsageError: For an address that cannot be used.
    """
    desk = Desk(who, episodes)
    page = PersonPage(desk, *host_and_port(at))
    page.start()
    set_up(desk)
    print(f"{page.link}: open it in a browser and act as {who}; Ctrl-C stops", file=sys.stderr, flush=True)
    return page
