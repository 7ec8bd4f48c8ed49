"""One attempt: a request to the endpoint through the `openai` client, bounded in time and size."""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from worldgauge.chat.client.bodies import one_line, status_failure
from worldgauge.chat.client.errors import Failure
from worldgauge.chat.client.recording import hidden
from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge_serve import is_local_host, proxy_note

T = TypeVar("T")

_OPENAI_HOST = "api.openai.com"
OPENAI_URL = f"https://{_OPENAI_HOST}/v1"
LARGEST_REPLY = 16 * 2**20
_LARGEST_ERROR = 2**16
_CONNECT_S = 20.0


class Transport:
    """Connection to an endpoint; safe for threads.

    Args:
        base_url: Address of the endpoint; None for OpenAI's.
        key_env: Environment variable with the key. None means OPENAI_API_KEY for OpenAI's endpoint and no key for any
            other, so that the key of one is never sent to another.
    """

    def __init__(self, base_url: str | None, key_env: str | None) -> None:
        self.base_url = (base_url or OPENAI_URL).rstrip("/")
        host, self.host = _address(self.base_url)
        self._is_here, self._proxies = is_local_host(host), (urlsplit(self.base_url).scheme, "all")
        self.is_openai = host == _OPENAI_HOST or host.endswith("." + _OPENAI_HOST)
        self._key_env = key_env or ("OPENAI_API_KEY" if self.is_openai else None)
        self.key = os.environ.get(self._key_env, "").strip() if self._key_env else None
        self._client: Any = None
        self._lock = threading.Lock()

    def send(self, payload: Mapping[str, Any], seconds: float) -> str:
        """Send a request.

        Args:
            payload: The request.
            seconds: Time limit.

        Returns:
            Body of the response, with the key hidden.

        Raises:
            Failure: There is no usable response.
            UsageError: The key is missing.
            MissingExtraError: The package is missing.
        """
        client = self.connect()
        return _within(seconds, lambda: self._send(client, payload, seconds))

    def connect(self) -> Any:
        """The client of the endpoint.

        Raises:
            UsageError: The key is missing, or the proxy cannot be used.
            MissingExtraError: The package is missing.
        """
        with self._lock:
            if self._client is None:
                if self.key is not None and not (self.key.isascii() and self.key.isprintable() and self.key):
                    raise UsageError(f"{self.host}: no key; set the environment variable {self._key_env} to one")
                try:
                    import openai
                except ImportError:
                    raise MissingExtraError("a chat endpoint", "chat") from None
                hooks: dict[str, list[Callable[..., Any]]] = {
                    "request": [self._clean],
                    "response": [self._refuse_errors],
                }
                # The environment names proxies; certificates, too, which the other default reads as well.
                here: dict[str, Any] = {"trust_env": False, "verify": ssl.create_default_context()}
                try:
                    http_client = openai.DefaultHttpxClient(
                        follow_redirects=False, event_hooks=hooks, **(here if self._is_here else {})
                    )
                except (ImportError, ValueError) as error:
                    why = f"{self.host}: no connection{self.proxy}: {one_line(hidden(str(error), self.key))}"
                    raise UsageError(f"{why.rstrip('.')}; or change the variable") from error
                self._client = openai.OpenAI(
                    api_key=self.key or "none",
                    base_url=self.base_url,
                    max_retries=0,  # we retry ourselves, so that each attempt is counted, paid for and recorded
                    http_client=http_client,
                )
            return self._client

    @property
    def proxy(self) -> str:
        """The proxy on the way to the endpoint, as messages add it; empty when there is none."""
        return proxy_note(self.base_url, self._proxies)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _clean(self, request: Any) -> None:
        """The client adds these from the environment; they are no other endpoint's business."""
        for name in () if self.is_openai else ("OpenAI-Organization", "OpenAI-Project"):
            request.headers.pop(name, None)

    def _send(self, client: Any, payload: Mapping[str, Any], seconds: float) -> str:
        import openai

        # A compressed reply could be small here and huge in memory.
        headers = {"Accept-Encoding": "identity"}
        timeout = openai.Timeout(seconds, connect=min(seconds, _CONNECT_S))
        until = time.monotonic() + seconds
        ask = client.chat.completions.with_streaming_response.create
        try:
            with ask(**payload, extra_headers=headers, timeout=timeout) as response:
                return hidden(_read(response.iter_bytes(), LARGEST_REPLY, until), self.key)
        except openai.APITimeoutError as error:
            raise _late(seconds) from error
        except openai.OpenAIError as error:
            cause = error.__cause__
            if isinstance(cause, Failure):  # from our hook: some versions of the client wrap it
                raise cause from None
            said = one_line(hidden(str(cause or error), self.key))
            # Also after a request that was sent whole, so it may have been worked on.
            raise Failure(f"cannot be reached ({said or type(cause).__name__})", again=True, charged=True) from error

    def _refuse_errors(self, response: Any) -> None:
        """Turn a status other than success into a Failure, before the client reads a body of any size."""
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise Failure(f"sent a reply compressed as {one_line(encoding, 20)} although asked not to", charged=True)
        if 200 <= response.status_code < 300:
            return
        body = hidden(_read_some(response.iter_bytes(), _LARGEST_ERROR), self.key)
        raise status_failure(response.status_code, response.headers, body)


def _address(url: str) -> tuple[str, str]:
    """(host, host and port) of `url`.

    Raises:
        UsageError: It is no address, or holds more, such as a password.
    """
    try:
        parts = urlsplit(url)
        host, port, extra = parts.hostname or "", parts.port, parts.username or parts.password or parts.query
    except ValueError:
        host, port, extra = "", None, None
    if not host or extra or not url.startswith(("http://", "https://")):
        raise UsageError(
            "base_url must be like http://localhost:8000/v1, without user, password or query; "
            "the key is read from the environment variable that api_key_env names"
        )
    return host, host if port is None else f"{host}:{port}"


def _read(chunks: Iterable[bytes], most: int, until: float) -> str:
    """Read a whole body.

    Raises:
        Failure: The connection ends early or is too slow, or the body is too large or not text.
    """
    data = bytearray()
    for chunk in _unbroken(chunks):
        data += chunk
        if time.monotonic() > until:
            raise Failure("was still sending its reply when time was up", again=True, charged=True)
        if len(data) > most:
            raise Failure(f"sent a reply of more than {most} bytes", charged=True)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Failure("sent a reply that is not UTF-8", again=True, charged=True) from None


def _unbroken(chunks: Iterable[bytes]) -> Iterable[bytes]:
    """The chunks. The client passes on whatever its HTTP library raises, of which there are two: no names to catch."""
    try:
        yield from chunks
    except Exception as error:
        raise Failure(
            f"broke off within its reply ({type(error).__name__}: {one_line(str(error))})", again=True, charged=True
        ) from error


def _read_some(chunks: Iterable[bytes], most: int) -> str:
    """The start of the body of an error; what cannot be read of it does not matter."""
    data = bytearray()
    try:
        for chunk in _unbroken(chunks):
            data += chunk
            if len(data) >= most:
                break
    except Failure:
        pass
    return data[:most].decode(errors="replace")


def _late(seconds: float) -> Failure:
    return Failure(f"did not answer within {seconds:g} s", again=True, charged=True)


def _within(seconds: float, call: Callable[[], T]) -> T:
    """Result of `call`, run in a separate thread with a time limit.

    The timeouts of HTTP libraries apply to each read separately, and none applies to the look-up of a name.

    Raises:
        Failure: It takes longer; the thread is abandoned.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(call())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True, name="chat-attempt")
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise _late(seconds)
    return done[0]
