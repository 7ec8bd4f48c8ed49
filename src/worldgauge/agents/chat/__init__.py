"""Language and vision models behind chat endpoints: ask, check the answer, keep all of it, replay (docs/chat.md)."""

from __future__ import annotations

from worldgauge.agents.chat.base import Chat
from worldgauge.agents.chat.budget import Prices
from worldgauge.agents.chat.errors import AnswerError, BudgetError, EndpointError, PromptTooLongError
from worldgauge.agents.chat.images import Encoding
from worldgauge.agents.chat.limits import Limits
from worldgauge.agents.chat.model import ChatModel
from worldgauge.agents.chat.question import Message, Question
from worldgauge.agents.chat.reply import Probabilities, Reply
from worldgauge.agents.chat.scripted import ScriptedChat

__all__ = [
    "AnswerError",
    "BudgetError",
    "Chat",
    "ChatModel",
    "Encoding",
    "EndpointError",
    "Limits",
    "Message",
    "Prices",
    "Probabilities",
    "PromptTooLongError",
    "Question",
    "Reply",
    "ScriptedChat",
]
