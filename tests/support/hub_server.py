"""A server on this machine that speaks as much of the Hugging Face Hub as files that come and go need.

Written from what the client of `huggingface_hub` 2.4.0 asks for; the Hub itself was not at hand.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

REPOSITORY = "our-lab/toy"
TOKEN = "hf_of_the_test"
LARGE = (".mp4", ".parquet")


@dataclass
class Hub:
    """What the server holds and what was asked of it.

    Attributes:
        url: Its address.
        files: Content of the repository, by path.
        objects: Large content that has arrived whole, by digest, whether a commit names it or not.
        arrivals: How often each of them has arrived.
        commits: The paths of each commit.
        sent: Content that is sent instead of what is listed, by path.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    arrivals: Counter[str] = field(default_factory=Counter)
    commits: list[list[str]] = field(default_factory=list)
    sent: dict[str, bytes] = field(default_factory=dict)


@contextmanager
def hub_server() -> Iterator[Hub]:
    """A server with one empty repository of a data set."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_GET(self) -> None:
        path, _, query = unquote(self.path).partition("?")
        api = f"/api/datasets/{REPOSITORY}"
        if path in (api, f"{api}/revision/main"):
            self._json({"id": REPOSITORY, "sha": "0" * 40, "private": False, "siblings": [], "tags": []})
        elif found := re.fullmatch(rf"{api}/tree/main/?(.*)", path):
            self._tree(found[1], recursive="recursive=true" in query.lower())
        elif found := re.fullmatch(rf"/datasets/{REPOSITORY}/resolve/main/(.+)", path):
            self._content(found[1])
        else:
            self._json({"error": "Repository not found"}, 404, "RepoNotFound")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        if self.path == "/api/validate-yaml":  # of a card; whether the Hub takes ours was not asked
            self._json({"errors": [], "warnings": []})
        elif self.headers.get("authorization") != f"Bearer {TOKEN}":
            self._json({"error": "Forbidden"}, 403)
        elif self.path.endswith("/paths-info/main"):
            found = [self._entry(path) for path in json.loads(body)["paths"] if path in self.hub.files]
            self._json(found)
        elif self.path.endswith("/preupload/main"):
            modes = [
                {"path": one["path"], "uploadMode": "lfs" if one["path"].endswith(LARGE) else "regular"}
                for one in json.loads(body)["files"]
            ]
            self._json({"files": [{**mode, "shouldIgnore": False, "oid": None} for mode in modes]})
        elif self.path.endswith(".git/info/lfs/objects/batch"):
            self._json({"objects": [self._wanted(one) for one in json.loads(body)["objects"]]})
        elif self.path.endswith("/commit/main"):
            self._commit([json.loads(line) for line in body.splitlines()])
        else:
            self._json({"error": "unknown"}, 404)

    def do_PUT(self) -> None:
        body = self._body()
        if body is None:
            return
        oid = self.path.rpartition("/")[2]
        assert hashlib.sha256(body).hexdigest() == oid
        self.hub.objects[oid] = body
        self.hub.arrivals[oid] += 1
        self._json({})

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _wanted(self, one: dict[str, Any]) -> dict[str, Any]:
        if one["oid"] in self.hub.objects:
            return {"oid": one["oid"], "size": one["size"]}
        href = f"{self.hub.url}/upload/{one['oid']}"
        return {"oid": one["oid"], "size": one["size"], "actions": {"upload": {"href": href, "header": {}}}}

    def _commit(self, lines: list[dict[str, Any]]) -> None:
        contents = {}
        for line in lines[1:]:
            value = line["value"]
            large = line["key"] == "lfsFile"
            contents[value["path"]] = self.hub.objects[value["oid"]] if large else base64.b64decode(value["content"])
        self.hub.files.update(contents)
        self.hub.commits.append(list(contents))
        page = f"{self.hub.url}/datasets/{REPOSITORY}/commit/{'0' * 40}"
        self._json({"success": True, "commitUrl": page, "commitOid": "0" * 40})

    def _entry(self, path: str) -> dict[str, Any]:
        data = self.hub.files[path]
        found: dict[str, Any] = {"type": "file", "path": path, "size": len(data)}
        if path.endswith(LARGE):
            lfs = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
            return {**found, "oid": "0" * 40, "lfs": lfs}
        return {**found, "oid": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()}

    def _tree(self, folder: str, recursive: bool) -> None:
        inside = [path for path in self.hub.files if not folder or path.startswith(folder + "/")]
        if folder and not inside:
            self._json({"error": "Entry not found"}, 404, "EntryNotFound")
            return
        start = len(folder) + 1 if folder else 0
        cuts = {path[:at] for path in inside for at in range(start, len(path)) if path[at] == "/"}
        folders = {one for one in cuts if recursive or "/" not in one[start:]}
        entries = [self._entry(path) for path in inside if recursive or "/" not in path[start:]]
        self._json(entries + [{"type": "directory", "path": one, "oid": "0" * 40} for one in sorted(folders)])

    def _content(self, path: str) -> None:
        if path not in self.hub.files:
            self._json({"error": "Entry not found"}, 404, "EntryNotFound")
            return
        data = self.hub.sent.get(path, self.hub.files[path])
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        first, last = (int(asked[1]), int(asked[2] or len(data) - 1)) if asked else (0, len(data) - 1)
        last = min(last, len(data) - 1)
        self._answer(
            data[first : last + 1], 206 if asked else 200, {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
        )

    def _body(self) -> bytes | None:
        """What was sent; None where the sender has died in the middle."""
        if self.headers.get("transfer-encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline() or b"0", 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        size = int(self.headers.get("content-length", 0))
        body = self.rfile.read(size)
        return body if len(body) == size else None

    def _json(self, content: Any, status: int = 200, code: str = "") -> None:
        self._answer(json.dumps(content).encode(), status, {"X-Error-Code": code} if code else {})

    def _answer(self, data: bytes, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
