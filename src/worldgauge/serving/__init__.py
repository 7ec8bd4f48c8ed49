"""The asking side of models and estimators that run in a process, an environment or a machine of their own.

`open_model` and `open_estimator` reach one; docs/protocol.md says how it is spoken to, worldgauge_serve.py is the
answering side.
"""

from __future__ import annotations

from worldgauge.core.errors import UsageError
from worldgauge.serving.channel import LOAD_DEADLINE_S, Channel
from worldgauge.serving.estimator import RemoteEstimator
from worldgauge.serving.messages import without_login
from worldgauge.serving.remote import RemoteModel

__all__ = ["LOAD_DEADLINE_S", "SCHEMES", "RemoteEstimator", "RemoteModel", "is_served", "open_estimator", "open_model"]

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
    who = f"model '{without_login(text)}'"
    return RemoteModel(_channel(text, who), who)


def open_estimator(text: str, called: str = "estimator") -> RemoteEstimator:
    """The estimator that `text` names, in the ways of `open_model`; `RemoteEstimator.close` leaves it.

    called: what it is, in messages. Raises as `open_model` does.
    """
    who = f"{called} '{without_login(text)}'"
    return RemoteEstimator(_channel(text, who), who)


def _channel(text: str, who: str) -> Channel:
    scheme, _, rest = text.partition(":")
    if scheme in ("cmd", "pipe"):
        from worldgauge.serving.process import ProcessChannel

        return ProcessChannel(rest, pipes=scheme == "pipe", who=who)
    if is_served(text):
        from worldgauge.serving.balance import Replicas

        return Replicas(text.split(","), who)
    raise UsageError(f"{who}: served ones are named {', '.join(scheme + ':' for scheme in SCHEMES)}")
