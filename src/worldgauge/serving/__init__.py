"""The client side of models and estimators that run in another process, environment or machine.

`open_model` and `open_estimator` connect to one. docs/reference/protocol.md describes the protocol, and
worldgauge_serve.py is the server side.
"""

from __future__ import annotations

from worldgauge.core.errors import UsageError, WorldgaugeError
from worldgauge.core.io import digest_of, dumps
from worldgauge.serving.channel import LOAD_DEADLINE_S as LOAD_DEADLINE_S
from worldgauge.serving.channel import Channel
from worldgauge.serving.messages import without_login
from worldgauge.serving.remote_model import RemoteEstimator as RemoteEstimator
from worldgauge.serving.remote_model import RemoteModel as RemoteModel
from worldgauge.serving.remote_model import RemoteWorld as RemoteWorld
from worldgauge_serve import code_of

SCHEMES = ("cmd", "pipe", "http", "https")


def is_served(text: str) -> bool:
    """Whether `text` names a served model: "cmd:COMMAND", "pipe:COMMAND", "http://host:port[,http://...]"."""
    scheme, colon, rest = text.partition(":")
    return bool(colon) and scheme in SCHEMES and (scheme in ("cmd", "pipe") or rest.startswith("//"))


def open_model(text: str) -> RemoteModel:
    """Connect to the model that a text names, until `RemoteModel.close`. "cmd:COMMAND" starts a child that connects to
    a Unix socket, "pipe:COMMAND" one that talks over stdin and stdout, both without a shell.
    "http://a:7000,http://b:7000" are servers of the same model."""
    who = f"model '{without_login(text)}'"
    return RemoteModel(_channel(text, who), who, code=lambda: served_code(text))


def open_estimator(text: str, called: str = "estimator") -> RemoteEstimator:
    """Connect to the estimator that a text names, as `open_model` does; `RemoteEstimator.close` ends the connection."""
    who = f"{called} '{without_login(text)}'"
    return RemoteEstimator(_channel(text, who), who, code=lambda: served_code(text))


def open_world_server(text: str) -> RemoteWorld:
    """Connect to the server of tables that a text names, as `open_model` does."""
    who = f"world '{without_login(text)}'"
    return RemoteWorld(_channel(text, who), who, code=lambda: served_code(text))


def served_code(text: str) -> str:
    """Digest of the files here that a "cmd:" or "pipe:" text names, with what that code imports; empty for others."""
    scheme, _, rest = text.partition(":")
    found = code_of(rest) if scheme in ("cmd", "pipe") else {}
    return digest_of(dumps(found)) if found else ""


def served_digest(text: str) -> str:
    """Digest of a served estimator: of a command's files, else of what its server states; empty if unknown."""
    if text.partition(":")[0] in ("cmd", "pipe"):
        return served_code(text)
    try:
        remote = open_estimator(text)
    except WorldgaugeError:
        return ""
    remote.close()
    return digest_of(dumps([remote.source, remote.given, remote.spec.settings]))


def _channel(text: str, who: str) -> Channel:
    scheme, _, rest = text.partition(":")
    if scheme in ("cmd", "pipe"):
        from worldgauge.serving.process import ProcessChannel

        return ProcessChannel(rest, pipes=scheme == "pipe", who=who)
    if is_served(text):
        from worldgauge.serving.http_channel import Replicas

        return Replicas(text.split(","), who)
    raise UsageError(f"{who}: served ones are named {', '.join(scheme + ':' for scheme in SCHEMES)}")
