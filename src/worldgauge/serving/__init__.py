"""The asking side of models that run in a process, an environment or a machine of their own.

`open_model` reaches one; docs/protocol.md says how it is spoken to, worldgauge_serve.py is the answering side.
"""

from __future__ import annotations

from worldgauge.errors import UsageError
from worldgauge.serving.channel import LOAD_DEADLINE_S
from worldgauge.serving.messages import without_login
from worldgauge.serving.remote import RemoteModel

__all__ = ["LOAD_DEADLINE_S", "SCHEMES", "RemoteModel", "is_served", "open_model"]

SCHEMES = ("cmd", "pipe", "http", "https")


def is_served(text: str) -> bool:
    """Whether `text` names a served model: "cmd:COMMAND", "pipe:COMMAND", "http://host:port[,http://...]"."""
    scheme, colon, rest = text.partition(":")
    return bool(colon) and scheme in SCHEMES and (scheme in ("cmd", "pipe") or rest.startswith("//"))


def open_model(text: str) -> RemoteModel:
    """The model that `text` names; `RemoteModel.close` leaves it.

    "cmd:conda run -n wan python -m worldgauge_serve wan.py:Wan" starts a child that connects to a Unix socket.
    "pipe:ssh box python -m worldgauge_serve --pipes wan.py:Wan" speaks over the child's stdin and stdout.
    "http://a:7000,http://b:7000" asks servers, all of the same model, whichever is free.
    No shell reads a command. Raises UsageError or SubjectError, in one line, when there is no model.
    """
    scheme, _, rest = text.partition(":")
    who = f"model '{without_login(text)}'"
    if scheme in ("cmd", "pipe"):
        from worldgauge.serving.process import ProcessChannel

        return RemoteModel(ProcessChannel(rest, pipes=scheme == "pipe", who=who), who)
    if is_served(text):
        from worldgauge.serving.balance import Replicas

        return RemoteModel(Replicas(text.split(","), who), who)
    raise UsageError(f"{who}: served models are named {', '.join(scheme + ':' for scheme in SCHEMES)}")
