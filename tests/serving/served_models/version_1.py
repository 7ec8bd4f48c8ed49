"""A server as worldgauge 0.1.0 had it: version 1 of the protocol, with its bytes written and checked by hand.

Its arguments: what drives it, and, for HTTP, a port (0 takes a free one and prints it). It draws the grey of the number
of letters of its control: 7 for "actions", 6 for "camera", 4 for "text". What it was asked is printed, a line each.
"""

import json
import os
import socket
import struct
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

CONTROL = sys.argv[1]
SPEC = {
    "name": "old", "control": CONTROL, "view": "perspective", "frame_size": None, "fps": None,
    "max_context": None, "chunk": None, "inputs": [], "crop": None, "settings": {},
}  # fmt: skip
HELLO = {
    "type": "hello", "version": 1, "serves": "model", "spec": SPEC, "source": "sha256:00:Old", "given": {},
    "needs": {}, "batch": False, "pid": os.getpid(),
}  # fmt: skip
PONG = {"type": "pong", "version": 1, "busy": False, "waiting": 0, "done": 0, "sent": 0}
FIELDS = {"task", "horizon", "seed", "text", "fps", "camera", "space"}
SIZES = {"uint8": 1, "float32": 4, "float64": 8}


def message(header, body=b""):
    text = json.dumps(header).encode()
    return struct.pack("<I", len(text)) + text + body


def read(receive):
    """One message: its header, with what it announces; the bytes of arrays are read and forgotten."""
    header = json.loads(receive(*struct.unpack("<I", receive(4))))
    for one in header.get("arrays", []):
        size = SIZES[one["dtype"]]
        for side in one["shape"]:
            size *= side
        receive(size)
    return header


def fault(asked):
    """What 0.1.0 would have refused, or a newer asker must not send it."""
    if asked.get("version") != 1:
        return "version", f"a question in version {asked.get('version')!r} of the protocol; this server speaks 1"
    for number, one in enumerate(asked["requests"]):
        names = {array["name"] for array in asked["arrays"]}
        driven = (f"{number}/actions" in names, f"{number}/poses" in names, isinstance(one["text"], str))
        if driven.count(True) != 1:
            return "request", "its control: exactly one of actions, poses and text is needed"
        if set(one) != FIELDS:
            return "request", f"fields that 0.1.0 did not send: {sorted(set(one) ^ FIELDS)}"
    return None


def answers(asked):
    print(json.dumps(asked), file=sys.stderr, flush=True)
    wrong = fault(asked)
    if wrong:
        kind, text = wrong
        yield message({"type": "error", "id": asked["id"], "kind": kind, "message": text, "trace": None})
        return
    for index, one in enumerate(asked["requests"]):
        shape = [one["horizon"], one["camera"]["height"], one["camera"]["width"], 3]
        chunk = {"type": "chunk", "id": asked["id"], "index": index}
        frames = bytes([len(CONTROL)]) * (shape[0] * shape[1] * shape[2] * 3)
        yield message({**chunk, "arrays": [{"name": "frames", "dtype": "uint8", "shape": shape}]}, frames)
    yield message({"type": "done", "id": asked["id"]})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        text = json.dumps({"/v1/info": HELLO, "/v1/health": PONG}[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        asked = read(self.rfile.read)
        self.send_response(200)
        self.send_header("Content-Type", "application/x-worldgauge")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if self.path == "/v1/rollout":
            for data in answers(asked):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *words):
        pass


if len(sys.argv) > 2:
    server = HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    print(f"serving 'old' at http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()

line = socket.socket(socket.AF_UNIX)
line.connect(os.environ["WORLDGAUGE_SOCKET"])
line.sendall(message(HELLO))


def receive(size):
    data = b""
    while len(data) < size:
        data += line.recv(size - len(data)) or sys.exit()
    return data


while True:
    asked = read(receive)
    if asked["type"] == "rollout":
        for data in answers(asked):
            line.sendall(data)
