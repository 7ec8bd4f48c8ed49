"""The frame parser against everything that can be sent, and docs/reference/protocol.md against the code."""

import ast
import io
import json
import re
import shutil
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worldgauge_serve
from support.places import DOCS, ROOT
from worldgauge_serve import (
    DTYPES,
    MAX_ARRAYS,
    MAX_HEADER_BYTES,
    MAX_TEXT,
    VERSION,
    ArraySpec,
    EstimatorSpec,
    ModelSpec,
    Served,
    WireError,
    encode,
    options_of,
    read_message,
    requests_of,
    write_message,
)

FILE = Path(worldgauge_serve.__file__)
PAGE = (DOCS / "reference" / "protocol.md").read_text("utf-8")
EXAMPLES = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]

names = st.text(st.characters(), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
headers = st.builds(
    lambda kind, rest: {**rest, "type": kind}, names, st.dictionaries(names.filter(lambda n: n != "arrays"), values)
)


@st.composite
def arrays(draw: Any) -> dict[str, np.ndarray]:
    """Arrays of all dtypes and shapes; bits at random, NaN and infinity among them; views and big-endian ones."""
    found = {}
    for name in draw(st.lists(names, unique=True, max_size=4)):
        dtype = np.dtype(draw(st.sampled_from(DTYPES))).newbyteorder(draw(st.sampled_from("<>")))
        shape = tuple(draw(st.lists(st.integers(0, 3), max_size=5)))
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        array = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype).reshape(shape)
        found[name] = array.T if draw(st.booleans()) else array
    return found


def joined(header: dict[str, Any], given: dict[str, Any] | None = None) -> bytes:
    return b"".join(encode(header, given))


def raw(header: Any, rest: bytes = b"") -> bytes:
    """Bytes of a message whose header says anything at all."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<I", len(text)) + text + rest


def parse(data: bytes, **more: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    return read_message(io.BytesIO(data).readinto, **more)


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    """Equal names, types, shapes and bits."""
    return list(one) == list(other) and all(
        one[n].dtype == other[n].dtype.newbyteorder("=")
        and one[n].shape == other[n].shape
        and one[n].tobytes() == other[n].astype(one[n].dtype).tobytes()
        for n in one
    )


def decode(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A decoder written from docs/reference/protocol.md alone, without a look at ours."""
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    at, found = 4 + length, {}
    for entry in header.pop("arrays", []):
        count = 1
        for side in entry["shape"]:
            count *= side
        size = count * int(re.sub(r"\D", "", entry["dtype"])) // 8
        code = entry["dtype"][0] + str(size // count if count else 1)
        cells = np.frombuffer(data[at : at + size], "<" + code if count else entry["dtype"])
        found[entry["name"]] = cells.reshape(entry["shape"]).astype(entry["dtype"])
        at += size
    assert at == len(data)
    return header, found


@given(headers, arrays())
def test_what_is_sent_arrives(header: dict[str, Any], sent: dict[str, np.ndarray]) -> None:
    data = joined(header, sent)
    for heard, found in (parse(data), decode(data)):
        assert heard == header
        assert same(found, sent)
    assert all(array.flags.writeable for array in parse(data)[1].values())


@given(headers, arrays(), st.lists(st.integers(1, 50), min_size=1), st.lists(st.integers(1, 50), min_size=1))
def test_in_pieces_of_any_size(
    header: dict[str, Any], sent: dict[str, np.ndarray], writes: list[int], reads: list[int]
) -> None:
    stream = io.BytesIO()

    def pieces(sizes: list[int], deed: Callable[[Any], int]) -> Callable[[Any], int]:
        turn = iter(sizes * 10_000)
        return lambda view: deed(view[: next(turn)])

    write_message(pieces(writes, stream.write), header, sent)
    write_message(pieces(writes, stream.write), {"type": "next"})
    stream.seek(0)
    readinto = pieces(reads, stream.readinto)
    heard, found = read_message(readinto)
    assert heard == header
    assert same(found, sent)
    assert read_message(readinto) == ({"type": "next"}, {})
    with pytest.raises(EOFError):
        read_message(readinto)


def test_streams_that_end_early_or_take_no_more() -> None:
    data = joined({"type": "chunk"}, {"a": np.arange(6, dtype=np.int32), "b": np.zeros((0, 3)), "c": np.ones(2)})
    assert len(parse(data)[1]) == 3
    for size in range(1, len(data)):
        with pytest.raises(WireError, match="within a message") as caught:
            parse(data[:size])
        assert caught.value.kind == "cut"
    with pytest.raises(EOFError):
        parse(b"")
    with pytest.raises(OSError, match="takes no more"):
        write_message(lambda view: 0, {"type": "x"})


@given(st.binary(max_size=300), st.booleans())
@settings(max_examples=300)
def test_random_bytes_are_no_message(data: bytes, framed: bool) -> None:
    try:
        parse(raw(data) if framed else data)
    except (WireError, EOFError):
        return
    assert framed


@given(headers, arrays(), st.data())
@settings(max_examples=200)
def test_a_message_with_wrong_bytes_is_one_or_is_refused(
    header: dict[str, Any], sent: dict[str, np.ndarray], data: st.DataObject
) -> None:
    damaged = bytearray(joined(header, sent))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(WireError, EOFError):
        parse(bytes(damaged), limit=1 << 20)


def entry(**more: Any) -> dict[str, Any]:
    return {"type": "x", "arrays": [{"name": "a", "dtype": "uint8", "shape": [2], **more}]}


WRONG = [
    *(raw(text) for text in (b"", b"{", b"3", b"[]", b"null", b'"type"', b'{"type": 3}', b"{}", b"\xff\xfe")),
    *(raw(b'{"type": "x", "v": %s}' % v) for v in (b"NaN", b"-Infinity", b"1e999", b"-1e999", b"1" * 5000, b"'1'")),
    *(raw(b'{"type": "x", "v": ' + b"[" * n + b"]" * n + b"}") for n in (100_000, 500_000)),
    raw(b'{"type": "x", "v": ' + b'{"a":' * 100_000),
    *(raw({"type": "x", "arrays": given}) for given in (3, {}, "a", [3], [None], [[]], [{}])),
    *(
        raw(entry(dtype=dtype), bytes(99))
        for dtype in ("bool", "float16", "object", "<u1", "u1", "V8", "", None, [], {})
    ),
    *(raw(entry(shape=[side]), bytes(99)) for side in (-1, 1 << 31, 1 << 80, True, False, 2.0, "2", None, [2])),
    *(raw(entry(shape=shape), bytes(99)) for shape in (2, "2", None, {}, [1] * 6, {"0": 2})),
    *(raw(entry(name=name), bytes(99)) for name in (None, 3, [], {})),
    raw({"type": "x", "arrays": entry()["arrays"] * 2}, bytes(4)),
    raw(
        {"type": "x", "arrays": [{**entry()["arrays"][0], "name": str(n)} for n in range(MAX_ARRAYS + 1)]}, bytes(4096)
    ),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_no_message_is_refused(number: int) -> None:
    with pytest.raises(WireError) as caught:
        parse(WRONG[number])
    assert caught.value.kind == "protocol"
    assert len(str(caught.value)) < 600


HUGE = [
    *(
        ([side] * sides, dtype)
        for side in (2**31 - 1, 1 << 16)
        for sides in (3, 4, 5)
        for dtype in ("uint8", "float64")
    ),
    ([0, *[2**31 - 1] * 4], "float64"),
    ([(1 << 20) + 1], "uint8"),
]


@pytest.mark.parametrize(("shape", "dtype"), HUGE)
def test_nothing_is_allocated_for_what_is_too_large(shape: list[int], dtype: str) -> None:
    data = raw(entry(shape=shape, dtype=dtype))
    tracemalloc.start()
    try:
        with pytest.raises(WireError) as caught:
            parse(data, limit=1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert caught.value.kind == "too_large"


def test_lengths_and_arrays_are_limited_together() -> None:
    text = b'{"type": "x"}'
    for size in (0, 1, len(text) - 1, len(text) + 1, MAX_HEADER_BYTES):
        with pytest.raises(WireError):
            parse(struct.pack("<I", size) + text)
    for size in (MAX_HEADER_BYTES + 1, 2**32 - 1):
        tracemalloc.start()
        try:
            with pytest.raises(WireError) as caught:
                parse(struct.pack("<I", size) + text)
            assert tracemalloc.get_traced_memory()[1] < 100_000
        finally:
            tracemalloc.stop()
        assert caught.value.kind == "too_large"
    both = {"a": np.zeros(600, np.uint8), "b": np.zeros(600, np.uint8)}
    assert len(parse(joined({"type": "x"}, both), limit=1200)[1]) == 2
    with pytest.raises(WireError) as caught:
        parse(joined({"type": "x"}, both), limit=1199)
    assert caught.value.kind == "too_large"


def test_check_sees_what_is_announced_before_it_is_read() -> None:
    seen: list[Any] = []

    class StopError(Exception):
        pass

    def check(header: dict[str, Any], announced: list[ArraySpec]) -> None:
        seen.extend([header, announced])
        raise StopError

    with pytest.raises(StopError):
        parse(raw({**entry(shape=[1 << 20]), "v": 1}), check=check)
    assert seen == [{"type": "x", "v": 1}, [ArraySpec("a", "uint8", (1 << 20,))]]


class Tensor:
    """As of torch: it can be turned into an array, and is none."""

    def __array__(self) -> np.ndarray:
        return np.zeros(3)


STRANGERS = [Tensor(), [1, 2], 3, None, np.uint8(3)]
STRANGERS += [np.zeros(2, dtype) for dtype in (bool, np.float16, object, np.complex64, "U1", "i4,f4", "M8[s]")]
STRANGERS += [np.zeros((1,) * 6)]


@pytest.mark.parametrize("array", STRANGERS, ids=lambda array: str(getattr(array, "dtype", type(array).__name__)))
def test_what_does_not_travel_is_refused_by_name(array: Any) -> None:
    with pytest.raises(WireError, match="array 'frames'"):
        encode({"type": "chunk"}, {"frames": array})


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1, 2}, object(), b"x", np.float32(1)], ids=lambda value: type(value).__name__
)
def test_a_header_that_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(WireError, match="strict JSON"):
        encode({"type": "x", "v": value})


def test_long_headers_are_refused_and_arrays_not_copied() -> None:
    with pytest.raises(WireError) as caught:
        encode({"type": "x", "v": "x" * MAX_HEADER_BYTES})
    assert caught.value.kind == "too_large"
    array = np.zeros((2, 3), np.uint8)
    _, view = encode({"type": "x"}, {"a": array})
    array[1, 2] = 7
    assert bytes(view)[-1] == 7


# What docs/reference/protocol.md says


def example(kind: str) -> dict[str, Any]:
    return next(one for one in EXAMPLES if one["type"] == kind)


def test_the_bytes_on_the_page_are_the_bytes_of_the_code() -> None:
    data = bytes.fromhex(re.search(r"```hex\n(.*?)```", PAGE, re.DOTALL).group(1))
    frames = np.array([[[[255, 0, 0], [0, 128, 255]]]], np.uint8)
    assert data == joined({"type": "chunk", "id": "q1", "index": 0}, {"frames": frames})
    header, found = parse(data)
    assert {**header, "arrays": EXAMPLES[0]["arrays"]} == EXAMPLES[0]
    assert np.array_equal(found["frames"], frames)
    assert f"{len(data)} bytes" in PAGE
    assert data[:4].hex(" ") == "72 00 00 00"


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_a_message(number: int) -> None:
    one = EXAMPLES[number]
    size = sum(int(np.prod(a["shape"])) * np.dtype(a["dtype"]).itemsize for a in one.get("arrays", []))
    header, found = parse(raw(one, bytes(size)))
    known = ("hello", "rollout", "chunk", "done", "estimate", "estimated", "error", "cancel", "ping", "pong")
    assert header["type"] in known
    assert joined(header, found) == raw(
        {"type": header["type"], **header, "arrays": one.get("arrays", [])}, bytes(size)
    )


def test_the_hello_on_the_page_has_the_fields_of_the_code() -> None:
    class Model:
        spec = ModelSpec("wan")

        def rollout(self, request: Any) -> Any: ...

    hello = Served(Model(), "x:Model").hello()
    assert hello.keys() == example("hello").keys()
    assert hello["spec"].keys() == example("hello")["spec"].keys()
    for name in hello["spec"]:
        assert f"| `spec.{name}` |" in PAGE


def test_the_estimate_on_the_page_is_answered_as_on_the_page() -> None:
    class Decoder:
        spec = EstimatorSpec("vggt", layout="vggt")

        def estimate(self, arrays: Any, options: Any) -> Any:
            assert options == example("estimate")["options"]
            return {"poses": np.zeros((1 + len(arrays["frames"]), 3, 4), np.float32)}, {"focal_px": 381.4}

    hello = Served(Decoder(), "x:Decoder").hello()
    assert (hello.keys(), hello["serves"]) == (example("hello").keys(), "estimator")
    for name in hello["spec"]:
        assert f"| `spec.{name}` |" in PAGE
    header = dict(example("estimate"))
    found = {a["name"]: np.ones(a["shape"], a["dtype"]) for a in header.pop("arrays")}
    assert options_of(header, "decoder") == header["options"]
    for other in ({"kind": "toaster"}, {"kind": None}, {"options": [1]}, {"deadline_s": "x"}):
        with pytest.raises(WireError) as caught:
            options_of({**header, **other}, "decoder")
        assert caught.value.kind == "request"
    posted: list[Any] = []
    question = worldgauge_serve._Question(header, found, lambda *message: posted.append(message))
    last, arrays = worldgauge_serve._answer(Decoder(), question)
    assert arrays is not None
    said, _ = parse(joined({**last, "id": question.id}, arrays))
    assert {**said, "arrays": example("estimated")["arrays"]} == example("estimated")
    assert posted == []


def asked(**changes: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The rollout on the page, with arrays of ones; changes: of its request."""
    header = json.loads(json.dumps(example("rollout")))
    header["requests"][0].update(changes)
    found = {a["name"]: np.ones(a["shape"], a["dtype"]) for a in header.pop("arrays")}
    return header, {**found, **{name: np.tile(np.eye(4), (len(found[name]), 1, 1)) for name in POSES}}


POSES = ("0/context/poses", "0/poses")


def test_the_rollout_on_the_page_is_a_request() -> None:
    header, found = asked()
    (request,) = requests_of(header, found)
    assert (request.task, request.horizon, request.seed) == ("3b1f0c9e5a7d42886f0e1d2c3b4a5968", 2, 7)
    assert request.frame_size == (2, 1)
    assert request.context.camera.fx == 1.5
    assert request.actions.space.axes[0].motion == (0.215859, 0.0, 0.0, 0.0, 0.0)
    assert request.actions.column("camera_yaw").shape == (2,)
    assert len(request.context.last(2).actions) == 1
    assert request.context.clip[-1].shape == (1, 2, 3)
    assert np.array_equal(np.stack(list(request.context.clip.take([2, 0]))), request.context.clip.to_array()[[2, 0]])
    assert request.poses.shape == (2, 4, 4)
    assert request.text == header["requests"][0]["text"]
    assert (request.world, request.truth) == (None, None)


def test_captions_and_prompts_arrive_or_are_refused() -> None:
    assert requests_of(*asked(caption="A room."))[0].caption == "A room."
    assert requests_of(*asked(caption=None))[0].caption is None
    header, found = asked()
    del header["requests"][0]["caption"]
    assert requests_of(header, found)[0].caption is None
    with pytest.raises(WireError, match="caption: 7 is no text"):
        requests_of(*asked(caption=7))
    said = [{"frame": 0, "text": "Walk."}, {"frame": 1, "text": "Turn."}]
    assert requests_of(*asked(prompts=said))[0].prompts == ((0, "Walk."), (1, "Turn."))
    assert requests_of(*asked(prompts=None))[0].prompts is None
    for wrong in (said[::-1], said[1:], [*said, {"frame": 2, "text": "Beyond."}], [said[0], said[0]], [7], "Walk."):
        with pytest.raises(WireError):
            requests_of(*asked(prompts=wrong))


@pytest.mark.parametrize("name", ["0/context/poses", "0/context/actions", "0/actions", "0/poses"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(name: str, value: float) -> None:
    header, found = asked()
    found[name].flat[-1] = value
    with pytest.raises(WireError, match="not all finite") as caught:
        requests_of(header, found)
    assert caught.value.kind == "request"


def test_panoramas_and_named_arrays() -> None:
    header, found = asked()
    (request,) = requests_of(header, dict(reversed(found.items())))
    assert request.context.poses.shape == (3, 4, 4)
    header, found = asked(camera={"width": 2, "height": 1, "fx": None})
    assert requests_of(header, found)[0].context.camera.fx is None


def kind_of_refusal(header: dict[str, Any], found: dict[str, np.ndarray]) -> str | None:
    try:
        requests_of(header, found)
    except WireError as error:
        return error.kind
    return None


@given(st.sampled_from(sorted(asked()[0]["requests"][0])), values)
@settings(max_examples=300)
def test_any_value_in_a_request_is_fine_or_refused(name: str, value: Any) -> None:
    header, found = asked(**{name: value})
    assert kind_of_refusal(header, found) in (None, "request")


@given(st.sampled_from(["deadline_s", "wait_s", "requests", "version"]), values)
def test_any_value_in_a_rollout_is_fine_or_refused(name: str, value: Any) -> None:
    header, found = asked()
    assert kind_of_refusal({**header, name: value}, found) in (None, "request", "version")


@pytest.mark.parametrize(
    ("name", "value"), [("horizon", 10**400), ("seed", 10**4000), ("fps", 10**400), ("fps", 1e999)]
)
def test_numbers_without_end(name: str, value: Any) -> None:
    header, found = asked(**{name: value})
    if name == "seed":
        assert requests_of(header, found)[0].seed == value
        return
    with pytest.raises(WireError) as caught:
        requests_of(header, found)
    assert caught.value.kind == "request"


def test_errors_and_numbers_on_the_page_are_those_of_the_code() -> None:
    listed = set(
        re.findall(r"^\| `(\w+)` \| .* \| .*\|$", PAGE.split("### error")[1].split("### cancel")[0], re.MULTILINE)
    )
    used = {"protocol", *worldgauge_serve.STATUS}
    for node in ast.walk(ast.parse(FILE.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            kinds = {"WireError": node.args[1:2], "_failure": node.args[:1]}.get(node.func.id, [])
            used |= {kind.value for kind in kinds if isinstance(kind, ast.Constant)}
    assert listed == used
    for kind, status in worldgauge_serve.STATUS.items():
        assert f"{status} `{kind}`" in PAGE
    assert example("hello")["version"] == VERSION
    for words in (f"Version {VERSION}.", f"at most {MAX_HEADER_BYTES}", f"{MAX_TEXT} characters"):
        assert words in PAGE
    assert worldgauge_serve.MAX_BYTES == 4 << 30
    for words in (
        f"{worldgauge_serve.QUIET_S:.0f} seconds",
        f"{worldgauge_serve.GRACE_S:.0f} seconds",
        f"code {worldgauge_serve.HUNG}",
    ):
        assert words in PAGE
    assert all(f"`{dtype}`" in PAGE for dtype in DTYPES)


# Where the file runs


@pytest.mark.parametrize("path", [FILE, *sorted((ROOT / "adapters").glob("*.py"))], ids=str)
def test_what_runs_in_a_models_environment_is_read_by_python_3_8(path: Path) -> None:
    assert ast.parse(path.read_text("utf-8"), feature_version=(3, 8)).body


def test_the_file_is_one_that_python_3_8_reads_and_needs_numpy_alone() -> None:
    tree = ast.parse(FILE.read_text("utf-8"), feature_version=(3, 8))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.partition(".")[0])
    assert found - {"numpy"} <= sys.stdlib_module_names
    assert "numpy" in found


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"], ids="python{}".format)
def test_it_starts_under_other_pythons(version: str, tmp_path: Path) -> None:
    """With a stand-in for numpy where that Python has none: every line at module level runs, and the wire's own."""
    python = shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"no python{version} on PATH")
    probe = subprocess.run([python, "-c", "import numpy"], capture_output=True, timeout=60)
    if probe.returncode:
        (tmp_path / "numpy.py").write_text("ndarray = generic = type('x', (), {'item': None})\n")
    shutil.copy(FILE, tmp_path)
    code = "import io, worldgauge_serve as w; data = b''.join(w.encode({'type': 'x'})); "
    run = [python, "-c", code + "print(w.read_message(io.BytesIO(data).readinto))"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    if "not found" in done.stderr or "not installed" in done.stderr:
        pytest.skip(f"python{version} on PATH does not run")
    assert done.stdout == "({'type': 'x'}, {})\n", done.stderr
    done = subprocess.run([python, FILE.name, "--help"], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert "--restart" in done.stdout, done.stderr
