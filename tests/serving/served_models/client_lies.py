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

    def part(*shape, dtype="uint8", array="frames", id=name, index=0, **fields):
        """A chunk that announces an array."""
        return header(type="chunk", id=id, index=index, **fields, arrays=frames(*shape, dtype=dtype, name=array))

    one = (1, 12, 16, 3)
    good = part(*one) + bytes(12 * 16 * 3)
    done = {"type": "done", "id": name}
    answers = {
        "huge header": b"\xff" * 8,
        "html": b"<html>" * 100,
        "huge shape": part(1 << 20, 1 << 30, 3),
        "many frames": part(1000, 12, 16, 3),
        "no frame beside huge sides": part(0, *[2**31 - 1] * 4),
        "large floats": part(1, 1 << 12, 1 << 12, 3, dtype="float64"),
        "another rate": part(*one, fps=25),
        "rate of text": part(*one, fps="20"),
        "memory of text": good * 6 + header(**done, gpu_peak_bytes="9 GB"),
        "memory below zero": good * 6 + header(**done, gpu_peak_bytes=-1),
        "notes of a number": good * 6 + header(**done, notes=[7]),
        "endless notes": good * 6 + header(**done, notes=["x"] * 101),
        "a long note": good * 6 + header(**done, notes=["x" * 501]),
        "wrong id": part(*one, id="other"),
        "id of a list": header(type="chunk", id=[1], index=0),
        "wrong index": part(*one, index=1),
        "other arrays": part(*one, array="../../x"),
        "unknown type": header(type="pong", id=name),
        "endless chunks": good,
        "endless empty chunks": part(0, 12, 16, 3),
        "closes within": good[:-10],
        "escapes": header(type="error", id=name, kind="subject", message="\x1b[2J\x07" + "x" * 900_000),
        "odd error": header(type="error", id=name, kind=[], message={}, trace=1),
        "nothing": header(**done),
    }
    if HOW == "dribble":
        for byte in good * 9:
            LINE.sendall(bytes([byte]))
            time.sleep(0.05)
        continue
    LINE.sendall(answers.get(HOW, good * 6 + header(**done)))
    for _ in range(3 * 8 if HOW == "large floats" else 0):
        LINE.sendall(bytes(1 << 24))
    while HOW.startswith("endless") and HOW.endswith("chunks"):
        LINE.sendall(answers[HOW])
    if HOW == "closes within":
        sys.exit()
