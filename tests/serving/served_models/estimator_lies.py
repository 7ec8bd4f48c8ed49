"""A server of an estimator that lies, in the way its argument names. It writes its bytes by hand."""

import json
import os
import socket
import struct
import sys
import time

HOW = sys.argv[1]
LINE = socket.socket(socket.AF_UNIX)
LINE.connect(os.environ["WORLDGAUGE_SOCKET"])


def message(**fields):
    text = json.dumps(fields).encode()
    return struct.pack("<I", len(text)) + text


def poses(*shape, dtype="float64", name="poses"):
    return [{"name": name, "dtype": dtype, "shape": shape}]


SPEC = {"name": "liar", "kind": "decoder", "layout": "vggt", "settings": {}}
SPECS = {
    "a model": {"name": "liar"},
    "odd kind": {**SPEC, "kind": ["x"]},
    "odd layout": {**SPEC, "layout": "\x1b[2J"},
    "more fields": {**SPEC, "control": "actions"},
    "settings of a list": {**SPEC, "settings": [1]},
}
SERVES = {"a model": {}, "something else": {"serves": "a toaster"}}
hello = {"type": "hello", "version": 1, "spec": SPECS.get(HOW, SPEC), "source": "sha256:00:Liar"}
LINE.sendall(message(**{"serves": "estimator", **hello} if HOW not in SERVES else {**hello, **SERVES[HOW]}))


def receive(size):
    data = b""
    while len(data) < size:
        data += LINE.recv(size - len(data)) or sys.exit()
    return data


def hear():
    question = json.loads(receive(*struct.unpack("<I", receive(4))))
    for one in question["arrays"]:
        size = {"uint8": 1, "float64": 8}[one["dtype"]]
        for side in one["shape"]:
            size *= side
        receive(size)
    return question["id"]


while True:
    name = hear()
    answers = {
        "huge shape": message(type="estimated", id=name, arrays=poses(1 << 30, 1 << 10, 1 << 10)),
        "large shape": message(type="estimated", id=name, arrays=poses(1 << 20, 4, 4)),
        "a chunk": message(type="chunk", id=name, index=0, arrays=poses(1, 2, 2, 3, dtype="uint8", name="frames")),
        "done": message(type="done", id=name),
        "wrong id": message(type="estimated", id="other", arrays=poses(4, 4, 4)),
        "facts of a list": message(type="estimated", id=name, facts=[1], arrays=poses(4, 4, 4)) + bytes(512),
        "infinite fact": message(type="estimated", id=name, facts={"a": float("inf")}, arrays=poses(4, 4, 4)),
        "twice the name": message(type="estimated", id=name, arrays=poses(4, 4, 4) * 2),
        "refuses": message(type="error", id=name, kind="request", message="no\x1b[2J"),
    }
    if HOW == "closes within":
        LINE.sendall(message(type="estimated", id=name, arrays=poses(4, 4, 4)) + bytes(100))
        sys.exit()
    if HOW == "silent":
        time.sleep(60)
    LINE.sendall(answers[HOW])
