"""A server that lies, in the way its argument names. It writes its bytes by hand."""

import json
import os
import socket
import struct
import sys
import time

HOW = sys.argv[1]


class Pipes:
    """Stdin and stdout, as a socket."""

    def recv(self, size):
        return os.read(0, size)

    def sendall(self, data):
        while data:
            data = data[os.write(1, data) :]


if "WORLDGAUGE_SOCKET" in os.environ:
    LINE = socket.socket(socket.AF_UNIX)
    LINE.connect(os.environ["WORLDGAUGE_SOCKET"])
else:
    LINE = Pipes()


def header(**fields):
    text = json.dumps(fields).encode()
    return struct.pack("<I", len(text)) + text


def frames(*shape, dtype="uint8", name="frames"):
    return [{"name": name, "dtype": dtype, "shape": shape}]


def receive(size):
    data = b""
    while len(data) < size:
        data += LINE.recv(size - len(data)) or sys.exit()
    return data


def hear():
    """The id of the next question; its arrays are read and forgotten."""
    question = json.loads(receive(*struct.unpack("<I", receive(4))))
    sizes = {"uint8": 1, "float32": 4, "float64": 8}
    for one in question["arrays"]:
        size = sizes[one["dtype"]]
        for side in one["shape"]:
            size *= side
        receive(size)
    return question["id"]


HELLO = {"type": "hello", "version": 1, "spec": {"name": "liar"}, "source": "sha256:00:Liar", "given": {}, "needs": {}}
SPECS = {
    "no spec": None,
    "no name": {"control": "actions"},
    "name of a number": {"name": 7},
    "long name": {"name": "x" * 900_000},
    "control characters": {"name": "a\x1b[2Jb"},
    "wants the truth": {"name": "liar", "inputs": ["truth"]},
    "size of text": {"name": "liar", "frame_size": ["a", "b"]},
    "unknown control": {"name": "liar", "control": ["x"]},
    "more fields": {"name": "liar", "gift": 1},
    "endless fps": {"name": "liar", "fps": 1e999},
    "climbs": {"name": "../../x"},
    "nothing to show": {"name": "../.."},
    "empty name": {"name": ""},
    "html": {"name": "<script>alert(1)</script>"},
}
if HOW in SPECS:
    HELLO["spec"] = SPECS[HOW]
if HOW == "version 3":
    HELLO["version"] = 3
if HOW == "no hello":
    HELLO["type"] = "pong"
if HOW == "passes for a reference":
    HELLO["source"] = "truth"
if HOW == "odd needs":
    HELLO["needs"] = {"gpus": -1}
if HOW == "odd given":
    HELLO["given"] = [1]
if HOW == "climbing setting":
    HELLO["given"] = {"../..": "../../etc", "x" * 500: "\x00"}
if HOW == "huge hello":
    LINE.sendall(struct.pack("<I", 1 << 31))
if HOW == "nested hello":
    LINE.sendall(struct.pack("<I", 200_000) + b"[" * 200_000)
if HOW == "hello with arrays":
    LINE.sendall(header(**HELLO, arrays=frames(1 << 20, 1 << 10)))
LINE.sendall(header(**HELLO))

while True:
    name = hear()
    chunk = {"type": "chunk", "id": name, "index": 0}
    good = header(**chunk, arrays=frames(1, 12, 16, 3)) + bytes(12 * 16 * 3)
    if HOW == "huge header":
        LINE.sendall(b"\xff" * 8)
    elif HOW == "html":
        LINE.sendall(b"<html>" * 100)
    elif HOW == "huge shape":
        LINE.sendall(header(**chunk, arrays=frames(1 << 20, 1 << 30, 3)))
    elif HOW == "many frames":
        LINE.sendall(header(**chunk, arrays=frames(1000, 12, 16, 3)))
    elif HOW == "no frame beside huge sides":
        LINE.sendall(header(**chunk, arrays=frames(0, 2**31 - 1, 2**31 - 1, 2**31 - 1, 2**31 - 1)))
    elif HOW == "large floats":
        LINE.sendall(header(**chunk, arrays=frames(1, 1 << 12, 1 << 12, 3, dtype="float64")))
        for _ in range(3 * 8):
            LINE.sendall(bytes(1 << 24))
    elif HOW == "another rate":
        LINE.sendall(header(**chunk, fps=25, arrays=frames(1, 12, 16, 3)))
    elif HOW == "rate of text":
        LINE.sendall(header(**chunk, fps="20", arrays=frames(1, 12, 16, 3)))
    elif HOW == "memory of text":
        LINE.sendall(good * 6 + header(type="done", id=name, gpu_peak_bytes="9 GB"))
    elif HOW == "memory below zero":
        LINE.sendall(good * 6 + header(type="done", id=name, gpu_peak_bytes=-1))
    elif HOW == "notes of a number":
        LINE.sendall(good * 6 + header(type="done", id=name, notes=[7]))
    elif HOW == "endless notes":
        LINE.sendall(good * 6 + header(type="done", id=name, notes=["x"] * 101))
    elif HOW == "a long note":
        LINE.sendall(good * 6 + header(type="done", id=name, notes=["x" * 501]))
    elif HOW == "wrong id":
        LINE.sendall(header(**{**chunk, "id": "other"}, arrays=frames(1, 12, 16, 3)))
    elif HOW == "id of a list":
        LINE.sendall(header(**{**chunk, "id": [1]}))
    elif HOW == "wrong index":
        LINE.sendall(header(**{**chunk, "index": 1}, arrays=frames(1, 12, 16, 3)))
    elif HOW == "other arrays":
        LINE.sendall(header(**chunk, arrays=frames(1, 12, 16, 3, name="../../x")))
    elif HOW == "unknown type":
        LINE.sendall(header(type="pong", id=name))
    elif HOW == "endless chunks":
        while True:
            LINE.sendall(good)
    elif HOW == "endless empty chunks":
        while True:
            LINE.sendall(header(**chunk, arrays=frames(0, 12, 16, 3)))
    elif HOW == "dribble":
        for byte in good * 9:
            LINE.sendall(bytes([byte]))
            time.sleep(0.05)
    elif HOW == "closes within":
        LINE.sendall(good[:-10])
        sys.exit()
    elif HOW == "escapes":
        LINE.sendall(header(type="error", id=name, kind="subject", message="\x1b[2J\x07" + "x" * 900_000))
    elif HOW == "odd error":
        LINE.sendall(header(type="error", id=name, kind=[], message={}, trace=1))
    elif HOW == "nothing":
        LINE.sendall(header(type="done", id=name))
    else:
        LINE.sendall(good * 6 + header(type="done", id=name))
