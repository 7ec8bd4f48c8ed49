"""The example of docs/howto/policies.md runs against an endpoint, and a second time from its recording alone."""

import os
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from support.chat_endpoint import Asked, FakeEndpoint, likely, ok
from support.places import DOCS

PAGE = DOCS / "howto" / "policies.md"


def answer(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    if "logprobs" in asked.body:
        ok("B", logprobs=likely({"B": -0.2, "A": -2.0}))(handler, asked)
    elif "response_format" in asked.body:
        ok('{"steps": ["left", "forward"]}')(handler, asked)
    else:
        ok("a door")(handler, asked)


def test_the_example_runs_and_replays(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.always = answer
    *_, text = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    outputs = []
    for more in ("", 'replay="only", '):
        code = text.replace('"http://localhost:8000/v1",', f'"{endpoint.url}", {more}')
        (tmp_path / "example.py").write_text(code, "utf-8")
        done = subprocess.run(
            [sys.executable, "example.py"], capture_output=True, text=True, timeout=60, cwd=tmp_path, env=os.environ
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert re.match(r"a door 7 1\.56\d*e-05\n\{'A': 0\.14\d+, 'B': 0\.85\d+\} 0\.04\d+ \(\)\n", outputs[0]), outputs[0]
    assert (outputs[0].count("['left', 'forward']"), outputs[1]) == (3, outputs[0])
    assert len(endpoint.asked) == 5
